"""The search for a motif in a whole scene by channels of oriented gradients, under any light.

The colours of a photograph depend on the lamp, on shadows and on reflections; the positions of its edges
hardly do. So if nothing is known about the pose, the motif is searched for by its channels
(`wherein.planes`): first a coarse search over all places, with the rotations, sizes and tilts that the motion
allows; then fits from coarse to fine.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.errors import TemplateError
from wherein.images.motif import Motif
from wherein.motion.models import MOTIONS, Motion
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.planes.plane_range import PlaneRange
from wherein.planes.plane_search import PlaneSearch
from wherein.planes.rating import refine_poses
from wherein.pyramid.levels import Poses, ScenePyramid, enlarge, reduce

MIN_SCALE, _MAX_SCALE = 0.4, 2.5
"""Range of sizes of the motif in the scene, for motions with scale. A choice: at smaller sizes, ordinary
motifs have too few pixels to be distinguished from clutter. Each additional size costs as much as all
rotations and tilts at one size."""

_TILT = 75.0
"""Maximum tilt in degrees, for motions that can foreshorten. A choice: at 75° a motif has a quarter of its
width, and a search over all directions of tilt still takes under a tenth of a second in a scene of 512 px."""

_STARTS, _STEEP_STARTS = 30, 120
"""Number of starts for each foreshortening, and for each steep one. Each has its own list, because a steep
template has its features close together, so that it fits clutter better than an upright one and would fill a
common list. For the same reason steep ones have more starts. Choices."""

_REFINE, _KEEP = PlaneStage(rounds=1, steps=6, tolerance=0.2), 0.5
"""The refinement of all starts, on channels of the scene that are computed once, and the fraction of the
best ZNCC that a pose must reach to be kept. Choices: on ../shared/real/oxford and 48 synthetic problems, a
full fit of all starts found the same poses, and took four times as long."""

_KEPT = (6, 6, 2)
"""Maximum number of poses that are kept after this refinement and after each stage. A choice."""

_FULL = PlaneStage(4, 4)
"""The fits of the surviving poses: these are few, so their fits may take long. A choice."""

_RADII, _MIN_GAIN = (30.0, 60.0, 100.0), 1.2
"""Extent of the motif in pixels at each stage, and the maximum factor by which a smaller motif is enlarged
for it. The same as in the detector, but without its second stage: few poses are fitted here, with enough
steps to stay in the right basin without it."""

_MAX_FULL, _FINER = 140.0, 1.2
"""Maximum extent in pixels of a motif that is also fitted at full size, and the minimum factor between the
last extent and full size. A choice: up to a tenth of a second."""

_MIN_TELLING = 42.0
"""Minimum extent in pixels of a motif whose good fit by channels cannot be chance. A choice: clutter fits
smaller motifs too well."""

_MIN_RICH, _MIN_TEXTURE = 20.0, 0.6
"""Minimum extent in pixels and minimum mean size of the channels of a motif that is rich. Choices: most
blurred crops of photographs have less texture, three quarters of the motifs of ../shared/real/pairs more."""

_CLEAR = 0.7
"""ZNCC at the coarsest stage above which steeper foreshortenings are not searched. A choice: clutter reaches
0.5 there. The upright template is the cheapest to search: it has one direction, the next foreshortening four,
and so on."""

_MILD = 2
"""Index of the first steep foreshortening. A choice: the two before it cover tilts of up to 50°."""

_POINTS = 8000
"""Approximate number of motif points that are compared at a stage. A choice: with all points, the corners on
../shared/real/oxford differ by less than 0.1 px."""


def range_of(motion: Motion) -> PlaneRange:
    """The poses that are searched for a motion."""
    return PlaneRange(
        180.0 if motion.rotates else 0.0,
        (MIN_SCALE, _MAX_SCALE) if motion.scales else (1.0, 1.0),
        _TILT if motion.shears else 0.0,
    )


def _reduced(motif: Motif, factor: int) -> Motif:
    """The motif at 1/factor of its size.

    If it has no mask, rows and columns that do not fill a pixel are left out: such a pixel would be partly
    transparent, so that the motif would seem to have an outline there.
    """
    if factor == 1 or not bool((motif.mask == 1).all()):
        return motif.pooled(factor)
    height, width = (side // factor * factor for side in motif.mask.shape)
    return Motif(motif.pixels[:, :height, :width], motif.mask[:height, :width]).pooled(factor)


class ChannelSearch:
    """Finds a motif in a scene by its channels.

    Arguments:
        scene: at full size, on the CPU.
        motif: at full size.
        motion: how the motif may move: one of the five standard models.
    """

    def __init__(self, scene: ScenePyramid, motif: Motif, motion: Motion) -> None:
        self.scene, self.motion = scene, motion
        self._extent = motif.extent
        # All stages see a large motif at reduced size. Reducing it once beforehand makes all computations on
        # it cheaper.
        halvings = max(0, math.floor(math.log2(self._extent / _RADII[-1])))
        self._reduction = 2 ** min(halvings, int(math.log2(min(motif.height, motif.width) / 2)))
        self.motif = _reduced(motif, self._reduction)
        ranges = range_of(motion)
        low, high = ranges.scale  # relative to the reduced motif, which is enlarged more
        ranges = replace(ranges, scale=(low * self._reduction, high * self._reduction))
        self._search = PlaneSearch(self.motif, ranges)
        self._made: dict[int, PlaneMotif] = {}

    @cached_property
    def _radii(self) -> tuple[float, ...]:
        """Extents of the motif from coarse to fine; the last is full size if that is not too large."""
        size = self._extent
        radii = [radius for radius in _RADII if radius < _MIN_GAIN * size] or [size]
        return (*radii, size) if radii[-1] * _FINER < size <= _MAX_FULL else tuple(radii)

    def _stage(self, number: int) -> PlaneMotif:
        """The motif at a stage, made when it is first needed."""
        number %= len(self._radii)
        if number not in self._made:
            # Straight edges have full weight: they help to locate the motif, if not to recognise it.
            self._made[number] = PlaneMotif.of(self.motif, self._radii[number], even=True, limit=_POINTS)
        return self._made[number]

    @property
    def telling(self) -> bool:
        """Whether the motif is so large that a good fit of its channels cannot be chance."""
        return self._extent >= _MIN_TELLING

    @property
    def rich(self) -> bool:
        """Whether the motif has so much texture that the channels find it in any scene that shows it."""
        if self._extent < _MIN_RICH:
            return False
        inner = slice(MARGIN, -MARGIN)
        return bool(self._stage(0).channels[:, inner, inner].norm(dim=0).mean() >= _MIN_TEXTURE)

    @property
    def large(self) -> bool:
        """Whether all stages use a reduced motif, so that they are cheaper than a search at full size."""
        return self._reduction > 1

    def starts(self, tilts: Sequence[int], count: int) -> Poses:
        """The best places of the first search, over all sizes, for each of the given foreshortenings."""
        try:
            found = [self._search.first_look(self.scene, count, tilt) for tilt in tilts]
        except TemplateError:  # the motif has no edges, such as a chequerboard of single pixels
            return np.zeros((0, 3, 3))
        return np.concatenate((np.zeros((0, 3, 3)), *found))

    def __call__(self) -> PlaneFits:
        """The poses that are found, best first, with the ZNCC of the channels at the finest stage."""
        fits = PlaneFits(np.zeros((0, 3, 3)), np.zeros(0), np.zeros(0))
        for tilts, count in self._rounds:
            fits = self._best(fits.joined(self._first(tilts, count)), _KEPT[1])
            if len(fits) and fits.zncc[0] > _CLEAR:
                if self.telling:  # the best pose is certain enough to drop all others
                    return self._followed(fits.poses[:1])
                break
        for stage in range(len(self._radii)):
            fits = self._fit(stage, self.motion, _FULL, fits.poses, _KEPT[min(stage + 1, 2)])
        return self._at_full_size(fits)

    @property
    def _rounds(self) -> list[tuple[list[int], int]]:
        """The foreshortenings that are searched one after the other, and the number of starts for each."""
        count = len(self._search.ranges.tilts)
        mild, steep = range(min(count, _MILD)), list(range(_MILD, count))
        return [([tilt], _STARTS) for tilt in mild] + ([(steep, _STEEP_STARTS)] if steep else [])

    def follow(self, pose: Poses) -> PlaneFits:
        """The fit that starts from one nearly right pose, (1, 3, 3)."""
        return self._followed(pose @ enlarge(self._reduction))

    def _followed(self, poses: Poses) -> PlaneFits:
        """Fits at the coarsest and then at the finest stage, without the stages in between."""
        for stage in sorted({0, len(self._radii) - 1}):
            poses = (fits := self._fit(stage, self.motion, _FULL, poses, 1)).poses
        return self._at_full_size(fits)

    def _at_full_size(self, fits: PlaneFits) -> PlaneFits:
        poses = fits.poses @ reduce(self._reduction)
        return replace(fits, poses=poses / poses[:, 2:, 2:])

    def _first(self, tilts: Sequence[int], count: int) -> PlaneFits:
        """The best poses at the coarsest stage, from a first search with these foreshortenings."""
        # Without perspective, which so few pixels do not determine. Finer stages fit it.
        motion = MOTIONS["affine"] if self.motion.projective else self.motion
        near = refine_poses(self.scene, self._stage(0).rough, motion, _REFINE, self.starts(tilts, count))
        return self._fit(0, motion, PlaneStage(), self._best(near, _KEPT[0]).poses, _KEPT[1])

    def _fit(self, stage: int, motion: Motion, how: PlaneStage, poses: Poses, keep: int) -> PlaneFits:
        return self._best(fit_planes(self.scene, self._stage(stage), motion, how, poses), keep)

    def _best(self, fits: PlaneFits, keep: int) -> PlaneFits:
        """The best distinct poses, without those whose ZNCC is far below that of the first."""
        fits = fits[self._search.distinct(fits, keep)]
        return fits[np.flatnonzero(fits.zncc >= _KEEP * fits.zncc[:1].sum())]

    def zncc(self, poses: Poses) -> NDArray[np.float64]:
        """The ZNCC of the channels at given poses, at the finest stage."""
        poses = poses @ enlarge(self._reduction)
        return fit_planes(self.scene, self._stage(-1), self.motion, PlaneStage(1, 0), poses).zncc

"""The search for a motif by channels of oriented gradients: in the whole scene, and under any light.

The colours of a photograph depend on the lamp, on shadows and on reflections; where its edges lie hardly
does. So where nothing is known about the pose, the motif is searched for by its channels (`wherein.planes`):
a first look at all places, with the rotations, sizes and tilts that the motion allows; then fits from coarse
to fine.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from wherein.images.motif import Motif
from wherein.motion.models import MOTIONS, Motion
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.planes.plane_motif import PlaneMotif, extent
from wherein.planes.plane_search import PlaneRange, PlaneSearch
from wherein.pyramid.levels import Poses, ScenePyramid

_SCALES = (0.4, 2.5)
"""Sizes of the motif in the scene, where the motion has scale. A choice: smaller, and ordinary motifs have
too few pixels to be told from clutter; each size more costs as much as all rotations and tilts at one."""

_TILT = 75.0
"""Degrees, where the motion can foreshorten. A choice: at 75° a motif has a quarter of its width, and a cover
of all directions of tilt still takes under a tenth of a second in a scene of 512 px."""

_STARTS, _STEEP_STARTS = 30, 120
"""Number of starts for each foreshortening, and for each steep one. For each, because a steep template has
its features close together, so that it fits clutter better than an upright one and would fill a common list;
and for the same reason more of them. Choices."""

_THIN, _KEEP = PlaneStage(1, 2), 0.5
"""The first fit of the starts, and the fraction of the best ZNCC that a pose must reach to go on. Choices."""

_KEPT = (24, 6, 2)
"""Maximum number of poses that go on after the first fit and after each stage. A choice."""

_FULL = PlaneStage(4, 4)
"""The fits of those that are left: of few poses, so that they may take as long as they need. A choice."""


_MAX_FULL, _FINER = 140.0, 1.2
"""Maximum extent in pixels of a motif that is fitted at full size too, and by how much finer that must be. A
choice: up to a tenth of a second."""

_MIN_TELLING = 42.0
"""Extent in pixels from which on a good fit of the channels is no chance. A choice: clutter fits a smaller
motif too well to be sure."""

_MILD, _CLEAR = 2, 0.7
"""How many foreshortenings are looked for first, and the ZNCC at the coarsest stage from which on the steeper
ones are left out. Choices: the first two cover tilts of up to 50°; clutter reaches 0.5 at that stage."""


def range_of(motion: Motion) -> PlaneRange:
    """The poses that are searched for a motion."""
    return PlaneRange(
        180.0 if motion.rotates else 0.0,
        _SCALES if motion.scales else (1.0, 1.0),
        _TILT if motion.shears else 0.0,
    )


class ChannelSearch:
    """Finds a motif in a scene by its channels.

    Arguments:
        scene: at full size, on the CPU.
        motif: at full size.
        motion: how the motif may move: one of the five standard models.
    """

    def __init__(self, scene: ScenePyramid, motif: Motif, motion: Motion) -> None:
        self.scene, self.motif, self.motion = scene, motif, motion
        self._search = PlaneSearch(motif, range_of(motion))

    @cached_property
    def _stages(self) -> tuple[PlaneMotif, ...]:
        """The motif from coarse to fine: as the detector has it but without its second stage, then at full
        size if that is not large."""
        # Few poses are fitted here, with as many steps as they need: they do not lose their way.
        (first, *others), size = self._search.stages, extent(self.motif)
        coarse = (first, *others[1:]) if len(others) > 1 else (first, *others)
        finer = math.sqrt(len(coarse[-1].points)) * _FINER < math.sqrt(self.motif.height * self.motif.width)
        return (*coarse, PlaneMotif.of(self.motif, size)) if finer and size <= _MAX_FULL else coarse

    @property
    def telling(self) -> bool:
        """Whether the motif is so large that a good fit of its channels is no chance."""
        return extent(self.motif) >= _MIN_TELLING

    def starts(self, tilts: Sequence[int], count: int) -> Poses:
        """The best places of the first look, over all sizes, for each of some foreshortenings."""
        # Without any edge, the motif has no features to look for.
        if not all(templates.places.shape[1] for templates, _ in self._search.looks):
            return np.zeros((0, 3, 3))
        found = [self._search.starts(self.scene, count, tilt) for tilt in tilts]
        return np.concatenate((np.zeros((0, 3, 3)), *found))

    def __call__(self) -> PlaneFits:
        """The poses that are found, best first, with the ZNCC of the channels at the finest stage."""
        mild, steep = np.split(np.arange(len(self._search.ranges.tilts)), [_MILD])
        fits = self._first(mild.tolist(), _STARTS)
        if not (len(fits) and fits.zncc[0] > _CLEAR):
            fits = self._best(fits.joined(self._first(steep.tolist(), _STEEP_STARTS)), _KEPT[1])
        for stage in range(len(self._stages)):
            fits = self._fit(stage, self.motion, _FULL, fits.poses, _KEPT[min(stage + 1, 2)])
        return fits

    def _first(self, tilts: Sequence[int], count: int) -> PlaneFits:
        """The best poses at the coarsest stage, from a first look with these foreshortenings."""
        # What a finer resolution can tell comes later: perspective is not seen in a few pixels.
        motion = MOTIONS["affine"] if self.motion.projective else self.motion
        fits = self._fit(0, motion, _THIN, self.starts(tilts, count), _KEPT[0])
        return self._fit(0, motion, PlaneStage(), fits.poses, _KEPT[1])

    def _fit(self, stage: int, motion: Motion, how: PlaneStage, poses: Poses, keep: int) -> PlaneFits:
        motif = self._stages[stage]
        return self._best(fit_planes(self.scene, motif, motion, how, poses), keep)

    def _best(self, fits: PlaneFits, keep: int) -> PlaneFits:
        """The best poses that differ, without those that are far behind the first."""
        fits = fits[self._search.distinct(fits, keep)]
        return fits[np.flatnonzero(fits.zncc >= _KEEP * fits.zncc[:1].sum())]

    def zncc(self, poses: Poses) -> PlaneFits:
        """The ZNCC of the channels at given poses, at the finest stage."""
        return fit_planes(self.scene, self._stages[-1], self.motion, PlaneStage(1, 0), poses)

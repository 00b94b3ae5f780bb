"""The search for a flat motif in a whole scene: a first look at all places, then fits from coarse to fine."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from wherein.images.motif import Motif
from wherein.motion.models import Motion, motion_named
from wherein.planes.features import FeatureTemplates, look
from wherein.planes.plane_fit import PlaneFits, PlaneStage, fit_planes, scene_levels
from wherein.planes.plane_motif import PlaneMotif, extent
from wherein.pyramid.levels import Poses, ScenePyramid

_LOOK_RADIUS = 25.0
"""Extent of the motif in the first look, in pixels. A choice, by measurement on the dials of
../shared/real/gauge: with 18 px clutter outranks a steep dial, with 32 px poses must lie closer together."""

_RADII = (25.0, 50.0, 100.0)
"""Extent of the motif at the stages of the fit, in pixels; a smaller motif ends at its full size. A choice:
each has four times the pixels of the last, and beyond 100 px the score gets no surer."""

_TURN_STEP, _SCALE_STEP = 10.0, 1.12
"""Degrees and factor between neighbouring poses of the first look. Choices."""

_MAX_RATIO, _TILT_AXES = 0.72, 4
"""Factor between neighbouring foreshortenings of the first look, and number of axes of the first. Choices:
upright templates find dials foreshortened to about 0.8."""

_STARTS, _KEPT = 60, (12, 4)
"""Number of starts of the fit, and how many poses go on after each stage but the last. Choices."""

_SAME_PLACE = 0.08
"""Poses whose corners are all closer than this fraction of the object's size are the same. A choice."""


@dataclass(frozen=True)
class PlaneRange:
    """The poses that are searched.

    Attributes:
        rotation: ± degrees.
        scale: lowest and highest.
        tilt: out of the picture plane, up to so many degrees.
    """

    rotation: float = 180.0
    scale: tuple[float, float] = (0.5, 2.0)
    tilt: float = 40.0

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """Sizes of the first look."""
        low, high = self.scale
        count = max(1, math.ceil(math.log(high / low) / math.log(_SCALE_STEP) - 1e-9) + 1)
        return np.geomspace(low, high, count) if count > 1 else np.array((float(low),))

    @cached_property
    def linear(self) -> NDArray[np.float64]:
        """Rotations and tilts of the first look, (T, 2, 2)."""
        full = self.rotation >= 180
        count = max(1, math.ceil(2 * self.rotation / _TURN_STEP - 1e-9)) + (
            0 if full or self.rotation == 0 else 1
        )
        step = 2 * self.rotation / max(1, count if full else count - 1)
        turns = [_rotation(-self.rotation + step * k) for k in range(count)]
        return np.stack([turn @ tilt for tilt in self._tilts() for turn in turns])

    def _tilts(self) -> list[NDArray[np.float64]]:
        """Foreshortenings, none first: by factors of `_MAX_RATIO`, along axes that get closer together."""
        tilts, lowest, ratio, axes = [np.eye(2)], math.cos(math.radians(self.tilt)), _MAX_RATIO, _TILT_AXES
        while lowest < math.sqrt(ratio * ratio / _MAX_RATIO) - 1e-9:
            for k in range(axes):
                axis = _rotation(180 * k / axes)
                tilts.append(axis @ np.diag((max(ratio, lowest), 1.0)) @ axis.T)
            ratio, axes = ratio * _MAX_RATIO, axes + 2
        return tilts


def _rotation(degrees: float) -> NDArray[np.float64]:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array(((c, -s), (s, c)))


class PlaneSearch:
    """Finds a flat motif in scenes.

    Arguments:
        motif: at full size.
        ranges: the poses that are searched.
        any_polarity: also with light and dark exchanged.
    """

    def __init__(self, motif: Motif, ranges: PlaneRange, any_polarity: bool = False) -> None:
        self.motif, self.ranges, self.any_polarity = motif, ranges, any_polarity

    @cached_property
    def templates(self) -> FeatureTemplates:
        """For the first look."""
        return FeatureTemplates.of(self.motif, _LOOK_RADIUS, self.ranges.linear, self.any_polarity)

    @cached_property
    def stages(self) -> tuple[PlaneMotif, ...]:
        """The motif from coarse to fine."""
        largest = extent(self.motif)
        radii = [radius for radius in _RADII if radius < 1.2 * largest] or [largest]
        return tuple(PlaneMotif.of(self.motif, radius, any_polarity=self.any_polarity) for radius in radii)

    def motion(self, stage: int) -> Motion:
        """How poses may move at a stage: what a finer resolution can tell comes later."""
        if self.ranges.tilt > 0:
            return motion_named("affine" if stage == 0 else "homography")
        return motion_named("euclidean" if self.ranges.scale[0] == self.ranges.scale[1] else "similarity")

    def starts(self, scene: ScenePyramid, count: int = _STARTS, threads: int = 1) -> Poses:
        """The best places of the first look, over all sizes."""
        find = partial(look, scene, self.templates, count=count)
        scene_levels(scene)  # made once, before the threads start: else each of them would
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(find, self.ranges.scales))
        ratings = np.concatenate([ratings for _, ratings in found])
        order = np.argsort(-ratings, kind="stable")[:count]
        return np.concatenate([poses for poses, _ in found])[order]

    def __call__(self, scene: ScenePyramid, threads: int = 1) -> list[PlaneFits]:
        """The poses after every stage, the best first."""
        poses, ended = self.starts(scene, threads=threads), []
        for number, motif in enumerate(self.stages):
            fits = self._fit(scene, motif, number, poses, threads)
            fits = fits[self.distinct(fits)]
            ended.append(fits)
            if number < len(self.stages) - 1:
                poses = fits.poses[: _KEPT[number]]
        return ended

    def _fit(
        self, scene: ScenePyramid, motif: PlaneMotif, number: int, poses: Poses, threads: int
    ) -> PlaneFits:
        motion, stage = self.motion(number), PlaneStage()
        chunks = [
            chunk for chunk in np.array_split(poses, max(1, min(threads * 4, len(poses)))) if len(chunk)
        ]
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(lambda chunk: fit_planes(scene, motif, motion, stage, chunk), chunks))
        if not parts:
            return fit_planes(scene, motif, motion, stage, poses)
        return PlaneFits(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("poses", "zncc", "visible")
            )
        )

    def distinct(self, fits: PlaneFits) -> NDArray[np.int64]:
        """The indices of poses that differ, the best first; poses without a fit are left out."""
        width, height = self.motif.width - 1, self.motif.height - 1
        corners = np.array(((0, width, width, 0), (0, 0, height, height), (1, 1, 1, 1)), dtype=np.float64)
        ends = fits.poses @ corners
        ends = ends[:, :2] / ends[:, 2:]
        kept: list[int] = []
        for index in np.argsort(-fits.zncc, kind="stable"):
            if fits.zncc[index] <= -1 or not np.isfinite(ends[index]).all():
                continue
            size = np.linalg.norm(ends[index, :, 0] - ends[index, :, 2])
            if all(np.abs(ends[index] - ends[other]).max() > _SAME_PLACE * size for other in kept):
                kept.append(int(index))
        return np.array(kept, dtype=np.int64)

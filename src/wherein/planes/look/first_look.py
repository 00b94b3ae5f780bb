"""The first look for one motif: the best places in a scene, over all sizes, rotations and tilts."""

import math
from functools import cached_property
from itertools import accumulate

import numpy as np
from jaxtyping import Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.planes.look.features import FeatureTemplates, look
from wherein.planes.plane_range import PlaneRange
from wherein.planes.rectify import SIZE_STEP, factor_of
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_LOOK_RADIUS = 30.0
"""Extent of the motif in the first look, in pixels. A choice, measured with several photographs of
../shared/real/gauge as templates: with 25 px more dials are missed, with 18 px clutter outranks steeply
tilted ones."""

TURN_STEP = 12.0
"""Degrees between neighbouring rotations of the first look, for a motif of `_LOOK_RADIUS`. A choice."""

_MAX_STEP_FACTOR = 1.6
"""Maximum factor by which the rotations of a smaller motif are further apart. A choice."""


class FirstLook:
    """Rates a flat motif at all places of a scene, and returns the best poses.

    Arguments:
        motif: at full size.
        ranges: the poses that are searched.
        any_polarity: also find the motif with light and dark exchanged.
        covered: see `PlaneMotif.of`.
    """

    def __init__(
        self,
        motif: Motif,
        ranges: PlaneRange,
        any_polarity: bool = False,
        covered: Float[Tensor, "h w"] | None = None,
    ) -> None:
        self.motif, self.ranges, self.any_polarity, self.covered = motif, ranges, any_polarity, covered

    @cached_property
    def looks(self) -> tuple[tuple[FeatureTemplates, int], ...]:
        """The templates of the first look, and the level of the scene at which each of them is searched.

        Objects of different size are found by reducing the scene: the motif always has the extent
        `_LOOK_RADIUS`, so one set of templates serves all levels. For objects smaller than that, the scene is
        not enlarged; they have smaller templates, which are searched at full size (level 0).
        """
        size, (low, high) = self.motif.extent, self.ranges.scale
        usual = max(1.0, size / _LOOK_RADIUS)
        # An object of scale s has the extent s · size in the scene. It has that of the templates, size /
        # usual, if the scene is reduced by s · usual, that is at level log(s · usual) / log(SIZE_STEP).
        first, last = (math.log(scale * usual) / math.log(SIZE_STEP) for scale in (low, high))
        steps = self._steps(first, last)
        looks = [(self._templates(size / usual * SIZE_STEP**step), 0) for step in steps if step < 0]
        levels = [round(step) for step in steps if step >= 0]
        if levels:
            templates = self._templates(size / usual)
            looks += [(templates, level) for level in levels]
        return tuple(looks)

    @staticmethod
    def _steps(first: float, last: float) -> list[float]:
        """Steps such that every value from `first` to `last` is at most half a step from one of them.

        Steps of 0 and more are whole numbers: they are levels, whose responses all motifs share.
        """
        if last - first < 1e-9:
            # A single size. A negative step stays exact: it sets the size of templates, and is no level.
            return [first if first < 0 else float(round(first))]
        return [float(k) for k in range(math.floor(first + 0.5 - 1e-9), math.ceil(last - 0.5 + 1e-9) + 1)]

    def _templates(self, radius: float) -> FeatureTemplates:
        # A turn moves the pixels of a smaller motif by less, so its rotations may be further apart.
        linear = self.ranges.linear(TURN_STEP * min(_LOOK_RADIUS / radius, _MAX_STEP_FACTOR))
        return FeatureTemplates.of(self.motif, radius, linear, self.any_polarity, self.covered)

    def _scale(self, templates: FeatureTemplates, level: int) -> float:
        """The scale of the object that templates find at a level, limited to the range."""
        low, high = self.ranges.scale
        return float(np.clip(factor_of(level) / templates.reduction, low, high))

    def __call__(self, scene: ScenePyramid, count: int, tilt: int | None = None) -> Poses:
        """The poses of the best places over all sizes, the best first.

        Arguments:
            scene: the scene to search.
            count: maximum number of poses.
            tilt: index in `ranges.tilts` of the only foreshortening that is searched; None: all.
        """
        looks = [(self._tilted(templates, tilt), level) for templates, level in self.looks]
        found = shared_out(lambda one: look(scene, one[0], one[1], count), looks, scene.threads)
        ratings = np.concatenate([places.ratings for places in found])
        order = np.argsort(-ratings, kind="stable")[:count]
        # Each list is sorted, so its share of the best of all sizes is a prefix: only these become poses.
        own = np.repeat(np.arange(len(found)), [len(places.ratings) for places in found])[order]
        poses = np.empty((len(order), 3, 3))
        for number, (places, one) in enumerate(zip(found, looks, strict=True)):
            chosen = own == number
            poses[chosen] = places.poses(int(chosen.sum()), self._scale(*one))
        return poses

    def _tilted(self, templates: FeatureTemplates, tilt: int | None) -> FeatureTemplates:
        """The templates of one foreshortening; they are consecutive in `PlaneRange.linear`."""
        if tilt is None:
            return templates
        ends = [0, *accumulate(map(len, self.ranges.tilts))]
        turns = len(templates.linear) // ends[-1]
        return templates.only(turns * ends[tilt], turns * ends[tilt + 1])

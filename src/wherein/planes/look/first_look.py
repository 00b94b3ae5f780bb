"""The first look for one motif: places of a scene where it may be, over all sizes, rotations and tilts."""

import math
from functools import cached_property
from itertools import accumulate

import numpy as np
from jaxtyping import Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.planes.look.features import FeatureTemplates, look
from wherein.planes.plane_motif import extent
from wherein.planes.plane_range import PlaneRange
from wherein.planes.rectify import SIZE_STEP, factor_of
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_LOOK_RADIUS = 30.0
"""Extent of the motif in the first look, in pixels. A choice, by measurement with several photographs of
../shared/real/gauge as templates: with 25 px more dials are missed, with 18 px clutter outranks steep
ones."""

TURN_STEP = 12.0
"""Degrees between neighbouring rotations of the first look, at its usual radius. A choice."""

_MAX_STEP_FACTOR = 1.6
"""Rotations are at most so many times further apart for a small motif. A choice."""


class FirstLook:
    """Looks for a flat motif at all places of scenes.

    Arguments:
        motif: at full size.
        ranges: the poses that are searched.
        any_polarity: also with light and dark exchanged.
        covered: as of `PlaneMotif.of`.
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
        """The templates of the first look, and the level of the scene at which each is looked for.

        At every level the motif has the same size, `_LOOK_RADIUS`, so that one set of templates does for all
        larger objects. A scene is not enlarged: for smaller objects the motif is reduced further instead.
        """
        size, (low, high) = extent(self.motif), self.ranges.scale
        usual = max(1.0, size / _LOOK_RADIUS)
        # log of the factor between scene and look, in steps: a scale s is looked for at level s · usual.
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
        """Steps from `first` to `last` at most 1 apart; whole numbers where they are not negative."""
        if last - first < 1e-9:
            # A single size: the nearest level, which is off by half a step at most.
            return [first if first < 0 else float(round(first))]
        return [float(k) for k in range(math.floor(first + 0.5 - 1e-9), math.ceil(last - 0.5 + 1e-9) + 1)]

    def _templates(self, radius: float) -> FeatureTemplates:
        # A smaller motif changes less when it is turned.
        linear = self.ranges.linear(TURN_STEP * min(_LOOK_RADIUS / radius, _MAX_STEP_FACTOR))
        return FeatureTemplates.of(self.motif, radius, linear, self.any_polarity, self.covered)

    def _scale(self, templates: FeatureTemplates, level: int) -> float:
        """The size of the object in a look, or the nearest that is searched for."""
        low, high = self.ranges.scale
        return float(np.clip(factor_of(level) / templates.reduction, low, high))

    def __call__(self, scene: ScenePyramid, count: int, tilt: int | None = None) -> Poses:
        """The best places of the first look, over all sizes.

        Arguments:
            scene: the scene to search.
            count: maximum number of them.
            tilt: only with this foreshortening, a number in `ranges.tilts`; None: with all.
        """
        looks = [(self._tilted(templates, tilt), level) for templates, level in self.looks]
        found = shared_out(lambda one: look(scene, one[0], one[1], count), looks, scene.threads)
        ratings = np.concatenate([places.ratings for places in found])
        order = np.argsort(-ratings, kind="stable")[:count]
        # Poses are made of those alone that are among the best of all sizes: the first of each size.
        own = np.repeat(np.arange(len(found)), [len(places.ratings) for places in found])[order]
        poses = np.empty((len(order), 3, 3))
        for number, (places, one) in enumerate(zip(found, looks, strict=True)):
            chosen = own == number
            poses[chosen] = places.poses(int(chosen.sum()), self._scale(*one))
        return poses

    def _tilted(self, templates: FeatureTemplates, tilt: int | None) -> FeatureTemplates:
        """The templates of one foreshortening, as `PlaneRange.linear` has them in order."""
        if tilt is None:
            return templates
        ends = [0, *accumulate(map(len, self.ranges.tilts))]
        turns = len(templates.linear) // ends[-1]
        return templates.only(turns * ends[tilt], turns * ends[tilt + 1])

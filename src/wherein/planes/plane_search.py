"""The search for a flat motif in a whole scene: a first look at all places, then fits from coarse to fine.

The search narrows down in steps, each slower and more exact than the one before:

1. `FirstLook` rates a discrete set of poses at every place of the scene, by the sum of a few features.
2. `rate_poses` computes the ZNCC of the channels at the thousands of best poses, without moving them.
3. `refine_poses` lets the best few hundred descend on channels of the whole scene.
4. `fit_planes` fits the best 16 at up to four resolutions of the motif, and drops some after each.

In a crowd, that is a scene with several objects of one kind, steps 3 and 4 follow more poses (`look.crowd`).
"""

import math
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.motif import Motif
from wherein.motion.homography import angles
from wherein.planes.look.crowd import crowd_of, least_to_join, third_best
from wherein.planes.look.crowd_floor import NO_FLOOR, CrowdFloor
from wherein.planes.look.first_look import TURN_STEP, FirstLook
from wherein.planes.look.pose_filter import PoseFilter
from wherein.planes.look.slender import best_between, is_slender, steps_between
from wherein.planes.own_resolution import judged
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes, motif_stages
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.plane_range import PlaneRange, distortions
from wherein.planes.rating import rate_poses, refine_poses, similar_turns
from wherein.planes.scene_parts import inside
from wherein.pyramid.levels import Poses, ScenePyramid

_PLACES, _RATED_POINTS = 4000, 64
"""Number of places of the first look that are rated, and number of points of the motif that a rating
compares. Choices: in a busy scene a slender object may be only about the 2000th in the first look, while by
its rating it is among the first."""

_STARTS, _KEPT = (200, 40), (10, 6, 4)
"""Number of poses that are refined: the best by their rating, and the best of the first look; and number of
poses that survive each stage of the fits except the last. Choices: an object whose tilt lies between two
tilts of the first look has a low rating, since a rating does not move the pose."""

REFINE, _FIT, _FOLLOWED = PlaneStage(rounds=1, steps=8, tolerance=0.2), PlaneStage(), 16
"""The stage of the refinement, the stage of a fit, and the number of refined poses that are fitted.
Choices."""

_BRIEFLY = 0.25
"""Share of the usual number of places and poses in a brief search (`PlaneSearch.briefly`). A choice."""

ROUGHLY = PlaneStage(rounds=1, steps=2)
"""The descent by which the places of a look for many motifs are ranked. A choice: a third step ranks them no
better."""

_POINTS = 1000
"""About how many points of the motif are compared in a fit. A choice: enough to tell poses apart. The
reported pose is fitted again later, with more of them."""

_UNSURE, _RESTARTED, _RESTART_STAGE = 0.7, 2, 1
"""If no pose reaches the ZNCC `_UNSURE` in the stage with index `_RESTART_STAGE`, the best `_RESTARTED` poses
are fitted again from distorted starts. Choices: the search finds the place of a tilted object, but its fit
may end in a wrong tilt."""

_RIVAL = 0.8
"""Share of the best ZNCC that a pose with another turn must reach after refinement in order to be fitted. A
choice, below 1 because refinement is approximate."""

_CLIMBS = 0.25
"""A further place of a crowd is refined if its rating is at least this share of the ZNCC that it must have
after refinement. Measured with twelve synthetic crowds and one of LEDs: places that led to further copies had
0.3 to 0.9 of it, and descents from lower ratings never ended at a copy. Where objects are upright and of one
size, this leaves out three of four places."""

_SHARE_SHIFTED, _CLIMBS_SHIFTED, _FIT_SHIFTED = 0.4, 0.6, PlaneStage(rounds=1, steps=6)
"""For objects that are only shifted: share of the usual numbers of places and starts, the value that replaces
`_CLIMBS`, and the only stage of the fits. Choices: of 36 LEDs the last was the 40th by its rating, which was
0.94 of its ZNCC. `_CLIMBS` still holds for poses that the border cuts: if the middle of an object lies
outside the scene, the first look has no place there, and only starts beside it."""

GoesOn = Callable[[PlaneFits, bool], NDArray[np.bool_]]
"""Selects the fits that are followed further, (B,), from the fits of a stage and whether it is the last."""


class PlaneSearch:
    """Finds a flat motif in scenes.

    Arguments:
        motif: at full size.
        ranges: the poses that are searched.
        any_polarity: also find the motif with light and dark exchanged.
        covered: see `PlaneMotif.of`.
        crowd_from: the minimum ZNCC of the third best place, before the fits, for a crowd.
        made_stages: returns the motif of every stage, if the caller needs these too; None: the search makes
            them.
    """

    def __init__(
        self,
        motif: Motif,
        ranges: PlaneRange,
        any_polarity: bool = False,
        covered: Float[Tensor, "h w"] | None = None,
        crowd_from: CrowdFloor = NO_FLOOR,
        made_stages: Callable[[], tuple[PlaneMotif, ...]] | None = None,
    ) -> None:
        self._crowd_from, self._made_stages = crowd_from, made_stages
        self.motif, self.ranges, self.any_polarity, self.covered = motif, ranges, any_polarity, covered
        self.first_look = FirstLook(motif, ranges, any_polarity, covered)
        self.pose_filter, self._middle = PoseFilter(motif, ranges), motif.centre

    @cached_property
    def stages(self) -> tuple[PlaneMotif, ...]:
        """The motif at every resolution, from coarse to fine."""
        if self._made_stages is not None:
            return self._made_stages()
        return motif_stages(self.motif, self.any_polarity, self.covered)

    @cached_property
    def _thinned(self) -> tuple[PlaneMotif, ...]:
        """The motif of each stage of the fits."""
        # Coarse stages correct errors of rotation, tilt and size, which a shifted object does not have.
        stages = self.stages[-1:] if self._only_shifted else self.stages
        return tuple(motif.thinned(_POINTS) for motif in stages)

    @cached_property
    def _only_shifted(self) -> bool:
        """Whether the range allows neither rotation, nor tilt, nor a second size.

        Then the first look compares every place with the only possible pose, up to a fraction of a pixel. So
        an object has a start close to it with a high rating, and fewer starts and a single fit are enough.
        """
        (low, high), ranges = self.ranges.scale, self.ranges
        return low == high and ranges.rotation == 0 and ranges.tilt == 0

    @cached_property
    def _between(self) -> Poses:
        """The poses between those of the first look, relative to these, that are rated too.

        None unless the motif is slender.
        """
        steps = steps_between(self._middle, self.ranges, TURN_STEP)
        return steps if is_slender(self.motif) else steps[:0]

    @cached_property
    def few_points(self) -> PlaneMotif:
        """The motif at the coarsest resolution with few points, for rating places."""
        return self.stages[0].thinned(_RATED_POINTS)

    def __call__(
        self, scene: ScenePyramid, standing_out: float = math.inf, goes_on: GoesOn | None = None
    ) -> list[PlaneFits]:
        """The poses after each stage, the best first.

        Arguments:
            scene: the scene to search.
            standing_out: ZNCC that clutter hardly reaches. If several poses reach it, all that do are
                followed, however many; infinite: the usual number is.
            goes_on: see `followed`.
        """
        return self.followed(scene, self._refined_starts(scene, standing_out), standing_out, goes_on)

    def followed(
        self,
        scene: ScenePyramid,
        found: PlaneFits,
        standing_out: float = math.inf,
        goes_on: GoesOn | None = None,
    ) -> list[PlaneFits]:
        """The poses after each stage of the fits, the best first.

        Arguments:
            scene, standing_out: see `__call__`.
            found: the starts, as returned by `refined`.
            goes_on: selects the fits of a stage that are followed further, possibly none; None: all.
        """
        ended: list[PlaneFits] = []
        # Asked here and after the first fits only: the ZNCC of copies differ more at finer resolutions, and
        # the calibration measures the third best place before the fits.
        standing_out = standing_out if self._may_be_crowd(scene, found) else math.inf
        found = self._followed(found, _FOLLOWED, standing_out)
        for number, (motif, count) in enumerate(zip(self._thinned, self._counts, strict=True)):
            stage = _FIT_SHIFTED if self._only_shifted else _FIT
            fits = fit_planes(scene, motif, self.ranges.motion, stage, found.poses)
            # At the last stage again: what tells the turns of a dial or of a wheel apart may be too small to
            # be seen before, such as the digits beside evenly spaced marks.
            last = len(self._thinned) - 1
            if number in (min(_RESTART_STAGE, last), last):
                fits = fits.joined(self._restarted(scene, motif, fits, number == min(_RESTART_STAGE, last)))
            # What is reported or compared with a threshold needs the ZNCC at the object's own resolution. The
            # other stages only rank poses.
            if count is None or goes_on is not None:
                fits = judged(scene, self._thinned[: number + 1], self.ranges.motion, fits)
            fits = fits if goes_on is None else fits[np.flatnonzero(goes_on(fits, count is None))]
            if not len(fits):  # the result has an item for each stage, whatever happened
                return ended + [fits] * (len(self._thinned) - number)
            if number == 0 and not self._may_be_crowd(scene, fits):
                # Copies fit at least as well as they were refined. The best places of clutter were the best
                # by chance, and mostly fall back when they are compared with a rectified picture.
                standing_out = math.inf
            found = self._followed(fits, count, standing_out)
            ended.append(found)
        return ended

    @property
    def _counts(self) -> tuple[int | None, ...]:
        """How many poses survive each stage; None: all."""
        return *_KEPT[: len(self._thinned) - 1], None

    def _followed(self, fits: PlaneFits, count: int | None, standing_out: float) -> PlaneFits:
        """The best `count` poses; or all that stand out, if these form a crowd and are at least as many."""
        usual, crowd = self.pose_filter.best(fits, count), crowd_of(self.pose_filter, fits, standing_out)
        return usual if crowd is None or len(crowd) < len(usual) else crowd

    def _refined_starts(self, scene: ScenePyramid, standing_out: float) -> PlaneFits:
        """The refined starts: the usual number, and in a crowd more, as long as this adds members to it."""
        poses, rated, first, rest = self._ranked_starts(scene, _SHARE_SHIFTED if self._only_shifted else 1.0)
        found = self.refined(scene, poses[first])
        crowd = crowd_of(self.pose_filter, found, standing_out) if self._may_be_crowd(scene, found) else None
        # A descent climbs from the rating of its start, so a start that rates far too low is not worth it.
        climbs = np.full(len(poses), _CLIMBS)
        if crowd is not None and self._only_shifted:
            climbs[inside(scene, poses, self.pose_filter.corners)] = _CLIMBS_SHIFTED
        while crowd is not None and len(rest):
            least = climbs[rest] * least_to_join(crowd, standing_out)
            rest, known = rest[rated[rest] >= least], len(crowd)
            rest = rest[self.pose_filter.elsewhere(poses[rest], crowd)]
            # As many as have been refined so far, so the number of rounds is logarithmic.
            more = self.refined(scene, poses[rest[: len(found)]])
            rest, found = rest[len(found) :], found.joined(more)
            crowd = crowd_of(self.pose_filter, crowd.joined(more), standing_out)
            if crowd is None or len(crowd) <= known:
                break
        return found if crowd is None else crowd

    def _may_be_crowd(self, scene: ScenePyramid, found: PlaneFits) -> bool:
        """Whether the third best place has a higher ZNCC than clutter reaches in a scene of this size."""
        return third_best(self.pose_filter, found) >= self._crowd_from.at(math.prod(scene.size))

    def third_best(self, scene: ScenePyramid) -> float:
        """The ZNCC at the third best place of a scene before the fits; −1: there are fewer places."""
        return third_best(self.pose_filter, self._refined_starts(scene, math.inf))

    def _restarted(
        self, scene: ScenePyramid, motif: PlaneMotif, fits: PlaneFits, distorted: bool
    ) -> PlaneFits:
        """Further fits of the best poses from other starts.

        The starts are the same poses at the other turns at which the motif looks alike; and, if `distorted`
        is set, no pose has a ZNCC of `_UNSURE` and the motif may be tilted, small distortions of them.
        """
        best = self.pose_filter.best(fits, _RESTARTED)
        starts = self._other_turns(scene, motif, best)
        if distorted and self.ranges.tilt > 0 and best.zncc.max(initial=0.0) < _UNSURE:
            around = distortions((self.motif.width, self.motif.height), self._middle)
            starts = np.concatenate((starts, (best.poses[:, None] @ around).reshape(-1, 3, 3)))
        return fit_planes(scene, motif, self.ranges.motion, _FIT, starts)

    def _other_turns(self, scene: ScenePyramid, motif: PlaneMotif, best: PlaneFits) -> Poses:
        """The poses turned to where the motif looks alike, if they then fit nearly as well or better."""
        turned = (best.poses[:, None] @ self.similar_turns).reshape(-1, 3, 3)
        # Beyond the range by up to a step of the look, since the refined poses still move.
        possible = np.abs(angles(turned, self._middle)) <= self.ranges.rotation + TURN_STEP
        # Refined first, which is fast: most of these turns are worse than the pose itself.
        near = refine_poses(scene, motif.rough, self.ranges.motion, REFINE, turned[np.flatnonzero(possible)])
        rivals = near[np.flatnonzero(near.zncc >= _RIVAL * best.zncc.max(initial=0.0))]
        return self.pose_filter.best(rivals, _RESTARTED).poses

    @cached_property
    def similar_turns(self) -> Poses:
        """The turns about its middle at which the motif looks much like itself, (T, 3, 3)."""
        return similar_turns(self.motif, self.stages[0].rough)

    def briefly(self, scene: ScenePyramid, crowd: int = 1) -> PlaneFits:
        """Likely poses after refinement, without fits, the best first: for one motif among several.

        Arguments:
            scene: the scene to search.
            crowd: factor by which more poses than usual are followed, for scenes with many objects.
        """
        poses, _, first, _ = self._ranked_starts(scene, _BRIEFLY * crowd)
        return self.likely(scene, poses[first], crowd)

    def likely(self, scene: ScenePyramid, poses: Poses, crowd: int = 1) -> PlaneFits:
        """The best of some poses after refinement, the best first; `crowd`: see `briefly`."""
        return self.pose_filter.best(self.refined(scene, poses), _FOLLOWED * crowd)

    def best_starts(self, scene: ScenePyramid) -> Poses:
        """The starts that a search refines: the best places by their rating, and the best of the look."""
        poses, _, first, _ = self._ranked_starts(scene, 1.0)
        return poses[first]

    def _ranked_starts(
        self, scene: ScenePyramid, share: float
    ) -> tuple[Poses, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """The poses of the first look, their ratings, and the indices of those to refine first and later.

        The first indices are sorted; the later ones begin with the best rating, and may repeat some of the
        first.

        Arguments:
            scene: the scene to search.
            share: share of the usual number of places, and of poses to refine first.
        """
        (by_rating, by_look), places = (round(share * n) for n in _STARTS), round(share * _PLACES)
        poses = self.first_look(scene, places)
        rate = partial(rate_poses, scene, self.few_points)
        rated = rate(poses)
        # Not in brief searches: these are for limbs, of which a scene has several, and two found are enough.
        if share >= 1 and len(self._between):
            poses, rated = best_between(poses, rated, rate, self._between)
        order = np.argsort(-rated, kind="stable")
        first = np.unique(np.concatenate((order[:by_rating], np.arange(min(by_look, len(poses))))))
        return poses, rated, first, order[by_rating:]

    def refined(self, scene: ScenePyramid, poses: Poses) -> PlaneFits:
        """The poses after a descent at the coarsest resolution, on channels of the whole scene."""
        return refine_poses(scene, self.stages[0].rough, self.ranges.motion, REFINE, poses)

    def distinct(self, fits: PlaneFits, count: int | None = None) -> NDArray[np.int64]:
        """The indices of distinct poses, the best first; at most `count`, None: all."""
        return self.pose_filter.distinct(fits, count)

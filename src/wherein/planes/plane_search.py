"""The search for a flat motif in a whole scene: a first look at all places, then fits from coarse to fine."""

import math
from collections.abc import Callable
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.motif import Motif
from wherein.motion.homography import angles, local_map, mapped, scales
from wherein.planes.look.crowd_floor import NO_FLOOR, CrowdFloor
from wherein.planes.look.first_look import TURN_STEP, FirstLook
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
"""Number of places of the first look that are rated, and number of points of the motif by which they are.
Choices: in the first look a slender object in a busy scene may be about the 2000th, where by its rating it is
among the first."""

_STARTS, _KEPT = (200, 40), (10, 6, 4)
"""Number of poses that are refined on the channels of the scene: of the best by their rating, and of the best
of the first look; and of poses that go on after each stage but the last. Choices: a tilted object, between
two tilts that are looked for, rates lower than it fits."""

REFINE, _FIT, _FOLLOWED = PlaneStage(rounds=1, steps=8, tolerance=0.2), PlaneStage(), 16
"""All starts are refined on channels that were made once, and so many of them are fitted. Choices."""

_BRIEFLY = 0.25
"""Share of the usual number of places and poses where a motif is only looked for briefly. A choice."""

ROUGHLY = PlaneStage(rounds=1, steps=2)
"""The descent that ranks places of a look for many motifs. A choice: a third step ranks them no better."""

_POINTS = 1000
"""About how many points of the motif are compared in a fit. A choice: enough to tell poses apart; the pose
that is reported is fitted with all of them."""

_UNSURE, _RESTARTED, _RESTART_STAGE = 0.7, 2, 1
"""Where no pose reaches this ZNCC after the stage of this number, so many of the best are fitted again from
distorted starts. Choices: a tilted object is found at its place, and its fit ends in a wrong tilt."""

_RIVAL = 0.8
"""Share of the best ZNCC that another turn must reach when it is refined, to be fitted. A choice: refining is
approximate."""

_BEYOND, _BEYOND_SIZE = 15.0, 1.25
"""Degrees of tilt, and factor of the size, by which a pose may lie out of the range on the way. Choices: the
range of a coarse fit is not that of the exact one."""

_CROWD, _ON_THE_WAY = 3, 0.75
"""Number of poses at different places that make a crowd, and the share of the ZNCC of poses that stand out
that they must have on the way. Choices: coarse fits score lower than those in the end."""

_LIKE_BEST, _LIKE_OTHERS = 0.45, 0.55
"""Share of the best ZNCC that the third best must reach for a crowd, and share of the third best that poses
must reach to be one of it. Choices: things of one kind, such as coins with other faces, are less alike than
copies."""

_CLIMBS = 0.25
"""Share of the ZNCC that a further pose of a crowd must have, which its rating must have before it is
refined. By twelve made-up crowds and one of LEDs: copies that only further places led to had 0.3 to 0.9 of
it, and what descents from lower ratings ended at was no copy. Where things are upright and of one size, three
of four places have less."""

_SHARE_SHIFTED, _CLIMBS_SHIFTED, _FIT_SHIFTED = 0.4, 0.6, PlaneStage(rounds=1, steps=6)
"""Share of the usual numbers of places and starts, `_CLIMBS` and the only fit where objects are upright and
of one size. Choices: of 36 LEDs the last was the 40th by its rating, which was 0.94 of its ZNCC. Those that
the border cuts, with their middle outside, have only starts beside them, and keep to `_CLIMBS`."""

_HOPELESS = 0.4
"""Poses with a ZNCC below this fraction of the best are dropped, unless there is a crowd. A choice: where the
best is an object in plain view, the others are clutter; beside a poor one, all go on."""

_SAME_PLACE = 0.08
"""Poses whose corners are all closer than this fraction of the object's size are the same. A choice."""

_SAME_MIDDLE, _WORSE = 0.15, 0.8
"""A pose is another fit of the same object if its middle is closer to that of a better pose than this
fraction of the object's size, and its ZNCC below this share. Choices: fits that got stuck in another tilt or
size lie within the object, and are far worse."""


GoesOn = Callable[[PlaneFits, bool], NDArray[np.bool_]]
"""Which of some fits are followed any further, (B,), and whether they are those of the last stage."""


class PlaneSearch:
    """Finds a flat motif in scenes.

    Arguments:
        motif: at full size.
        ranges: the poses that are searched.
        any_polarity: also with light and dark exchanged.
        covered: as of `PlaneMotif.of`.
        crowd_from: ZNCC of the third best place before the fits from which there may be a crowd.
        made_stages: gives the motif of every stage, where it is made for other purposes as well; None: the
            search makes its own.
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
        self._middle, right, bottom = motif.centre, motif.width - 1, motif.height - 1
        self._corners = np.array(((0, 0), (right, 0), (right, bottom), (0, bottom)), dtype=np.float64)

    @cached_property
    def stages(self) -> tuple[PlaneMotif, ...]:
        """The motif from coarse to fine."""
        if self._made_stages is not None:
            return self._made_stages()
        return motif_stages(self.motif, self.any_polarity, self.covered)

    @cached_property
    def _thinned(self) -> tuple[PlaneMotif, ...]:
        """The motif of every stage of a search."""
        # Coarser stages bring what is turned, tilted or of another size close enough for the last one.
        stages = self.stages[-1:] if self._only_shifted else self.stages
        return tuple(motif.thinned(_POINTS) for motif in stages)

    @cached_property
    def _only_shifted(self) -> bool:
        """Whether objects are nowhere turned, tilted or of another size: the first look then compares each
        place with what may be there, so that what is there has a start close to it, which is rated high."""
        (low, high), ranges = self.ranges.scale, self.ranges
        return low == high and ranges.rotation == 0 and ranges.tilt == 0

    @cached_property
    def _between(self) -> Poses:
        """The steps between poses of the first look that are rated too: none unless the motif is slender."""
        steps = steps_between(self._middle, self.ranges, TURN_STEP)
        return steps if is_slender(self.motif) else steps[:0]

    @cached_property
    def few_points(self) -> PlaneMotif:
        """The motif at its coarsest, by which all places are rated."""
        return self.stages[0].thinned(_RATED_POINTS)

    def __call__(
        self, scene: ScenePyramid, standing_out: float = math.inf, goes_on: GoesOn | None = None
    ) -> list[PlaneFits]:
        """The poses after every stage, the best first.

        Arguments:
            scene: the scene to search.
            standing_out: ZNCC that clutter hardly reaches. Where several poses reach it, all that do are
                followed, however many.
            goes_on: as of `followed`.
        """
        return self.followed(scene, self._refined_starts(scene, standing_out), standing_out, goes_on)

    def followed(
        self,
        scene: ScenePyramid,
        found: PlaneFits,
        standing_out: float = math.inf,
        goes_on: GoesOn | None = None,
    ) -> list[PlaneFits]:
        """The poses after every stage, the best first, from those of `refined`.

        Arguments:
            scene, standing_out: as of the search.
            found: where to start.
            goes_on: which fits of a stage are followed any further, maybe none; None: all.
        """
        ended: list[PlaneFits] = []
        # Not after the first fits: at the end they differ more from each other than at the coarsest.
        standing_out = standing_out if self._may_be_crowd(scene, found) else math.inf
        found = self._followed(found, _FOLLOWED, standing_out)
        for number, (motif, count) in enumerate(zip(self._thinned, self._counts, strict=True)):
            stage = _FIT_SHIFTED if self._only_shifted else _FIT
            fits = fit_planes(scene, motif, self.ranges.motion, stage, found.poses)
            if count is None or goes_on is not None:
                fits = judged(scene, self._thinned[: number + 1], self.ranges.motion, fits)
            fits = fits if goes_on is None else fits[np.flatnonzero(goes_on(fits, count is None))]
            if not len(fits):
                return ended + [fits] * (len(self._thinned) - number)
            if number == 0 and not self._may_be_crowd(scene, fits):
                # Copies fit at least as well as they were refined. Of clutter the best were, by chance.
                standing_out = math.inf
            if number == min(_RESTART_STAGE, len(self._thinned) - 1):
                fits = fits.joined(self._restarted(scene, motif, fits))
            found = self._followed(fits, count, standing_out)
            ended.append(found)
        return ended

    @property
    def _counts(self) -> tuple[int | None, ...]:
        """How many poses go on after each stage; None: all."""
        return *_KEPT[: len(self._thinned) - 1], None

    def _followed(self, fits: PlaneFits, count: int | None, standing_out: float) -> PlaneFits:
        """The best `count` poses, or all that stand out, if they are a crowd and more."""
        usual, crowd = self._hopeful(fits, count), self._crowd(fits, standing_out)
        return usual if crowd is None or len(crowd) < len(usual) else crowd

    def _crowd(self, fits: PlaneFits, standing_out: float) -> PlaneFits | None:
        """The poses that stand out, the best first, if there are several; else None."""
        clear = fits[np.flatnonzero(fits.zncc >= _ON_THE_WAY * standing_out)]
        clear = clear[np.flatnonzero(self._in_reach(clear.poses))]
        if len(clear) < _CROWD:
            return None
        best = clear[self.distinct(clear, _CROWD, 1.0)]
        # One of them may be the template itself, and the others less like it.
        if len(best) < _CROWD or best.zncc[-1] < _LIKE_BEST * best.zncc[0]:
            return None
        clear = clear[np.flatnonzero(clear.zncc >= _LIKE_OTHERS * best.zncc[-1])]
        return clear[self.distinct(clear, None, _WORSE)]

    def _refined_starts(self, scene: ScenePyramid, standing_out: float) -> PlaneFits:
        """The starts, refined: the usual number, and in a crowd more, as long as others stand out."""
        poses, rated, first, rest = self._ranked_starts(scene, _SHARE_SHIFTED if self._only_shifted else 1.0)
        found = self.refined(scene, poses[first])
        crowd = self._crowd(found, standing_out) if self._may_be_crowd(scene, found) else None
        climbs = np.full(len(poses), _CLIMBS)
        if crowd is not None and self._only_shifted:
            climbs[inside(scene, poses, self._corners)] = _CLIMBS_SHIFTED
        while crowd is not None and len(rest):
            least = max(_ON_THE_WAY * standing_out, _LIKE_OTHERS * crowd.zncc[_CROWD - 1])
            rest, known = rest[rated[rest] >= climbs[rest] * least], len(crowd)
            rest = rest[self._elsewhere(poses[rest], crowd)]
            more = self.refined(scene, poses[rest[: len(found)]])
            rest, found = rest[len(found) :], found.joined(more)
            crowd = self._crowd(crowd.joined(more), standing_out)
            if crowd is None or len(crowd) <= known:
                break
        return found if crowd is None else crowd

    def _may_be_crowd(self, scene: ScenePyramid, found: PlaneFits) -> bool:
        """Whether more places stand out before the fits than those of clutter would."""
        return self._third_best(found) >= self._crowd_from.at(math.prod(scene.size))

    def third_best(self, scene: ScenePyramid) -> float:
        """The ZNCC of the third best place of a scene before the fits; −1: there are fewer."""
        return self._third_best(self._refined_starts(scene, math.inf))

    def _third_best(self, found: PlaneFits) -> float:
        found = found[np.flatnonzero(self._in_reach(found.poses))]
        best = self.distinct(found, _CROWD, 1.0)
        return float(found.zncc[best[-1]]) if len(best) == _CROWD else -1.0

    def _elsewhere(self, poses: Poses, found: PlaneFits) -> NDArray[np.bool_]:
        """Which poses have their middle at none of those that were found, (B,)."""
        middles, others = (mapped(some, [self._middle])[:, 0] for some in (poses, found.poses))
        sizes = scales(found.poses, self._middle) * math.hypot(self.motif.width, self.motif.height)
        off = np.linalg.norm(middles[:, None] - others, axis=2)
        return np.asarray((off >= _SAME_MIDDLE * sizes).all(1))

    def _restarted(self, scene: ScenePyramid, motif: PlaneMotif, fits: PlaneFits) -> PlaneFits:
        """Fits of the best poses from other turns that look alike, and if none is sure from distorted
        starts."""
        best = self._hopeful(fits, _RESTARTED)
        turned = (best.poses[:, None] @ self.similar_turns).reshape(-1, 3, 3)
        possible = np.abs(angles(turned, self._middle)) <= self.ranges.rotation + TURN_STEP
        near = refine_poses(scene, motif.rough, self.ranges.motion, REFINE, turned[np.flatnonzero(possible)])
        rivals = near[np.flatnonzero(near.zncc >= _RIVAL * best.zncc.max(initial=0.0))]
        starts = self._hopeful(rivals, _RESTARTED).poses
        if self.ranges.tilt > 0 and best.zncc.max(initial=0.0) < _UNSURE:
            around = distortions((self.motif.width, self.motif.height), self._middle)
            distorted = (best.poses[:, None] @ around).reshape(-1, 3, 3)
            starts = np.concatenate((starts, distorted))
        return fit_planes(scene, motif, self.ranges.motion, _FIT, starts)

    @cached_property
    def similar_turns(self) -> Poses:
        """Turns of the motif about its middle after which it looks much like itself, (T, 3, 3)."""
        return similar_turns(self.motif, self.stages[0].rough)

    def briefly(self, scene: ScenePyramid, crowd: int = 1) -> PlaneFits:
        """Likely poses without any fit, the best first: for motifs that are one of several to be found.

        Arguments:
            scene: the scene to search.
            crowd: factor by which more poses than usual are followed, for scenes with many objects.
        """
        poses, _, first, _ = self._ranked_starts(scene, _BRIEFLY * crowd)
        return self.likely(scene, poses[first], crowd)

    def likely(self, scene: ScenePyramid, poses: Poses, crowd: int = 1) -> PlaneFits:
        """The likely ones of some poses, refined but not fitted, the best first; `crowd` as of `briefly`."""
        return self._hopeful(self.refined(scene, poses), _FOLLOWED * crowd)

    def best_starts(self, scene: ScenePyramid) -> Poses:
        """The poses that are refined: the best of the first look, and of its places by their rating."""
        poses, _, first, _ = self._ranked_starts(scene, 1.0)
        return poses[first]

    def _ranked_starts(
        self, scene: ScenePyramid, share: float
    ) -> tuple[Poses, NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Places of the first look, their ratings, the indices of the best of them, and those of the others,
        the best first.

        Arguments:
            scene: the scene to search.
            share: of the usual number of places, and of the best.
        """
        (by_rating, by_look), places = (round(share * n) for n in _STARTS), round(share * _PLACES)
        poses = self.first_look(scene, places)
        rate = partial(rate_poses, scene, self.few_points)
        rated = rate(poses)
        # Not where it is only looked for briefly: limbs are, several in a scene, and two of them are enough.
        if share >= 1 and len(self._between):
            poses, rated = best_between(poses, rated, rate, self._between)
        order = np.argsort(-rated, kind="stable")
        first = np.unique(np.concatenate((order[:by_rating], np.arange(min(by_look, len(poses))))))
        return poses, rated, first, order[by_rating:]

    def refined(self, scene: ScenePyramid, poses: Poses) -> PlaneFits:
        """The poses after a descent on channels of the whole scene, at the coarsest resolution."""
        return refine_poses(scene, self.stages[0].rough, self.ranges.motion, REFINE, poses)

    def _hopeful(self, fits: PlaneFits, count: int | None, least: float = _HOPELESS) -> PlaneFits:
        """The best `count` poses that differ, None: all, without those that are far worse than the best, by
        the fraction `least`, far out of the range, or worse fits of the same object."""
        likely = self._in_reach(fits.poses) & (fits.zncc >= least * fits.zncc.max(initial=0.0))
        fits = fits[np.flatnonzero(likely)]
        return fits[self.distinct(fits, count, _WORSE)]

    def _in_reach(self, poses: Poses) -> NDArray[np.bool_]:
        """Whether the size and tilt of each pose are in the range, or little beyond it, (B,)."""
        # Clutter fits best where it may be distorted most. Such poses would take the places of others.
        values = np.linalg.svd(np.nan_to_num(local_map(poses, self._middle)), compute_uv=False)
        (low, high), least = self.ranges.scale, math.cos(math.radians(min(85.0, self.ranges.tilt + _BEYOND)))
        fits = (values[:, 0] > low / _BEYOND_SIZE) & (values[:, 1] < high * _BEYOND_SIZE)
        return np.asarray(fits & (values[:, 1] >= least * values[:, 0]))

    def distinct(self, fits: PlaneFits, count: int | None = None, worse: float = 0.0) -> NDArray[np.int64]:
        """The indices of poses that differ, the best first; poses without a fit are left out.

        Arguments:
            fits: the poses.
            count: maximum number of them; None: all.
            worse: a pose with less than this share of the ZNCC of a better one is left out too if it has the
                same middle: it is a worse fit of the same object.
        """
        ends = mapped(fits.poses, self._corners)
        possible = (fits.zncc > -1) & np.isfinite(ends).all((1, 2))
        middles, sizes = ends.mean(1), np.linalg.norm(ends[:, 0] - ends[:, 2], axis=1)
        order, kept = np.argsort(-fits.zncc, kind="stable"), list[int]()
        order = order[possible[order]]
        while len(order) and len(kept) != count:
            best = order[0]
            kept.append(int(best))
            same = np.abs(ends[order] - ends[best]).max((1, 2)) <= _SAME_PLACE * sizes[order]
            near = np.abs(middles[order] - middles[best]).max(1) < _SAME_MIDDLE * sizes[best]
            order = order[~(same | (near & (fits.zncc[order] < worse * fits.zncc[best])))]
        return np.array(kept, dtype=np.int64)

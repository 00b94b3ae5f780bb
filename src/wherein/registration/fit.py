"""The fit from a start to the best pose: coarse to fine, then from more starts until the fit is good."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wherein.pyramid.descent import Stage, solve_stage
from wherein.pyramid.levels import Poses
from wherein.pyramid.motif_levels import Level
from wherein.registration.channel_search import MIN_SCALE
from wherein.registration.plan import Plan
from wherein.registration.problem import Problem
from wherein.registration.starts import anywhere, around
from wherein.registration.whole_scene import Found, WholeScene
from wherein.solve.solution import Status

_GOOD = 0.05
"""A fit with a cost, 1 − ZNCC, below this is accepted without trying other starts. A choice: a higher value
accepts wrong poses, a lower one causes useless searches in noisy scenes."""

_HOPELESS = 0.5
"""A start with a cost above this after its coarsest stage is not refined at finer ones. A choice: in the
motif's basin, noise and different light cost less at that scale."""

_PROMISING = 0.2
"""A fit with a lower cost at a coarse scale continues at the finest. A choice: mostly it is good then."""

_FAIR = 0.1
"""A fit with a cost below this after all searches is accepted without a search by channels. A choice: noise
alone costs this much in ordinary pictures, and clutter does not fit so well."""

_PROBES = 3
"""Number of directions that `Descent.probe` tries, each both ways: an affine motion has three besides shift
and rotation, one of scale and two of proportions."""

_DROPS = (0.25, 0.8, 1.6)
"""The lengths of these probes: each ends where the quadratic model predicts that 1 − ZNCC² has risen by this
much. A choice: from close by to beyond the basin, where the model is no longer valid."""

_BEFORE_CHANNELS = 1
"""Number of searches on colours before the search by channels. A choice: the first, at the coarsest scale,
takes a few milliseconds and finds nearly all motifs that were painted into a scene."""

_ON_COLOURS = Stage(1, 10, pixels=20000, tolerance=1e-3)
"""The last refinement of a pose that channels found. A choice: short, because in different light a pose does
not become more accurate than a hundredth of a pixel."""


@dataclass(frozen=True)
class Candidates:
    """Poses at full size, the best first, with the cost, the number of steps and the status of each.

    The costs are those of the last stage that the poses went through. Costs of different stages must not be
    compared, since these use different pixels and scales: see `Descent.best_of`.

    `refined` says whether the poses were refined on colours. It is False if the refinement led away from the
    pose that channels or cells found, and was discarded.
    """

    poses: Poses
    costs: NDArray[np.float32]
    steps: NDArray[np.int64]
    statuses: tuple[Status, ...]
    refined: bool = True

    @staticmethod
    def at(poses: Poses, steps: int | NDArray[np.int64] = 0) -> "Candidates":
        """Poses with unknown costs, and the number of steps that led to them."""
        unknown = np.full(len(poses), np.inf, dtype=np.float32)  # infinite, so that they are never `good`
        taken = np.zeros(len(poses), dtype=np.int64) + steps
        return Candidates(poses, unknown, taken, (Status.STEP_LIMIT,) * len(poses))

    @property
    def good(self) -> bool:
        """Whether the best fit is so good that no other start needs to be tried."""
        return bool(self.costs[0] < _GOOD)


class Descent:
    """Runs candidates through the stages of a coarse-to-fine fit.

    Attributes:
        tally: the work so far, counted as in the paper: one evaluation of a pose is an interpolation of the
            scene and a product with J, each times the fraction of the motif's pixels that is compared.
    """

    def __init__(self, problem: Problem, robust: bool) -> None:
        self.problem, self.robust, self.tally = problem, robust, problem.tally

    def __call__(self, stages: tuple[Stage, ...], found: Candidates) -> Candidates:
        """The candidates after all the stages, one after the other."""
        for stage in stages:
            found = self._through(stage, found)
        return found

    def refined(self, stages: tuple[Stage, ...], found: Candidates) -> Candidates:
        """The candidates after all the stages, or after the last one alone if that leads to a good fit.

        A fit that is fair at a coarse scale is mostly close enough for the finest. If it is not, all stages
        are run.
        """
        if found.costs[0] < _PROMISING and len(stages) > 1:
            best = self._through(stages[-1], found)
            if best.good:
                return best
        return self(stages, found)

    def _through(self, stage: Stage, found: Candidates) -> Candidates:
        """The best `stage.keep` of the candidates after a stage."""
        level = self.problem.level(stage, found.poses, self.robust)
        poses, ended = solve_stage(level, stage, found.poses)
        self._count(level, int(ended.evaluations.sum()))
        costs = ended.cost.cpu().numpy()
        # Stable, so that the first of equally good poses is kept, for any size of the batch.
        order = costs.argsort(kind="stable")[: stage.keep]
        statuses = tuple(ended.status[index] for index in order)
        steps = found.steps + ended.steps.cpu().numpy()
        return Candidates(poses[order], costs[order], steps[order], statuses)

    def best_of(self, stage: Stage, *contenders: Candidates) -> Candidates:
        """The best of all contenders, each evaluated again in the same stage, without a step."""
        poses = np.concatenate([each.poses for each in contenders])
        steps = np.concatenate([each.steps for each in contenders])
        return self._through(replace(stage, steps=0, keep=1), Candidates.at(poses, steps))

    def probe(self, stage: Stage, found: Candidates) -> Candidates:
        """The best of the candidates and of refined neighbours of the first in the least certain directions.

        Position and rotation are well determined at every scale. Size and proportions are not always, and
        the pose can then be in the wrong basin of the next scale.
        """
        # For a motion without scale, the weakest directions are shifts and rotations, which are certain.
        if found.good or not self.problem.motion.scales:
            return found
        level = self.problem.level(stage, found.poses, self.robust)
        at = level.enter(found.poses[:1])
        near = np.concatenate([level.leave(level.objective.probes(at, _PROBES, drop)) for drop in _DROPS])
        return self.best_of(stage, found, self._through(stage, Candidates.at(near, found.steps[:1])))

    def zncc(self, poses: Poses) -> float:
        """ZNCC of the first pose, without robust weights; −∞ if it is not defined."""
        return 1 - float(self._scored(poses[:1], robust=False))

    def evaluated(self, found: Candidates) -> Candidates:
        """The first candidate with its cost at full size."""
        costs = np.array((self._scored(found.poses[:1], self.robust),), dtype=np.float32)
        return Candidates(found.poses[:1], costs, found.steps[:1], found.statuses[:1])

    def _scored(self, pose: Poses, robust: bool) -> float:
        level = self.problem.scoring_level(pose, robust)
        self._count(level, evaluations=1)
        return float(solve_stage(level, Stage(1, 0), pose)[1].cost)

    def _count(self, level: Level, evaluations: int) -> None:
        # The compared fraction of the motif's pixels, for each evaluation.
        share = evaluations * len(level.side.points) / self.problem.motif.support
        self.tally.interpolations += share
        self.tally.convolutions += share


def fit(
    descend: Descent, start: Poses, plan: Plan, everywhere: bool, whole: WholeScene | None = None
) -> Candidates:
    """The best pose from the start and, until a fit is good, from one search after the other.

    A start close to the motif mostly leads directly to it, and then no search is run.

    Arguments:
        descend: runs candidates through stages.
        start: the first pose, (3, 3).
        plan: the stages and the searches.
        everywhere: whether the searches try every position and rotation instead of those near the start only.
        whole: the searches by cells and channels, if the caller gave no start.
    """
    first, problem = Candidates.at(start[None]), descend.problem
    best = descend(plan.alone[:1], first)
    if best.costs[0] < _HOPELESS:
        best = descend.refined(plan.alone[1:], best)
        # If the channels are searched next, they determine size and proportions better.
        if not best.good and not (whole is not None and whole.large):
            best = descend.probe(plan.comparison, best)
    ruled_out = False
    for number, search in enumerate(plan.searches_for(problem.motion, everywhere)):
        if best.good:
            break
        if whole is not None and number == (0 if whole.large else _BEFORE_CHANNELS):
            if whole.clear:
                return _refined(descend, whole, plan, whole.clear)
            # Robust weights can still fit the colours of the visible part of an occluded motif.
            ruled_out = whole.rich and not descend.robust
        # The channels did not find a motif that is rich in texture. So it has deformed, is occluded, is not
        # there, or has a size outside of their range: only searches at such a size may still succeed.
        if ruled_out and search.size >= MIN_SCALE:
            continue
        if search.anywhere:
            starts = anywhere(problem, search.thin[0].scale)
        else:
            starts = start @ around(problem.motion, problem.motif.motif, search, everywhere)
        if not len(starts):  # ZNCC has no positive maximum anywhere
            continue
        found = descend.refined(search.refine, descend(search.thin_for(len(starts)), Candidates.at(starts)))
        found = descend.probe(plan.comparison, found)
        best = found if found.good else descend.best_of(plan.comparison, best, found)
    ended = _finished(descend, plan, first, best, everywhere)
    if whole is None or ended.costs[0] < _FAIR:
        return ended
    winner = whole.best(ended.poses)
    return ended if np.array_equal(winner.pose, ended.poses) else _refined(descend, whole, plan, winner)


def _finished(
    descend: Descent, plan: Plan, first: Candidates, best: Candidates, everywhere: bool
) -> Candidates:
    """The best candidate, refined at full size."""
    strongest, every = plan.finish
    # The start competes again: it may have been right, but lost at coarse scales, for instance because the
    # motif's texture is visible at full size only.
    if not best.good:
        best = descend.best_of(strongest, descend((strongest,), best), descend((strongest,), first))
    best = descend((every,), best)
    if not everywhere and descend((replace(every, steps=0),), first).costs[0] < best.costs[0]:
        best = descend((every,), first)
    # For a large motif only the pixels with the strongest gradient were compared; their ZNCC differs from
    # that of the whole motif.
    return best if descend.problem.motif.support <= every.pixels else descend.evaluated(best)


def _refined(descend: Descent, whole: WholeScene, plan: Plan, found: Found) -> Candidates:
    """A pose that channels or cells found, refined on colours at full size unless that leads away from it."""
    # Cells determine a place to a few pixels only, so it is refined from coarse to fine like any start.
    stages = (_ON_COLOURS,) if found.sure else (*plan.alone, plan.finish[0], _ON_COLOURS)
    refined = descend(stages, Candidates.at(found.pose))
    if refined.good or whole.as_good(refined.poses, found, 1 - float(refined.costs[0])):
        return descend.evaluated(refined)
    # The refinement is discarded, so no step was taken on colours; but the fit by channels has converged.
    ended = descend.evaluated(Candidates.at(found.pose))
    return replace(ended, statuses=(Status.CONVERGED,), refined=False)

"""From a start to the best pose: down the scales, and from more poses as long as the fit is not good."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wherein.pyramid.descent import Stage, solve_stage
from wherein.pyramid.levels import Level, Poses
from wherein.registration.plan import Plan
from wherein.registration.problem import Problem
from wherein.registration.starts import anywhere, around
from wherein.solve.solution import Status

_GOOD = 0.05
"""A cost, 1 − ZNCC, below which a fit is taken for right without trying others."""

_PROBES, _DROPS = 3, (0.25, 0.8, 1.6)
"""Along how many directions to probe, and how far: to where 1 − ZNCC² should have risen by that much."""


@dataclass(frozen=True)
class Candidates:
    """Poses at full size, the best first, each with its cost, the steps it took and how it ended.

    The costs are those of the stage they went through last, and compare only among themselves.
    """

    poses: Poses
    costs: NDArray[np.float32]
    steps: NDArray[np.int64]
    statuses: tuple[Status, ...]

    @staticmethod
    def at(poses: Poses, steps: int | NDArray[np.int64] = 0) -> "Candidates":
        """Poses of which nothing is known but the steps they took to get there."""
        unknown = np.full(len(poses), np.inf, dtype=np.float32)
        taken = np.zeros(len(poses), dtype=np.int64) + steps
        return Candidates(poses, unknown, taken, (Status.STEP_LIMIT,) * len(poses))

    @property
    def good(self) -> bool:
        """So good a fit that no other pose need be tried."""
        return bool(self.costs[0] < _GOOD)


class Descent:
    """Runs candidates through the stages of a coarse-to-fine fit.

    Attributes:
        tally: what that took so far, as the paper counts: a look at a pose is an interpolation of the scene
            and a product with J, each of the share of the motif's pixels that is looked at.
    """

    def __init__(self, problem: Problem, robust: bool) -> None:
        self.problem, self.robust, self.tally = problem, robust, problem.tally

    def __call__(self, stages: tuple[Stage, ...], found: Candidates) -> Candidates:
        """Through one stage after the other."""
        for stage in stages:
            found = self._through(stage, found)
        return found

    def _through(self, stage: Stage, found: Candidates) -> Candidates:
        level = self.problem.level(stage, found.poses, self.robust)
        poses, ended = solve_stage(level, stage, found.poses)
        self._count(level, int(ended.looks.sum()))
        costs = ended.cost.cpu().numpy()
        order = costs.argsort(kind="stable")[: stage.keep]
        statuses = tuple(ended.status[index] for index in order)
        steps = found.steps + ended.steps.cpu().numpy()
        return Candidates(poses[order], costs[order], steps[order], statuses)

    def best_of(self, stage: Stage, *contenders: Candidates) -> Candidates:
        """The best of all, each looked at in the same stage: other scales and pixels have other costs."""
        poses = np.concatenate([each.poses for each in contenders])
        steps = np.concatenate([each.steps for each in contenders])
        return self._through(replace(stage, steps=0, keep=1), Candidates.at(poses, steps))

    def probe(self, stage: Stage, found: Candidates) -> Candidates:
        """Once more from neighbours of the best pose, in the directions in which it is least certain.

        Shifts and turns are certain at every scale of the picture; sizes and proportions need not be.
        """
        if found.good or not self.problem.motion.scales:
            return found
        level = self.problem.level(stage, found.poses, self.robust)
        at = level.enter(found.poses[:1])
        near = np.concatenate([level.leave(level.objective.probes(at, _PROBES, drop)) for drop in _DROPS])
        return self.best_of(stage, found, self._through(stage, Candidates.at(near, found.steps[:1])))

    def zncc(self, poses: Poses) -> float:
        """Of the first pose, every pixel trusted alike; −∞ where it cannot be said."""
        level = self.problem.scoring_level(poses[:1])
        self._count(level, looks=1)
        return 1 - float(solve_stage(level, Stage(1, 0), poses[:1])[1].cost)

    def _count(self, level: Level, looks: int) -> None:
        share = looks * len(level.objective.points) / self.problem.motif.support
        self.tally.interpolations += share
        self.tally.convolutions += share


def fit(descend: Descent, start: Poses, plan: Plan, everywhere: bool) -> Candidates:
    """From the start alone and, as long as the fit is not good, from more poses, to the best that is found.

    Where the start leads straight to the motif, as it mostly does when it is close, nothing else is paid for.

    Arguments:
        descend: how candidates go through a stage.
        start: the pose to begin with, (3, 3).
        plan: the stages and the searches.
        everywhere: whether the searches try every place and rotation.
    """
    first = Candidates.at(start[None])
    best = descend.probe(plan.judge, descend(plan.alone, first))
    problem = descend.problem
    for search in plan.searches_for(problem.motion, everywhere):
        if best.good:
            break
        if search.anywhere:
            starts = anywhere(problem, search.thin[0].scale)
        else:
            starts = start @ around(problem.motion, problem.motif.motif, search, everywhere)
        if not len(starts):
            continue
        found = descend(search.thin + search.refine, Candidates.at(starts))
        best = descend.best_of(plan.judge, best, descend.probe(plan.judge, found))
    strongest, every = plan.finish
    best = descend((strongest,), best)
    # A start that was right already, or whose texture only full size shows, must not be lost on the way.
    if not best.good or descend((replace(strongest, steps=0),), first).costs[0] < best.costs[0]:
        best = descend.best_of(strongest, best, descend((strongest,), first))
    return descend((every,), best)

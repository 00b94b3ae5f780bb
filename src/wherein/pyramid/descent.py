"""The optimisation of many poses at one scale, which `register` and the detector repeat from coarse to fine.

The method is damped Gauss–Newton on the fast objective (ZNCC): in C if that is possible, else by
`gauss_newton` in torch, with the same result.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wherein.formulations import correlation
from wherein.formulations import robust as robust_loss
from wherein.formulations.correlation import CorrelationObjective
from wherein.formulations.motif_side import MOTION_KINDS
from wherein.formulations.objective import Variables
from wherein.motion.models import Motion
from wherein.native import abi, correlation_calls, kernel, structs
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.pyramid.motif_levels import Level, MotifPyramid
from wherein.solve.gauss_newton import Damping, gauss_newton
from wherein.solve.solution import Solution, Status, statuses

MAX_PIXELS = 2**18
"""Maximum number of motif pixels that are compared: those with the strongest gradient. A choice: more pixels
do not make a pose more accurate, but take more time and memory."""


_STATUSES = tuple(Status[name] for name in abi.STATUSES)
"""The status for each of C's numbers, matched by name. A tuple, because Status(number) takes ten times as
long, and a scene has thousands of poses."""


@dataclass(frozen=True)
class Stage:
    """One stage of a coarse-to-fine fit.

    Arguments:
        scale: the motif is reduced by this factor; 1 is full size.
        steps: maximum number of Gauss–Newton steps; 0 evaluates the cost only.
        keep: maximum number of poses that are kept for the next stage.
        pixels: maximum number of motif pixels that are compared.
        tolerance: a pose has converged when a step moves it by less than this, in pixels of the stage.
        finer: reduce the scene by a factor that is this many times smaller than the motif's, for a motif that
            is smaller in the scene.
    """

    scale: int
    steps: int
    keep: int = 1
    pixels: int = MAX_PIXELS
    tolerance: float = 1e-2
    finer: int = 1

    @property
    def scene_scale(self) -> int:
        """The factor by which the scene is reduced."""
        return max(self.scale // self.finer, 1)

    @property
    def damping(self) -> Damping:
        """The initial damping; lower at full size, where the pose is nearly right and long steps are safe."""
        return Damping(1e-3 if self.scale == 1 else 1e-2)


def align(
    level: Level, start: Variables, steps: int, damping: Damping = Damping(), tolerance: float = 1e-3
) -> Solution:
    """The result of `gauss_newton` for ZNCC.

    Arguments:
        level: a scene and a motif at one scale.
        start, damping, tolerance: see `gauss_newton`.
        steps: maximum number of steps; 0 only evaluates the cost.

    Raises:
        ArgumentError: scene and motif have different numbers of channels, or the motif was linearised for
            another motion.
    """
    if _in_c(level, start, damping):
        return _align_in_c([level], start, steps, damping, tolerance)
    objective = level.objective
    if steps:
        return gauss_newton(objective, start, steps, damping, tolerance)
    here = objective.linearise(start)
    none = torch.zeros_like(here.cost, dtype=torch.int64)
    return Solution(start, here.cost, statuses(objective, start, here, converged=none.bool()), none, none + 1)


def _in_c(level: Level, start: Variables, damping: Damping) -> bool:
    """Whether C can solve this problem: it has the motion and accepts the tensors."""
    side, channels = level.side, len(level.scene)
    return (
        type(level.motion) in MOTION_KINDS
        # A damping that is a tensor is learned, and C has no gradients.
        and not isinstance(damping.start, Tensor)
        # C does not check sizes. If they disagree, the torch objective raises the error.
        and channels == side.known.shape[1] <= abi.MAX_CHANNELS
        and len(side.unit) == level.motion.size
        and kernel.accepts(level.scene, side.known, side.radius, start.pose)
    )


def _align_in_c(
    levels: Sequence[Level], start: Variables, steps: int, damping: Damping, tolerance: float
) -> Solution:
    """Of poses at one level, or each at its own: these differ in their scenes alone."""
    level, side = levels[0], levels[0].side
    pose, cost, taken, evaluations, numbers = correlation_calls.align(
        [level.scene for level in levels],
        side.points,
        side.known,
        side.unit,
        side.radius,
        MOTION_KINDS[type(level.motion)],
        start.pose,
        _rules(level.robust, steps, damping, tolerance),
    )
    status = tuple(_STATUSES[number] for number in numbers.tolist())
    return Solution(Variables(pose), cost, status, taken, evaluations)


def _rules(robust: bool, steps: int, damping: Damping, tolerance: float) -> structs.SolverRules:
    """The constants of the solver and the objective for C, so that each number is written once."""
    return structs.SolverRules(
        damping=float(damping.start),
        ease=damping.ease,
        tighten=damping.tighten,
        tolerance=tolerance,
        slack=CorrelationObjective.slack,
        noise=correlation.ROUNDING * torch.finfo(torch.float32).eps,
        min_visible=correlation.MIN_VISIBLE,
        edge=correlation.EDGE,
        max_step=correlation.LONGEST_STEP,
        min_variance=correlation.LEAST_VARIANCE,
        occluded=correlation.ROBUST.hidden if robust else 0.0,
        min_scale=robust_loss.LEAST,
        min_gain=correlation.LEAST_GAIN,
        rounds=correlation.ROUNDS,
        max_steps=steps,
    )


def solve_stage(level: Level, stage: Stage, poses: Poses) -> tuple[Poses, Solution]:
    """The full-size poses after a stage, in the given order, and the solver's result."""
    ended = align(level, level.enter(poses), stage.steps, stage.damping, stage.tolerance)
    return level.leave(ended.variables), ended


def solve_each(levels: Sequence[Level], stage: Stage, poses: Poses) -> tuple[Poses, NDArray[np.float64]]:
    """The full-size poses after a stage, and their costs: each at a level of its own.

    Arguments:
        levels: parts of one scene with one motif, all reduced as much, as many as poses.
        stage: as of `solve_stage`.
        poses: one for each.
    """
    if not len(poses):
        return poses, np.zeros(0)
    starts = [level.enter(pose[None]).pose for level, pose in zip(levels, poses, strict=True)]
    start = Variables(torch.cat(starts))
    if not _in_c(levels[0], start, stage.damping):
        each = [solve_stage(level, stage, pose[None]) for level, pose in zip(levels, poses, strict=True)]
        costs = torch.cat([ended.cost for _, ended in each])
        return np.concatenate([pose for pose, _ in each]), costs.double().numpy()
    ended = _align_in_c(levels, start, stage.steps, stage.damping, stage.tolerance)
    moved = ended.variables.pose[:, None]
    left = [level.leave(Variables(pose)) for level, pose in zip(levels, moved, strict=True)]
    return np.concatenate(left), ended.cost.double().numpy()


@dataclass(frozen=True)
class Fits:
    """Poses at full size after a stage, and the ZNCC of each; −1 if it is not defined."""

    poses: Poses
    zncc: NDArray[np.float64]

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Fits":
        return Fits(self.poses[chosen], self.zncc[chosen])


def descend(
    scene: ScenePyramid, motif: MotifPyramid, motion: Motion, stage: Stage, poses: Poses, robust: bool = False
) -> Fits:
    """Refine poses at one scale, each independently of the others.

    Arguments:
        scene, motif: the two pyramids.
        motion: how the poses may move.
        stage: the scale, and the maximum number of steps and pixels.
        poses: motif pixels → scene pixels, at full size.
        robust: give less weight to pixels that do not fit. The returned ZNCC does not use these weights.
    """
    picture = scene.reduced(stage.scale)
    if not len(poses) or not picture.numel():  # a small scene may have no pixel left at this scale
        # The lowest possible ZNCC, so that these poses are not kept.
        return Fits(poses, np.full(len(poses), -1.0))
    side = motif.side(stage.scale, motion, stage.pixels)
    level = Level(picture, side, motion, stage.scale, stage.scale)
    at, steps = level.enter(poses), stage.steps
    if robust:
        # Optimised with robust weights, then evaluated without them (no steps): a robust ZNCC ignores
        # pixels, so it cannot be compared with that of other poses.
        weighted = replace(level, robust=True)
        at, steps = align(weighted, at, stage.steps, stage.damping, stage.tolerance).variables, 0
    ended = align(level, at, steps, stage.damping, stage.tolerance)
    cost = ended.cost.double().numpy()
    return Fits(level.leave(ended.variables), np.where(np.isfinite(cost), 1 - cost, -1.0))

"""Gauss–Newton on the fast objective (ZNCC): in C where that is possible, else by `gauss_newton` in torch."""

import torch
from torch import Tensor

from wherein.formulations import correlation, robust
from wherein.formulations.correlation import CorrelationObjective
from wherein.formulations.motif_side import MOTION_KINDS
from wherein.formulations.objective import Variables
from wherein.native import abi, bindings
from wherein.solve.gauss_newton import Damping, gauss_newton
from wherein.solve.solution import Solution, Status, statuses
from wherein.warp import KEYS

_STATUSES = tuple(Status[name] for name in abi.STATUSES)
"""By C's numbers, matched by name. A tuple, because Status(number) takes ten times as long, and a scene has
thousands of poses."""


def align(
    objective: CorrelationObjective,
    start: Variables,
    steps: int,
    damping: Damping = Damping(),
    tolerance: float = 1e-3,
) -> Solution:
    """`gauss_newton` of ZNCC.

    Arguments:
        objective, start, damping, tolerance: as there.
        steps: how many at most; 0 only evaluates the cost.
    """
    if _in_c(objective, start, damping):
        return _align_in_c(objective, start, steps, damping, tolerance)
    if steps:
        return gauss_newton(objective, start, steps, damping, tolerance)
    here = objective.linearise(start)
    none = torch.zeros_like(here.cost, dtype=torch.int64)
    return Solution(start, here.cost, statuses(objective, start, here, rested=none.bool()), none, none + 1)


def _in_c(objective: CorrelationObjective, start: Variables, damping: Damping) -> bool:
    """Whether C knows this problem: ZNCC of a picture, over a motion that it has."""
    surface, side = objective.surface, objective.side
    return (
        type(objective) is CorrelationObjective
        and type(objective.motion) in MOTION_KINDS
        and not isinstance(damping.start, Tensor)
        and surface.a == KEYS
        and surface.layers is None
        and surface.channels <= abi.MAX_CHANNELS
        and bindings.accepts(surface.scene, side.known, side.radius, start.pose)
    )


def _align_in_c(
    objective: CorrelationObjective, start: Variables, steps: int, damping: Damping, tolerance: float
) -> Solution:
    side = objective.side
    pose, cost, taken, evaluations, numbers = bindings.align(
        objective.surface.scene,
        side.points,
        side.known,
        side.unit,
        side.radius,
        MOTION_KINDS[type(objective.motion)],
        start.pose,
        _rules(objective, steps, damping, tolerance),
    )
    status = tuple(_STATUSES[number] for number in numbers.tolist())
    return Solution(Variables(pose), cost, status, taken, evaluations)


def _rules(
    objective: CorrelationObjective, steps: int, damping: Damping, tolerance: float
) -> abi.SolverRules:
    """Every number that C would otherwise have to know by itself."""
    return abi.SolverRules(
        damping=float(damping.start),
        ease=damping.ease,
        tighten=damping.tighten,
        tolerance=tolerance,
        slack=objective.slack,
        noise=objective.noise,
        min_visible=correlation.LEAST_SEEN,
        edge=correlation.EDGE,
        max_step=correlation.LONGEST_STEP,
        min_variance=correlation.LEAST_VARIANCE,
        occluded=correlation.ROBUST.hidden if objective.robust else 0.0,
        min_scale=robust.LEAST,
        min_gain=correlation.LEAST_GAIN,
        rounds=correlation.ROUNDS,
        max_steps=steps,
    )

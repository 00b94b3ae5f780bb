"""The fast method on the fast objective: in C where that can be, else by `gauss_newton`, to the same end."""

import torch
from torch import Tensor

from wherein import native
from wherein.formulations import correlation, robust
from wherein.formulations.correlation import CorrelationObjective
from wherein.formulations.objective import Variables
from wherein.motion.models import STANDARD
from wherein.solve.gauss_newton import Damping, gauss_newton
from wherein.solve.solution import Solution, Status, statuses
from wherein.warp import KEYS

_STATUS = {int(status): status for status in Status}
"""By number: to look it up takes a tenth of the time of Status(number), of thousands of poses a scene."""


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
        steps: how many at most; 0 only looks at the cost.
    """
    if _in_c(objective, start, damping):
        return _align_in_c(objective, start, steps, damping, tolerance)
    if steps:
        return gauss_newton(objective, start, steps, damping, tolerance)
    here = objective.linearise(start)
    none = torch.zeros_like(here.cost, dtype=torch.int64)
    return Solution(start, here.cost, statuses(objective, start, here, rested=none.bool()), none, none + 1)


def _in_c(objective: CorrelationObjective, start: Variables, damping: Damping) -> bool:
    """Whether C knows this problem: ZNCC of a picture, over one of our own motions."""
    surface, side = objective.surface, objective.side
    return (
        type(objective) is CorrelationObjective
        and type(objective.motion) in STANDARD
        and not isinstance(damping.start, Tensor)
        and surface.a == KEYS
        and surface.layers is None
        and surface.channels <= native.CHANNELS
        and native.serves(surface.scene, side.known, start.pose)
    )


def _align_in_c(
    objective: CorrelationObjective, start: Variables, steps: int, damping: Damping, tolerance: float
) -> Solution:
    side = objective.side
    pose, cost, taken, looks, status = native.align(
        objective.surface.scene,
        (side.points, side.known, side.unit, float(side.radius)),
        start.pose,
        steps,
        _rules(objective, damping, tolerance),
    )
    return Solution(Variables(pose), cost, tuple(map(_STATUS.__getitem__, status.tolist())), taken, looks)


def _rules(objective: CorrelationObjective, damping: Damping, tolerance: float) -> native.Rules:
    return native.Rules(
        start=float(damping.start),
        ease=damping.ease,
        tighten=damping.tighten,
        tolerance=tolerance,
        slack=objective.slack,
        noise=objective.noise,
        min_visible=correlation.MIN_VISIBLE,
        longest_step=correlation.LONGEST_STEP,
        least_variance=correlation.LEAST_VARIANCE,
        edge=correlation.EDGE,
        hidden=correlation.ROBUST.hidden if objective.robust else 0.0,
        least_scale=robust.LEAST,
        least_gain=correlation.LEAST_GAIN,
        rounds=correlation.ROUNDS,
    )

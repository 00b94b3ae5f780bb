"""What solvers return: for each item of a batch the variables, their cost and a status."""

from dataclasses import dataclass, field
from enum import IntEnum

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from wherein.formulations.objective import Evaluation, Objective, Variables


class Status(IntEnum):
    """How a fit ended. `str()` is one or two words, `advice` a sentence that says what to do."""

    CONVERGED = 0
    STEP_LIMIT = 1
    DIVERGED = 2
    OUTSIDE = 3
    FLAT = 4

    def __str__(self) -> str:
        return _WORDS[self]

    @property
    def advice(self) -> str:
        """What happened, and what to do."""
        return _ADVICE[self]


_WORDS = {
    Status.CONVERGED: "converged",
    Status.STEP_LIMIT: "step limit",
    Status.DIVERGED: "diverged",
    Status.OUTSIDE: "outside",
    Status.FLAT: "no texture",
}

_ADVICE = {
    Status.CONVERGED: "The last step moved the motif by less than the tolerance.",
    Status.STEP_LIMIT: "The maximum number of steps was reached: allow more steps, or start closer.",
    Status.DIVERGED: "The cost or the pose is not finite: use smaller steps or more smoothing.",
    Status.OUTSIDE: "Too little of the motif lies inside the scene: start closer to it.",
    Status.FLAT: "The motif or the scene has no texture under the mask, so all poses fit equally well.",
}


def statuses(
    objective: Objective,
    at: Variables,
    end: Evaluation,
    rested: Bool[Tensor, " B"],
    broken: Bool[Tensor, " B"] | None = None,
) -> tuple[Status, ...]:
    """The status of each item: the first of `ends` that holds, else `STEP_LIMIT`. align.c has the same order.

    Arguments:
        objective, at, end: the function that was minimised, the last variables, and its evaluation there.
        rested: whether the last step was shorter than the tolerance.
        broken: whether a step on the way was not finite.
    """
    visible = objective.visible_fraction(at)
    ends = (
        (Status.DIVERGED, ~at.pose.flatten(1).isfinite().all(1)),
        (Status.OUTSIDE, ~((visible > 0) & (visible >= objective.min_visible))),
        (Status.FLAT, end.flat),
        (Status.DIVERGED, ~end.cost.isfinite() if broken is None else broken | ~end.cost.isfinite()),
        (Status.CONVERGED, rested),
    )
    # On the device, with one transfer at the end instead of one for each item.
    numbers = torch.full_like(rested, Status.STEP_LIMIT, dtype=torch.int64)
    for status, holds in reversed(ends):  # the first that holds is written last, and so wins
        numbers = torch.where(holds, int(status), numbers)
    return tuple(map(Status, numbers.tolist()))


@dataclass(frozen=True)
class Solution:
    """What a solver returns, for B items side by side.

    Attributes:
        variables: at the end.
        cost: of these variables.
        status: how each item ended.
        steps: the number of steps that were taken.
        evaluations: the number of evaluations of the objective; more than steps + 1 if steps were rejected.
        history: the cost before each step and at the end, if it was asked for.
    """

    variables: Variables
    cost: Float[Tensor, "B"]
    status: tuple[Status, ...]
    steps: Int[Tensor, "B"]
    evaluations: Int[Tensor, "B"]
    history: tuple[Float[Tensor, "B"], ...] = field(default=())

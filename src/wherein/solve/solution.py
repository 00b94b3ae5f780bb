"""The result of a solver: the variables, the cost and a status for each item of a batch."""

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
    converged: Bool[Tensor, " B"],
    broken: Bool[Tensor, " B"] | None = None,
) -> tuple[Status, ...]:
    """The status of each item: the first condition in `ends` that is true, else `STEP_LIMIT`.

    Arguments:
        objective, at, end: the function that was minimised, the last variables, and its evaluation there.
        converged: whether the last step was shorter than the tolerance.
        broken: whether any step was not finite.
    """
    visible = objective.visible_fraction(at)
    # A cause comes before its consequence: outside the scene the cost is not finite, and a flat cost
    # converges. native/align.c has the same order.
    ends = (
        (Status.DIVERGED, ~at.pose.flatten(1).isfinite().all(1)),
        (Status.OUTSIDE, ~((visible > 0) & (visible >= objective.min_visible))),
        (Status.FLAT, end.flat),
        (Status.DIVERGED, ~end.cost.isfinite() if broken is None else broken | ~end.cost.isfinite()),
        (Status.CONVERGED, converged),
    )
    # Computed on the device, with one transfer at the end instead of one for each item.
    numbers = torch.full_like(converged, Status.STEP_LIMIT, dtype=torch.int64)
    for status, holds in reversed(ends):  # the first condition is written last, so it has priority
        numbers = torch.where(holds, int(status), numbers)
    return tuple(map(Status, numbers.tolist()))


@dataclass(frozen=True)
class Solution:
    """The result of a solver, for a batch of B items.

    Attributes:
        variables: the last ones.
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

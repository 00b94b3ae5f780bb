"""How a fit ended: a status for each item, and what was found."""

from dataclasses import dataclass, field
from enum import IntEnum

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from wherein.formulations.objective import Evaluation, Objective, Variables


class Status(IntEnum):
    """How a fit ended. `str()` is one or two words, `advice` a sentence with a remedy."""

    CONVERGED = 0
    STEP_LIMIT = 1
    DIVERGED = 2
    OUTSIDE = 3
    FLAT = 4

    def __str__(self) -> str:
        return _WORDS[self]

    @property
    def advice(self) -> str:
        """What happened, and what to do about it."""
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
    Status.STEP_LIMIT: "The steps ran out before the motif came to rest: allow more, or start closer.",
    Status.DIVERGED: "The cost or the pose is no longer a number: use smaller steps or more smoothing.",
    Status.OUTSIDE: "Too little of the motif lies in the scene to say anything: start closer to it.",
    Status.FLAT: "Motif or scene has no texture under the mask, so no pose is better than another.",
}


def statuses(
    objective: Objective,
    at: Variables,
    end: Evaluation,
    rested: Bool[Tensor, " B"],
    broken: Bool[Tensor, " B"] | None = None,
) -> tuple[Status, ...]:
    """How each item ended: the first of `ends` that holds, else its steps ran out (align.c does the same).

    Arguments:
        objective, at, end: what was minimised, where it ended, and its value there.
        rested: the last step was too short to matter.
        broken: a step on the way led to no number.
    """
    seen = objective.seen(at)
    ends = (
        (Status.DIVERGED, ~at.pose.flatten(1).isfinite().all(1)),
        (Status.OUTSIDE, ~((seen > 0) & (seen >= objective.min_visible))),
        (Status.FLAT, end.flat),
        (Status.DIVERGED, ~end.cost.isfinite() if broken is None else broken | ~end.cost.isfinite()),
        (Status.CONVERGED, rested),
    )
    numbers = torch.full_like(rested, Status.STEP_LIMIT, dtype=torch.int64)
    for status, holds in reversed(ends):
        numbers = torch.where(holds, int(status), numbers)
    return tuple(map(Status, numbers.tolist()))


@dataclass(frozen=True)
class Solution:
    """What a solver returns: for each of B items the best variables, their cost, a status and its steps."""

    variables: Variables
    cost: Float[Tensor, "B"]
    status: tuple[Status, ...]
    steps: Int[Tensor, "B"]
    looks: Int[Tensor, "B"]
    """How often the objective was evaluated: more often than there are steps, where some were not taken."""
    history: tuple[Float[Tensor, "B"], ...] = field(default=())
    """The cost before each step and at the end, where it was asked for."""

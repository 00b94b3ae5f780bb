"""How a fit ended: a status for each item, and what was found."""

from dataclasses import dataclass, field
from enum import IntEnum

from jaxtyping import Bool, Float, Int
from torch import Tensor

from wherein.formulations import Variables


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
    done: Bool[Tensor, " B"], failed: Bool[Tensor, " B"], seen: Float[Tensor, " B"]
) -> tuple[Status, ...]:
    """How each item ended: whether it came to rest, whether it broke, how much of the motif is in sight."""

    def ended(rested: bool, broke: bool, fraction: float) -> Status:
        if broke:
            return Status.DIVERGED
        if not fraction > 0:
            return Status.OUTSIDE
        return Status.CONVERGED if rested else Status.STEP_LIMIT

    return tuple(map(ended, done.tolist(), failed.tolist(), seen.tolist()))


@dataclass(frozen=True)
class Solution:
    """What a solver returns: for each of B items the best variables, their cost, a status and its steps."""

    variables: Variables
    cost: Float[Tensor, "B"]
    status: tuple[Status, ...]
    steps: Int[Tensor, "B"]
    history: tuple[Float[Tensor, "B"], ...] = field(default=())
    """The cost before each step and at the end, where it was asked for."""

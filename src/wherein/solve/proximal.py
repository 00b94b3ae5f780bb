"""The paper's method: proximal gradient with a step size for each component (eq. 5)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.objective import Evaluation, Objective, Variables
from wherein.solve.solution import Solution, statuses


@dataclass(frozen=True)
class Step:
    """The step sizes of one iteration.

    Arguments:
        pose: a number, or one for each component of the pose.
        background: of the background model, one for each item where they differ. Its gradient is 1-Lipschitz,
            so 1 is safe.
    """

    pose: float | Float[Tensor, "..."]
    background: float | Float[Tensor, "..."] = 1.0


def proximal_gradient(
    objective: Objective,
    start: Variables,
    steps: Sequence[Step],
    tolerance: float = 0.0,
    history: bool = False,
) -> Solution:
    """p ← prox(p − ν ⊙ ∇φ(p)), once for each of `steps`, every item of the batch on its own.

    With a tolerance of 0 it is a network of a fixed depth: gradients flow through all of it.

    Arguments:
        objective: what to minimise.
        start: from where.
        steps: the step sizes of each iteration.
        tolerance: an item stops where a step moves the motif by less (in pixels).
        history: keep the cost before every step and at the end.
    """
    require(len(steps) > 0, "proximal_gradient needs at least one step")
    at, batch = start, len(start.pose)
    done = torch.zeros(batch, dtype=torch.bool, device=start.pose.device)
    failed, taken = done.clone(), done.to(torch.int64)
    costs = []
    for step in steps:
        found = objective.evaluate(at)
        costs.append(found.cost)
        # Without a number there is no step: it would reach the other items' gradients as NaN times zero.
        number = found.cost.isfinite() & found.gradient.flatten(1).isfinite().all(1)
        gradient = torch.where(number.reshape(-1, *(1,) * (found.gradient.ndim - 1)), found.gradient, 0.0)
        ahead = proximal_step(objective, at, step, replace(found, gradient=gradient))
        broken = ~(number & ahead.pose.flatten(1).isfinite().all(1))
        failed = failed | (broken & ~done)
        moved = objective.length((ahead.pose - at.pose).detach())
        at = at.where(done | failed, ahead)
        taken += ~(done | failed)
        done = done | (moved < tolerance)
        if bool((done | failed).all()):
            break
    last = objective.evaluate(at)
    status = statuses(objective, at, last, done, failed)
    return Solution(at, last.cost, status, taken, taken + 1, (*costs, last.cost) if history else ())


def proximal_step(objective: Objective, at: Variables, step: Step, found: Evaluation) -> Variables:
    """One step of all the variables, for those who go step by step.

    Arguments:
        objective: what to minimise.
        at: where the step begins.
        step: its size.
        found: the objective's value there.
    """
    pose = objective.prox(at.pose - step.pose * found.gradient, step.pose)
    if at.background is None or found.background is None:
        return replace(at, pose=pose)
    return replace(at, pose=pose, background=at.background - step.background * found.background)

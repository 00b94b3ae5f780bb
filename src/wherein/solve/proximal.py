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
        pose: one number, or one for each component of the pose.
        background: the step size of the background model, one number or one for each item. Its gradient is
            1-Lipschitz, so 1 is safe.
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
    """Minimise by p ← prox(p − ν ⊙ ∇φ(p)), once for each of `steps`. Items of a batch stop independently.

    With a tolerance of 0 this is a network of fixed depth, differentiable throughout.

    Arguments:
        objective: the function to minimise.
        start: the variables to start from.
        steps: the step sizes of each iteration.
        tolerance: an item has converged when a step moves the motif by less than this, in pixels.
        history: record the cost before every step and at the end.
    """
    require(len(steps) > 0, "proximal_gradient needs at least one step")
    at, batch = start, len(start.pose)
    done = torch.zeros(batch, dtype=torch.bool, device=start.pose.device)
    failed, taken = done.clone(), done.to(torch.int64)
    costs = []
    for step in steps:
        found = objective.evaluate(at)
        costs.append(found.cost)
        # An item with a non-finite gradient takes no step. The gradient is replaced before the step, since in
        # backward NaN · 0 = NaN would reach the gradients of the other items.
        finite = found.cost.isfinite() & found.gradient.flatten(1).isfinite().all(1)
        gradient = torch.where(finite.reshape(-1, *(1,) * (found.gradient.ndim - 1)), found.gradient, 0.0)
        ahead = proximal_step(objective, at, step, replace(found, gradient=gradient))
        broken = ~(finite & ahead.pose.flatten(1).isfinite().all(1))
        failed = failed | (broken & ~done)
        moved = objective.length((ahead.pose - at.pose).detach())  # only compared, so no gradient is needed
        at = at.where(done | failed, ahead)
        taken += ~(done | failed)  # before `done` is updated: the step that converges counts, too
        done = done | (moved < tolerance)
        if bool((done | failed).all()):
            break
    # Evaluated once more: inside the loop, costs are those before each step.
    last = objective.evaluate(at)
    status = statuses(objective, at, last, done, failed)
    return Solution(at, last.cost, status, taken, taken + 1, (*costs, last.cost) if history else ())


def proximal_step(objective: Objective, at: Variables, step: Step, found: Evaluation) -> Variables:
    """The variables after one step, for callers with their own loop.

    Arguments:
        objective: the function to minimise.
        at: the variables before the step.
        step: the step sizes.
        found: the objective's evaluation at `at`.
    """
    # The regulariser acts on the pose only; the background model takes a plain gradient step.
    pose = objective.prox(at.pose - step.pose * found.gradient, step.pose)
    if at.background is None or found.background is None:
        return replace(at, pose=pose)
    return replace(at, pose=pose, background=at.background - step.background * found.background)

"""The fast method: damped Gauss–Newton (Levenberg–Marquardt)."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.objective import Evaluation, Objective, Variables
from wherein.solve.solution import Solution, statuses


@dataclass(frozen=True)
class Damping:
    """How the damping μ of (H + μ diag H) δ = −g changes from step to step.

    After a step that lowers the cost, μ is multiplied by `ease`. Any other step is rejected, and μ is
    multiplied by `tighten`. The defaults are a choice, of the usual size for Levenberg–Marquardt.
    """

    start: float | Float[Tensor, ""] = 1e-2
    ease: float = 0.2
    tighten: float = 10.0


def gauss_newton(
    objective: Objective,
    start: Variables,
    steps: int,
    damping: Damping = Damping(),
    tolerance: float = 1e-3,
    history: bool = False,
) -> Solution:
    """Minimise by damped Gauss–Newton. Each item of the batch has its own damping and stops independently.

    Arguments:
        objective: the function to minimise.
        start: the variables to start from.
        steps: maximum number of steps.
        damping: see `Damping`.
        tolerance: an item has converged when a step moves the motif by less than this, in pixels. With 0 all
            steps are taken: a network of fixed depth.
        history: record the cost before every step and at the end.
    """
    # The batch stays complete: an item that has ended is still evaluated, but no longer changes, so results
    # do not depend on the other items.
    require(steps > 0, f"gauss_newton needs at least one step, but steps is {steps}")
    # Each pose is linearised before it is accepted: the cost decides, and the matrix serves the next step.
    at, here = start, objective.linearise(start)
    mu = torch.zeros_like(here.cost) + damping.start
    failed = ~(here.cost.isfinite() & at.pose.flatten(1).isfinite().all(1))
    done, taken = torch.zeros_like(failed), torch.zeros_like(failed, dtype=torch.int64)
    evaluations = torch.ones_like(taken)
    costs = [here.cost]
    for _ in range(steps):
        step = damped_step(here, mu)
        ahead = _relax_background(objective.move(at, step), here)
        there = objective.linearise(ahead)
        evaluations += ~(done | failed)
        # Besides rounding errors, some objectives allow a small rise: see `CorrelationObjective.slack`.
        allowed = here.cost * (1 + objective.slack) + objective.noise
        better = (there.cost <= allowed) & ~done & ~failed
        # A step this short ends the item even if it was rejected: the damping has then grown so much that
        # further steps cannot move it either.
        small = objective.length(step.detach()) < tolerance
        at, here = ahead.where(better, at), _choose(better, there, here)
        taken += better
        done = done | small
        # Clamped, so that a few steps can reverse the effect of a long series of good or bad ones.
        # native/align.c implements the same rule: change both together.
        mu = torch.where(better, mu * damping.ease, mu * damping.tighten).clamp(1e-9, 1e9)
        costs.append(here.cost)
        # Reading a tensor waits for the device, which a network of fixed depth can avoid.
        if tolerance > 0 and bool((done | failed).all()):
            break
    status = statuses(objective, at, here, done)
    return Solution(at, here.cost, status, taken, evaluations, tuple(costs) if history else ())


def damped_step(here: Evaluation, mu: Float[Tensor, "B"]) -> Float[Tensor, "B P"]:
    """The step −(H + μ diag H)⁻¹ g.

    With D = diag(H)^(−½) it is −D (D H D + μ I)⁻¹ D g. The matrix D H D has ones on its diagonal, so the
    system is well enough conditioned for float32 although parameters have different units.
    """
    assert here.hessian is not None
    diagonal = here.hessian.diagonal(dim1=-2, dim2=-1)
    # A parameter that changes nothing has a zero on the diagonal, and must not be divided by.
    floor = diagonal.amax(-1, keepdim=True) * 1e-12 + torch.finfo(diagonal.dtype).tiny
    unit = (diagonal + floor).rsqrt()
    scaled = unit[..., :, None] * here.hessian * unit[..., None, :]
    eye = torch.eye(scaled.shape[-1], dtype=scaled.dtype, device=scaled.device)
    # 1e-7, about the ε of float32, keeps a singular system solvable if μ is tiny.
    # cholesky_ex, because `cholesky` raises for the whole batch if one item is not positive definite.
    factor, _ = torch.linalg.cholesky_ex(scaled + (mu[:, None, None] + 1e-7) * eye)
    solved = torch.cholesky_solve((unit * here.gradient)[..., None], factor)[..., 0]
    return -unit * torch.nan_to_num(solved)


def _relax_background(at: Variables, here: Evaluation) -> Variables:
    """Take one gradient step in the background model, of size 1, which is safe: its gradient is 1-Lipschitz.

    It has a value for each pixel, too many unknowns for the normal equations.
    """
    if at.background is None or here.background is None:
        return at
    return replace(at, background=at.background - here.background)


def _choose(chosen: Tensor, new: Evaluation, old: Evaluation) -> Evaluation:
    """The new evaluation for the chosen items, the old one for the others."""

    def pick(a: Tensor | None, b: Tensor | None) -> Tensor | None:
        if a is None or b is None:
            return None
        return torch.where(chosen.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return Evaluation(
        torch.where(chosen, new.cost, old.cost),
        torch.where(chosen[:, None], new.gradient, old.gradient),
        torch.where(chosen, new.flat, old.flat),
        pick(new.hessian, old.hessian),
        pick(new.background, old.background),
    )

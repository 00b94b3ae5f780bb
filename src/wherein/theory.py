"""The paper's convergence theorem for spikes in the plane, as functions (Theorem 5.1, equations 15 to 18).

There are c observed spikes uᵢ and targets vᵢ = A⋆ uᵢ + b⋆, one in each channel. Both are smoothed to the
width σ and compared in L². If σ is at least `smoothing_level` and the step sizes are those of `step_sizes`,
gradient descent from A = I, b = 0 converges to (A⋆, b⋆) at a linear rate. The smoothing is exact: there is no
pixel grid, no interpolation and no border.

(A, b) is the inverse parameterisation: it maps observed (scene) points to target (motif) points. The matrix
used elsewhere, motif → scene, is (A⁻¹, −A⁻¹ b). The theorem assumes centred spikes, and no function here
centres them: call `centre` first. Leading dimensions *B are a batch and broadcast.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.errors import ArgumentError, require

Points = Float[Tensor, "*#B c 2"]
Linear = Float[Tensor, "*#B 2 2"]
Shift = Float[Tensor, "*#B 2"]
Numbers = Float[Tensor, "*#B"]
Level = Numbers | float

# The shape of each argument after the batch, by its name; others are (*B). "c" stands for any number.
_TRAILING = {"A": (2, 2), "b": (2,), "spikes": ("c", 2), "targets": ("c", 2)}


class AffineMap(NamedTuple):
    """A map u ↦ A u + b (or a gradient, entry by entry): A (*B, 2, 2), b (*B, 2)."""

    A: Float[Tensor, "*B 2 2"]
    b: Float[Tensor, "*B 2"]


class StepSizes(NamedTuple):
    """t_A and t_b, each (*B)."""

    linear: Float[Tensor, "*B"]
    shift: Float[Tensor, "*B"]


class Displacement(NamedTuple):
    """The distance of a map from the identity: ‖A − I‖_F, and ‖b‖ in pixels, each (*B) or a number.

    For a scale s and an angle θ, ‖s R(θ) − I‖_F² = 2 (s² − 2 s cos θ + 1), which is at most 8 for a rotation.

    >>> Displacement.of(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), torch.tensor([3.0, 4.0]))
    Displacement(linear=tensor(1.), shift=tensor(5.))
    """

    linear: Level
    shift: Level

    @classmethod
    def of(cls, A: Linear, b: Shift) -> "Displacement":
        """The displacement of a known map."""
        _batch(A=A, b=b)
        return cls((A - torch.eye(2).to(A)).norm(dim=(-2, -1)), b.norm(dim=-1))


def centre(spikes: Points) -> tuple[Points, Shift]:
    """Points (*B, c, 2) relative to their mean m, and m (*B, 2). Subtract the *same* m from the targets.

    v = A u + b becomes v − m = A (u − m) + (b + A m − m): the new shift is how far the mean moves.

    >>> centre(torch.tensor([[4.0, 1.0], [0.0, 1.0], [2.0, 4.0]]))[1]
    tensor([2., 2.])
    """
    _batch(spikes=spikes)
    mean = spikes.mean(-2)
    return spikes - mean.unsqueeze(-2), mean


def smoothing_level(spikes: Points, displacement: Displacement) -> Numbers:
    """The smallest σ (*B), in pixels, for which the theorem holds (16); 0 if the map is the identity.

    σ² ≥ 2 maxᵢ‖uᵢ‖² / s_min(U)² · (s_max(U)² ‖A⋆ − I‖_F² + c ‖b⋆‖²)

    Arguments:
        spikes: U, (*B, c, 2), centred. Where A⋆ is a rotation, the motif's spikes have the same norms.
        displacement: `Displacement.of(A, b)`, or the two norms of the largest map that is searched.

    >>> U = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, -1.0]])
    >>> round(smoothing_level(U, Displacement(linear=0.5, shift=3.0)).item() ** 2, 3)
    100.0
    """
    largest, smallest = _singular_values(spikes)
    linear, shift = (torch.as_tensor(norm, dtype=spikes.dtype, device=spikes.device) for norm in displacement)
    _batch(spikes=spikes, linear=linear, shift=shift)
    travel = largest.square() * linear.square() + spikes.shape[-2] * shift.square()
    radius: Tensor = spikes.norm(dim=-1).amax(-1)
    return torch.sqrt(2 * travel) * radius / smallest


def step_sizes(spikes: Points, sigma: Level) -> StepSizes:
    """The step sizes t_A = 8π c σ⁴ / s_max(U)² and t_b = 8π σ⁴ (17).

    Arguments:
        spikes: U, (*B, c, 2), centred.
        sigma: σ > 0 in pixels, a number or (*B).

    >>> U = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, -1.0]])
    >>> [round(t.item() / torch.pi, 3) for t in step_sizes(U, 1.0)]
    [2.0, 8.0]
    """
    largest, level = _singular_values(spikes)[0], _level(sigma, spikes)
    shift = (8 * math.pi * level**4).expand(_batch(spikes=spikes, sigma=level))
    return StepSizes(spikes.shape[-2] * shift / largest.square(), shift)


def rigid_step_sizes(spikes: Points, sigma: Level) -> StepSizes:
    """The step sizes (17) for a rotation R(θ): t_θ = t_A / 2 = 4π c σ⁴ / s_max(U)² and t_b = 8π σ⁴.

    A step of t_A along ∇_A is a step of t_A / ‖∂R/∂θ‖_F² in θ, and ‖∂R/∂θ‖_F² = 2. Since ∂²φ/∂θ² =
    ‖U‖_F² / (8π c σ⁴) and ‖U‖_F² ≤ 2 s_max², the step size never exceeds one over the curvature. Two spikes
    are enough, and they may lie on a line.

    >>> U = torch.tensor([[2.0, 0.0], [-2.0, 0.0]])
    >>> [round(t.item() / torch.pi, 3) for t in rigid_step_sizes(U, 1.0)]
    [1.0, 8.0]
    """
    level = _level(sigma, spikes)
    largest = torch.linalg.matrix_norm(spikes, 2)
    advice = "use spikes at two or more points"
    require(
        bool((largest > 0).all()), f"all spikes are at one point, so their rotation is undetermined: {advice}"
    )
    shift = (8 * math.pi * level**4).expand(_batch(spikes=spikes, sigma=level))
    return StepSizes(spikes.shape[-2] * shift / (2 * largest.square()), shift)


def condition_number(spikes: Points) -> Numbers:
    """The condition number κ = s_max(U)² / s_min(U)² of centred spikes U, (*B, c, 2) (below (18)); 1 is best.

    >>> round(condition_number(torch.tensor([[2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, -1.0]])).item(), 3)
    4.0
    """
    largest, smallest = _singular_values(spikes)
    return (largest / smallest).square()


def rate(spikes: Points) -> Numbers:
    """The rate 1 − 1/(2κ): √`error` shrinks by it or more in each step (18), and by 1 − 1/κ near the end.

    >>> round(rate(torch.tensor([[2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, -1.0]])).item(), 3)
    0.875
    """
    return 1 - 1 / (2 * condition_number(spikes))


def continuum_cost(A: Linear, b: Shift, spikes: Points, targets: Points, sigma: Level) -> Numbers:
    """The cost φ_inv(A, b) = (1/c) Σᵢ ψ(½ ‖A uᵢ + b − vᵢ‖²) (15), in the closed form of the proof.

    ψ(s) = (1 − exp(−s / 2σ²)) / (4π σ²): half the squared L² distance of two Gaussians √(2s) apart.

    Arguments:
        A, b: the map, (*B, 2, 2) and (*B, 2).
        spikes, targets: U and V, (*B, c, 2), centred or not.
        sigma: σ > 0 in pixels.

    >>> U = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [0.0, -2.0]])
    >>> continuum_cost(torch.eye(2), torch.tensor([0.0, 2.0]), U, U, 1.0) * 4 * torch.pi
    tensor(0.6321)
    """
    residuals, level = _residuals(A, b, spikes, targets, sigma)
    # expm1, since near the solution 1 − exp(−x) would lose all digits.
    return -torch.expm1(-residuals.square().sum(-1) / (4 * level**2)).div(4 * math.pi * level**2).mean(-1)


def continuum_gradient(A: Linear, b: Shift, spikes: Points, targets: Points, sigma: Level) -> AffineMap:
    """The gradient of `continuum_cost`, in the closed form of the proof; δᵢ = A uᵢ + b − vᵢ.

    ∇_A = (1/c) Σᵢ ψ'(½‖δᵢ‖²) δᵢ uᵢᵀ, ∇_b = (1/c) Σᵢ ψ'(½‖δᵢ‖²) δᵢ, ψ'(s) = exp(−s / 2σ²) / (8π σ⁴)

    >>> U = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [0.0, -2.0]])
    >>> continuum_gradient(torch.eye(2), torch.tensor([0.0, 2.0]), U, U, 1.0).b * 8 * torch.pi
    tensor([0.0000, 0.7358])
    """
    residuals, level = _residuals(A, b, spikes, targets, sigma)
    weights = torch.exp(-residuals.square().sum(-1) / (4 * level**2)) / (8 * math.pi * level**4)
    weighted = weights.unsqueeze(-1) * residuals / spikes.shape[-2]
    return AffineMap(weighted.mT @ spikes, weighted.sum(-2))


def continuum_descent(
    spikes: Points, targets: Points, sigma: Level, steps: int, sizes: StepSizes | None = None
) -> AffineMap:
    """All iterates of gradient descent on φ_inv from (I, 0): A (*B, K+1, 2, 2) and b (*B, K+1, 2).

    A ← A − t_A ∇_A φ_inv(A, b), b ← b − t_b ∇_b φ_inv(A, b) (Theorem 5.1)

    Arguments:
        spikes: U, (*B, c, 2), centred.
        targets: V, (*B, c, 2), relative to the mean of U, see `centre`.
        sigma: σ in pixels, a number or (*B); the theorem needs at least `smoothing_level`.
        steps: K ≥ 0.
        sizes: the step sizes; None: those of the theorem.

    >>> U = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, -1.0]])
    >>> continuum_descent(U, U + torch.tensor([0.5, 0.0]), sigma=2.0, steps=20).b[-1]
    tensor([0.5000, 0.0000])
    """
    require(steps >= 0, f"steps must be 0 or more, but is {steps}")
    t = step_sizes(spikes, sigma) if sizes is None else sizes
    level = _level(sigma, spikes)
    batch = _batch(spikes=spikes, targets=targets, sigma=level, linear=t.linear, shift=t.shift)
    A, b = torch.eye(2).to(spikes).expand(*batch, 2, 2), spikes.new_zeros(*batch, 2)
    path = [(A, b)]
    for _ in range(steps):
        slope = continuum_gradient(A, b, spikes, targets, level)
        A, b = A - t.linear[..., None, None] * slope.A, b - t.shift[..., None] * slope.b
        path.append((A, b))
    return AffineMap(torch.stack([at[0] for at in path], -3), torch.stack([at[1] for at in path], -2))


def error(path: AffineMap, truth: AffineMap, spikes: Points) -> Float[Tensor, "*#B K"]:
    """The left side of (18) for every k: (s_max(U)²/c) ‖A_k − A⋆‖_F² + ‖b_k − b⋆‖², (*B, K+1).

    Arguments:
        path: the iterates, as from `continuum_descent`.
        truth: (A⋆, b⋆), (*B, 2, 2) and (*B, 2).
        spikes: U, centred.

    >>> U = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, -1.0]])
    >>> error(AffineMap(torch.eye(2)[None], torch.zeros(1, 2)), AffineMap(torch.eye(2), torch.ones(2)), U)
    tensor([2.])
    """
    _batch(A=path.A, b=path.b)
    _batch(A=truth.A, b=truth.b, spikes=spikes)
    linear = (path.A - truth.A.unsqueeze(-3)).square().sum((-2, -1))
    weight = _singular_values(spikes)[0].square().unsqueeze(-1) / spikes.shape[-2]
    return weight * linear + (path.b - truth.b.unsqueeze(-2)).square().sum(-1)


def error_bound(truth: AffineMap, spikes: Points, steps: int) -> Float[Tensor, "*#B K"]:
    """The right side of (18), (1 − 1/(2κ))^(2k) times the error at (I, 0), for k = 0 … steps.

    >>> U = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, -1.0]])
    >>> error_bound(AffineMap(torch.eye(2), torch.ones(2)), U, steps=2)
    tensor([2.0000, 1.5312, 1.1724])
    """
    start = error(AffineMap(torch.eye(2).to(spikes)[None], spikes.new_zeros(1, 2)), truth, spikes)
    return start * rate(spikes).unsqueeze(-1) ** (2 * torch.arange(steps + 1, device=spikes.device))


def _residuals(A: Tensor, b: Tensor, spikes: Tensor, targets: Tensor, sigma: Level) -> tuple[Tensor, Tensor]:
    """δᵢ = A uᵢ + b − vᵢ, (*B, c, 2), and σ, (*B, 1). Raises if shapes do not match."""
    level = _level(sigma, spikes)
    _batch(A=A, b=b, spikes=spikes, targets=targets, sigma=level)
    c, n = spikes.shape[-2], targets.shape[-2]
    require(c == n, f"there must be one target for each spike, but there are {c} spikes and {n} targets")
    return spikes @ A.mT + b.unsqueeze(-2) - targets, level.unsqueeze(-1)


def _singular_values(spikes: Tensor) -> tuple[Tensor, Tensor]:
    """s_max(U) and s_min(U), each (*B). Raises unless U is finite, centred and of rank 2."""
    _batch(spikes=spikes)
    c = spikes.shape[-2]
    require(c >= 3, f"an affine map needs at least 3 spikes, but there are {c}")
    require(bool(spikes.isfinite().all()), "spikes contain NaN or infinity: remove these spikes")
    # At a ratio of √ε, κ is 1/ε and the rate 1 − 1/(2κ) rounds to 1, so the theorem guarantees nothing.
    tolerance = torch.finfo(spikes.dtype).eps ** 0.5
    mean, radius = spikes.mean(-2).norm(dim=-1), spikes.norm(dim=-1).amax(-1)
    advice = "call `centre`, and subtract the same mean from the targets"
    require(
        bool((mean <= tolerance * radius).all()),
        f"the mean of the spikes must be 0, but is {mean.max():.3g} px away: {advice}",
    )
    largest, smallest = torch.linalg.svdvals(spikes).unbind(-1)
    advice = "add a spike that is not on the line"
    require(bool((smallest > tolerance * largest).all()), f"the spikes lie on a line: {advice}")
    return largest, smallest


def _level(sigma: Level, spikes: Tensor) -> Tensor:
    """σ as a tensor of the spikes' dtype, (*B). Raises unless it is finite and positive."""
    _batch(spikes=spikes)
    level = torch.as_tensor(sigma, dtype=spikes.dtype, device=spikes.device)
    advice = "use `smoothing_level` or more"
    require(
        bool(((level > 0) & level.isfinite()).all()),
        f"sigma must be positive and finite, but is {sigma}: {advice}",
    )
    return level


def _batch(**tensors: Tensor) -> tuple[int, ...]:
    """The batch shape to which the tensors broadcast. Raises if a tensor does not fit its name's shape."""
    batches = []
    for name, tensor in tensors.items():
        trailing = _TRAILING.get(name, ())
        split = tensor.ndim - len(trailing)
        fits = split >= 0 and all(n in ("c", m) for n, m in zip(trailing, tensor.shape[split:], strict=True))
        allowed = ", ".join(map(str, ("…", *trailing)))
        allowed = f"floating point of shape ({allowed})"
        given = f"{tensor.dtype} of shape {tuple(tensor.shape)}"
        require(fits and tensor.is_floating_point(), f"{name} must be {allowed}, but is {given}")
        batches.append(tuple(tensor.shape[:split]))
    try:
        return tuple(torch.broadcast_shapes(*batches))
    except RuntimeError as mismatch:
        given = ", ".join(f"{name} {batch}" for name, batch in zip(tensors, batches, strict=True))
        raise ArgumentError(
            f"the batch shapes must broadcast, but are {given}: make them equal or 1"
        ) from mismatch

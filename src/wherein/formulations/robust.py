"""Loss functions: least squares, and a robust loss for motifs that may be partly occluded.

With e ≥ 0 the squared residual of a pixel, summed over its channels, and w ≥ 0 its weight, a formulation's
cost is half of a loss: Σ w e, or its robust form

    L(e) = max over v ≥ s² of  Σ w (ρ_v(e) − q (v − s²)),    ρ_v(e) = e / (1 + e/v)    (Geman–McClure).

ρ_v is about e for e ≪ v, and never more than v, however badly a pixel fits. The robust weight of a pixel, the
trust in it, in [0, 1], is the slope

    t = ∂ρ_v/∂e = 1 / (1 + e/v)².

The scale v need not be known: ρ_v(e) is concave in v, and its derivative in v is (1 − √t)², called mistrust.
So the best v is that at which the mean mistrust equals q, the fraction of the motif that may be occluded. By
Danskin's theorem ∂L/∂e is still w t: cost, gradient and Gauss–Newton matrix are exactly those of least
squares with the weights w t. If v is above its minimum s², L is Σ w t e + q s² Σ w.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.images.gaussian import Sigma, value_of

LEAST = 1e-5
"""s², the minimum of an estimated v. A choice: s is less than a grey level of 255; smaller residuals are
noise."""

_MAX_NEWTON_STEPS = 30
"""Maximum number of Newton steps for the scale. A choice: about 6 are enough."""

Squares = Float[Tensor, "*B N"]
Weights = Float[Tensor, "*#B N"]


class LeastSquares:
    """L(e) = Σ w e: the robust weight of every pixel is 1."""

    def __call__(self, squares: Squares, weights: Weights) -> tuple[Float[Tensor, "*B"], Squares]:  # noqa: D102
        return (weights * squares).sum(-1), weights.expand_as(squares)


@dataclass(frozen=True)
class Robust:
    """A robust loss, which gives less weight to pixels that do not fit, for a motif that is partly occluded.

    Its basin of attraction is narrower than that of least squares: start close, or use it in the last stage.

    Arguments:
        hidden: q, the fraction of the motif that may be occluded, in (0, 1). The scale of each item is
            estimated from it. Small values are close to least squares. With more than ½, the fit may rest on
            a minority of the pixels, which need not belong to the motif.
        scale: √v, if it is known: the residual (over all channels together) at which the weight of a pixel is
            a quarter. A tensor that requires its gradient will get it.
    """

    hidden: float = 0.4
    scale: Sigma | None = None

    def __post_init__(self) -> None:
        require(
            0 < self.hidden < 1, f"hidden, a fraction of the motif, must be in (0, 1), but is {self.hidden}"
        )
        require(
            self.scale is None or value_of(self.scale) > 0,
            f"the scale of robust weights must be positive, but is {self.scale}",
        )

    def __call__(self, squares: Squares, weights: Weights) -> tuple[Float[Tensor, "*B"], Squares]:  # noqa: D102
        variance, price = self._variance(squares, weights)
        # By Danskin's theorem the gradient needs no derivative of `variance`. Second derivatives need it, so
        # it is not detached.
        total = (weights * squares / (1 + squares / variance)).sum(-1) - price
        return total, weights * trust(squares, variance)

    def _variance(self, squares: Squares, weights: Weights) -> tuple[Tensor, Tensor]:
        """v, (…, 1), and the term q (v − s²) Σ w of the loss, (…)."""
        if self.scale is not None:
            known = torch.as_tensor(self.scale, dtype=squares.dtype, device=squares.device) ** 2
            return known, torch.zeros_like(known)
        variance = scale_of(squares, weights, self.hidden)
        return variance, self.hidden * (variance[..., 0] - LEAST) * weights.sum(-1)


Loss = LeastSquares | Robust
"""A function of the squared residuals and their weights that returns L(e) and ∂L/∂e."""


def weigh(
    loss: Loss, residual: Float[Tensor, "*B C h w"], weight: Float[Tensor, "h w"] | None = None
) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B 1 h w"]]:
    """The loss of a picture of residuals, and the weights with which least squares has the same gradient."""
    squares = residual.pow(2).sum(-3)
    weight = torch.ones_like(squares) if weight is None else weight
    total, weights = loss(squares.flatten(-2), weight.flatten(-2))
    return total, weights.reshape_as(squares).unsqueeze(-3)


def trust(squares: Squares, variance: Tensor) -> Squares:
    """The robust weight t = 1 / (1 + e/v)²."""
    return (1 + squares / variance) ** -2


def scale_of(squares: Squares, weights: Weights, hidden: float) -> Float[Tensor, "*B 1"]:
    """v ≥ s² where the mean mistrust m(v) = Σ w (e/(v + e))² / Σ w equals `hidden`; s² if it is less there.

    Newton's method is applied to m^(−½). This is a power mean of the lines 1 + v/e, so it is concave in v,
    and linear if all pixels fit equally well. So Newton's method from s² never overshoots and converges fast.
    Only the last step is recorded for differentiation: at the solution, the derivative of one Newton step is
    the exact derivative of v.
    """
    shares = weights / weights.sum(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
    with torch.no_grad():
        variance = squares.new_full((*squares.shape[:-1], 1), LEAST)
        for _ in range(_MAX_NEWTON_STEPS):
            before, variance = variance, _newton(squares, shares, variance, hidden)
            if bool(((variance - before).abs() <= 1e-6 * before).all()):
                break
    return _newton(squares, shares, variance, hidden)


def _newton(squares: Tensor, shares: Tensor, variance: Tensor, hidden: float) -> Tensor:
    # For f = m^(−½) − q^(−½), with m' = −2 · slope: the step −f / f' is m (√(m/q) − 1) / slope.
    mistrust = (squares / (variance + squares)) ** 2
    mean = (shares * mistrust).sum(-1, keepdim=True)
    slope = (shares * mistrust / (variance + squares)).sum(-1, keepdim=True)
    tiny = torch.finfo(slope.dtype).tiny  # if everything fits exactly, mean and slope are 0
    step = mean * ((mean / hidden).clamp_min(tiny).sqrt() - 1) / slope.clamp_min(tiny)
    return (variance + step).clamp_min(LEAST)

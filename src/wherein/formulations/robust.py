"""What a pixel's misfit counts: its square, or less of it where something else may cover the motif.

With e ≥ 0 the squared misfit of a pixel, summed over its channels, and w ≥ 0 its weight, a formulation's cost
is ½ of a loss, Σ w e or its robust form

    L(e) = max over v ≥ s² of  Σ w (ρ_v(e) − q (v − s²)),    ρ_v(e) = e / (1 + e/v)    (Geman–McClure).

ρ_v is e for e ≪ v and no more than v however badly a pixel fits. Each pixel's trust in [0, 1] is the slope

    t = ∂ρ_v/∂e = 1 / (1 + e/v)².

The scale v need not be known: ρ_v(e) is concave in v, and its derivative there is (1 − √t)², the mistrust, so
the best v is where the mean mistrust is the share q of the motif that may be hidden. By Danskin's theorem
∂L/∂e is w t all the same: cost, gradient and Gauss–Newton's matrix are those of least squares with the
weights w t, exactly. Above its least, L is Σ w t e, what is left over the pixels that are trusted.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.images.gaussian import Sigma, value_of

LEAST = 1e-5
"""s² where the scale is estimated: within a grey level of 255, there is only noise."""

_NEWTON = 30
"""Steps to the scale at most; it takes about 6."""

Squares = Float[Tensor, "*B N"]
Weights = Float[Tensor, "*#B N"]


class LeastSquares:
    """L(e) = Σ w e: every pixel is trusted."""

    def __call__(self, squares: Squares, weights: Weights) -> tuple[Float[Tensor, "*B"], Squares]:  # noqa: D102
        return (weights * squares).sum(-1), weights.expand_as(squares)


@dataclass(frozen=True)
class Robust:
    """Trust pixels as far as they fit, for a motif that is partly hidden.

    The basin of attraction is narrower than that of least squares: start close, or make it the last stage.

    Arguments:
        hidden: q, the share of the motif that may be hidden, in (0, 1); the scale follows from it, an item's
            own. The less there is, the closer to least squares; beyond ½ there is more of something else.
        scale: √v instead, where it is known: the misfit (in the values of the picture, its channels'
            together) at which a pixel counts a quarter. A tensor may ask for its gradient.
    """

    hidden: float = 0.4
    scale: Sigma | None = None

    def __post_init__(self) -> None:
        require(
            0 < self.hidden < 1, f"hidden, a share of the motif, must be in (0, 1), but came as {self.hidden}"
        )
        require(
            self.scale is None or value_of(self.scale) > 0,
            f"the scale of robust weights must be positive, but came as {self.scale}",
        )

    def __call__(self, squares: Squares, weights: Weights) -> tuple[Float[Tensor, "*B"], Squares]:  # noqa: D102
        variance, price = self._variance(squares, weights)
        total = (weights * squares / (1 + squares / variance)).sum(-1) - price
        return total, weights * trust(squares, variance)

    def _variance(self, squares: Squares, weights: Weights) -> tuple[Tensor, Tensor]:
        """v, (…, 1), and what it costs, (…)."""
        if self.scale is not None:
            known = torch.as_tensor(self.scale, dtype=squares.dtype, device=squares.device) ** 2
            return known, torch.zeros_like(known)
        variance = scale_of(squares, weights, self.hidden)
        return variance, self.hidden * (variance[..., 0] - LEAST) * weights.sum(-1)


Loss = LeastSquares | Robust
"""What the squared misfits count: called with them and their weights, it gives L(e) and ∂L/∂e."""


def weigh(
    loss: Loss, residual: Float[Tensor, "*B C h w"], weight: Float[Tensor, "h w"] | None = None
) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B 1 h w"]]:
    """The loss of a picture of misfits, and the weights at which it is least squares."""
    squares = residual.pow(2).sum(-3)
    weight = torch.ones_like(squares) if weight is None else weight
    total, weights = loss(squares.flatten(-2), weight.flatten(-2))
    return total, weights.reshape_as(squares).unsqueeze(-3)


def trust(squares: Squares, variance: Tensor) -> Squares:
    """t = 1 / (1 + e/v)²."""
    return (1 + squares / variance) ** -2


def scale_of(squares: Squares, weights: Weights, hidden: float) -> Float[Tensor, "*B 1"]:
    """v ≥ s² where the mean mistrust m(v) = Σ w (e/(v + e))² / Σ w is `hidden`; s² where it is less there.

    m^(−½), a power mean of the lines 1 + v/e, is concave in v, and a line where all pixels fit alike:
    Newton's method from s² neither overshoots nor waits. Its last step is differentiable, and so gives v
    the derivative that it has.
    """
    shares = weights / weights.sum(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
    with torch.no_grad():
        variance = squares.new_full((*squares.shape[:-1], 1), LEAST)
        for _ in range(_NEWTON):
            before, variance = variance, _newton(squares, shares, variance, hidden)
            if bool(((variance - before).abs() <= 1e-6 * before).all()):
                break
    return _newton(squares, shares, variance, hidden)


def _newton(squares: Tensor, shares: Tensor, variance: Tensor, hidden: float) -> Tensor:
    mistrust = (squares / (variance + squares)) ** 2
    mean = (shares * mistrust).sum(-1, keepdim=True)
    slope = (shares * mistrust / (variance + squares)).sum(-1, keepdim=True)
    tiny = torch.finfo(slope.dtype).tiny  # where everything fits exactly, mean and slope are 0
    step = mean * ((mean / hidden).clamp_min(tiny).sqrt() - 1) / slope.clamp_min(tiny)
    return (variance + step).clamp_min(LEAST)

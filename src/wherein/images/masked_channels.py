"""Channels of a picture that is known only inside a mask, and their derivative.

`channels` needs the pixels around each pixel: its eight neighbours for the gradient, and several pixels more
for the local mean and the smoothing. The surroundings of a motif are unknown, and differ from scene to scene.
So here both means are taken inside the mask only (normalised convolution, Knutsson and Westin 1993):

    ⟨v⟩ = (b ∗ m v) / (b ∗ m),

where m is the mask without the pixels that have a neighbour outside it. Nothing outside the mask has an
effect, and only one pixel along the outline is lost. Further inside, the channels equal those of `channels`.

With g the gradient, s the factor by which it is normalised, a_k = max(0, ⟨g, u_k⟩) and e_k = s a_k² the share
of the direction u_k, the channels are F_k = ⟨e_k⟩, and a change dg of the gradient changes e_k by

    de_k = 2 s a_k ⟨dg, u_k⟩ + e_k r,    r = −3/2 ⟨g, dg⟩ / (|g|² + ν²) − ½ ⟨d|g|⟩ / (⟨|g|⟩ + ε).

`ChannelJet` computes this and its adjoint. They are written out because they take about a sixth of the time
of automatic differentiation (`torch.func.jvp` under `vmap`), and can use C. They are differentiable
themselves.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.images.channels import DIRECTIONS, ChannelSettings
from wherein.images.gaussian import separable

_SOFTENING = 0.01
"""|g| becomes √(|g|² + (this · ν)²). Otherwise the second derivative of |g|, which unrolled solvers need, is
infinite where a scene is constant. A choice: it changes the channels by less than 0.3 %, and the second
derivative of |g| is then no larger than that of the other terms."""

Planes = Float[Tensor, "*B 1 h w"]


class MaskedChannels:
    """The map from pictures to the channels inside a mask.

    Arguments:
        mask: the weight of each pixel in [0, 1]; 0 where the picture is not known.
        settings: see `channels`.

    Attributes:
        weight: m, the minimum weight of each pixel and its eight neighbours; 0 along the border. Where it is
            0, channels are undefined.
    """

    def __init__(self, mask: Float[Tensor, "h w"], settings: ChannelSettings = ChannelSettings()) -> None:
        self.settings, self.weight = settings, _eroded(mask)
        self.smoothing = _MaskedMean(self.weight, settings.taps(mask))
        self.local = _MaskedMean(self.weight, mask.new_full((settings.window,), 1 / settings.window))

    def __call__(self, picture: Float[Tensor, "*B C h w"]) -> "ChannelJet":
        """The channels of pictures, and their derivative there."""
        dx, dy = _gradient(picture)
        square = dx.square() + dy.square()
        # A sum with one weight of 1 selects the strongest colour; its adjoint is a product.
        strongest = torch.zeros_like(square).scatter_(-3, square.argmax(-3, keepdim=True), 1.0)
        gx, gy = ((strongest * change).sum(-3, keepdim=True) for change in (dx, dy))
        return ChannelJet(self, strongest, gx, gy)


@dataclass(frozen=True, eq=False)
class ChannelJet:
    """The channels of pictures, F(z), and their derivative DF(z).

    Arguments:
        of: the map.
        strongest: 1 for the colour that changes most at each pixel, 0 for the others.
        gx, gy: g, the gradient of that colour.
    """

    of: MaskedChannels
    strongest: Float[Tensor, "*B C h w"]
    gx: Planes
    gy: Planes

    @cached_property
    def values(self) -> Float[Tensor, "*B 8 h w"]:
        """F(z); 0 where the weight is 0 all around."""
        return self.of.smoothing(self._shares)

    def push(self, change: Float[Tensor, "*B P C h w"]) -> Float[Tensor, "*B P 8 h w"]:
        """DF(z) applied to P changes of each picture: the columns of a Jacobian."""
        change = change.movedim(-4, 0)  # P first, so that all other tensors broadcast over the changes
        dx, dy = ((self.strongest * part).sum(-3, keepdim=True) for part in _gradient(change))
        inner = self.gx * dx + self.gy * dy
        # r of the formula above; d|g| = ⟨g, dg⟩ / |g|.
        relative = -1.5 * inner / self._damped - 0.5 * self.of.local(inner / self._size) / self._floored
        cosines, sines = _directions(change)
        shares = self._twice * (cosines * dx + sines * dy) + self._shares * relative
        return self.of.smoothing(shares).movedim(0, -4)

    def pull(self, slope: Float[Tensor, "*B 8 h w"]) -> Float[Tensor, "*B C h w"]:
        """DF(z)ᵀ applied to a derivative with respect to F(z): the derivative with respect to z."""
        # The steps of `push`, transposed and in reverse order.
        shared = self.of.smoothing.adjoint(slope)
        relative = (self._shares * shared).sum(-3, keepdim=True)
        of_inner = -1.5 * relative / self._damped
        of_inner = of_inner - 0.5 * self.of.local.adjoint(relative / self._floored) / self._size
        along, (cosines, sines) = self._twice * shared, _directions(slope)
        dx = (cosines * along).sum(-3, keepdim=True) + self.gx * of_inner
        dy = (sines * along).sum(-3, keepdim=True) + self.gy * of_inner
        return _gradient_adjoint(self.strongest * dx, self.strongest * dy)

    @cached_property
    def _square(self) -> Planes:
        return self.gx.square() + self.gy.square()

    @cached_property
    def _size(self) -> Planes:
        """|g|, smoothed at 0: see `_SOFTENING`."""
        # The second term is for ν = 0; it is far below the precision of float32.
        least = (_SOFTENING * self.of.settings.noise) ** 2 + torch.finfo(self.gx.dtype).tiny ** 0.5
        return (self._square + least).sqrt()

    @cached_property
    def _damped(self) -> Planes:
        """|g|² + ν²."""
        return self._square + (self.of.settings.noise**2 + torch.finfo(self.gx.dtype).tiny ** 0.5)

    @cached_property
    def _floored(self) -> Planes:
        """⟨|g|⟩ + ε."""
        return self.of.local(self._size) + self.of.settings.floor

    @cached_property
    def _along(self) -> Float[Tensor, "*B 8 h w"]:
        """a_k = max(0, ⟨g, u_k⟩)."""
        cosines, sines = _directions(self.gx)
        return (cosines * self.gx + sines * self.gy).clamp_min(0)

    @cached_property
    def _scale(self) -> Planes:
        """s = (|g|² + ν²)^−¾ (⟨|g|⟩ + ε)^−½."""
        return self._damped**-0.75 * self._floored**-0.5

    @cached_property
    def _shares(self) -> Float[Tensor, "*B 8 h w"]:
        """e_k."""
        return self._scale * self._along.square()

    @cached_property
    def _twice(self) -> Float[Tensor, "*B 8 h w"]:
        """2 s a_k."""
        return 2 * self._scale * self._along


class _MaskedMean:
    """⟨v⟩ = (b ∗ m v) / (b ∗ m); 0 where no pixel of the mask is within the filter."""

    def __init__(self, weight: Float[Tensor, "h w"], taps: Float[Tensor, " K"]) -> None:
        total = separable(weight, taps)
        self._weight, self._taps = weight, taps
        self._share = torch.where(total > 0, 1 / torch.where(total > 0, total, 1.0), 0.0)

    def __call__(self, values: Float[Tensor, "*B h w"]) -> Float[Tensor, "*B h w"]:
        return self._share * separable(self._weight * values, self._taps)

    def adjoint(self, values: Float[Tensor, "*B h w"]) -> Float[Tensor, "*B h w"]:
        """The transposed map."""
        return self._weight * separable(self._share * values, self._taps)


def _eroded(mask: Float[Tensor, "h w"]) -> Float[Tensor, "h w"]:
    """The minimum of each pixel and its eight neighbours; 0 beyond the border."""
    return -F.max_pool2d(-F.pad(mask, (1, 1, 1, 1))[None], 3, 1)[0]


def _directions(like: Tensor) -> tuple[Float[Tensor, "8 1 1"], Float[Tensor, "8 1 1"]]:
    """The directions u_k."""
    angles = torch.arange(DIRECTIONS, dtype=like.dtype, device=like.device) * (2 * math.pi / DIRECTIONS)
    return angles.cos()[:, None, None], angles.sin()[:, None, None]


def _gradient(picture: Float[Tensor, "*B h w"]) -> tuple[Float[Tensor, "*B h w"], Float[Tensor, "*B h w"]]:
    """∂x and ∂y as in `channels`, but with zeros beyond the border: the weight is 0 there."""
    return _difference(_mixed(picture, -2), -1), _difference(_mixed(picture, -1), -2)


def _gradient_adjoint(x: Float[Tensor, "*B h w"], y: Float[Tensor, "*B h w"]) -> Float[Tensor, "*B h w"]:
    # With zeros beyond the border, a symmetric filter is its own adjoint, and a difference is minus its own.
    return -_mixed(_difference(x, -1), -2) - _mixed(_difference(y, -2), -1)


def _difference(planes: Float[Tensor, "*B h w"], axis: int) -> Float[Tensor, "*B h w"]:
    before, _, after = _neighbours(planes, axis)
    return (after - before) / 2


def _mixed(planes: Float[Tensor, "*B h w"], axis: int) -> Float[Tensor, "*B h w"]:
    before, here, after = _neighbours(planes, axis)
    return (before + 2 * here + after) / 4


def _neighbours(planes: Float[Tensor, "*B h w"], axis: int) -> tuple[Tensor, Tensor, Tensor]:
    padded = F.pad(planes, (1, 1) if axis == -1 else (0, 0, 1, 1))
    size = planes.shape[axis]
    return padded.narrow(axis, 0, size), planes, padded.narrow(axis, 2, size)

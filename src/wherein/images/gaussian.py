"""Gaussian filters g_σ² and g_M: odd square support of 6σ, zeros outside the picture.

An isotropic filter is sampled, sums to 1 and is applied one axis at a time. A filter with a full covariance
is the sampled density, whose sum is 1 only in the limit: formulation (10) needs it so, because there the
amplitude of a spike carries information.
"""

import math
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.native import bindings

Sigma = float | Float[Tensor, ""]

_DENSE = 20
"""Height and width of a picture, over the filter's length, below which filtering it is multiplying by two
band matrices: a CPU multiplies matrices twenty times faster than it convolves by one row."""


def value_of(sigma: Sigma) -> float:
    """The number alone, where a tensor may ask for its gradient."""
    return float(sigma.detach()) if isinstance(sigma, Tensor) else float(sigma)


def radius_of(sigma: Sigma, reach: float = 3.0) -> int:
    """Half the support: ⌈reach · σ⌉ pixels on each side of the centre."""
    # A hair less: a width that is kept as its logarithm comes back as 3.0000002, which is 3.
    return math.ceil(reach * value_of(sigma) - 1e-5)


def gaussian_1d(sigma: Sigma, radius: int | None = None, like: Tensor | None = None) -> Float[Tensor, " K"]:
    """The isotropic filter along one axis, K = 2 · radius + 1 samples that sum to 1.

    Arguments:
        sigma: standard deviation in pixels, ≥ 0 (0 is the identity); a tensor may ask for its gradient.
        radius: half the support; ⌈3σ⌉ unless told.
        like: a tensor whose dtype and device the filter takes, where `sigma` is a number.

    Example:
        >>> gaussian_1d(0.5)
        tensor([2.6387e-04, 1.0645e-01, 7.8657e-01, 1.0645e-01, 2.6387e-04])
    """
    require(value_of(sigma) >= 0, f"sigma must be 0 or more, but came as {value_of(sigma)}")
    if not isinstance(sigma, Tensor):
        sigma = (
            torch.tensor(sigma, dtype=like.dtype, device=like.device)
            if like is not None
            else torch.tensor(sigma)
        )
    elif like is not None:
        sigma = sigma.to(like)
    radius = radius_of(sigma) if radius is None else radius
    offsets = torch.arange(-radius, radius + 1, dtype=sigma.dtype, device=sigma.device)
    if radius == 0:
        return torch.ones_like(offsets)
    samples = torch.exp(-0.5 * (offsets / sigma) ** 2)
    return samples / samples.sum()


def gaussian_density(covariance: Float[Tensor, "*B 2 2"], radius: int) -> Float[Tensor, "*B K K"]:
    """The density g_M on the whole pixels of a square: exp(−½ wᵀM⁻¹w) / (2π √det M), w = (x, y).

    Arguments:
        covariance: M, positive definite, in (x, y).
        radius: half the support, K = 2 · radius + 1.
    """
    w = offsets_2d(radius, covariance)
    exponent = torch.einsum("yxi,...ij,yxj->...yx", w, torch.linalg.inv(covariance), w)
    scale = 2 * math.pi * torch.linalg.det(covariance).sqrt()
    return torch.exp(-0.5 * exponent) / scale[..., None, None]


def offsets_2d(radius: int, like: Tensor) -> Float[Tensor, "K K 2"]:
    """w: the offsets (x, y) of a filter's pixels from its centre."""
    line = torch.arange(-radius, radius + 1, dtype=like.dtype, device=like.device)
    y, x = torch.meshgrid(line, line, indexing="ij")
    return torch.stack((x, y), -1)


def gaussian_spots(
    points: Float[Tensor, "N 2"], sigma: Sigma, height: int, width: int
) -> Float[Tensor, "N H W"]:
    """The density g_σ² about each point (x, y), sampled on a picture: spikes that need no whole pixels.

    A Gaussian with a mean of its own, and not a filter on a rounded spike: its derivative in the point
    exists everywhere.
    """
    level = torch.as_tensor(sigma, dtype=points.dtype, device=points.device)
    grid = torch.arange(max(height, width), dtype=points.dtype, device=points.device)
    x = torch.exp(-0.5 * ((grid[:width] - points[:, :1]) / level) ** 2)
    y = torch.exp(-0.5 * ((grid[:height] - points[:, 1:]) / level) ** 2)
    return y[:, :, None] * x[:, None, :] / (2 * math.pi * level**2)


def blur(picture: Float[Tensor, "*B H W"], sigma: Sigma) -> Float[Tensor, "*B H W"]:
    """g_σ² ∗ picture, the same size, zeros outside; σ = 0 gives the picture back."""
    return separable(picture, gaussian_1d(sigma, like=picture).to(picture.dtype))


def separable(picture: Float[Tensor, "*B H W"], taps: Float[Tensor, " K"]) -> Float[Tensor, "*B H W"]:
    """The picture filtered by `taps` (odd, symmetric) along each axis, the same size, zeros outside."""
    radius = taps.numel() // 2
    if radius == 0:
        return picture * taps
    if bindings.accepts(picture, taps):
        return bindings.separable(picture, taps)
    height, width = picture.shape[-2:]
    if height + width < _DENSE * taps.numel():
        planes = picture.reshape(-1, height, width)
        # Plane by plane: the rounding of one large product would depend on how many there are.
        rows, columns = (_band(taps, size).expand(len(planes), -1, -1) for size in (height, width))
        return (rows.bmm(planes).bmm(columns)).reshape(picture.shape)
    planes = picture.reshape(-1, 1, height, width)
    planes = F.conv2d(planes, taps[None, None, :, None], padding=(radius, 0))
    planes = F.conv2d(planes, taps[None, None, None, :], padding=(0, radius))
    return planes.reshape(picture.shape)


def _band(taps: Float[Tensor, " K"], size: int) -> Float[Tensor, "N N"]:
    """The filter along an axis of that size as a matrix, T_ij = taps_(i − j); symmetric, as the taps are."""
    radius = taps.numel() // 2
    room = size - 1 - radius
    line = F.pad(taps, (room, room)) if room >= 0 else taps[-room:room]
    return line.unfold(0, size, 1).flip(0)


def convolve_full(picture: Float[Tensor, "*B H W"], taps: Float[Tensor, "*b k l"]) -> Float[Tensor, "*c h w"]:
    """The whole linear convolution, h = H + k − 1, w = W + l − 1, by FFT.

    Arguments:
        picture: any number of planes.
        taps: one filter, or one for each plane along leading dimensions that broadcast.
    """
    h, w = (n + k - 1 for n, k in zip(picture.shape[-2:], taps.shape[-2:], strict=True))
    size = quick_length(h), quick_length(w)
    return from_spectrum(spectrum(picture, size) * spectrum(taps, size), size, (h, w))


def correlate_valid(
    picture: Float[Tensor, "*B h w"], taps: Float[Tensor, "*b k l"]
) -> Float[Tensor, "*c H W"]:
    """The adjoint of `convolve_full` in either of its arguments: H = h − k + 1, W = w − l + 1."""
    h, w = picture.shape[-2:]
    k, l = taps.shape[-2:]  # noqa: E741 (rows and columns of the filter)
    size = quick_length(h), quick_length(w)
    matched = spectrum(picture, size) * spectrum(taps, size).conj()
    return from_spectrum(matched, size, (h - k + 1, w - l + 1))


def spectrum(picture: Float[Tensor, "*B h w"], size: tuple[int, int]) -> Tensor:
    """`rfft2` of the picture in the corner of a black one of that size, whose empty rows take no time."""
    return torch.fft.fft(torch.fft.rfft(picture, size[1]), size[0], -2)


def from_spectrum(of: Tensor, size: tuple[int, int], wanted: tuple[int, ...]) -> Float[Tensor, "*B h w"]:
    """The wanted corner of `irfft2`: of the other rows, half of the work is left out."""
    rows = torch.fft.ifft(of, dim=-2)[..., : wanted[0], :]
    return torch.fft.irfft(rows, size[1])[..., : wanted[1]]


@cache
def quick_length(least: int) -> int:
    """The next length with no prime factor above 5, at which an FFT takes a fifth of the time of a prime.

    >>> [quick_length(n) for n in (1, 7, 347, 1633)]
    [1, 8, 360, 1728]
    """
    length = least
    while _rest(length) > 1:
        length += 1
    return length


def _rest(length: int) -> int:
    """What is left of a number without its factors 2, 3 and 5."""
    for factor in (2, 3, 5):
        while length % factor == 0:
            length //= factor
    return length

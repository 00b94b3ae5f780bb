"""Gaussian filters g_σ² and g_M, and convolution by FFT. Pictures are continued by zeros.

An isotropic filter has a width of 6σ, sums to 1 and is applied along one axis at a time. A filter with a full
covariance is the sampled density. It is not normalised to a sum of 1, because the amplitude of a spike
carries information in formulation (10).
"""

import math
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.native import kernel, picture_calls

Sigma = float | Float[Tensor, ""]

_DENSE = 20
"""If height + width of a picture is less than this many filter lengths, it is filtered by multiplication with
two band matrices, since a CPU multiplies matrices twenty times faster than it convolves."""


def value_of(sigma: Sigma) -> float:
    """The value of σ as a plain number, without its gradient."""
    return float(sigma.detach()) if isinstance(sigma, Tensor) else float(sigma)


def radius_of(sigma: Sigma, reach: float = 3.0) -> int:
    """The radius of a filter: ⌈reach · σ⌉ pixels on each side of the centre."""
    # Slightly less, because a σ that is stored as its logarithm may return as 3.0000002 instead of 3.
    return math.ceil(reach * value_of(sigma) - 1e-5)


def gaussian_1d(sigma: Sigma, radius: int | None = None, like: Tensor | None = None) -> Float[Tensor, " K"]:
    """The isotropic filter along one axis, K = 2 · radius + 1 samples that sum to 1.

    Arguments:
        sigma: standard deviation in pixels, ≥ 0 (0 is the identity); differentiable if it is a tensor.
        radius: in pixels; by default ⌈3σ⌉.
        like: the filter gets the dtype and device of this tensor.

    Example:
        >>> gaussian_1d(0.5)
        tensor([2.6387e-04, 1.0645e-01, 7.8657e-01, 1.0645e-01, 2.6387e-04])
    """
    require(value_of(sigma) >= 0, f"sigma must be 0 or more, but is {value_of(sigma)}")
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
    """The density g_M sampled at the pixels of a square: exp(−½ wᵀM⁻¹w) / (2π √det M), w = (x, y).

    Arguments:
        covariance: M, positive definite, in (x, y).
        radius: in pixels; K = 2 · radius + 1.
    """
    w = offsets_2d(radius, covariance)
    exponent = torch.einsum("yxi,...ij,yxj->...yx", w, torch.linalg.inv(covariance), w)
    scale = 2 * math.pi * torch.linalg.det(covariance).sqrt()
    return torch.exp(-0.5 * exponent) / scale[..., None, None]


def offsets_2d(radius: int, like: Tensor) -> Float[Tensor, "K K 2"]:
    """The offsets w = (x, y) of a filter's pixels from its centre."""
    line = torch.arange(-radius, radius + 1, dtype=like.dtype, device=like.device)
    y, x = torch.meshgrid(line, line, indexing="ij")
    return torch.stack((x, y), -1)


def gaussian_spots(
    points: Float[Tensor, "N 2"], sigma: Sigma, height: int, width: int
) -> Float[Tensor, "N H W"]:
    """The density g_σ² around each point (x, y), sampled at the pixels of a picture.

    Points need not be whole pixels: a Gaussian with this mean is sampled, so the result is differentiable in
    the points, unlike a filtered spike at a rounded position.
    """
    # Separable: two rows of exponentials instead of a plane of them.
    level = torch.as_tensor(sigma, dtype=points.dtype, device=points.device)
    grid = torch.arange(max(height, width), dtype=points.dtype, device=points.device)
    x = torch.exp(-0.5 * ((grid[:width] - points[:, :1]) / level) ** 2)
    y = torch.exp(-0.5 * ((grid[:height] - points[:, 1:]) / level) ** 2)
    return y[:, :, None] * x[:, None, :] / (2 * math.pi * level**2)


def blur(picture: Float[Tensor, "*B H W"], sigma: Sigma) -> Float[Tensor, "*B H W"]:
    """g_σ² ∗ picture, of the same size; σ = 0 returns the picture."""
    return separable(picture, gaussian_1d(sigma, like=picture).to(picture.dtype))


def separable(picture: Float[Tensor, "*B H W"], taps: Float[Tensor, " K"]) -> Float[Tensor, "*B H W"]:
    """The picture filtered by `taps` (odd, symmetric) along each axis, of the same size."""
    radius = taps.numel() // 2
    if radius == 0:
        return picture * taps
    if kernel.accepts(picture, taps):
        return picture_calls.separable(picture, taps)
    height, width = picture.shape[-2:]
    if height + width < _DENSE * taps.numel():
        planes = picture.reshape(-1, height, width)
        # One product for each plane: the rounding of one large product would depend on their number.
        rows, columns = (_band(taps, size).expand(len(planes), -1, -1) for size in (height, width))
        return (rows.bmm(planes).bmm(columns)).reshape(picture.shape)
    planes = picture.reshape(-1, 1, height, width)
    planes = F.conv2d(planes, taps[None, None, :, None], padding=(radius, 0))
    planes = F.conv2d(planes, taps[None, None, None, :], padding=(0, radius))
    return planes.reshape(picture.shape)


def _band(taps: Float[Tensor, " K"], size: int) -> Float[Tensor, "N N"]:
    """The filter along an axis of this size as a matrix, T_ij = taps_(i − j); symmetric like the taps."""
    radius = taps.numel() // 2
    # Every row is a window of one long row of taps, with zeros (or cut) on both sides, shifted by one.
    room = size - 1 - radius
    line = F.pad(taps, (room, room)) if room >= 0 else taps[-room:room]
    return line.unfold(0, size, 1).flip(0)


def convolve_full(picture: Float[Tensor, "*B H W"], taps: Float[Tensor, "*b k l"]) -> Float[Tensor, "*c h w"]:
    """The full linear convolution, h = H + k − 1, w = W + l − 1, by FFT.

    Arguments:
        picture: any number of planes.
        taps: one filter, or several whose leading dimensions broadcast with those of the picture.
    """
    h, w = (n + k - 1 for n, k in zip(picture.shape[-2:], taps.shape[-2:], strict=True))
    # At least as large as the result, so that the circular convolution of the FFT does not wrap around.
    size = quick_length(h), quick_length(w)
    return from_spectrum(spectrum(picture, size) * spectrum(taps, size), size, (h, w))


def correlate_valid(
    picture: Float[Tensor, "*B h w"], taps: Float[Tensor, "*b k l"]
) -> Float[Tensor, "*c H W"]:
    """The adjoint of `convolve_full` in either argument: H = h − k + 1, W = w − l + 1."""
    h, w = picture.shape[-2:]
    k, l = taps.shape[-2:]  # noqa: E741 (rows and columns of the filter)
    size = quick_length(h), quick_length(w)
    # The conjugate makes it a correlation. It wraps around, but not into the part that is kept.
    matched = spectrum(picture, size) * spectrum(taps, size).conj()
    return from_spectrum(matched, size, (h - k + 1, w - l + 1))


def spectrum(picture: Float[Tensor, "*B h w"], size: tuple[int, int]) -> Tensor:
    """`rfft2` of the picture padded with zeros to `size`; rows of zeros are not transformed along x."""
    return torch.fft.fft(torch.fft.rfft(picture, size[1]), size[0], -2)


def from_spectrum(of: Tensor, size: tuple[int, int], crop: tuple[int, ...]) -> Float[Tensor, "*B h w"]:
    """`irfft2`, cropped to the first rows and columns; the other rows are not transformed along x."""
    rows = torch.fft.ifft(of, dim=-2)[..., : crop[0], :]
    return torch.fft.irfft(rows, size[1])[..., : crop[1]]


@cache
def quick_length(minimum: int) -> int:
    """The next length without a prime factor above 5: an FFT takes a fifth of the time of a prime length.

    >>> [quick_length(n) for n in (1, 7, 347, 1633)]
    [1, 8, 360, 1728]
    """
    length = minimum
    while _cofactor(length) > 1:
        length += 1
    return length


def _cofactor(length: int) -> int:
    """A number divided by all its factors 2, 3 and 5."""
    for factor in (2, 3, 5):
        while length % factor == 0:
            length //= factor
    return length

"""Channels of oriented gradients: a description of a picture that hardly depends on the light.

The colour of a pixel changes with the lamp, the exposure, a shadow or a reflection. The position of an edge,
its direction and which of its sides is brighter hardly do. So a picture becomes eight channels, the
multichannel input of equation (11). With g the gradient of the colour that changes most, and u_k the
directions 45° apart,

    F_k = G_σ ∗ [ max(0, ⟨g, u_k⟩)² / ((|g|² + ν²)^¾ (⟨|g|⟩ + ε)^½) ].

This is the square root of the gradient's size relative to its mean ⟨|g|⟩ over a window, distributed over the
directions by cos². Three properties follow:

- Dividing by the local mean removes shading, exposure and most of a glare.
- Opposite directions have different channels, and channels are never negative. So smoothing does not cancel
  them, and basins of attraction stay wide, as in the paper's smoothed costs.
- The two opposite edges of a thin line are in different channels, so they remain distinct at any smoothing.

Related: descriptor fields (Crivellaro and Lepetit 2014), feature-based Lucas–Kanade (Antonakos et al. 2015).
"""

import math
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.images.gaussian import Sigma, gaussian_1d, radius_of
from wherein.native import kernel, picture_calls
from wherein.native.abi import DIRECTIONS

__all__ = ["DIRECTIONS", "ChannelSettings", "channels", "opposite"]


@dataclass(frozen=True)
class ChannelSettings:
    """The parameters of the channels.

    Attributes:
        sigma: smoothing of the channels in pixels; differentiable if it is a tensor.
        window: width of the square over which the gradient's size is averaged, odd, in pixels.
        floor: ε, added to this mean: where the mean is well below ε, channels are weak. In units of the
            picture's range per pixel.
        noise: ν, the same for the gradient itself: the direction of a gradient below ν is that of noise.

    Floor and noise correspond to the noise and compression of ordinary photographs, some grey levels of 255.
    With lower values, flat regions would be as strong as texture after division by their own mean: with a
    fifth of these values, a bare disc on a plain background had a ZNCC of 0.76 at its own place, and with
    these values 0.94. With higher values weakly lit edges fade.
    """

    sigma: Sigma = 1.3
    window: int = 9
    floor: float = 0.02
    noise: float = 0.01

    def taps(self, like: Tensor) -> Float[Tensor, " K"]:
        """The smoothing filter along each axis."""
        if isinstance(self.sigma, Tensor):
            return gaussian_1d(self.sigma, radius_of(self.sigma, _REACH), like)
        return _taps(self.sigma, like.dtype, like.device)


_REACH = 2.5
"""Radius of the smoothing filter in units of sigma. A choice: 1.2 % of the weight is beyond it."""


@cache
def _taps(sigma: float, dtype: torch.dtype, device: torch.device) -> Float[Tensor, " K"]:
    # Cached, since a search computes channels hundreds of times. Not an inference tensor, which could not be
    # used in a later call with gradients.
    with torch.inference_mode(False):
        like = torch.empty(0, dtype=dtype, device=device)
        return gaussian_1d(sigma, radius_of(sigma, _REACH), like)


def channels(
    picture: Float[Tensor, "*B C H W"], settings: ChannelSettings = ChannelSettings()
) -> Float[Tensor, "*B 8 H W"]:
    """The channels of a picture; outside, it is continued by its border pixels.

    Differentiable: where two colours change equally, the derivative is that of the first.
    """
    taps = settings.taps(picture)
    if picture.ndim == 3 and kernel.accepts(picture, taps):
        found = picture_calls.channels(picture, taps, settings.floor, settings.noise, settings.window)
        return found.permute(2, 0, 1)
    flat = picture.reshape(-1, *picture.shape[-3:])
    gx, gy = _strongest_gradient(flat)
    square = gx.square() + gy.square()
    # The root has no derivative at 0; the added number is far below the precision of float32.
    size = (square + torch.finfo(square.dtype).tiny ** 0.5).sqrt()
    mean = _box_mean(size, settings.window)
    scale = (square + settings.noise**2) ** -0.75 * (mean + settings.floor) ** -0.5
    angles = torch.arange(DIRECTIONS, dtype=flat.dtype, device=flat.device) * (2 * math.pi / DIRECTIONS)
    # a_k = max(0, ⟨g, u_k⟩); its square times `scale` is √|g| cos² without floor and noise.
    along = (gx * angles.cos()[:, None, None] + gy * angles.sin()[:, None, None]).clamp_min(0)
    found = _smoothed(along.square() * scale, taps)
    return found.reshape(*picture.shape[:-3], DIRECTIONS, *picture.shape[-2:])


def opposite(found: Float[Tensor, "*B 8 H W"]) -> Float[Tensor, "*B 8 H W"]:
    """The channels of the same picture with bright and dark exchanged: direction k becomes k + 4."""
    return found.roll(DIRECTIONS // 2, -3)


def _strongest_gradient(picture: Float[Tensor, "B C H W"]) -> tuple[Tensor, Tensor]:
    """∂x and ∂y of the colour that changes most at each pixel, each (B, 1, H, W)."""
    padded = F.pad(picture, (1, 1, 1, 1), mode="replicate")
    rows = (padded[..., :-2, :] + 2 * padded[..., 1:-1, :] + padded[..., 2:, :]) / 4
    columns = (padded[..., :-2] + 2 * padded[..., 1:-1] + padded[..., 2:]) / 4
    gx = (rows[..., 2:] - rows[..., :-2]) / 2
    gy = (columns[..., 2:, :] - columns[..., :-2, :]) / 2
    strongest = (gx.square() + gy.square()).argmax(1, keepdim=True)
    return gx.gather(1, strongest), gy.gather(1, strongest)


def _box_mean(values: Float[Tensor, "B 1 H W"], window: int) -> Float[Tensor, "B 1 H W"]:
    reach = window // 2
    return F.avg_pool2d(F.pad(values, (reach,) * 4, mode="replicate"), window, 1)


def _smoothed(values: Float[Tensor, "B K H W"], taps: Float[Tensor, " T"]) -> Float[Tensor, "B K H W"]:
    # Continued by the border pixels, unlike in `gaussian.separable`: an edge must not fade at the border.
    reach, planes = taps.numel() // 2, values.flatten(0, 1)[:, None]
    planes = F.conv2d(F.pad(planes, (reach, reach, 0, 0), mode="replicate"), taps[None, None, None])
    planes = F.conv2d(F.pad(planes, (0, 0, reach, reach), mode="replicate"), taps[None, None, :, None])
    return planes.reshape(values.shape)

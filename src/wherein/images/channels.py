"""Channels of oriented gradients: what a picture shows, whatever the light.

A colour at a pixel changes with the lamp, the exposure, a shadow or a reflection; where an edge lies, which
way it runs and which side of it is brighter hardly do. So a picture becomes eight channels, the multichannel
input of equation (11). With g the gradient of the colour that changes most, and u_k the directions 45° apart,

    F_k = G_σ ∗ [ max(0, ⟨g, u_k⟩)² / ((|g|² + ν²)^¾ (⟨|g|⟩ + ε)^½) ]:

the square root of the gradient's size relative to its mean ⟨|g|⟩ over a window, shared out among the
directions by cos². Three things follow:

- Dividing by the local mean removes shading, exposure and most of a glare.
- The two sides of an edge are kept apart (one-sided channels), and because channels are never negative,
  smoothing them does not cancel them: basins of attraction stay wide, as in the paper's smoothed costs.
- A thin line is two opposite edges side by side, in different channels, at any smoothing.

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
    """How a picture becomes channels.

    Attributes:
        sigma: smoothing of the channels in pixels; differentiable if it is a tensor.
        window: width of the square over which the gradient's size is averaged, odd, in pixels.
        floor: ε, added to that mean: a gradient well below it counts as none. In units of the picture's range
            for each pixel.
        noise: ν, likewise for the gradient itself: below it, directions are those of noise.

    Floor and noise are those of the noise and compression of ordinary photographs, some grey levels of 255:
    below them, what is flat would be as strong as texture where it is divided by its own mean. With a fifth
    of these values, a bare disc on a plain background had a ZNCC of 0.76 at its own place, and with these
    0.94; with larger ones weakly lit edges fade.
    """

    sigma: Sigma = 1.3
    window: int = 9
    floor: float = 0.02
    noise: float = 0.01

    def taps(self, like: Tensor) -> Float[Tensor, " K"]:
        """The smoothing along each axis."""
        if isinstance(self.sigma, Tensor):
            return gaussian_1d(self.sigma, radius_of(self.sigma, _REACH), like)
        return _taps(self.sigma, like.dtype, like.device)


_REACH = 2.5
"""Radius of the smoothing filter in units of sigma. A choice: beyond it are 1.2 % of the weight."""


@cache
def _taps(sigma: float, dtype: torch.dtype, device: torch.device) -> Float[Tensor, " K"]:
    # Kept: a search makes channels hundreds of times. Not an inference tensor, which could not be used where
    # gradients are wanted later.
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
    # Of a gradient of 0 the root has no derivative; what is added is far below a float32's precision.
    size = (square + torch.finfo(square.dtype).tiny ** 0.5).sqrt()
    mean = _box_mean(size, settings.window)
    scale = (square + settings.noise**2) ** -0.75 * (mean + settings.floor) ** -0.5
    angles = torch.arange(DIRECTIONS, dtype=flat.dtype, device=flat.device) * (2 * math.pi / DIRECTIONS)
    along = (gx * angles.cos()[:, None, None] + gy * angles.sin()[:, None, None]).clamp_min(0)
    found = _smoothed(along.square() * scale, taps)
    return found.reshape(*picture.shape[:-3], DIRECTIONS, *picture.shape[-2:])


def opposite(found: Float[Tensor, "*B 8 H W"]) -> Float[Tensor, "*B 8 H W"]:
    """The channels of the same picture with light and dark exchanged: direction k becomes k + 4."""
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
    # Continued by the border, where `gaussian.separable` has zeros: an edge must not fade at the border.
    reach, planes = taps.numel() // 2, values.flatten(0, 1)[:, None]
    planes = F.conv2d(F.pad(planes, (reach, reach, 0, 0), mode="replicate"), taps[None, None, None])
    planes = F.conv2d(F.pad(planes, (0, 0, reach, reach), mode="replicate"), taps[None, None, :, None])
    return planes.reshape(values.shape)

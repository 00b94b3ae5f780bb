"""A map of correlations as a picture to lay over the scene."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from PIL import Image

_LEAST, _MOST = 0.55, 0.85
"""ZNCC up to which a place is dark, and from which on it is as bright as can be."""

_COLORS = np.array(
    ((30, 10, 60, 140), (60, 16, 100, 150), (150, 40, 100, 170), (240, 110, 30, 205), (255, 255, 180, 245)),
    dtype=np.float64,
)
"""Red, green, blue and alpha at even steps from the least to the most."""

_SIDE = 480
"""Pixels of the picture's longer side: the map was made on a reduced scene, and has no more to show."""


def heat(values: Float[NDArray[np.float32], "H W"]) -> Image.Image:
    """A picture with alpha in the proportions of the map: it darkens the scene where little fits.

    Where it must be reduced, the greatest values live on: peaks are narrow, and what it is all about.
    """
    shrink = -(-max(values.shape) // _SIDE)
    small = F.max_pool2d(torch.from_numpy(values)[None, None], shrink, ceil_mode=True)[0, 0].numpy()
    place = np.clip((small - _LEAST) / (_MOST - _LEAST), 0, 1) * (len(_COLORS) - 1)
    steps = np.arange(len(_COLORS))
    planes = [np.interp(place, steps, _COLORS[:, channel]) for channel in range(4)]
    return Image.fromarray(np.stack(planes, -1).round().astype(np.uint8))


@dataclass(frozen=True)
class ColorScale:
    """The legend of a map.

    Attributes:
        low: ZNCC at its left end.
        high: ZNCC at its right end.
        gradient: its colours, as an image of CSS.
    """

    low: float
    high: float
    gradient: str


def color_scale() -> ColorScale:
    """The colours of every map, for a legend."""
    stops = ", ".join(f"rgb({r:.0f} {g:.0f} {b:.0f} / {a / 255:.2f})" for r, g, b, a in _COLORS)
    return ColorScale(_LEAST, _MOST, f"linear-gradient(90deg, {stops})")

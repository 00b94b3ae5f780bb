"""Occurrence maps as pictures to lay over a scene."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from PIL import Image

_DARKEST, _BRIGHTEST = 0.55, 0.85
"""ZNCC at both ends of the colours; what is below or above looks like the ends. A choice."""

_COLORS = np.array(
    ((30, 10, 60, 140), (60, 16, 100, 150), (150, 40, 100, 170), (240, 110, 30, 205), (255, 255, 180, 245)),
    dtype=np.float64,
)
"""Red, green, blue and alpha at equal steps from the darkest to the brightest."""

_SIDE = 480
"""Pixels of the longer side of the picture. A choice: the maps come from a reduced scene and show no more."""


def heat(values: Float[NDArray[np.float32], "H W"]) -> Image.Image:
    """A picture with alpha in the proportions of the map; it darkens the scene where little fits.

    Where the map is reduced, maxima are kept and not means: peaks are narrow, and what the map is for.
    """
    shrink = -(-max(values.shape) // _SIDE)
    small = F.max_pool2d(torch.from_numpy(values)[None, None], shrink, ceil_mode=True)[0, 0].numpy()
    place = np.clip((small - _DARKEST) / (_BRIGHTEST - _DARKEST), 0, 1) * (len(_COLORS) - 1)
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
    return ColorScale(_DARKEST, _BRIGHTEST, f"linear-gradient(90deg, {stops})")

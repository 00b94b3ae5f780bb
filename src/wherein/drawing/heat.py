"""Occurrence maps as transparent pictures that are laid over a scene."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from PIL import Image

_DARKEST, _BRIGHTEST = 0.55, 0.85
"""ZNCC at the ends of the colour scale; values beyond are clipped. A choice."""

_COLORS = np.array(
    ((30, 10, 60, 140), (60, 16, 100, 150), (150, 40, 100, 170), (240, 110, 30, 205), (255, 255, 180, 245)),
    dtype=np.float64,
)
"""The colour scale: red, green, blue and alpha at equal steps, interpolated linearly."""

_SIDE = 480
"""Maximum longer side of the picture in pixels. A choice: maps are made from a reduced scene, without finer
detail."""


def heat(values: Float[NDArray[np.float32], "H W"]) -> Image.Image:
    """A map of ZNCC as a picture with alpha, of the same proportions; low values darken the scene.

    A large map is reduced by maxima and not by means: means would remove the narrow peaks that matter.
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
    """The colour scale of all maps, for a legend."""
    stops = ", ".join(f"rgb({r:.0f} {g:.0f} {b:.0f} / {a / 255:.2f})" for r, g, b, a in _COLORS)
    return ColorScale(_DARKEST, _BRIGHTEST, f"linear-gradient(90deg, {stops})")

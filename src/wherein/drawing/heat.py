"""A map of correlations as a picture to lay over the scene."""

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


def scale() -> str:
    """The colours as a gradient of CSS, and the values at its ends."""
    stops = ", ".join(f"rgb({r:.0f} {g:.0f} {b:.0f} / {a / 255:.2f})" for r, g, b, a in _COLORS)
    return (
        f'<p class="key">ZNCC {_LEAST} '
        f'<span style="background-image: linear-gradient(90deg, {stops})"></span>'
        f" {_MOST}</p>"
    )

"""A colour for every part, the same in pictures and in reports."""

import colorsys
import math
from collections.abc import Iterable

Color = tuple[int, int, int]

_GOLDEN = 0.381966
"""Of a full turn of hues: parts that follow one another, often left and right, differ the most."""

_TONES = ((0.9, 1.0), (0.5, 1.0))
"""Saturation and value in turn."""

_BRIGHT = 0.48
"""The least luminance."""


def colors(names: Iterable[str]) -> dict[str, Color]:
    """By name; bright ones, which stand out from photographs."""
    listed = list(names)
    count = max(len(listed), 1)
    step = next(k for k in range(max(1, round(_GOLDEN * count)), count + 2) if math.gcd(k, count) == 1)
    return {
        name: _color(k * step % count / count, _TONES[k * step % count % 2]) for k, name in enumerate(listed)
    }


def _color(hue: float, tone: tuple[float, float]) -> Color:
    """With as much white as it takes to be bright: blue is a dark colour."""
    rgb = colorsys.hsv_to_rgb(hue, *tone)
    luminance = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2]
    white = max(0.0, (_BRIGHT - luminance) / (1 - luminance))
    red, green, blue = (round(255 * (part + white * (1 - part))) for part in rgb)
    return red, green, blue

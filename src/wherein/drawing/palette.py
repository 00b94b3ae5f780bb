"""The colours of drawings: one for every part, the same in pictures, reports and videos."""

import colorsys
import math
from collections.abc import Iterable

Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

INK: Color = (20, 20, 20)
PAPER: Color = (255, 255, 255)

_FIRST_HUE = 0.5
"""Of the first part, often the only one: cyan. A choice: few objects have this colour, and it stands out most
from the reds and browns of wood, skin and brick."""

_HUE_STEP = 0.381966
"""Share of the colour circle between parts that follow one another, often left and right: 2 − (1 + √5)/2, the
golden angle, by which neighbours in a long list differ the most."""

_TONES = ((0.9, 1.0), (0.5, 1.0))
"""Saturation and value, used in turn. A choice: neighbouring hues differ in tone too."""

_MIN_LUMINANCE = 0.48
"""A choice: bright enough to stand out from photographs and to carry dark letters."""


def colors(names: Iterable[str]) -> dict[str, Color]:
    """A bright colour for each name."""
    listed = list(names)
    count = max(len(listed), 1)
    # Hues at equal distances, visited in steps that have no divisor in common with their number: each once.
    step = next(k for k in range(max(1, round(_HUE_STEP * count)), count + 2) if math.gcd(k, count) == 1)
    return {
        name: _color(_FIRST_HUE + k * step % count / count, _TONES[k * step % count % 2])
        for k, name in enumerate(listed)
    }


def _color(hue: float, tone: tuple[float, float]) -> Color:
    """A colour with as much white as it needs to be bright: pure blue is dark."""
    rgb = colorsys.hsv_to_rgb(hue, *tone)
    luminance = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2]  # as of television (Rec. 601)
    white = max(0.0, (_MIN_LUMINANCE - luminance) / (1 - luminance))
    red, green, blue = (round(255 * (part + white * (1 - part))) for part in rgb)
    return red, green, blue

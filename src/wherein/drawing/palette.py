"""The colours of parts, which are the same in pictures, reports and videos."""

import colorsys
import math
from collections.abc import Iterable

Color = tuple[int, int, int]
"""Red, green and blue, 0 to 255."""

INK: Color = (20, 20, 20)
PAPER: Color = (255, 255, 255)

_FIRST_HUE = 0.5
"""Hue of the first part, often the only one: cyan. A choice: few objects have this colour, and it contrasts
most with the reds and browns of wood, skin and brick."""

_HUE_STEP = 0.381966
"""Distance of the hues of consecutive parts (often left and right) as a share of the colour circle: the
golden angle, 2 − (1 + √5)/2. With it, neighbours in a long list differ most."""

_TONES = ((0.9, 1.0), (0.5, 1.0))
"""Saturation and value, alternating around the colour circle. A choice: similar hues differ in tone too."""

_MIN_LUMINANCE = 0.48
"""Minimum luminance of a colour. A choice: bright enough for contrast with photographs and with dark text."""


def colors(names: Iterable[str]) -> dict[str, Color]:
    """A bright colour for each name."""
    listed = list(names)
    count = max(len(listed), 1)
    # `count` hues at equal distances. A step that is coprime to `count` visits each of them once.
    step = next(k for k in range(max(1, round(_HUE_STEP * count)), count + 2) if math.gcd(k, count) == 1)
    return {
        name: _color(_FIRST_HUE + k * step % count / count, _TONES[k * step % count % 2])
        for k, name in enumerate(listed)
    }


def _color(hue: float, tone: tuple[float, float]) -> Color:
    """The colour of a hue and tone, mixed with white up to the minimum luminance: pure blue is dark."""
    # hsv_to_rgb takes hues modulo 1.
    rgb = colorsys.hsv_to_rgb(hue, *tone)
    luminance = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2]  # weights of Rec. 601
    # A share w of white gives the luminance L + w (1 − L); solved for the minimum.
    white = max(0.0, (_MIN_LUMINANCE - luminance) / (1 - luminance))
    red, green, blue = (round(255 * (part + white * (1 - part))) for part in rgb)
    return red, green, blue

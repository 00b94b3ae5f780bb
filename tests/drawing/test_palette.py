"""Colours of parts."""

import colorsys

import pytest

from wherein.drawing.palette import colors


@pytest.mark.parametrize("names", [("cup",), ("dial", "needle")])
def test_the_first_colour_is_not_that_of_wood_skin_or_brick(names: tuple[str, ...]) -> None:
    red, green, blue = colors(names)[names[0]]
    hue = colorsys.rgb_to_hsv(red / 255, green / 255, blue / 255)[0]
    assert 0.4 < hue < 0.6, "cyan, opposite to red and orange"

"""Polygons to masks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wherein.images.raster import coverage

PLACES = st.floats(-6, 40, allow_nan=False).map(lambda x: round(x, 3))
POLYGONS = st.lists(st.tuples(PLACES, PLACES), min_size=3, max_size=9).map(np.array)


def sampled(polygon: np.ndarray, width: int, height: int, samples: int = 12) -> np.ndarray:
    """By asking many points of each pixel, one by one, how often a ray to the right crosses an edge."""
    offsets = (np.arange(samples) + 0.5) / samples - 0.5
    x = (np.arange(width)[:, None] + offsets).ravel()
    y = (np.arange(height)[:, None] + offsets).ravel()
    x, y = np.meshgrid(x, y)
    inside = np.zeros(x.shape, dtype=bool)
    for (x0, y0), (x1, y1) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if y0 != y1:
            inside ^= ((y0 <= y) != (y1 <= y)) & (x < x0 + (y - y0) / (y1 - y0) * (x1 - x0))
    return inside.reshape(height, samples, width, samples).mean((1, 3))


@settings(max_examples=40, deadline=None)
@given(POLYGONS)
def test_the_share_of_each_pixel(polygon: np.ndarray) -> None:
    mask = coverage(polygon, 31, 37)
    assert mask.shape == (37, 31) and mask.dtype == np.float32
    assert mask.min() >= 0 and mask.max() <= 1
    expected = sampled(polygon, 31, 37)
    assert np.abs(mask - expected).max() < 0.35  # a sliver of a pixel may fall between two lines
    assert np.abs(mask - expected).mean() < 0.01


@settings(max_examples=25, deadline=None)
@given(POLYGONS, st.integers(-9, 9), st.integers(-9, 9))
def test_whole_pixels_shift_the_mask(polygon: np.ndarray, dx: int, dy: int) -> None:
    whole = coverage(polygon + 20, 90, 90)
    moved = coverage(polygon + 20 + (dx, dy), 90, 90)
    np.testing.assert_allclose(moved[10 + dy : 80 + dy, 10 + dx : 80 + dx], whole[10:80, 10:80], atol=1e-5)


def test_a_box_of_pixels_is_exact() -> None:
    box = np.array([(1.5, 2.5), (6.5, 2.5), (6.5, 5.5), (1.5, 5.5)])
    expected = np.zeros((9, 11), dtype=np.float32)
    expected[3:6, 2:7] = 1
    np.testing.assert_array_equal(coverage(box, 11, 9), expected)
    np.testing.assert_array_equal(coverage(box[::-1], 11, 9), expected)  # whichever way round


def test_what_is_wound_around_twice_is_outside() -> None:
    turns = np.arange(5) * 4 * np.pi / 5
    star = 20 + 18 * np.stack((np.sin(turns), -np.cos(turns)), 1)
    mask = coverage(star, 41, 41)
    assert mask[20, 20] == 0  # the pentagon in its middle
    assert mask[7, 20] == 1  # a point of it


@pytest.mark.parametrize("shift", [(-100, 0), (0, 100), (300, 300)])
def test_outside_there_is_nothing(shift: tuple[int, int]) -> None:
    assert not coverage(np.array([(0.0, 0), (9, 0), (9, 9)]) + shift, 31, 37).any()


def test_no_height_is_nothing() -> None:
    assert not coverage(np.array([(0.0, 4), (9, 4), (20, 4)]), 31, 37).any()

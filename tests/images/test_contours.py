"""Contours of masks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wherein.images.contours import contours, simplified
from wherein.images.polygons import area, filled, signed_area

Y, X = np.mgrid[:61, :87]
RADIUS = np.hypot(X - 40, Y - 30)
SHAPES = {
    "ellipse": (X - 40) ** 2 / 30**2 + (Y - 30) ** 2 / 20**2 < 1,
    "small disc": RADIUS < 6,
    "cross": (abs(X - 40) < 25) & (abs(Y - 30) < 12) | (abs(X - 40) < 8),
    "box": np.ones((5, 9), dtype=bool),
    "star": 20 + 8 * np.cos(5 * np.arctan2(Y - 30, X - 40)) > RADIUS,
    "ring": (RADIUS < 25) & (RADIUS > 17),
    "slanted bar": abs((X - 40) * 0.3 + (Y - 30)) < 4,
    "thin line": abs((X - 40) * 0.6 + (Y - 30)) < 0.7,
}


@pytest.mark.parametrize("name", SHAPES)
def test_contours_cover_the_mask(name: str) -> None:
    mask = SHAPES[name]
    rings = contours(mask)
    inside = filled([rings], mask.shape[1], mask.shape[0])
    assert area(rings) == pytest.approx(mask.sum(), rel=0.02)
    rim = (mask & ~np.roll(mask, 1, 0)).sum() + (mask & ~np.roll(mask, 1, 1)).sum()
    # Half a pixel may pass the centres of half of the pixels at the rim, if it were off by that everywhere.
    assert (inside != mask).sum() <= 0.25 * rim
    assert sum(map(len, rings)) < 100


@settings(deadline=None)
@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))).filter(np.any))
def test_the_area_is_that_of_any_mask(mask: np.ndarray) -> None:
    rings = contours(mask)
    assert area(rings) == pytest.approx(mask.sum(), rel=0.02)
    assert signed_area(rings[0]) > 0
    assert signed_area(rings[0]) == max(map(signed_area, rings))


@settings(deadline=None)
@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))).filter(np.any))
def test_blocks_of_pixels_are_exact(mask: np.ndarray) -> None:
    large = np.kron(mask, np.ones((3, 3), dtype=bool))  # without stairs of single pixels nothing is smoothed
    np.testing.assert_array_equal(filled([contours(large)], large.shape[1], large.shape[0]), large)


def test_a_box_has_four_corners_on_the_edges_of_its_pixels() -> None:
    mask = np.zeros((20, 31), dtype=bool)
    mask[3:9, 5:25] = True
    (ring,) = contours(mask)
    assert ring.tolist() == [[4.5, 2.5], [24.5, 2.5], [24.5, 8.5], [4.5, 8.5]]


def test_all_components_and_holes_the_largest_component_first() -> None:
    mask = np.zeros((60, 91), dtype=bool)
    mask[2:12, 70:80] = True
    mask[5:50, 5:50] = True
    mask[15:25, 15:25] = False
    mask[17:22, 17:22] = True  # an island
    rings = contours(mask)
    assert [signed_area(ring) for ring in rings] == [45 * 45, 100, -100, 25]
    assert rings[0].tolist() == [[4.5, 4.5], [49.5, 4.5], [49.5, 49.5], [4.5, 49.5]]


def test_specks_are_left_out() -> None:
    mask = np.zeros((100, 100), dtype=bool)
    mask[5:95, 5:95] = True
    mask[1, 1] = True
    mask[40, 40:43] = False
    assert len(contours(mask)) == 1


def test_pixels_that_touch_at_a_corner_are_connected() -> None:
    (ring,) = contours(np.eye(7, dtype=bool)[:, ::-1])
    assert signed_area(ring) == pytest.approx(7, rel=0.02)
    corner = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], dtype=bool)
    (ring,) = contours(corner)
    assert signed_area(ring) == 8
    assert len(contours(~corner)) == 1
    assert len(contours(~np.pad(corner, 3))) == 3  # holes are not


def test_a_line_that_is_one_pixel_wide_keeps_its_length() -> None:
    mask = np.zeros((30, 60), dtype=bool)
    mask[10:20, 5:30] = True
    mask[15, 30:50] = True
    (ring,) = contours(mask)
    assert ring[:, 0].max() == 49.5
    assert signed_area(ring) == pytest.approx(270, rel=0.01)


def test_simplified_outlines_stay_near() -> None:
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    circle = np.stack((50 * np.cos(angle), 50 * np.sin(angle)), 1)
    fewer = simplified(circle, 1.0)
    assert len(fewer) < 40
    middles = (fewer + np.roll(fewer, -1, axis=0)) / 2
    assert np.linalg.norm(middles, axis=1).min() > 48.9

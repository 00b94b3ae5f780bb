"""Polygons: hulls, areas, boxes, clipping, and which pixels are inside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wherein.images.polygons import (
    area,
    box,
    clipped,
    components,
    coverage,
    filled,
    has_holes,
    hull,
    joined,
    outer,
    signed_area,
)

DIRECTIONS = np.arange(72) * (2 * np.pi / 72)


@settings(deadline=None)  # on a busy machine the first call alone takes longer
@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))).filter(np.any))
def test_every_extreme_point_is_a_corner_and_no_corner_comes_twice(mask: np.ndarray) -> None:
    rows, columns = np.nonzero(mask)
    points = np.stack((columns, rows), 1).astype(np.float64)
    corners = hull(points)
    assert len(np.unique(corners, axis=0)) == len(corners)
    for angle in DIRECTIONS:
        way = np.array((np.cos(angle), np.sin(angle)))
        assert (corners @ way).max() >= (points @ way).max() - 1e-9


SQUARE = np.array([[2.0, 3.0], [12.0, 3.0], [12.0, 8.0], [2.0, 8.0]])
ARROW = np.array([[0.0, 0.0], [8.0, 4.0], [0.0, 8.0], [4.0, 4.0]])  # not convex


def test_area_does_not_mind_the_direction() -> None:
    assert area([SQUARE]) == area([SQUARE[::-1]]) == 50
    assert area([ARROW]) == 16
    assert area([SQUARE[:2]]) == 0
    assert signed_area(SQUARE) == 50  # clockwise on the screen
    assert signed_area(SQUARE[::-1] + 1e9) == -50


HOLE = np.array([[3.0, 4.0], [3.0, 6.0], [5.0, 6.0], [5.0, 4.0]])  # counterclockwise
INNER = np.array([[3.5, 4.5], [4.5, 4.5], [4.5, 5.5], [3.5, 5.5]])  # an island in the hole
OTHER = SQUARE + np.array((20, 0))
SHAPE = [SQUARE, OTHER, HOLE, HOLE + np.array((23, 1)), INNER]


def test_holes_count_negatively_and_belong_to_what_is_around_them() -> None:
    assert area(SHAPE) == 50 + 50 - 4 - 4 + 1
    assert has_holes(SHAPE) and not has_holes([SQUARE, OTHER])
    first, second, third = components(SHAPE)
    assert [ring.tolist() for ring in first] == [SQUARE.tolist(), HOLE.tolist()]
    assert [ring.tolist() for ring in second] == [OTHER.tolist(), (HOLE + np.array((23, 1))).tolist()]
    assert [ring.tolist() for ring in third] == [INNER.tolist()]


def test_outer_outlines_are_those_without_holes_also_mirrored() -> None:
    kept = [SQUARE, OTHER, INNER]
    for mirror in (1, -1):
        shape = [ring * (mirror, 1) for ring in SHAPE]
        assert [ring.tolist() for ring in outer(shape)] == [(ring * (mirror, 1)).tolist() for ring in kept]


def test_one_polygon_has_the_pixels_of_all_rings() -> None:
    rings = [ring + np.array((0.3, 0.2)) for ring in SHAPE]  # no corner on a pixel's centre
    one = joined(rings)
    assert signed_area(one) == pytest.approx(area(rings))
    np.testing.assert_array_equal(filled([[one]], 40, 12), filled([rings], 40, 12))
    assert filled([rings], 40, 12).sum() == pytest.approx(area(rings), abs=10)
    np.testing.assert_array_equal(joined([ARROW]), ARROW)


def test_box_of_several() -> None:
    assert box([SQUARE, ARROW]) == (0, 0, 12, 8)


def test_what_is_inside_is_not_touched_and_what_is_outside_is_gone() -> None:
    np.testing.assert_array_equal(clipped(SQUARE, 20, 20), SQUARE)
    assert clipped(SQUARE + 100, 20, 20).shape == (0, 2)
    assert clipped(SQUARE - 100, 20, 20).shape == (0, 2)
    assert area([clipped(SQUARE - (7, 0), 20, 20)]) == 5.5 * 5  # from -0.5 to 5
    assert area([clipped(SQUARE * 100 - 500, 37, 31)]) == 37 * 31


def test_a_diagonal_through_pixel_centres_owns_them_on_its_left_side_only() -> None:
    """Ties are exact, whatever the length: (k / n) · n is not always k."""
    for n in range(1, 60):
        mask = filled([[np.array([(0.0, 0.0), (0.0, n), (n, n)])]], n + 1, n + 1)
        np.testing.assert_array_equal(mask[:n], np.tri(n, n + 1, -1, dtype=bool))


def test_pixels_are_counted_by_their_centres() -> None:
    mask = filled([[SQUARE + 0.5]], 37, 31)
    assert mask.shape == (31, 37)
    assert mask.sum() == 50
    assert mask[4:9, 3:13].all()
    assert filled([], 37, 31).sum() == 0
    assert filled([[SQUARE + 0.5], [SQUARE + np.array((1.5, 0.5))]], 37, 31).sum() == 55


@settings(deadline=None)
@given(st.integers(0, 10_000))
def test_areas_of_three_kinds_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    polygon = hull(rng.uniform(-30, 90, (12, 2)))
    inside = clipped(polygon, 61, 47)
    if len(inside) < 3:
        return
    points = rng.uniform((-0.5, -0.5), (60.5, 46.5), (20_000, 2))
    after = np.roll(inside, -1, axis=0)
    sides = (after - inside)[:, None, 0] * (points[:, 1] - inside[:, None, 1]) - (after - inside)[
        :, None, 1
    ] * (points[:, 0] - inside[:, None, 0])
    share = (sides >= 0).all(0).mean()
    assert area([inside]) == pytest.approx(share * 61 * 47, abs=45)
    rim = np.linalg.norm(after - inside, axis=1).sum()
    assert filled([[inside]], 61, 47).sum() == pytest.approx(area([inside]), abs=rim)


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

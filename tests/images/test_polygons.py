"""Areas, boxes, what lies in the frame and which pixels are inside."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wherein.images.outline import hull
from wherein.images.polygons import area, box, clipped, filled

SQUARE = np.array([[2.0, 3.0], [12.0, 3.0], [12.0, 8.0], [2.0, 8.0]])
ARROW = np.array([[0.0, 0.0], [8.0, 4.0], [0.0, 8.0], [4.0, 4.0]])  # not convex


def test_area_does_not_mind_the_direction() -> None:
    assert area(SQUARE) == area(SQUARE[::-1]) == 50
    assert area(ARROW) == 16
    assert area(SQUARE[:2]) == 0


def test_box_of_several() -> None:
    assert box([SQUARE, ARROW]) == (0, 0, 12, 8)


def test_what_is_inside_is_not_touched_and_what_is_outside_is_gone() -> None:
    np.testing.assert_array_equal(clipped(SQUARE, 20, 20), SQUARE)
    assert clipped(SQUARE + 100, 20, 20).shape == (0, 2)
    assert clipped(SQUARE - 100, 20, 20).shape == (0, 2)
    assert area(clipped(SQUARE - (7, 0), 20, 20)) == 5.5 * 5  # from -0.5 to 5
    assert area(clipped(SQUARE * 100 - 500, 37, 31)) == 37 * 31


def test_pixels_are_counted_by_their_centres() -> None:
    mask = filled([SQUARE + 0.5], 37, 31)
    assert mask.shape == (31, 37)
    assert mask.sum() == 50
    assert mask[4:9, 3:13].all()
    assert filled([], 37, 31).sum() == 0
    assert filled([SQUARE + 0.5, SQUARE + np.array((1.5, 0.5))], 37, 31).sum() == 55


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
    assert area(inside) == pytest.approx(share * 61 * 47, abs=45)
    rim = np.linalg.norm(after - inside, axis=1).sum()
    assert filled([inside], 61, 47).sum() == pytest.approx(area(inside), abs=rim)

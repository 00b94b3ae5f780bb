"""How many starts cover all poses: the formula's lattice does cover, and a larger basin takes fewer."""

import math

import numpy as np
import pytest

from wherein.experiments.basin_cover import Cover, PoseSpace, cover

TURNS = PoseSpace(101, 67, -180, 180, ratio=False)
SHIFTS, ANGLES = (-20.0, -10.0, 0.0, 10.0, 20.0), (-60.0, -30.0, 0.0, 30.0, 60.0)


def basin(radius: float, low: float, high: float) -> np.ndarray:
    return (
        (np.abs(SHIFTS)[None] <= radius)
        & (np.array(ANGLES) >= low)[:, None]
        & (np.array(ANGLES) <= high)[:, None]
    )


def centres(length: float, apart: float) -> np.ndarray:
    count = math.ceil(length / apart)
    return (np.arange(count) + 0.5) * length / count


@pytest.mark.parametrize("radius", [3.0, 10.0, 200.0])
def test_that_many_starts_do_cover_every_place_and_turn(radius: float) -> None:
    rng = np.random.default_rng(0)
    x, y = (centres(length, math.sqrt(2) * radius) for length in (101, 67))
    turns = np.arange(math.ceil(360 / 50)) * 50.0
    assert len(x) * len(y) * len(turns) == TURNS.starts(radius, -20, 30)
    for place in rng.uniform((0, 0), (101, 67), (500, 2)):
        assert min(np.hypot(place[0] - a, place[1] - b) for a in x for b in y) <= radius
    for angle in rng.uniform(0, 360, 100):
        assert any(-20 <= (angle - turn + 180) % 360 - 180 <= 30 for turn in turns)


def test_starts_of_many_sizes_reach_as_far_as_they_are_large() -> None:
    space = PoseSpace(100, 100, 0.25, 2.0, ratio=True)
    one = PoseSpace(100, 100, 0.25, 1.0, ratio=True)
    # From half to twice the start's size: 0.25 … 1 by a start of 0.5, 1 … 4 by one of 2.
    smaller, larger = one.starts(20, 0.5, 2.0), PoseSpace(100, 100, 1.0, 2.0, ratio=True).starts(20, 0.5, 2.0)
    assert smaller == math.ceil(100 / (math.sqrt(2) * 5)) ** 2
    assert space.starts(20, 0.5, 2.0) == smaller + larger


def test_the_best_rectangle_is_chosen() -> None:
    cross = basin(10, -60, 60) | basin(20, -30, 30)
    found = cover(cross, SHIFTS, ANGLES, 0.0, TURNS)
    either = (
        cover(basin(10, -60, 60), SHIFTS, ANGLES, 0, TURNS),
        cover(basin(20, -30, 30), SHIFTS, ANGLES, 0, TURNS),
    )
    assert found in either and found is not None
    assert found.starts == min(each.starts for each in either if each)


def test_a_larger_basin_never_takes_more() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        inside = rng.random((5, 5)) < 0.8
        more = inside | (rng.random((5, 5)) < 0.3)
        less, same = (cover(each, SHIFTS, ANGLES, 0.0, TURNS) for each in (inside, more))
        assert less is None or (same is not None and same.starts <= less.starts)


def test_what_ends_with_the_grid_is_a_bound_and_a_point_is_no_basin() -> None:
    inner = cover(basin(10, -30, 30), SHIFTS, ANGLES, 0.0, TURNS)
    assert inner == Cover(starts=TURNS.starts(10, -30, 30), radius=10, low=-30, high=30, bound=False)
    whole = cover(basin(20, -60, 60), SHIFTS, ANGLES, 0.0, TURNS)
    assert whole is not None and whole.bound
    for nothing in (
        basin(0, -60, 60),
        basin(20, 0, 0),
        basin(10, -30, 30) & (np.array(ANGLES) != 0)[:, None],
    ):
        assert cover(nothing, SHIFTS, ANGLES, 0.0, TURNS) is None

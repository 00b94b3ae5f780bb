"""Which poses of a piece go on to the next scale."""

import tracemalloc

import numpy as np
import pytest

from wherein.detect.fast.piece_search import best_of_each, distinct, likely
from wherein.pyramid.descent import Fits
from wherein.template.pose import placed

CENTRE, NEAR = (21.0, 15.0), 1.6


def strewn(count: int, width: float, seed: int) -> Fits:
    """Poses all over a square, every third of them near to another."""
    rng = np.random.default_rng(seed)
    spots, turns = rng.uniform(0, width, (count, 2)), rng.uniform(-180, 180, count)
    spots[::3], turns[::3] = spots[1] + rng.uniform(-3, 3, spots[::3].shape), turns[1] + turns[::3] / 12
    poses = [placed(t, 1.0, (x, y), CENTRE) for t, (x, y) in zip(turns, spots, strict=True)]
    return Fits(np.stack(poses), rng.uniform(-1, 1, count))


def one_by_one(found: Fits, count: int) -> Fits:
    """The same by its definition: each against all that are kept."""
    kept: list[int] = []
    for k in np.argsort(-found.zncc, kind="stable"):
        spots = found.poses[[*kept, k]] @ (*CENTRE, 1)
        axes = found.poses[[*kept, k]][:, :2, 0]
        same = (np.abs(spots[:-1] - spots[-1]).max(1) < NEAR) & (axes[:-1] @ axes[-1] > 0.98)
        if not same.any() and len(kept) < count:
            kept.append(k)
    return found[np.array(kept, dtype=np.int64)]


@pytest.mark.parametrize("width", [10.0, 60.0, 400.0])
@pytest.mark.parametrize("count", [7, 1000])
def test_one_of_each_pose_is_kept_the_best_first(width: float, count: int) -> None:
    for seed in range(3):
        found = strewn(301, width, seed)
        wanted = one_by_one(found, count)
        assert 0 < len(wanted.zncc) < 301
        kept = distinct(found, CENTRE, NEAR, count)
        np.testing.assert_array_equal(kept.poses, wanted.poses)
        np.testing.assert_array_equal(kept.zncc, wanted.zncc)


def test_many_poses_take_little_memory() -> None:
    """A large scene has thousands: all pairs at once would take gigabytes."""
    found = strewn(4000, 4000.0, 0)
    tracemalloc.start()
    try:
        distinct(found, CENTRE, NEAR, 2000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2000 * len(found.zncc)  # bytes; a row of numbers for each would be 32,000


def test_one_of_each_pose_the_best() -> None:
    at = ((0, 50), (3, 50.5), (0, 70), (90, 50), (-2, 49.2))
    poses = np.stack([placed(turn, 1.0, (x, 50.0), (10.0, 10.0)) for turn, x in at])
    found = distinct(Fits(poses, np.array((0.7, 0.9, 0.5, 0.6, 0.8))), (10.0, 10.0), 1.5, 10)
    assert found.zncc.tolist() == [0.9, 0.6, 0.5]
    assert len(distinct(Fits(poses, np.arange(5.0)), (10.0, 10.0), 1.5, 2).zncc) == 2
    assert distinct(Fits(np.zeros((0, 3, 3)), np.zeros(0)), (10.0, 10.0), 1.5, 2).zncc.shape == (0,)


def test_likely_and_best_of_each() -> None:
    poses = np.tile(np.eye(3), (6, 1, 1))
    poses[:, 0, 2] = range(6)
    zncc = np.array((0.9, 0.6, 0.5, 0.4, 0.3, 0.55))
    assert likely(Fits(poses, zncc), few=3).zncc.tolist() == [0.9, 0.6, 0.5, 0.55]
    best = best_of_each(Fits(poses, zncc), 2, 2)
    assert best.zncc.tolist() == [0.9, 0.6, 0.55, 0.4]
    assert best.poses[:, 0, 2].tolist() == [0, 1, 5, 3]

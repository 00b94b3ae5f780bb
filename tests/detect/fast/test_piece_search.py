"""Which poses of a piece go on to the next scale."""

import math
import tracemalloc

import numpy as np
import pytest

from detecting import noise
from wherein.detect.fast.piece_search import distinct
from wherein.images.motif import Motif
from wherein.pyramid.descent import Fits
from wherein.template.pose import placed

PATCH = Motif.whole(noise(31, 43))
CENTRE = (21.0, 15.0)


def strewn(count: int, width: float, seed: int) -> Fits:
    """Poses all over a square, every third of them near to another."""
    rng = np.random.default_rng(seed)
    spots, turns = rng.uniform(0, width, (count, 2)), rng.uniform(-180, 180, count)
    spots[::3], turns[::3] = spots[1] + rng.uniform(-3, 3, spots[::3].shape), turns[1] + turns[::3] / 12
    poses = [placed(t, 1.0, (x, y), CENTRE) for t, (x, y) in zip(turns, spots, strict=True)]
    return Fits(np.stack(poses), rng.uniform(-1, 1, count))


def one_by_one(found: Fits, count: int) -> Fits:
    """The same by its definition: each against all that are kept."""
    near, kept = max(1.5, 0.03 * math.hypot(PATCH.width, PATCH.height)), []
    for k in np.argsort(-found.zncc, kind="stable"):
        spots = found.poses[[*kept, k]] @ (*CENTRE, 1)
        axes = found.poses[[*kept, k]][:, :2, 0]
        same = (np.abs(spots[:-1] - spots[-1]).max(1) < near) & (axes[:-1] @ axes[-1] > 0.98)
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
        kept = distinct(found, PATCH, count)
        np.testing.assert_array_equal(kept.poses, wanted.poses)
        np.testing.assert_array_equal(kept.zncc, wanted.zncc)


def test_many_poses_take_little_memory() -> None:
    """A large scene has thousands: all pairs at once would take gigabytes."""
    found = strewn(4000, 4000.0, 0)
    tracemalloc.start()
    try:
        distinct(found, PATCH, 2000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2000 * len(found.zncc)  # bytes; a row of numbers for each would be 32,000

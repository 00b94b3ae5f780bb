"""Which poses are different objects, and which are worth following."""

import numpy as np
import pytest
import torch

from wherein.images.motif import Motif
from wherein.native import kernel
from wherein.planes.look.pose_filter import PoseFilter
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_range import PlaneRange

MOTIF = Motif.whole(torch.zeros(3, 90, 100))
POSES = PoseFilter(MOTIF, PlaneRange(180, (1, 1), 0))


def pose(degrees: float, at: tuple[float, float], scale: float = 1.0) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)) * scale, np.sin(np.radians(degrees)) * scale
    there = np.array(((c, -s, at[0]), (s, c, at[1]), (0, 0, 1.0)))
    return there @ np.array(((1, 0, -49.5), (0, 1, -44.5), (0, 0, 1.0)))


def fits(poses: list[np.ndarray], zncc: list[float]) -> PlaneFits:
    return PlaneFits(np.stack(poses), np.array(zncc), np.ones(len(zncc)))


def test_of_poses_in_one_place_the_best_is_kept() -> None:
    here, near = pose(10, (100, 100)), pose(12, (103, 99))
    turned, there = pose(100, (100, 100)), pose(10, (160, 100))
    found = fits([here, near, turned, there], [0.7, 0.9, 0.5, 0.6])
    assert POSES.distinct(found).tolist() == [1, 3, 2]
    assert POSES.distinct(found, 2).tolist() == [1, 3]
    assert POSES.distinct(found, None, 1.0).tolist() == [1, 3]  # one for each middle


@pytest.mark.parametrize("count", [None, 0, 5])
@pytest.mark.parametrize("worse", [0.0, 0.8])
def test_c_and_numpy_keep_the_same_poses(
    count: int | None, worse: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    some = [
        pose(rng.uniform(-20, 20), tuple(rng.uniform(0, 120, 2)), rng.uniform(0.8, 1.2)) for _ in range(200)
    ]
    found = fits(some, rng.uniform(0.2, 1, 200).round(2).tolist())
    in_c = POSES.distinct(found, count, worse)
    monkeypatch.setattr(kernel, "accepts", lambda *tensors: False)
    assert POSES.distinct(found, count, worse).tolist() == in_c.tolist()
    assert len(in_c) == count if count is not None else 5 < len(in_c) < 200


def test_poses_without_a_fit_are_left_out() -> None:
    beyond = pose(0, (50, 50))
    beyond[2] = (0, 0, 0)  # on the horizon
    found = fits([pose(0, (100, 100)), pose(0, (200, 100)), beyond], [-1, 0.3, 0.8])
    with np.errstate(divide="ignore", invalid="ignore"):
        assert POSES.distinct(found).tolist() == [1]
    assert POSES.distinct(found[np.zeros(0, dtype=np.int64)]).tolist() == []


def test_poses_far_worse_than_the_best_are_dropped_unless_the_best_is_poor() -> None:
    poses = [pose(0, (60 * k, 100)) for k in range(1, 5)]
    assert POSES.best(fits(poses, [0.2, 0.9, 0.3, 0.5]), None).zncc.tolist() == [0.9, 0.5]
    assert POSES.best(fits(poses, [0.2, 0.4, 0.3, 0.25]), None).zncc.tolist() == [0.4, 0.3, 0.25, 0.2]
    assert POSES.best(fits(poses, [0.2, 0.4, 0.3, 0.25]), 2).zncc.tolist() == [0.4, 0.3]


def test_sizes_a_little_beyond_the_range_are_in_reach() -> None:
    poses = np.stack([pose(0, (100, 100), scale) for scale in (0.7, 0.85, 1.0, 1.2, 1.3)])
    assert POSES.in_reach(poses).tolist() == [False, True, True, True, False]


def test_what_is_elsewhere() -> None:
    found = fits([pose(0, (100, 100))], [0.5])
    others = np.stack([pose(90, (105, 100)), pose(0, (160, 100))])
    assert POSES.elsewhere(others, found).tolist() == [False, True]

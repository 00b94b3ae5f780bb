"""Crowds, from the ZNCC at different places; with scenes they are tested in test_plane_search.py."""

import math

import numpy as np
import pytest
import torch

from wherein.images.motif import Motif
from wherein.planes.look.crowd import crowd_of, least_to_join, third_best
from wherein.planes.look.pose_filter import PoseFilter
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_range import PlaneRange

POSES = PoseFilter(Motif.whole(torch.zeros(3, 90, 100)), PlaneRange(180, (1, 1), 0))


def places(*zncc: float, apart: float = 100.0) -> PlaneFits:
    poses = np.tile(np.eye(3), (len(zncc), 1, 1))
    poses[:, 0, 2] = apart * np.arange(len(zncc))
    return PlaneFits(poses, np.array(zncc), np.ones(len(zncc)))


def test_three_places_that_stand_out_are_a_crowd() -> None:
    crowd = crowd_of(POSES, places(0.5, 0.9, 0.6, 0.2), 0.6)
    assert crowd is not None
    assert crowd.zncc.tolist() == [0.9, 0.6, 0.5]
    assert least_to_join(crowd, 0.6) == pytest.approx(0.75 * 0.6)
    assert least_to_join(crowd, 0.1) == pytest.approx(0.55 * 0.5)


@pytest.mark.parametrize(
    ("zncc", "standing_out"),
    [((0.9, 0.6), 0.6), ((0.9, 0.6, 0.4), 0.6), ((0.9, 0.6, 0.3), 0.2), ((0.9, 0.9, 0.9), math.inf)],
)
def test_no_crowd(zncc: tuple[float, ...], standing_out: float) -> None:
    assert crowd_of(POSES, places(*zncc), standing_out) is None


def test_the_third_best_place() -> None:
    assert third_best(POSES, places(0.5, 0.9, 0.6, 0.2)) == 0.5
    assert third_best(POSES, places(0.5, 0.9)) == -1.0
    assert third_best(POSES, places(0.9, 0.8, 0.7, 0.6, apart=4)) == -1.0  # all at one place

"""Synthetic scenes: which leaf is where, and which poses are close to the true one."""

import torch
from torch import Tensor

from wherein.detect.paper.tuning.synthetic_scenes import SyntheticScene, close_to
from wherein.template import Template
from wherein.template.pose import placed


def test_which_leaf_is_at_a_pixel(twins: Template, twin_scenes: list[SyntheticScene]) -> None:
    for scene in twin_scenes:
        for name in ("left", "right"):
            motif = twins.parts[name].motif
            assert motif is not None
            x, y, _ = scene.poses[name] @ (*motif.centre, 1.0)
            assert scene.leaf_at(x, y) == name
        assert scene.leaf_at(1.0, 1.0) is None


def test_close_poses_agree_in_place_and_angle() -> None:
    truth = torch.from_numpy(placed(10.0, 1.0, (30.0, 20.0), (5.0, 5.0)))

    def moved(degrees: float, x: float) -> Tensor:
        return torch.from_numpy(placed(10.0 + degrees, 1.0, (30.0 + x, 20.0), (5.0, 5.0)))

    poses = torch.stack([moved(0, 0), moved(-3, 0), moved(0, -1.5), moved(1.5, 0.9), moved(179, 0)])
    assert close_to(poses, truth, (5.0, 5.0), 1.0, 2.0).tolist() == [True, False, False, True, False]

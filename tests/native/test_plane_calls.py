"""The C functions on poses check what they are given; tests/planes compares their results with torch."""

import numpy as np
import pytest
import torch

from wherein.errors import ArgumentError
from wherein.images.motif import Motif
from wherein.native import kernel, plane_calls, structs
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import plane_rules
from wherein.planes.plane_motif import PlaneMotif

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")


WRONG_PICTURES = {
    "type": (torch.rand(40, 40, 8, dtype=torch.float64), None),
    "order": (torch.rand(8, 40, 40).movedim(0, -1), None),
    "mask with strides": (torch.rand(40, 40, 8), torch.ones(40, 80, dtype=torch.bool)[:, ::2]),
}


def arguments():
    """A motif and rules as C wants them; what they point to is returned as well, to be kept."""
    motif = PlaneMotif.of(Motif.whole(torch.rand(3, 30, 30)), 12.0)
    return motif.in_c, plane_rules(motif, PlaneStage(), 3, 1), motif


@compiled
@pytest.mark.parametrize("function", [plane_calls.rate_poses, plane_calls.refine_poses])
@pytest.mark.parametrize("wrong", WRONG_PICTURES)
def test_channels_and_masks_are_checked(function, wrong):
    motif, rules, _kept = arguments()
    with pytest.raises(ArgumentError, match="the C kernel needs"):
        function(*WRONG_PICTURES[wrong], motif, rules, np.eye(3)[None])


@compiled
def test_poses_that_are_given_are_left_alone():
    motif, rules, _kept = arguments()
    poses = np.eye(3)[None].repeat(4, 0)
    poses[:, :2, 2] = (8.0, 9.0)
    before = poses.copy()
    found, zncc, visible = plane_calls.refine_poses(torch.rand(40, 40, 8), None, motif, rules, poses)
    assert np.array_equal(poses, before)
    assert found.shape == (4, 3, 3)
    assert zncc.shape == visible.shape == (4,)
    assert len(plane_calls.rate_poses(torch.rand(40, 40, 8), None, motif, rules, poses)) == 4
    assert np.array_equal(poses, before)


@compiled
def test_levels_that_are_missing_are_refused_where_a_cover_is_told():
    motif, rules, _kept = arguments()
    level, cover = torch.rand(3, 40, 40), structs.CoverRules(cell=6, rounds=4, least=0.1, most=0.6)
    levels, poses = plane_calls.levels_of([level], missing=1), np.eye(3)[None]
    assert plane_calls.uncover(levels, motif, rules, cover, poses, np.array([1], np.int32)).shape == (1, 3, 3)
    for wrong in (0, 2, -1):
        with pytest.raises(ArgumentError, match="not all among the levels"):
            plane_calls.uncover(levels, motif, rules, cover, poses, np.array([wrong], np.int32))

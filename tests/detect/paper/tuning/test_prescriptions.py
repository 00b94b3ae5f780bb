"""What sizes and theory prescribe: smoothing, strides, the width of spikes."""

import math

import pytest
import torch

from detecting import noise
from wherein.detect.paper.tuning.prescriptions import (
    group_hyperparameters,
    leaf_hyperparameters,
    max_rotation,
    spike_width,
)
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.extract import joints_below
from wherein.template.pose import rotation
from wherein.theory import continuum_gradient


def test_smoothing_follows_size() -> None:
    small, large = (leaf_hyperparameters(Motif.whole(noise(side, side))) for side in (18, 72))
    assert large.sigma == pytest.approx(4 * small.sigma)
    assert large.scene_sigma == large.sigma / 2
    assert large.spacing > small.spacing == 1
    assert large.fine_spacing == 2 and small.fine_spacing == 1


def test_spikes_are_pulled_from_as_far_as_they_travel(badge: Template) -> None:
    """From the corner of a cell, turned by all that is allowed, the pull is 1/e of the theorem's or more."""
    chosen = group_hyperparameters(badge, "badge", 30.0)
    joints = joints_below(badge, "badge").double()
    spikes = joints - (joints.amax(0) + joints.amin(0)) / 2
    turned = torch.from_numpy(rotation(30.0)[:2, :2])
    aside = torch.tensor([chosen.stride / 2, chosen.stride / 2]).double()
    for spike in spikes:
        one, target = spike[None], (turned @ spike + aside)[None]
        pull = continuum_gradient(
            torch.eye(2).double(), torch.zeros(2).double(), one, target, chosen.spike_sigma
        )
        nearby = (one - target)[0] / (8 * math.pi * chosen.spike_sigma**4)
        assert pull.b.norm() >= nearby.norm() / math.e * (1 - 1e-9)
    assert spike_width(badge, 30.0) < chosen.spike_sigma / 2


def test_turns_add_up_along_the_tree(badge: Template) -> None:
    assert max_rotation(badge.parts, "badge", 12.0) == 12
    assert max_rotation(badge.parts, "flap", 12.0) == 22  # half of the 20° that its joint has

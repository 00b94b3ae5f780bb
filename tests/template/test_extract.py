"""The groups' motifs: spikes on the joints of what hangs on them."""

import math

import pytest
import torch

from wherein.errors import TemplateError
from wherein.images.gaussian import gaussian_spots
from wherein.template import Template
from wherein.template.extract import SUPPORT, from_joints, from_maps, joints_below


def test_a_channel_a_child_with_its_spike_on_the_joint(toy: Template) -> None:
    extracted = from_joints(toy, "toy", 2.0)
    children = toy.parts.children("toy")
    assert extracted.motif.pixels.shape[0] == len(children)
    for child, channel in zip(children, extracted.motif.pixels, strict=True):
        y, x = torch.meshgrid(*(torch.arange(float(n)) for n in channel.shape), indexing="ij")
        joint = toy.parts[child].joint
        assert (channel * x).sum() / channel.sum() + extracted.at[0] == pytest.approx(joint[0], abs=0.1)
        assert (channel * y).sum() / channel.sum() + extracted.at[1] == pytest.approx(joint[1], abs=0.1)
        assert channel.max().item() == pytest.approx(1 / (2 * math.pi * 4), rel=0.07)


def test_cropping_the_same_maps_gives_the_same_motif(toy: Template) -> None:
    maps = gaussian_spots(joints_below(toy, "pair"), 1.5, 30, 48)
    cropped, known = from_maps(maps, 1.5, "pair"), from_joints(toy, "pair", 1.5)
    left, top = (a - b for a, b in zip(cropped.at, known.at, strict=True))
    assert 0 <= left <= 1 and 0 <= top <= 1
    height, width = cropped.motif.mask.shape
    known_there = known.motif.pixels[:, top : top + height, left : left + width]
    torch.testing.assert_close(cropped.motif.pixels, known_there)
    outside = maps.clone()
    outside[:, cropped.at[1] : cropped.at[1] + height, cropped.at[0] : cropped.at[0] + width] = 0
    assert outside.max() <= SUPPORT / (2 * math.pi * 1.5**2)


def test_a_child_that_does_not_show(toy: Template) -> None:
    maps = gaussian_spots(joints_below(toy, "pair"), 1.5, 30, 48)
    maps[1] = 0
    with pytest.raises(TemplateError, match=r'the group "pair": its parts number \[1\] do not show'):
        from_maps(maps, 1.5, "pair")

"""The groups' motifs: spikes on the joints of their children."""

import math

import pytest
import torch

from wherein.errors import TemplateError
from wherein.images.gaussian import gaussian_spots
from wherein.template import Template
from wherein.template.extract import from_joints, from_maps, joints_below


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
    assert outside.max() <= 1 / 20 / (2 * math.pi * 1.5**2)  # of a spike's height, as in appendix A.4


def test_the_box_ends_where_a_spike_falls_below_a_twentieth(toy: Template) -> None:
    sigma0 = 4.0
    maps = gaussian_spots(torch.tensor([[40.0, 30.0]]), sigma0, 61, 81)
    reach = sigma0 * math.sqrt(2 * math.log(20))  # exp(−r²/2σ0²) = 1/20, at 9.8 px
    cropped = from_maps(maps, sigma0, "pair")
    assert cropped.at == (40 - math.floor(reach), 30 - math.floor(reach))
    assert cropped.motif.mask.shape == (2 * math.floor(reach) + 1,) * 2
    known, joints = from_joints(toy, "pair", sigma0), joints_below(toy, "pair")
    edges = (joints[:, 0].min().floor(), joints[:, 1].min().floor())
    assert known.at == tuple(int(edge) - math.ceil(reach) for edge in edges)


def test_a_child_that_does_not_show(toy: Template) -> None:
    maps = gaussian_spots(joints_below(toy, "pair"), 1.5, 30, 48)
    maps[1] = 0
    with pytest.raises(
        TemplateError, match=r'children \[1\] of the group "pair" were not found on the canvas'
    ):
        from_maps(maps, 1.5, "pair")

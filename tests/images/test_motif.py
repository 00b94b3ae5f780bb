"""A motif at other sizes, and without its outline."""

import torch

from wherein.images.motif import Motif, alike


def test_inset_halves_the_mask_at_the_outline_and_at_the_border() -> None:
    mask = torch.zeros(12, 11)
    mask[2:10, :7] = 1  # touches the left border
    motif = Motif(torch.rand(3, 12, 11), mask)
    for radius in (0, 1, 2):
        inner = torch.zeros(12, 11)
        inner[2 + radius : 10 - radius, radius : 7 - radius] = 1
        inset = motif.inset(radius)
        assert torch.equal(inset.mask, (mask + inner) / 2)
        assert inset.pixels is motif.pixels


def test_inset_leaves_soft_values_alone() -> None:
    mask = torch.full((9, 9), 0.9)
    mask[0] = 0.3
    inset = Motif(torch.rand(1, 9, 9), mask).inset(1).mask
    assert torch.equal(inset[0], mask[0])
    assert torch.equal(inset[2:8, 1:8], mask[2:8, 1:8])
    assert (inset[1] == 0.5).all()


def test_the_centre_is_between_the_first_pixel_and_the_last() -> None:
    assert Motif.whole(torch.rand(3, 5, 8)).centre == (3.5, 2.0)
    assert Motif.whole(torch.rand(3, 1, 1)).centre == (0.0, 0.0)


def test_grey_pictures_are_compared_in_one_channel() -> None:
    generator = torch.Generator().manual_seed(0)
    colour, grey = torch.rand(3, 6, 7, generator=generator), torch.rand(1, 6, 7, generator=generator)
    grey = grey.expand(3, -1, -1)
    for scene, motif, channels in (
        (colour, colour, 3),
        (grey, colour, 1),
        (colour, grey, 1),
        (grey, grey, 1),
    ):
        one, other = alike(scene, Motif.whole(motif))
        assert (len(one), len(other.pixels)) == (channels, channels)
    assert torch.equal(alike(grey, Motif.whole(colour))[0], grey[:1])

"""Pictures to 8 bits: the nearest level, and back by the loader without loss."""

import numpy as np
import torch

from wherein.images.eight_bit import rounded_to_levels, to_image, to_levels
from wherein.images.load import load_picture

ALL = torch.arange(256, dtype=torch.float32).reshape(1, 16, 16) / 255


def test_every_level_comes_back() -> None:
    assert torch.equal(to_levels(ALL).flatten(), torch.arange(256, dtype=torch.uint8))
    assert torch.equal(rounded_to_levels(ALL + 0.001), ALL)
    pixels = torch.cat((ALL, ALL.flip(1), ALL.flip(2)))
    loaded = load_picture(to_image(pixels, ALL[0]))
    assert torch.equal(loaded.pixels, pixels)
    assert loaded.mask is not None and torch.equal(loaded.mask, ALL[0])


def test_what_is_outside_the_range_is_clamped_and_not_wrapped_around() -> None:
    assert to_levels(torch.tensor((-0.2, 0.0, 1.0, 1.25))).tolist() == [0, 0, 255, 255]


def test_grey_is_repeated_and_gradients_do_not_matter() -> None:
    image = to_image(ALL.clone().requires_grad_())
    assert image.mode == "RGB"
    levels = np.asarray(image)
    assert (levels == levels[..., :1]).all()

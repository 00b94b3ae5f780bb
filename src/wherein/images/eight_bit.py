"""Conversion of pictures in [0, 1] to the 256 levels of files and screens."""

import numpy as np
import torch
from jaxtyping import Float, UInt8
from PIL import Image
from torch import Tensor

from wherein.threads import one_thread


@one_thread()
def to_levels(values: Float[Tensor, "*S"]) -> UInt8[Tensor, "*S"]:
    """The nearest of 256 levels to each value, on the CPU.

    Values outside [0, 1], which cubic interpolation produces at edges, are clamped: as 8-bit integers they
    would wrap around.
    """
    return (values.detach().clamp(0, 1) * 255).round().to(torch.uint8).cpu()


def rounded_to_levels(values: Float[Tensor, "*S"]) -> Float[Tensor, "*S"]:
    """Values in [0, 1], rounded to the levels of an 8-bit file."""
    return (values * 255).round() / 255


@one_thread()
def to_image(pixels: Float[Tensor, "C H W"], mask: Float[Tensor, "H W"] | None = None) -> Image.Image:
    """A Pillow image: RGB, or RGBA if there is a mask.

    Arguments:
        pixels: RGB in [0, 1], or one channel of grey.
        mask: alpha in [0, 1].
    """
    planes = pixels.expand(3, -1, -1) if len(pixels) == 1 else pixels
    layers = planes if mask is None else torch.cat((planes, mask[None]))
    return Image.fromarray(np.ascontiguousarray(to_levels(layers).movedim(0, -1).numpy()))

"""Pictures at a reduced size, by averaging blocks of pixels."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor

from wherein.images.picture import unit
from wherein.native import kernel, picture_calls


def pool(pixels: Shaped[Tensor, "C H W"], factor: int) -> Float[Tensor, "C h w"]:
    """The picture at 1/factor of its size: each pixel is the mean of a block of factor × factor.

    Bytes become floats in [0, 1], as in `Picture.pixels`.

    Pixel X of the result has its centre at factor · X + (factor − 1)/2 in the picture. Rows and columns that
    do not fill a block are left out, since a mean over fewer pixels would have its centre elsewhere.
    """
    on_cpu = pixels.dtype == torch.uint8 and pixels.device.type == "cpu"
    if on_cpu and factor == 2 and min(pixels.shape[-2:]) >= 2 and kernel.accepts():
        return picture_calls.halve_bytes(pixels)
    pixels = unit(pixels)
    if factor == 1:
        return pixels
    if min(pixels.shape[-2:]) < factor:  # no block fits; torch would raise an error
        return pixels.new_empty(len(pixels), pixels.shape[-2] // factor, pixels.shape[-1] // factor)
    return picture_calls.pool(pixels, factor) if kernel.accepts(pixels) else F.avg_pool2d(pixels, factor)

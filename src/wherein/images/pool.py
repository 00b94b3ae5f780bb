"""Pictures at a smaller size."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.native import bindings


def pool(pixels: Float[Tensor, "C H W"], factor: int) -> Float[Tensor, "C h w"]:
    """The picture at 1/factor of its size: each pixel the mean of factor² ones.

    Pixel X of it has its centre at factor · X + (factor − 1)/2 of the picture. Rows and columns that do not
    fill a pixel are left out.
    """
    if factor == 1:
        return pixels
    if min(pixels.shape[-2:]) < factor:
        return pixels.new_empty(len(pixels), pixels.shape[-2] // factor, pixels.shape[-1] // factor)
    return bindings.pool(pixels, factor) if bindings.accepts(pixels) else F.avg_pool2d(pixels, factor)

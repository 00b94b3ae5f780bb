"""Pictures at a reduced size, by averaging blocks of pixels."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.native import kernel, picture_calls


def pool(pixels: Float[Tensor, "C H W"], factor: int) -> Float[Tensor, "C h w"]:
    """The picture at 1/factor of its size: each pixel is the mean of a block of factor × factor.

    Its pixel X has its centre at factor · X + (factor − 1)/2 of the picture. Rows and columns that do not
    fill a block are left out: a mean over fewer pixels would have its centre elsewhere.
    """
    if factor == 1:
        return pixels
    if min(pixels.shape[-2:]) < factor:  # no block fits; torch would raise an error
        return pixels.new_empty(len(pixels), pixels.shape[-2] // factor, pixels.shape[-1] // factor)
    return picture_calls.pool(pixels, factor) if kernel.accepts(pixels) else F.avg_pool2d(pixels, factor)

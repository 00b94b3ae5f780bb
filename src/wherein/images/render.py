"""Paint motifs into scenes, with exact truth: the paper's observation model, one interpolation a motif."""

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.motion.field import lattice, transform
from wherein.warp import Surface


def paint(
    background: Float[Tensor, "C H W"], motif: Motif, matrix: Float[Tensor, "3 3"]
) -> Float[Tensor, "C H W"]:
    """The background with the motif painted over it where `matrix` (motif → scene) puts it.

    Colour and mask are interpolated together, the colour weighted by the mask, so that edges blend with
    the background and nothing of the motif's own surroundings leaks in.
    """
    height, width = background.shape[-2:]
    back = torch.linalg.inv(matrix.double())
    looks = transform(back, lattice(height, width, back)).to(background.dtype)
    layers = torch.cat((motif.masked, motif.mask[None])).to(background.dtype)
    painted = Surface(layers)(looks).movedim(-1, 0)
    cover = painted[-1:].clamp(0, 1)
    return (background * (1 - cover) + painted[:-1]).clamp(0, 1)

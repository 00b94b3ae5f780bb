"""Paint a motif into a scene at a known pose: the paper's observation model, one interpolation a motif."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.motion.field import lattice, transform
from wherein.warp import Surface

_KERNEL_RADIUS = 2.0
"""How far the interpolation reaches beyond a motif, in pixels: the radius of the kernel of `wherein.warp`."""


def paint(
    background: Float[Tensor, "C H W"], motif: Motif, matrix: Float[Tensor, "3 3"]
) -> Float[Tensor, "C H W"]:
    """The background with a motif painted over it at the pose `matrix` (motif pixels → scene pixels).

    Colour and mask are interpolated together, the colour weighted by the mask. So edges blend with the
    background, and pixels of the motif's picture outside of the mask do not show.
    """
    left, top, right, bottom = _painted_box(motif, matrix, background)
    if left >= right or top >= bottom:
        return background.clamp(0, 1)
    back = torch.linalg.inv(
        matrix.double()
    )  # in float64: this pose is the truth that results are compared with
    spots = lattice(bottom - top, right - left, back) + back.new_tensor((left, top))
    layers = torch.cat((motif.masked, motif.mask[None])).to(background.dtype)
    painted = Surface(layers)(transform(back, spots).to(background.dtype)).movedim(-1, 0)
    cover = painted[-1:].clamp(0, 1)
    window = background[:, top:bottom, left:right] * (1 - cover) + painted[:-1]
    scene = background.clone()
    scene[:, top:bottom, left:right] = window
    return scene.clamp(0, 1)


def _painted_box(
    motif: Motif, matrix: Float[Tensor, "3 3"], background: Float[Tensor, "C H W"]
) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the pixels that a motif can change; the others are copied."""
    height, width = background.shape[-2:]
    low, across, down = -_KERNEL_RADIUS, motif.width - 1 + _KERNEL_RADIUS, motif.height - 1 + _KERNEL_RADIUS
    corners = matrix.new_tensor(((low, low), (across, low), (low, down), (across, down)))
    reached = transform(matrix, corners)
    depth = torch.cat((corners, torch.ones_like(corners[:, :1])), 1) @ matrix[2]
    if not bool((depth > 0).all() and reached.isfinite().all()):
        return 0, 0, width, height  # the horizon crosses the motif, which then has no finite box
    x, y = reached.detach().unbind(-1)
    return (
        min(max(0, math.floor(float(x.min()))), width),
        min(max(0, math.floor(float(y.min()))), height),
        max(min(width, math.ceil(float(x.max())) + 1), 0),
        max(min(height, math.ceil(float(y.max())) + 1), 0),
    )

"""Paint a motif into a scene at a known pose: the paper's observation model, one interpolation per motif."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.motion.field import lattice, transform
from wherein.warp import Surface

_KERNEL_RADIUS = 2.0
"""Radius of the interpolation kernel of `wherein.warp`: how far a painted motif reaches beyond its pixels."""


def paint(
    background: Float[Tensor, "C H W"], motif: Motif, matrix: Float[Tensor, "3 3"]
) -> Float[Tensor, "C H W"]:
    """The background with a motif painted over it at the pose `matrix` (motif pixels → scene pixels).

    The colour is multiplied by the mask before both are interpolated (premultiplied alpha). Hence edges blend
    with the background, and pixels outside the mask do not bleed into the edge.
    """
    left, top, right, bottom = _painted_box(motif, matrix, background)
    if left >= right or top >= bottom:
        return background.clamp(0, 1)
    # The inverse is computed in float64: this pose is the ground truth that results are compared with.
    back = torch.linalg.inv(matrix.double())
    spots = lattice(bottom - top, right - left, back) + back.new_tensor((left, top))
    layers = torch.cat((motif.masked, motif.mask[None])).to(background.dtype)
    painted = Surface(layers)(transform(back, spots).to(background.dtype)).movedim(-1, 0)
    cover = painted[-1:].clamp(0, 1)  # the kernel has negative lobes, so that it may overshoot
    window = background[:, top:bottom, left:right] * (1 - cover) + painted[:-1]
    scene = background.clone()
    scene[:, top:bottom, left:right] = window
    return scene.clamp(0, 1)


def _painted_box(
    motif: Motif, matrix: Float[Tensor, "3 3"], background: Float[Tensor, "C H W"]
) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of the pixels that a motif can change; all others remain as they are."""
    height, width = background.shape[-2:]
    low, across, down = -_KERNEL_RADIUS, motif.width - 1 + _KERNEL_RADIUS, motif.height - 1 + _KERNEL_RADIUS
    corners = matrix.new_tensor(((low, low), (across, low), (low, down), (across, down)))
    reached = transform(matrix, corners)
    depth = torch.cat((corners, torch.ones_like(corners[:, :1])), 1) @ matrix[2]
    if not bool((depth > 0).all() and reached.isfinite().all()):
        return 0, 0, width, height  # the horizon crosses the motif: its bounding box is infinite
    x, y = reached.detach().unbind(-1)
    return (
        min(max(0, math.floor(float(x.min()))), width),
        min(max(0, math.floor(float(y.min()))), height),
        max(min(width, math.ceil(float(x.max())) + 1), 0),
        max(min(height, math.ceil(float(y.max())) + 1), 0),
    )

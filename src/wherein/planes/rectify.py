"""A scene seen through a pose: the picture that brings a flat motif upright."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.motion.field import lattice, transform
from wherein.native import bindings


def rectify(
    scene: Float[Tensor, "C H W"], matrix: NDArray[np.float64], height: int, width: int
) -> tuple[Float[Tensor, "C h w"], Bool[Tensor, "h w"]]:
    """The picture whose pixel u shows the scene at matrix · u, and which of its pixels lie in the scene.

    Linearly interpolated; outside, the scene is continued by its border pixels. The scene should be reduced
    first if its pixels are much smaller than those of the result: nothing is averaged here.

    Arguments:
        scene: the picture to sample.
        matrix: 3×3, pixels of the result → pixels of the scene.
        height, width: of the result.
    """
    if bindings.accepts(scene):
        return bindings.rectify(scene, matrix, height, width)
    points = lattice(height, width, scene.new_zeros((), dtype=torch.float64))
    places = transform(torch.from_numpy(np.asarray(matrix, dtype=np.float64)).to(points), points)
    limits = places.new_tensor((scene.shape[-1] - 1, scene.shape[-2] - 1))
    inside = ((places >= -0.5) & (places <= limits + 0.5)).all(-1)
    # Behind the camera the pose has no meaning, though the formula gives a place.
    depth = points @ places.new_tensor(matrix[2, :2]) + float(matrix[2, 2])
    inside &= depth > 0
    grid = (2 * places / limits.clamp_min(1) - 1).nan_to_num().to(scene.dtype)
    found = F.grid_sample(scene[None], grid[None], padding_mode="border", align_corners=True)[0]
    return found, inside

"""Rectification, which resamples a scene into the frame of a pose; and the scene at any size."""

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.motion.field import lattice, transform
from wherein.native import kernel, picture_calls
from wherein.pyramid.levels import Box, ScenePyramid, reduce

_MIN_LEVEL = 8
"""Minimum width and height of a reduced scene in pixels. A choice."""

SIZE_STEP = 1.18
"""Factor between neighbouring sizes at which a scene is searched. Measured by recall on tilted cut-outs and
on photographs of a gauge: with 1.12 no more objects are found, with 1.2 and more sometimes fewer."""

_MAX_KEPT = 1_000_000
"""Maximum number of pixels of a reduced scene that is kept. A choice: 12 MB."""


def rectify(
    scene: Float[Tensor, "C H W"], matrix: NDArray[np.float64], height: int, width: int
) -> tuple[Float[Tensor, "C h w"], Bool[Tensor, "h w"]]:
    """The picture whose pixel u is the scene at matrix · u, and which of its pixels lie in the scene.

    Linearly interpolated; outside, the scene is continued by its border pixels. There is no averaging: if the
    pixels of the scene are much smaller than those of the result, reduce the scene first, to avoid aliasing.

    Arguments:
        scene: the picture to sample.
        matrix: 3×3, pixels of the result → pixels of the scene.
        height, width: of the result.
    """
    if kernel.accepts(scene):
        return picture_calls.rectify(scene, matrix, height, width)
    points = lattice(height, width, scene.new_zeros((), dtype=torch.float64))
    places = transform(torch.from_numpy(np.asarray(matrix, dtype=np.float64)).to(points), points)
    limits = places.new_tensor((scene.shape[-1] - 1, scene.shape[-2] - 1))
    inside = ((places >= -0.5) & (places <= limits + 0.5)).all(-1)
    # A point behind the camera is not visible, although the formula projects it to a place.
    depth = points @ places.new_tensor(matrix[2, :2]) + float(matrix[2, 2])
    inside &= depth > 0
    grid = (2 * places / limits.clamp_min(1) - 1).nan_to_num().to(scene.dtype)
    found = F.grid_sample(scene[None], grid[None], padding_mode="border", align_corners=True)[0]
    return found, inside


class SceneLevels(Sequence[Float[Tensor, "C _ _"]]):
    """The scene at full size, at half, at a quarter, and so on; each level is computed on first use."""

    def __init__(self, scene: ScenePyramid) -> None:
        self._scene, self._count, shortest = scene, 1, min(scene.size)
        while shortest >> self._count >= _MIN_LEVEL:
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, level: int) -> Float[Tensor, "C _ _"]:  # type: ignore[override]  # no slices
        if not 0 <= level < self._count:
            raise IndexError(level)
        return self._scene.reduced(2**level)


def scene_levels(scene: ScenePyramid) -> SceneLevels:
    """The scene at full size, at half, at a quarter, and so on."""
    return SceneLevels(scene)


def factor_of(number: int) -> float:
    """The factor by which a scene is reduced at a size.

    All motifs use the same sizes, so that what is computed from a scene at one of them can be shared.
    """
    return float(SIZE_STEP**number)


def scene_at(scene: ScenePyramid, number: int) -> tuple[Float[Tensor, "C h w"], NDArray[np.float64]]:
    """The scene at a size, and the matrix from its pixels to those at full size."""
    known = scene.kept.get(("resized", number))
    if known is not None:
        return known  # type: ignore[return-value]
    made = resized(scene, factor_of(number))
    if made[0][0].numel() <= _MAX_KEPT:
        scene.kept["resized", number] = made
    return made


def resized(scene: ScenePyramid, factor: float) -> tuple[Float[Tensor, "C h w"], NDArray[np.float64]]:
    """The scene reduced by any factor, and the matrix from its pixels to those at full size."""
    return _part_of(scene, factor, (0, 0, *_size_at(scene, factor)))


def size_at(scene: ScenePyramid, number: int) -> tuple[int, int]:
    """Width and height of the scene at a size."""
    return _size_at(scene, factor_of(number))


def part_at(scene: ScenePyramid, number: int, box: Box) -> tuple[Float[Tensor, "C h w"], NDArray[np.float64]]:
    """A part of the scene at a size, and the matrix from its pixels to those at full size.

    Arguments:
        scene: the scene.
        number: of the size.
        box: the part, in pixels of the scene at that size.
    """
    return _part_of(scene, factor_of(number), box)


def frame_at(scene: ScenePyramid, number: int) -> NDArray[np.float64]:
    """The matrix from pixels of the scene at a size to those at full size."""
    return _frame(scene, factor_of(number))


def _frame(scene: ScenePyramid, factor: float) -> NDArray[np.float64]:
    # Width and height are rounded to whole pixels, so each axis has its own exact factor. Pixel 0 of the
    # reduced scene covers the first `across` pixels at full size, whose middle is (across − 1) / 2.
    across, down = (full / own for full, own in zip(scene.size, _size_at(scene, factor), strict=True))
    return np.array(((across, 0, (across - 1) / 2), (0, down, (down - 1) / 2), (0, 0, 1)))


def _size_at(scene: ScenePyramid, factor: float) -> tuple[int, int]:
    width, height = scene.size
    return max(2, round(width / factor)), max(2, round(height / factor))


def _part_of(
    scene: ScenePyramid, factor: float, box: Box
) -> tuple[Float[Tensor, "C h w"], NDArray[np.float64]]:
    levels, (left, top, right, bottom) = scene_levels(scene), box
    # From the level of the closest power of 2, which is averaged. The rest of the factor, at most √2 either
    # way, is only interpolated.
    level = int(np.clip(round(math.log2(factor)), 0, len(levels) - 1))
    to_full = _frame(scene, factor) @ ((1, 0, left), (0, 1, top), (0, 0, 1))
    if factor == 1.0:
        return levels[0][:, top:bottom, left:right], to_full
    made, _ = rectify(levels[level], reduce(2**level) @ to_full, bottom - top, right - left)
    return made, to_full

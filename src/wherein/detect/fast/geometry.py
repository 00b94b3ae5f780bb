"""Frames of a plane: canvas → scene as 3×3 matrices, similar, affine or in perspective."""

import numpy as np
from numpy.typing import NDArray

from wherein.pyramid.levels import Poses
from wherein.template.tree import Point


def mapped(frames: Poses, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where frames (…, 3, 3) have points (3, N), each (x, y, 1), or one point (3,): (…, 2, N) or (…, 2)."""
    ends = frames @ points
    if points.ndim == 1:
        return np.asarray(ends[..., :2] / ends[..., 2:])
    return np.asarray(ends[..., :2, :] / ends[..., 2:, :])


def local_linear(frames: Poses, at: Point) -> NDArray[np.float64]:
    """The derivative of each frame at a point of the canvas, (H, 2, 2)."""
    ends = frames @ np.array((*at, 1.0))
    depth = ends[:, 2, None, None]
    spots = ends[:, :2] / ends[:, 2:]
    return np.asarray((frames[:, :2, :2] - spots[:, :, None] * frames[:, 2, None, :2]) / depth)


def scales(frames: Poses, at: Point = (0.0, 0.0)) -> NDArray[np.float64]:
    """The scale √|det A| of each frame at a point, (H,)."""
    return np.sqrt(np.abs(np.linalg.det(local_linear(frames, at))))


def tilts(frames: Poses, at: Point) -> NDArray[np.float64]:
    """Degrees by which each frame is tilted out of the picture plane at a point, (H,).

    A tilt by θ foreshortens by cos θ: the ratio of the singular values.
    """
    values = np.linalg.svd(local_linear(frames, at), compute_uv=False)
    return np.degrees(np.arccos(np.clip(values[:, 1] / np.maximum(values[:, 0], 1e-12), 0.0, 1.0)))


def relative(parents: Poses, frames: Poses) -> Poses:
    """The motion on the canvas that takes each parent's frame to a frame: parent⁻¹ · frame, (H, 3, 3)."""
    moved = np.linalg.inv(parents) @ frames
    return np.asarray(moved / moved[..., 2:, 2:])

"""Matrices of results applied to points: 2×3, or 3×3 with perspective, in numpy.

Results have one of the two forms, and everything that comes after a search (drawings, exports, reports) takes
both. Where there is perspective, rotation, size and tilt differ from point to point; those of an object are
taken from its local linear map at the middle of its picture. `motion.field.transform` is the same for tensors
that a solver differentiates.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
"""2×3 or 3×3; a stack of such matrices where a function says so."""

Numbers = NDArray[Any] | Sequence[Any]
"""An array, or what makes one: points, or a matrix as in JSON."""


def square(matrix: Numbers) -> Matrix:
    """A matrix, or a stack of them (…, 2, 3) or (…, 3, 3), as 3×3.

    Example:
        >>> square([[1, 0, 5], [0, 1, 7]])
        array([[1., 0., 5.],
               [0., 1., 7.],
               [0., 0., 1.]])
    """
    given = np.asarray(matrix, dtype=np.float64)
    if given.shape[-2] == 3:
        return given
    last = np.broadcast_to((0.0, 0.0, 1.0), (*given.shape[:-2], 1, 3))
    return np.concatenate((given, last), -2)


def shift(x: float, y: float) -> Matrix:
    """The matrix, 3×3, that moves points by (x, y)."""
    return np.array(((1.0, 0.0, x), (0.0, 1.0, y), (0.0, 0.0, 1.0)))


def mapped(matrix: Matrix, points: Numbers) -> NDArray[np.float64]:
    """Points (…, 2) where a matrix, 2×3 or 3×3, puts them.

    Example:
        >>> mapped(np.array([[2.0, 0, 5], [0, 2, 7], [0.5, 0, 1]]), [(0, 0), (2, 1)])
        array([[5. , 7. ],
               [4.5, 4.5]])
    """
    places = np.asarray(points, dtype=np.float64)
    moved = places @ matrix[:2, :2].T + matrix[:2, 2]
    return moved if len(matrix) == 2 else moved / (places @ matrix[2, :2] + matrix[2, 2])[..., None]


def local_map(matrix: Matrix, at: Numbers) -> NDArray[np.float64]:
    """The 2×2 linear map that a matrix is close to a point: the derivative of `mapped` there."""
    linear = matrix[:2, :2]
    if len(matrix) == 2:
        return linear
    depth = matrix[2, :2] @ np.asarray(at, dtype=np.float64) + matrix[2, 2]
    return (linear - np.outer(mapped(matrix, at), matrix[2, :2])) / depth


def angle_at(matrix: Matrix, at: Numbers) -> float:
    """The direction of the x axis in the scene at a point, in degrees; positive from x towards y."""
    linear = local_map(matrix, at)
    return math.degrees(math.atan2(linear[1, 0], linear[0, 0]))


def scale_at(matrix: Matrix, at: Numbers) -> float:
    """The size in the scene relative to the picture at a point: √|det| of the local map."""
    return float(abs(np.linalg.det(local_map(matrix, at))) ** 0.5)


def tilt_at(matrix: Matrix, at: Numbers) -> float:
    """Degrees out of the picture plane at a point; 0 for a 2×3 matrix, which has no perspective.

    A surface that is tilted by t is foreshortened to cos t in one direction, and so the ratio of the singular
    values of the local map is cos t. This is exact where the surface is far away for its size.
    """
    if len(matrix) == 2:
        return 0.0
    large, small = np.linalg.svd(local_map(matrix, at), compute_uv=False)
    return math.degrees(math.acos(min(1.0, small / large)))


def rounded(matrix: Matrix) -> Matrix:
    """A matrix as it is written to files: exact to a thousandth of a pixel in pictures of thousands.

    The last row of a homography is multiplied by both a place in the part and one in the scene, so it needs
    more digits than the others.
    """
    if len(matrix) == 2:
        return matrix.round(6)
    return np.concatenate((matrix[:2].round(6), matrix[2:].round(10)))


def turn_between(parent: Matrix, own: Matrix) -> float:
    """Degrees by which one 3×3 matrix is turned from another, in the plane that both map.

    A tilt of the plane does not change it.
    """
    relative = np.linalg.solve(parent, own)
    relative = relative / relative[2, 2]  # a negative multiple would be turned by 180°
    return float(np.degrees(np.arctan2(relative[1, 0] - relative[0, 1], relative[0, 0] + relative[1, 1])))

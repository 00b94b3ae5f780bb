"""Matrices of the plane, and what they do to points: 2×3, or 3×3 with perspective, in numpy.

A search works on stacks of 3×3 matrices. Results have one of the two forms, and everything that comes after a
search (drawings, exports, reports) takes both. Where there is perspective, rotation, size and tilt differ
from point to point; those of an object are taken from its local linear map at the middle of its picture.
`motion.field.transform` is the same for tensors that a solver differentiates.
"""

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


def relative(parents: Matrix, frames: Matrix) -> Matrix:
    """The motion that takes a parent's matrix to a frame: parent⁻¹ · frame, 3×3 or stacks of them."""
    moved = np.linalg.inv(parents) @ frames
    return np.asarray(moved / moved[..., 2:, 2:])


def rotations(degrees: NDArray[np.float64], about: Numbers) -> Matrix:
    """The matrices of rotations about a point, (…, 3, 3) for angles of shape (…)."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = about
    matrices = np.zeros((*np.shape(degrees), 3, 3))
    matrices[..., 0, 0] = matrices[..., 1, 1] = c
    matrices[..., 1, 0], matrices[..., 0, 1] = s, -s
    matrices[..., 0, 2], matrices[..., 1, 2] = x - c * x + s * y, y - s * x - c * y
    matrices[..., 2, 2] = 1.0
    return matrices


def mapped(matrix: Matrix, points: Numbers) -> NDArray[np.float64]:
    """Points (…, 2) where a matrix, 2×3 or 3×3, puts them.

    With a stack of B matrices, one point gives (B, 2), and N points, or N for each matrix, give (B, N, 2).

    Example:
        >>> mapped(np.array([[2.0, 0, 5], [0, 2, 7], [0.5, 0, 1]]), [(0, 0), (2, 1)])
        array([[5. , 7. ],
               [4.5, 4.5]])
    """
    places = np.asarray(points, dtype=np.float64)
    last = matrix[..., 2] if places.ndim == 1 else matrix[..., None, :, 2]
    moved = places @ np.swapaxes(matrix[..., :2], -1, -2) + last
    return moved if matrix.shape[-2] == 2 else moved[..., :2] / moved[..., 2:]


def local_map(matrix: Matrix, at: Numbers) -> NDArray[np.float64]:
    """The 2×2 linear map that a matrix, or each of a stack, is close to a point: `mapped`'s derivative."""
    linear = matrix[..., :2, :2]
    if matrix.shape[-2] == 2:
        return linear
    depth = np.asarray(matrix[..., 2, :2] @ np.asarray(at, dtype=np.float64) + matrix[..., 2, 2])
    moved = mapped(matrix, at)[..., :, None] * matrix[..., 2, None, :2]
    return np.asarray((linear - moved) / depth[..., None, None])


def angles(matrices: Matrix, at: Numbers) -> NDArray[np.float64]:
    """The direction of the x axis in the scene at a point, in degrees; positive from x towards y."""
    linear = local_map(matrices, at)
    return np.asarray(np.degrees(np.arctan2(linear[..., 1, 0], linear[..., 0, 0])))


def scales(matrices: Matrix, at: Numbers) -> NDArray[np.float64]:
    """The size in the scene relative to the picture at a point: √|det| of the local map."""
    return np.asarray(np.sqrt(np.abs(np.linalg.det(local_map(matrices, at)))))


def tilts(matrices: Matrix, at: Numbers) -> NDArray[np.float64]:
    """Degrees out of the picture plane at a point; 0 for 2×3 matrices, which have no perspective.

    A surface that is tilted by t is foreshortened to cos t in one direction, and so the ratio of the singular
    values of the local map is cos t. This is exact where the surface is far away for its size.
    """
    if matrices.shape[-2] == 2:
        return np.zeros(matrices.shape[:-2])
    values = np.linalg.svd(local_map(matrices, at), compute_uv=False)
    shortened = values[..., 1] / np.maximum(values[..., 0], 1e-12)
    return np.asarray(np.degrees(np.arccos(np.clip(shortened, 0.0, 1.0))))


def angle_at(matrix: Matrix, at: Numbers) -> float:
    """`angles` of one matrix."""
    return float(angles(matrix, at))


def scale_at(matrix: Matrix, at: Numbers) -> float:
    """`scales` of one matrix."""
    return float(scales(matrix, at))


def tilt_at(matrix: Matrix, at: Numbers) -> float:
    """`tilts` of one matrix."""
    return float(tilts(matrix, at))


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
    moved = relative(parent, own)
    return float(np.degrees(np.arctan2(moved[1, 0] - moved[0, 1], moved[0, 0] + moved[1, 1])))


def as_complex(points: NDArray[np.float64]) -> NDArray[np.complex128]:
    """(x, y) as x + iy: multiplication is then a rotation and a scaling."""
    return points[:, 0] + 1j * points[:, 1]


def similarities(
    linear: NDArray[np.complex128], spots: NDArray[np.complex128], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The similarities with these linear parts that map the point `at` to the spots, (N, 3, 3)."""
    shift = spots - linear * complex(at[0], at[1])
    frames = np.zeros((len(linear), 3, 3))
    frames[:, 0, 0] = frames[:, 1, 1] = linear.real
    frames[:, 1, 0], frames[:, 0, 1] = linear.imag, -linear.imag
    frames[:, 0, 2], frames[:, 1, 2], frames[:, 2, 2] = shift.real, shift.imag, 1.0
    return frames


def rigid(points: NDArray[np.float64], spots: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rotations and shifts that bring points (P, 2) closest to spots (N, P, 2), by least squares, as
    matrices (N, 3, 3)."""
    middle, spot = points.mean(0), spots.mean(1)
    rest, seen = as_complex(points - middle), (spots - spot[:, None]) @ (1, 1j)
    return similarities(np.exp(1j * np.angle(seen @ rest.conj())), as_complex(spot), middle)

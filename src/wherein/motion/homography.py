"""Matrices of the plane, 2×3 or 3×3 (with perspective), and their action on points, in numpy.

A search works on stacks of 3×3 matrices. Results have one of the two forms, and all later steps (drawings,
exports, reports) accept both. With perspective, rotation, size and tilt differ from point to point; those of
an object are taken from its local linear map at the middle of its picture. `motion.field.transform` is the
differentiable equivalent for tensors.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
"""2×3 or 3×3, or a stack of such matrices if a function's docstring says so."""

Numbers = NDArray[Any] | Sequence[Any]
"""An array, or a sequence that can be converted to one, such as points or a matrix from JSON."""


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
    """The 3×3 matrix of a translation by (x, y)."""
    return np.array(((1.0, 0.0, x), (0.0, 1.0, y), (0.0, 0.0, 1.0)))


def relative(parents: Matrix, frames: Matrix) -> Matrix:
    """The motion from a parent's matrix to a frame, parent⁻¹ · frame; 3×3 matrices or stacks of them."""
    moved = np.linalg.inv(parents) @ frames
    return np.asarray(moved / moved[..., 2:, 2:])


def rotations(degrees: NDArray[np.float64], about: Numbers) -> Matrix:
    """The matrices of rotations about a point, (…, 3, 3) for angles of shape (…)."""
    # x ↦ R (x − p) + p, written out.
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    x, y = about
    matrices = np.zeros((*np.shape(degrees), 3, 3))
    matrices[..., 0, 0] = matrices[..., 1, 1] = c
    matrices[..., 1, 0], matrices[..., 0, 1] = s, -s
    matrices[..., 0, 2], matrices[..., 1, 2] = x - c * x + s * y, y - s * x - c * y
    matrices[..., 2, 2] = 1.0
    return matrices


def mapped(matrix: Matrix, points: Numbers) -> NDArray[np.float64]:
    """Points (…, 2) transformed by a 2×3 or 3×3 matrix.

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
    """The derivative of `mapped` at a point: the 2×2 linear map that approximates each matrix there."""
    # Quotient rule: for τ = (A x + b) / d with d = hᵀx + 1, Dτ = (A − τ hᵀ) / d.
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
    """The tilt out of the picture plane at a point, in degrees; 0 for 2×3 matrices, without perspective.

    A surface that is tilted by t is foreshortened by cos t in one direction, so the ratio of the singular
    values of the local map is cos t. This is exact if the surface is far away compared with its size.
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
    """A matrix rounded for files: accurate to a thousandth of a pixel in pictures of thousands of pixels.

    An error in the last row of a homography is multiplied by a position in the part and by one in the scene,
    so this row needs more digits than the others.
    """
    if len(matrix) == 2:
        return matrix.round(6)
    return np.concatenate((matrix[:2].round(6), matrix[2:].round(10)))


def turn_between(parent: Matrix, own: Matrix) -> float:
    """The rotation in degrees from one 3×3 matrix to another, in the plane that both map to the scene.

    A tilt of this plane does not change the result.
    """
    moved = relative(parent, own)
    # The nearest rotation, as in `models._angle`.
    return float(np.degrees(np.arctan2(moved[1, 0] - moved[0, 1], moved[0, 0] + moved[1, 1])))


def as_complex(points: NDArray[np.float64]) -> NDArray[np.complex128]:
    """Points (x, y) as complex numbers x + iy, whose multiplication is a rotation and a scaling."""
    return points[:, 0] + 1j * points[:, 1]


def similarities(
    linear: NDArray[np.complex128], spots: NDArray[np.complex128], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The similarities (N, 3, 3) with the given linear parts that map the point `at` to each of the spots."""
    # z ↦ l z + t with t = spot − l · at; multiplication by l = a + ib is the matrix ((a, −b), (b, a)).
    shift = spots - linear * complex(at[0], at[1])
    frames = np.zeros((len(linear), 3, 3))
    frames[:, 0, 0] = frames[:, 1, 1] = linear.real
    frames[:, 1, 0], frames[:, 0, 1] = linear.imag, -linear.imag
    frames[:, 0, 2], frames[:, 1, 2], frames[:, 2, 2] = shift.real, shift.imag, 1.0
    return frames


def rigid(points: NDArray[np.float64], spots: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rigid motions (N, 3, 3) that map points (P, 2) to spots (N, P, 2) with the least squared error."""
    # The best motion maps centroid to centroid. Its rotation e^{iθ} maximises Re(e^{−iθ} Σ s p̄), so θ is the
    # argument of that sum (Procrustes).
    middle, spot = points.mean(0), spots.mean(1)
    centred, seen = as_complex(points - middle), (spots - spot[:, None]) @ (1, 1j)
    return similarities(np.exp(1j * np.angle(seen @ centred.conj())), as_complex(spot), middle)

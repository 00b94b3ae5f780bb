"""The plane of a round dial that was photographed at an angle.

The outline of the dial is then an ellipse instead of a circle, and the axle of its needle is not in the
middle of the ellipse, since what is nearer to the camera looks larger. Both together determine the plane: its
homography maps the ellipse to a circle, and its middle to the centre. That middle lies between the middle of
the ellipse and the axle, since the rim of a dial, the needle and the plate are not in one plane.
"""

import math

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from wherein.motion.homography import mapped
from wherein.template.tree import Matrix, Point

_ELLIPSE = 0.975
"""Minimum overlap (intersection over union) of an outline with an ellipse of the same moments, for it to be
one. A choice: an outline by hand, or of twelve corners, has more; a regular octagon and a square with rounded
corners have less."""

_LEAST_RATIO_ERROR, _LEAST_OFFSET = 0.02, 0.03
"""Minimum foreshortening, 1 − ratio of the axes, and minimum distance of the axle from the middle, in radii:
if both are less, the photograph was taken from in front. Choices: the errors of marks by hand."""

_NEAREST = 0.6
"""Maximum distance of the axle from the middle in radii, divided by the sine of the tilt. A choice: a camera
at a distance of D radii shifts the centre by sin(tilt) / D, so this is a camera at less than the diameter,
and a little more, because the rim of a dial lies above its plate. An axle that is further off was not made in
the middle."""


_SHARE = 2 / 3
"""Share of the axle's distance from the middle that is due to perspective. A choice: 1 for a flat dial, and
about a half if its rim is high above its plate. With twelve templates of a wall thermometer, the tip of the
needle is predicted about as well with any share from 0.5 to 1."""


def round_plane(mask: Tensor, axle: Point) -> Matrix | None:
    """The homography from a picture to the plane of a round part; None if it is not round, was photographed
    from in front, or has its axle elsewhere.

    Arguments:
        mask: of the part, (H, W), whole, in the picture.
        axle: the point about which a part turns on it, in the picture.
    """
    to_circle = _ellipse(mask)
    if to_circle is None:
        return None
    x, y = mapped(to_circle, axle).tolist()
    longer, shorter = np.linalg.svd(to_circle[:2, :2], compute_uv=False).tolist()
    ratio, offset = shorter / longer, math.hypot(x, y)
    # The tilt at which the ratio is seen, if the axes were marked with an error.
    steepest = math.acos(max(ratio - _LEAST_RATIO_ERROR, 0.0))
    if offset > _NEAREST * math.sin(steepest):
        return None
    if ratio > 1 - _LEAST_RATIO_ERROR and offset < _LEAST_OFFSET:
        return None
    return np.asarray(_centred(_SHARE * x, _SHARE * y) @ to_circle)


def _ellipse(mask: Tensor) -> Matrix | None:
    """The map from a picture to the unit circle, for a mask that is an ellipse; without a rotation."""
    weights = mask.double().numpy()
    rows, columns = np.indices(weights.shape).reshape(2, -1)
    points, weights = np.stack((columns, rows), 1).astype(float), weights.ravel()
    area = weights.sum()
    middle = weights @ points / area
    off = points - middle
    spread = (weights[:, None] * off).T @ off / area
    # The variance of an ellipse along an axis is a quarter of the square of its half-axis.
    sizes, axes = np.linalg.eigh(4 * spread)
    if sizes[0] <= 1:  # a line
        return None
    linear = axes @ np.diag(sizes**-0.5) @ axes.T
    inside = (np.square(off @ linear).sum(1) <= 1).astype(float)
    if np.minimum(inside, weights).sum() < _ELLIPSE * np.maximum(inside, weights).sum():
        return None
    matrix = np.eye(3)
    matrix[:2, :2], matrix[:2, 2] = linear, -linear @ middle
    return matrix


def _centred(x: float, y: float) -> NDArray[np.float64]:
    """The homography that maps the unit circle to itself and a point in it to its centre, without a rotation.

    Circles are mapped to themselves by the Lorentz transformations of (x, y, 1), the boosts among them
    without a rotation.
    """
    square = x * x + y * y
    if square == 0:
        return np.eye(3)
    factor = 1 / math.sqrt(1 - square)
    direction = np.array((x, y)) / math.sqrt(square)
    made = np.eye(3)
    made[:2, :2] += (factor - 1) * np.outer(direction, direction)
    made[:2, 2] = made[2, :2] = -factor * np.array((x, y))
    made[2, 2] = factor
    return made

"""Parallax: a limb above the plane of its parent, such as a needle above its dial, under tilt.

A point at a height h above a plane that is seen at an angle appears shifted on the plane, by h tan(tilt)
along the direction in which the plane is foreshortened. A limb that turns in a plane parallel to its parent's
is shifted as a whole, by the same vector everywhere: its turn does not change, and its joint moves away from
its position on the parent. A template does not specify the height of a limb. The direction of the shift
follows only from the perspective of the parent, which is too weak to be measured on a small object. So both
directions are allowed.
"""

import math

import numpy as np
from numpy.typing import NDArray

from wherein.motion.homography import Matrix, Numbers, local_map, shift

_LEAST = 1e-9
"""Minimum singular value, which avoids division by 0 for a plane that is seen from its edge."""

_STEEPEST = math.tan(math.radians(85.0))
"""Maximum slope of a plane. A choice: tilts of up to 70° are searched, and a fit may exceed that by 15°. Near
the horizon of a pose with strong perspective the slope is unbounded, and starts for all heights would exhaust
the memory."""


def leans(planes: Matrix, at: Numbers) -> NDArray[np.float64]:
    """The shift on each plane, at a point, of something at height 1 above it, up to its sign, (P, 2).

    Arguments:
        planes: plane → scene, (P, 3, 3).
        at: on the plane.
    """
    _, sizes, across = np.linalg.svd(np.nan_to_num(local_map(planes, at)))
    longer, shorter = np.maximum(sizes, _LEAST).T
    # cos(tilt) is the ratio of the singular values, so tan(tilt) = √(1/cos² − 1).
    slope = np.minimum(np.sqrt(np.maximum((longer / shorter) ** 2 - 1, 0.0)), _STEEPEST)
    # The right singular vector of the smaller value is the foreshortened direction on the plane. Its sign is
    # arbitrary.
    return np.asarray(slope[:, None] * across[:, 1])


def without_parallax(
    off: NDArray[np.float64], lean: NDArray[np.float64], height: float
) -> NDArray[np.float64]:
    """The errors of joints, (P, 2), minus the part that a limb's height of up to `height` explains."""
    # The height that explains most of the error: its projection onto the lean, within the allowed range.
    power = np.maximum((lean**2).sum(1), _LEAST)
    best = np.clip((off * lean).sum(1) / power, -height, height)
    return np.asarray(off - best[:, None] * lean)


def raised_starts(plane: Matrix, at: Numbers, starts: Matrix, height: float, step: float) -> Matrix:
    """Starts of a limb on a plane, shifted as by parallax for K heights, (K · T, 3, 3).

    Arguments:
        plane: plane → scene, 3×3.
        at: the position of the limb's joint on the plane.
        starts: on the plane, (T, 3, 3).
        height: maximum height of the limb above or below the plane.
        step: maximum distance between neighbouring shifts, in pixels of the plane.
    """
    (lean,) = leans(plane[None], at)
    count = math.ceil(height * math.hypot(*lean) / step - 0.5)
    if count < 1:
        return starts
    # The middles of 2 · count + 1 equal intervals of [−height, height].
    heights = height * np.arange(-count, count + 1) / (count + 0.5)
    shifts = np.stack([shift(*(one * lean)) for one in heights])
    return np.asarray((shifts[:, None] @ starts).reshape(-1, 3, 3))

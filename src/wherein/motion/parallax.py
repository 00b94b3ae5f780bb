"""Parallax: a limb above the plane of its parent, such as a needle above its dial, under tilt.

Seen at an angle, what lies at a height h above a plane appears shifted on it, by h tan(tilt) along the
direction in which the plane is foreshortened. A limb that turns in a plane parallel to its parent's is
shifted as a whole, by the same everywhere: its turn stays as it is, and its joint moves away from where the
parent has it. How high a limb lies, a template does not tell. To which side it moves, only the perspective of
the parent tells, and of a small object it tells that badly; so both are allowed.
"""

import math

import numpy as np
from numpy.typing import NDArray

from wherein.motion.homography import Matrix, Numbers, local_map, shift

_LEAST = 1e-9
"""Singular values below which a plane is seen from its edge."""

_STEEPEST = math.tan(math.radians(85.0))
"""The slope of a plane counts as this at most. A choice: tilts of up to 70° are searched, and a fit may go
further by 15°. Near the horizon of a pose with much perspective a plane is as steep as one likes, and starts
for all heights would fill the memory."""


def leans(planes: Matrix, at: Numbers) -> NDArray[np.float64]:
    """The shift on each plane, at a point, of what lies 1 above it, or its opposite, (P, 2).

    Arguments:
        planes: plane → scene, (P, 3, 3).
        at: on the plane.
    """
    _, sizes, across = np.linalg.svd(np.nan_to_num(local_map(planes, at)))
    longer, shorter = np.maximum(sizes, _LEAST).T
    # The tangent of the tilt, whose cosine is their ratio.
    slope = np.minimum(np.sqrt(np.maximum((longer / shorter) ** 2 - 1, 0.0)), _STEEPEST)
    return np.asarray(slope[:, None] * across[:, 1])


def without_parallax(
    off: NDArray[np.float64], lean: NDArray[np.float64], height: float
) -> NDArray[np.float64]:
    """How far joints are off, (P, 2), less what a limb may be shifted if it lies up to `height` above."""
    power = np.maximum((lean**2).sum(1), _LEAST)
    most = np.clip((off * lean).sum(1) / power, -height, height)
    return np.asarray(off - most[:, None] * lean)


def raised_starts(plane: Matrix, at: Numbers, starts: Matrix, height: float, step: float) -> Matrix:
    """Starts of a limb on a plane, also where it is shifted if it lies above it, (K · T, 3, 3).

    Arguments:
        plane: plane → scene, 3×3.
        at: where its joint is on the plane.
        starts: on the plane, (T, 3, 3).
        height: how high it may lie at most.
        step: how far two shifts may be apart, in pixels of the plane.
    """
    (lean,) = leans(plane[None], at)
    count = math.ceil(height * math.hypot(*lean) / step - 0.5)
    if count < 1:
        return starts
    heights = height * np.arange(-count, count + 1) / (count + 0.5)
    shifts = np.stack([shift(*(one * lean)) for one in heights])
    return np.asarray((shifts[:, None] @ starts).reshape(-1, 3, 3))

"""The plane of a template that was photographed at an angle: a homography from its canvas.

It maps the canvas to the object as seen from in front. Any size and rotation of the result mean the same, so
those of the canvas at its middle are kept.
"""

import numpy as np
from numpy.typing import NDArray

from wherein.errors import TemplateError
from wherein.motion.homography import Matrix, local_map, mapped, tilt_at

_MAX_TILT = 70.0
"""Maximum tilt of a template in degrees. A choice: beyond, it has a third of its pixels in one direction."""

_MAX_GROWTH = 4.0
"""Maximum area of a rectified canvas, relative to the canvas. A choice: near the horizon of its plane the
area is unbounded."""


def canvas_plane(plane: NDArray[np.float64], size: tuple[int, int]) -> Matrix:
    """A homography from a canvas to a plane, with the size and the rotation of the canvas at its middle.

    Raises:
        TemplateError: it does not show all of the canvas, or too steeply.
    """
    middle = (size[0] - 1) / 2, (size[1] - 1) / 2
    corners = _corners(size)
    with np.errstate(all="ignore"):
        depths = corners @ plane[2, :2] + plane[2, 2]
        linear = local_map(plane / plane[2, 2], middle)
        fits = np.isfinite(plane).all() and bool((depths / plane[2, 2] > 0).all())
        if not fits or np.linalg.det(linear) <= 0 or tilt_at(plane, middle) > _MAX_TILT:
            raise TemplateError(
                f'"plane" must be a homography that shows the whole canvas, at an angle of up to '
                f"{_MAX_TILT:g}°, but is {plane.tolist()}"
            )
    # The linear map is a rotation after a symmetric one: A = (U Vᵀ)(V S Vᵀ). The rotation is taken off.
    u, sizes, v = np.linalg.svd(linear)
    alike = np.eye(3)
    alike[:2, :2] = (u @ v).T / np.sqrt(sizes.prod())
    made = alike @ plane / plane[2, 2]
    low, high = moved_box(made, size)
    if (high - low).prod() > _MAX_GROWTH * size[0] * size[1]:
        raise TemplateError('"plane" has its horizon too close to the canvas: use another photograph')
    return made


def _corners(size: tuple[int, int]) -> NDArray[np.float64]:
    """The corners of a picture's outermost pixels."""
    right, bottom = size[0] - 0.5, size[1] - 0.5
    return np.array(((-0.5, -0.5), (right, -0.5), (right, bottom), (-0.5, bottom)))


def moved_box(matrix: Matrix, size: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first pixel of a picture after a motion, and the one after its last."""
    there = mapped(matrix, _corners(size))
    return np.floor(there.min(0) + 0.5), np.ceil(there.max(0) + 0.5)

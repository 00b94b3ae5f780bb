"""Points, matrices and exact sampling, independent of wherein, so that errors in wherein cannot hide.

The conventions are those of wherein: (x, y), x right, y down, pixel centres at whole numbers; a matrix is
2×3 or 3×3 and maps motif pixels to scene pixels.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[np.float64]


def homogeneous(matrix: Array) -> Array:
    """A 2×3 or 3×3 matrix as 3×3."""
    matrix = np.asarray(matrix, dtype=np.float64)
    return matrix if matrix.shape == (3, 3) else np.vstack([matrix, [0.0, 0.0, 1.0]])


def shift(x: float, y: float) -> Array:
    """The translation by (x, y), 3×3."""
    return np.array([[1.0, 0.0, x], [0.0, 1.0, y], [0.0, 0.0, 1.0]])


def linear(a: Array) -> Array:
    """A 2×2 matrix as 3×3."""
    matrix = np.eye(3)
    matrix[:2, :2] = a
    return matrix


def rotation(degrees: float) -> Array:
    """The 2×2 rotation that turns x towards y."""
    angle = np.deg2rad(degrees)
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def apply(matrix: Array, points: Array) -> Array:
    """Points (N, 2) transformed by a matrix."""
    mapped = np.column_stack([points, np.ones(len(points))]) @ homogeneous(matrix).T
    with np.errstate(divide="ignore", invalid="ignore"):  # a wrong homography may map points to infinity
        return mapped[:, :2] / mapped[:, 2:]


def corners(width: int, height: int) -> Array:
    """Centres of the four corner pixels, clockwise from the top left, (4, 2)."""
    return np.array([[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], dtype=np.float64)


def pixels(width: int, height: int) -> Array:
    """Every pixel centre of a picture, row by row, (height · width, 2)."""
    y, x = np.mgrid[:height, :width]
    return np.column_stack([x.ravel(), y.ravel()]).astype(np.float64)


def centred(scene_size: tuple[int, int], motif_size: tuple[int, int]) -> Array:
    """The translation (2×3) of the motif's centre to the scene's centre; sizes are (width, height)."""
    x, y = ((s - m) / 2 for s, m in zip(scene_size, motif_size, strict=True))
    return shift(x, y)[:2]


def four_points(source: Array, target: Array) -> Array:
    """The homography (3×3, last entry 1) that maps four points to four others."""
    # u = (a x + b y + c) / (g x + h y + 1), and v likewise: multiplied by the denominator, two linear
    # equations for each pair of points.
    rows, right = [], []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    return np.append(np.linalg.solve(np.array(rows), np.array(right)), 1.0).reshape(3, 3)


class Spline:
    """A picture (H, W, C) as a continuous function: an interpolating B-spline in float64.

    cv2.remap is not used, because it rounds positions to 1/32 px, more than the errors measured here.
    """

    def __init__(self, picture: NDArray, order: int = 3, outside: str = "mirror") -> None:
        self.size = picture.shape[1], picture.shape[0]
        self._order, self._outside = order, outside
        planes = np.moveaxis(np.asarray(picture, dtype=np.float64), -1, 0)
        # scipy has no spline filter for `constant`. Pictures that are zero outside have a margin of zeros,
        # in which the boundary condition makes no difference.
        mode = "mirror" if outside == "constant" else outside
        self._planes = [ndimage.spline_filter(plane, order, mode=mode) for plane in planes]

    def __call__(self, points: Array) -> Array:
        """Values at points (N, 2), as (N, C)."""
        yx = points.T[::-1]
        sampled = [
            ndimage.map_coordinates(p, yx, order=self._order, mode=self._outside, prefilter=False)
            for p in self._planes
        ]
        return np.stack(sampled, axis=-1)

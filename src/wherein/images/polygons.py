"""Polygons as other programs want them: within the frame, with their box, their area and their pixels.

Rows are (x, y) with pixel centres at whole numbers, so that a picture reaches from −½ to W − ½ and H − ½.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Polygon = NDArray[np.float64]
"""(N, 2)."""

CORNER = 0.5
"""What is added where whole numbers are the *corners* of pixels, as COCO and labelme count."""


def area(polygon: Polygon) -> float:
    """By the shoelace formula, ½ |Σ xᵢ yᵢ₊₁ − xᵢ₊₁ yᵢ|, in square pixels."""
    x, y = polygon.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def box(polygons: Sequence[Polygon]) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of them all."""
    corners = np.concatenate(polygons)
    (left, top), (right, bottom) = corners.min(0).tolist(), corners.max(0).tolist()
    return left, top, right, bottom


def clipped(polygon: Polygon, width: int, height: int) -> Polygon:
    """What of a polygon lies in the frame, by Sutherland and Hodgman; no rows where nothing does."""
    for axis, sign, edge in ((0, 1, -0.5), (0, -1, width - 0.5), (1, 1, -0.5), (1, -1, height - 0.5)):
        polygon = _half(polygon, axis, sign, edge)
    return polygon


def _half(polygon: Polygon, axis: int, sign: int, edge: float) -> Polygon:
    """The side of a line along an axis on which sign · (coordinate − edge) ≥ 0."""
    inside = sign * (polygon[:, axis] - edge)
    kept: list[NDArray[np.float64]] = []
    for k in range(len(polygon)):
        here, before = inside[k], inside[k - 1]
        if (here < 0) != (before < 0):  # the line is crossed on the way here
            kept.append(polygon[k - 1] + (polygon[k] - polygon[k - 1]) * before / (before - here))
        if here >= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 2)


def filled(polygons: Sequence[Polygon], width: int, height: int) -> NDArray[np.bool_]:
    """The pixels whose centres lie in any of the polygons, each by the even-odd rule; (H, W)."""
    mask = np.zeros((height, width), dtype=np.bool_)
    for polygon in polygons:
        mask |= _filled(polygon, width, height)
    return mask


def _filled(polygon: Polygon, width: int, height: int) -> NDArray[np.bool_]:
    """Along a row, the inside begins or ends at each edge that the row crosses."""
    (x0, y0), (x1, y1) = polygon.T[:, None], np.roll(polygon, -1, axis=0).T[:, None]
    rows = np.arange(height)[:, None]
    crossing, edge = np.nonzero((y0 <= rows) != (y1 <= rows))
    (x0, y0), (x1, y1) = (x0[0, edge], y0[0, edge]), (x1[0, edge], y1[0, edge])
    at = np.ceil(x0 + (crossing - y0) * (x1 - x0) / (y1 - y0)).clip(0, width).astype(np.intp)
    changes = np.zeros((height, width + 1), dtype=np.intp)
    np.add.at(changes, (crossing, at), 1)
    return changes.cumsum(1)[:, :width] % 2 == 1

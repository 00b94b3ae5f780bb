"""Polygons: area, bounding box, clipping, and rasterisation.

A polygon is an array (N, 2) of corners (x, y); the last corner is joined to the first. Pixel centres are at
whole numbers, so a picture extends from −½ to W − ½ and from −½ to H − ½.

A shape with several components or with holes consists of several polygons, its rings: see `contours`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Polygon = NDArray[np.float64]
"""(N, 2)."""

Rings = Sequence[Polygon]
"""The outlines of a shape: of components, clockwise on the screen, and of holes, counter-clockwise. A point
is inside if it is enclosed by an odd number of rings."""

CORNER_OFFSET = 0.5
"""Here (0, 0) is the *centre* of the first pixel, in COCO and labelme its upper left *corner*. The offset is
added to coordinates that are written for such programs, and subtracted from coordinates read from them."""

_DIRECTIONS = 72
"""Number of directions in which a hull takes the farthest point. A choice: with directions 5° apart, a circle
of radius r becomes at most r (1 − cos 2.5°) ≈ r/1000 too small, less than a pixel for any motif."""

_LINES_PER_ROW = 8
"""Number of horizontal lines through each row of pixels in `coverage`. A choice: coverage is exact along a
line and accurate to 1/8 across the lines, which is no worse than an outline drawn by hand."""


def hull(points: NDArray[np.float64]) -> Polygon:
    """An approximate convex hull: the points that are farthest in 72 directions, ordered by angle."""
    angles = np.arange(_DIRECTIONS) * (2 * np.pi / _DIRECTIONS)
    # Rounded: else, by the last bit of a cosine, a point between the ends of an edge could be the farthest.
    farthest = (points @ np.stack((np.cos(angles), np.sin(angles)))).round(9).argmax(0)
    changes = np.flatnonzero(np.diff(farthest, prepend=farthest[-1]))
    return points[farthest[changes]] if len(changes) else points[farthest[:1]]


def signed_area(polygon: Polygon) -> float:
    """The area in square pixels, by the shoelace formula ½ Σ xᵢ yᵢ₊₁ − xᵢ₊₁ yᵢ.

    It is positive if the corners are clockwise on the screen, where y points down.
    """
    x, y = (polygon - polygon[:1]).T  # relative to a corner: far from the origin digits would be lost
    return float((x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def area(rings: Rings) -> float:
    """The area of a shape in square pixels: holes count negatively."""
    return abs(sum(signed_area(ring) for ring in rings))


def has_holes(rings: Rings) -> bool:
    """Whether a shape has a hole."""
    return any(signed_area(ring) < 0 for ring in rings)


def outer(rings: Rings) -> list[Polygon]:
    """The outlines of the components of a shape, without those of holes.

    These have the same orientation as the first ring, even if a mapping has mirrored the shape.
    """
    clockwise = signed_area(rings[0]) >= 0
    return [ring for ring in rings if (signed_area(ring) >= 0) == clockwise]


def components(rings: Rings) -> list[list[Polygon]]:
    """The components of a shape, each followed by its holes."""
    outer = [[ring] for ring in rings if signed_area(ring) >= 0]
    for hole in (ring for ring in rings if signed_area(ring) < 0):
        around = [part for part in outer if _surrounds(part[0], hole)]
        # A component may lie in the hole of another one: a hole belongs to the smallest that encloses it.
        min(around or outer, key=lambda part: abs(signed_area(part[0]))).append(hole)
    return outer


def _surrounds(outer: Polygon, hole: Polygon) -> bool:
    """Whether most corners of a hole lie inside a polygon; rounding can move some of them to its edge."""
    (x0, y0), (x1, y1) = outer.T, np.roll(outer, -1, axis=0).T
    x, y = hole.T[:, :, None]
    crosses = (y0 <= y) != (y1 <= y)
    right = x * (y1 - y0) < x0 * (y1 - y0) + (y - y0) * (x1 - x0)
    inside = (crosses & (right == (y1 > y0))).sum(1) % 2 == 1
    return bool(inside.mean() > 0.5)


def joined(rings: Rings) -> Polygon:
    """One polygon with the pixels of several, for programs that allow only one polygon for a shape.

    A line leads from the nearest corner to each further ring, and back the same way, so it has no area.
    """
    one = rings[0]
    for ring in rings[1:]:
        gaps = ((one[:, None] - ring) ** 2).sum(-1)
        here, there = np.unravel_index(gaps.argmin(), gaps.shape)
        detour = np.roll(ring, -int(there), axis=0)
        one = np.concatenate((one[: here + 1], detour, detour[:1], one[here:]))
    return one


def box(polygons: Sequence[Polygon]) -> tuple[float, float, float, float]:
    """The bounding box of all the polygons: left, top, right, bottom."""
    corners = np.concatenate(polygons)
    (left, top), (right, bottom) = corners.min(0).tolist(), corners.max(0).tolist()
    return left, top, right, bottom


def clipped(polygon: Polygon, width: int, height: int) -> Polygon:
    """The part of a polygon inside a picture (Sutherland–Hodgman); without corners if it lies outside.

    If several pieces of a concave polygon lie inside, they remain one polygon: they are joined by lines along
    the border, which have no area.
    """
    for axis, sign, edge in ((0, 1, -0.5), (0, -1, width - 0.5), (1, 1, -0.5), (1, -1, height - 0.5)):
        polygon = _half(polygon, axis, sign, edge)
    return polygon


def _half(polygon: Polygon, axis: int, sign: int, edge: float) -> Polygon:
    """The part of a polygon where sign · (coordinate − edge) ≥ 0."""
    inside = sign * (polygon[:, axis] - edge)
    kept: list[NDArray[np.float64]] = []
    for k in range(len(polygon)):
        here, before = inside[k], inside[k - 1]
        if (here < 0) != (before < 0):  # the edge to this corner crosses the line
            kept.append(polygon[k - 1] + (polygon[k] - polygon[k - 1]) * before / (before - here))
        if here >= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 2)


def filled(shapes: Sequence[Rings], width: int, height: int) -> NDArray[np.bool_]:
    """The pixels (H, W) whose centres lie in any of the shapes, each by the even-odd rule.

    Programs that count or compare pixels (COCO, supervision) use masks without soft edges.
    """
    mask = np.zeros((height, width), dtype=np.bool_)
    for rings in shapes:
        toggles = np.zeros((height, width + 1), dtype=np.intp)
        for ring in rings:
            # Each crossing toggles inside and outside from the next pixel on; ∞ falls into an extra column,
            # which is dropped.
            first = np.ceil(_crossings(ring, np.arange(height))).clip(0, width).astype(np.intp)
            np.add.at(toggles, (np.arange(height)[:, None], first), 1)
        mask |= toggles.cumsum(1)[:, :width] % 2 == 1
    return mask


def coverage(polygon: Polygon, width: int, height: int) -> NDArray[np.float32]:
    """The fraction of each pixel (H, W) that lies inside a polygon, by the even-odd rule.

    A line through the polygon is inside between its first and second crossing, its third and fourth, and so
    on. The line from −∞ to x covers clip(x − left, 0, 1) of a pixel, so crossings add that with alternating
    signs.

    Arguments:
        polygon: corners (N, 2); they may lie outside the mask.
        width, height: of the mask.

    Example:
        >>> coverage(np.array([(-0.5, 0.0), (2.0, 0.0), (2.0, 5.0), (-0.5, 5.0)]), 4, 2)
        array([[0.5 , 0.5 , 0.25, 0.  ],
               [1.  , 1.  , 0.5 , 0.  ]], dtype=float32)
    """
    lefts = np.arange(width) - 0.5
    lines = (np.arange(_LINES_PER_ROW) + 0.5) / _LINES_PER_ROW - 0.5
    mask = np.zeros((height, width), dtype=np.float32)
    top, bottom = _row(polygon[:, 1].min(initial=np.inf)), _row(polygon[:, 1].max(initial=-np.inf))
    for row in range(max(0, top), min(height, bottom + 1)):  # all rows at once would take too much memory
        x = np.sort(_crossings(polygon, row + lines))
        # A closed polygon crosses each line an even number of times, so the ∞ left on shorter lines cancel.
        count = int(np.isfinite(x).sum(1).max())
        covered = (x[:, :count, None] - lefts).clip(0, 1) * np.resize((-1.0, 1.0), count)[:, None]
        mask[row] = covered.sum((0, 1)) / _LINES_PER_ROW
    return mask.clip(0, 1)


def _crossings(polygon: Polygon, lines: NDArray[np.generic]) -> NDArray[np.float64]:
    """Where horizontal lines cross a polygon: x by line and edge, ∞ where the two do not cross.

    The upper end of an edge belongs to it, the lower one does not. So a line through a corner crosses once if
    the polygon continues to the other side, and twice or not at all if it turns back: the number of crossings
    is always even.
    """
    (x0, y0), (x1, y1) = polygon.T, np.roll(polygon, -1, axis=0).T
    line, edge = np.nonzero((y0 <= lines[:, None]) != (y1 <= lines[:, None]))
    x0, y0, x1, y1 = x0[edge], y0[edge], x1[edge], y1[edge]
    crossings = np.full((len(lines), len(polygon)), np.inf)
    # Multiplied first, divided last: exact where whole numbers meet, and `filled` decides by exact ties.
    crossings[line, edge] = x0 + (lines[line] - y0) * (x1 - x0) / (y1 - y0)
    return crossings


def _row(y: float) -> int:
    """The row of pixels that a y coordinate lies in."""
    return int(np.floor(np.clip(y, -1e9, 1e9) + 0.5))

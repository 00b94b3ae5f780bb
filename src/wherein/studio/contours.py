"""From a mask to its contour: a polygon that the page can show and a user can edit."""

import numpy as np
from numpy.typing import NDArray

Polygon = NDArray[np.float64]
"""(N, 2), one corner (x, y) per row."""

_Corner = tuple[int, int]
_Edges = dict[_Corner, list[_Corner]]
"""From each pixel corner, the unit steps of the edges that leave it."""

_TOLERANCE = 1.0
"""Pixels between a contour and its simplification. A contour follows pixel edges, whose corners are up to
√½ ≈ 0.7 from a slanted line; anything below that would keep the stairs."""

_STEPS = {"right": (1, 0), "down": (0, 1), "left": (-1, 0), "up": (0, -1)}


def contour(mask: NDArray[np.bool_]) -> Polygon:
    """The outline of the largest component of a mask, without holes, along pixel edges.

    Arguments:
        mask: (H, W), with at least one pixel.

    >>> contour(np.array([[0, 0, 0, 0], [0, 1, 1, 0]], dtype=bool)).tolist()
    [[0.5, 0.5], [2.5, 0.5], [2.5, 1.5], [0.5, 1.5]]
    """
    edges = _edges(mask)
    loops = []
    while edges:
        loops.append(_loop(edges))
    largest = max(loops, key=_area)
    fewer = simplified(largest)
    # The simplification of a few pixels can collapse to a line, which has no inside.
    return fewer if len(fewer) > 2 else simplified(largest, 0.0)


def simplified(polygon: Polygon, tolerance: float = _TOLERANCE) -> Polygon:
    """Fewer corners, by the algorithm of Douglas and Peucker.

    Arguments:
        polygon: closed. It is split at its first corner and the corner farthest from that.
        tolerance: maximum distance in pixels of a removed corner from the result.
    """
    far = int(np.argmax(np.linalg.norm(polygon - polygon[0], axis=1)))
    kept = {0, far}
    pending = [(0, far), (far, len(polygon))]
    closed = np.vstack((polygon, polygon[:1]))
    while pending:
        first, last = pending.pop()
        if last - first < 2:
            continue
        distances = _distances(closed[first + 1 : last], closed[first], closed[last])
        worst = int(np.argmax(distances))
        if distances[worst] > tolerance:
            middle = first + 1 + worst
            kept.add(middle)
            pending += [(first, middle), (middle, last)]
    return polygon[sorted(kept)]


def _edges(mask: NDArray[np.bool_]) -> _Edges:
    """All pixel edges between inside and outside, directed so that the inside is on the right."""
    padded = np.pad(mask, 1)
    inside = padded[1:-1, 1:-1]
    neighbours = {
        "right": (padded[:-2, 1:-1], (0, 0)),  # the top edge, from the pixel's top-left corner
        "down": (padded[1:-1, 2:], (1, 0)),
        "left": (padded[2:, 1:-1], (1, 1)),
        "up": (padded[1:-1, :-2], (0, 1)),
    }
    edges: _Edges = {}
    for direction, (neighbour, (x, y)) in neighbours.items():
        for row, column in np.argwhere(inside & ~neighbour).tolist():
            edges.setdefault((column + x, row + y), []).append(_STEPS[direction])
    return edges


def _loop(edges: _Edges) -> Polygon:
    """Follow edges from any corner until it closes, and remove them."""
    start = next(iter(edges))
    at, step, corners = start, edges[start][0], []
    while True:
        steps = edges[at]
        # Where two pixels touch at a corner only, two edges leave it. Turning right stays at the same pixel,
        # so pixels that are connected diagonally are separate components.
        right = (-step[1], step[0])
        step = right if right in steps else steps[0]
        steps.remove(step)
        if not steps:
            del edges[at]
        corners.append(at)
        at = (at[0] + step[0], at[1] + step[1])
        if at == start:
            return np.array(corners, dtype=np.float64) - 0.5  # pixel centres are at whole numbers


def _area(polygon: Polygon) -> float:
    """Twice the area: enough to compare."""
    x, y = polygon.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def _distances(points: Polygon, start: Polygon, end: Polygon) -> NDArray[np.float64]:
    """Distances of points from a line segment."""
    along = end - start
    length = float(along @ along)
    position = np.clip((points - start) @ along / length, 0, 1) if length else np.zeros(len(points))
    return np.linalg.norm(points - start - position[:, None] * along, axis=1)

"""Masks to polygons: the outline that a page can show and a person can change."""

import numpy as np
from numpy.typing import NDArray

Polygon = NDArray[np.float64]
"""(N, 2), a corner (x, y) a row."""

_TOLERANCE = 1.0
"""Pixels by which a traced outline may be off: it lies along pixels, whose corners are 0.7 from a slant."""

_STEPS = {"right": (1, 0), "down": (0, 1), "left": (-1, 0), "up": (0, -1)}


def traced(mask: NDArray[np.bool_]) -> Polygon:
    """The outline of a mask's largest piece, without its holes, along the edges of its pixels.

    Arguments:
        mask: (H, W), with at least one pixel.

    >>> traced(np.array([[0, 0, 0, 0], [0, 1, 1, 0]], dtype=bool)).tolist()
    [[0.5, 0.5], [2.5, 0.5], [2.5, 1.5], [0.5, 1.5]]
    """
    edges = _edges(mask)
    loops = []
    while edges:
        loops.append(_loop(edges))
    largest = max(loops, key=_area)
    fewer = simplified(largest)
    return fewer if len(fewer) > 2 else simplified(largest, 0.0)  # a few pixels have no corner to spare


def simplified(polygon: Polygon, tolerance: float = _TOLERANCE) -> Polygon:
    """Fewer corners, none of those that are left out further from the new outline: Douglas and Peucker.

    Arguments:
        polygon: closed; it is cut at its first corner and the one that is farthest from it.
        tolerance: pixels.
    """
    far = int(np.argmax(np.linalg.norm(polygon - polygon[0], axis=1)))
    kept = {0, far}
    waiting = [(0, far), (far, len(polygon))]
    closed = np.vstack((polygon, polygon[:1]))
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        off = _distance(closed[first + 1 : last], closed[first], closed[last])
        worst = int(np.argmax(off))
        if off[worst] > tolerance:
            middle = first + 1 + worst
            kept.add(middle)
            waiting += [(first, middle), (middle, last)]
    return polygon[sorted(kept)]


def _edges(mask: NDArray[np.bool_]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """From each corner of pixels where an edge between inside and outside goes, inside to the right of it."""
    wide = np.pad(mask, 1)
    inside = wide[1:-1, 1:-1]
    beside = {
        "right": (wide[:-2, 1:-1], (0, 0)),  # along the top, from the pixel's first corner
        "down": (wide[1:-1, 2:], (1, 0)),
        "left": (wide[2:, 1:-1], (1, 1)),
        "up": (wide[1:-1, :-2], (0, 1)),
    }
    edges: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for way, (neighbour, (x, y)) in beside.items():
        for row, column in np.argwhere(inside & ~neighbour).tolist():
            edges.setdefault((column + x, row + y), []).append(_STEPS[way])
    return edges


def _loop(edges: dict[tuple[int, int], list[tuple[int, int]]]) -> Polygon:
    """Follow edges from any corner back to it, and take them away; where two go on, the sharper right turn,
    so that pixels that touch at a corner only are apart."""
    start = next(iter(edges))
    at, step, corners = start, edges[start][0], []
    while True:
        ways = edges[at]
        right = (-step[1], step[0])
        chosen = right if right in ways else ways[0]
        ways.remove(chosen)
        if not ways:
            del edges[at]
        corners.append(at)
        at, step = (at[0] + chosen[0], at[1] + chosen[1]), chosen
        if at == start:
            return np.array(corners, dtype=np.float64) - 0.5


def _area(polygon: Polygon) -> float:
    x, y = polygon.T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def _distance(points: Polygon, start: Polygon, end: Polygon) -> NDArray[np.float64]:
    """Of points from a piece of a line."""
    along = end - start
    length = float(along @ along)
    place = np.clip((points - start) @ along / length, 0, 1) if length else np.zeros(len(points))
    return np.linalg.norm(points - start - place[:, None] * along, axis=1)

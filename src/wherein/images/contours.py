"""Contours of masks: the outlines of all components and of their holes, as polygons."""

import numpy as np
from numpy.typing import NDArray

from wherein.images.polygons import Polygon, signed_area

_Corner = tuple[int, int]
_Edges = dict[_Corner, list[_Corner]]
"""For each pixel corner, the unit steps of the edges that leave it."""

TOLERANCE = 0.5
"""Maximum distance in pixels between a contour and its simplification. A choice: the position of an edge
within a pixel of the mask is not known much better."""

_MAX_AREA_ERROR = 0.01
"""Maximum change of the area by a simplification, as a fraction. Chords of a curve lie inside it, so a disc
of radius 20 px would lose 3 % with a tolerance of half a pixel. Half of the 2 % by which outlines may differ
from masks."""

_MAX_SPECKS = 0.005
"""Fraction of a mask's area that is left out, in its smallest components and holes: masks from photographs
have specks of a few pixels, which no one would outline."""

_STEPS = {"right": (1, 0), "down": (0, 1), "left": (-1, 0), "up": (0, -1)}


def contours(mask: NDArray[np.bool_], tolerance: float = TOLERANCE) -> tuple[Polygon, ...]:
    """The outlines of all components of a mask and of their holes, the largest component first.

    A pixel is inside if it is enclosed by an odd number of outlines. On the screen, components are clockwise
    and holes counter-clockwise, so the sum of their signed areas is the area of the mask. Pixels that touch
    at a corner are connected, so that a thin slanted line is one component.

    Arguments:
        mask: (H, W), with at least one pixel.
        tolerance: pixels between a contour and its simplification.

    >>> [ring.tolist() for ring in contours(np.array([[0, 0, 0, 0], [0, 1, 1, 0]], dtype=bool))]
    [[[0.5, 0.5], [2.5, 0.5], [2.5, 1.5], [0.5, 1.5]]]
    """
    edges = _edges(mask)
    loops = []
    while edges:
        loops.append(_corners(_loop(edges)))
    areas = np.array([signed_area(loop) for loop in loops])
    falling = np.argsort(-np.abs(areas), kind="stable")
    specks = int((np.cumsum(np.abs(areas[falling[::-1]])) <= _MAX_SPECKS * mask.sum()).sum())
    kept = falling[: len(falling) - specks]
    first = next(k for k in kept if areas[k] > 0)
    return tuple(_simplest(loops[k], tolerance) for k in (first, *(k for k in kept if k != first)))


def simplified(polygon: Polygon, tolerance: float) -> Polygon:
    """The polygon with fewer corners, by the algorithm of Douglas and Peucker.

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


def _simplest(corners: Polygon, tolerance: float) -> Polygon:
    """The coarsest simplification that preserves the area; the corners themselves if there is none."""
    smooth, wanted = _smoothed(corners), abs(signed_area(corners))
    for fraction in (1.0, 0.5, 0.25):
        fewer = simplified(smooth, tolerance * fraction)
        if abs(abs(signed_area(fewer)) - wanted) <= _MAX_AREA_ERROR * wanted:
            return fewer
    return corners


def _smoothed(corners: Polygon) -> Polygon:
    """A contour without the staircase of pixels.

    Along a slanted line every second run of pixel edges is one pixel long, the others have nearly the same
    length, and the middles of the runs lie on the line. So a corner between two runs that are both longer
    than one pixel is a corner of the object, and is kept. Every other corner is cut off, at most half way to
    the next one. If a run is longer than the run beyond the step, like a straight side that ends in a curve,
    it is cut by half of the shorter one. At the end of a line that is one pixel wide, it is cut by half a
    pixel.
    """
    ahead = np.roll(corners, -1, axis=0) - corners
    lengths = np.abs(ahead).sum(1)
    along = ahead / lengths[:, None]
    real = (lengths > 1) & (np.roll(lengths, 1) > 1)
    starts, ends = (
        np.where(corner, 0.0, np.minimum(lengths, np.where(stairs, beyond, 1.0)) / 2)
        for corner, stairs, beyond in (
            (real, (along == np.roll(along, 2, axis=0)).all(1), np.roll(lengths, 2)),
            (np.roll(real, -1), (along == np.roll(along, -2, axis=0)).all(1), np.roll(lengths, -2)),
        )
    )
    points = np.stack((starts, lengths - ends), 1)[..., None] * along[:, None] + corners[:, None]
    points = np.roll(points.reshape(-1, 2), -2 * int(real.argmax()), axis=0)  # the first is never removed
    return points[(points != np.roll(points, -1, axis=0)).any(1)]


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


def _loop(edges: _Edges) -> list[_Corner]:
    """Follow edges from any corner to a closed loop, remove them, and return the pixel corners passed."""
    start = next(iter(edges))
    at, step, passed = start, edges[start][0], list[_Corner]()
    while True:
        steps = edges[at]
        # Where two pixels touch only at a corner, two edges leave it. Turning left continues on the other
        # pixel, so that the two pixels are connected.
        left = (step[1], -step[0])
        step = left if left in steps else steps[0]
        steps.remove(step)
        if not steps:
            del edges[at]
        passed.append(at)
        at = (at[0] + step[0], at[1] + step[1])
        # If two pixels touch at the start, the loop may pass it once before it is complete: it ends when no
        # edge to the left remains.
        if at == start and (step[1], -step[0]) not in edges.get(at, []):
            return passed


def _corners(passed: list[_Corner]) -> Polygon:
    """The points at which a loop turns."""
    points = np.array(passed, dtype=np.float64) - 0.5  # pixel centres are at whole numbers
    ahead, behind = np.roll(points, -1, axis=0) - points, points - np.roll(points, 1, axis=0)
    return points[(ahead != behind).any(1)]


def _distances(points: Polygon, start: Polygon, end: Polygon) -> NDArray[np.float64]:
    """Distances of points from a line segment."""
    along = end - start
    length = float(along @ along)
    position = np.clip((points - start) @ along / length, 0, 1) if length else np.zeros(len(points))
    return np.linalg.norm(points - start - position[:, None] * along, axis=1)

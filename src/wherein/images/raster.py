"""Polygons to masks: how much of each pixel is inside."""

import numpy as np
from numpy.typing import NDArray

ROWS = 8
"""Lines that are drawn through each row of pixels; along a line the cover is exact."""


def coverage(polygon: NDArray[np.float64], width: int, height: int) -> NDArray[np.float32]:
    """The share of each pixel that lies in a polygon, by the even-odd rule.

    A line through the polygon is inside between its first and second crossing, its third and fourth, and so
    on. What is inside up to x covers clip(x − left, 0, 1) of a pixel, so each crossing adds that to its line
    with alternating signs.

    Arguments:
        polygon: corners (N, 2), (x, y); pixel centres are at whole numbers.
        width, height: of the mask; the polygon may reach outside.

    Example:
        >>> coverage(np.array([(-0.5, 0.0), (2.0, 0.0), (2.0, 5.0), (-0.5, 5.0)]), 4, 2)
        array([[0.5 , 0.5 , 0.25, 0.  ],
               [1.  , 1.  , 0.5 , 0.  ]], dtype=float32)
    """
    starts, ends = polygon, np.roll(polygon, -1, axis=0)
    level = starts[:, 1] == ends[:, 1]  # along a line: crosses none
    (x0, y0), (x1, y1) = starts[~level].T, ends[~level].T
    lefts, lines = np.arange(width) - 0.5, (np.arange(ROWS)[:, None] + 0.5) / ROWS - 0.5
    mask = np.zeros((height, width), dtype=np.float32)
    for row in range(max(0, _row(y0.min(initial=np.inf))), min(height, _row(y0.max(initial=-np.inf)) + 1)):
        y = row + lines
        crosses = (y0 <= y) != (y1 <= y)
        count = int(crosses.sum(1).max())  # even, as of every closed line: what is infinite comes in pairs
        x = np.sort(np.where(crosses, x0 + (y - y0) / (y1 - y0) * (x1 - x0), np.inf))[:, :count]
        covered = (x[..., None] - lefts).clip(0, 1) * np.resize((-1.0, 1.0), count)[:, None]
        mask[row] = covered.sum((0, 1)) / ROWS
    return mask.clip(0, 1)


def _row(y: float) -> int:
    """The row of pixels that a height lies in."""
    return int(np.floor(np.clip(y, -1e9, 1e9) + 0.5))

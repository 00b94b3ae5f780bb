"""The outline of a motif as a polygon."""

import numpy as np
from numpy.typing import NDArray

from wherein.images.motif import Motif

_DIRECTIONS = 72


def outline(motif: Motif) -> NDArray[np.float64]:
    """The convex hull of the motif's support, by its extreme points in 72 directions: (x, y) a row."""
    rows, columns = np.nonzero(motif.mask.detach().cpu().numpy() > 0.5)
    return hull(np.stack((columns, rows), 1).astype(np.float64))


def hull(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The convex hull of points, in the order of the angle."""
    angles = np.arange(_DIRECTIONS) * (2 * np.pi / _DIRECTIONS)
    # Rounded, so that along an edge no point between its ends is farthest by the last bit of a cosine.
    farthest = (points @ np.stack((np.cos(angles), np.sin(angles)))).round(9).argmax(0)
    changes = np.flatnonzero(np.diff(farthest, prepend=farthest[-1]))
    return points[farthest[changes]] if len(changes) else points[farthest[:1]]

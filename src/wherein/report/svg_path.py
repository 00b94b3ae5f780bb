"""Outlines and curves as the `d` attribute of an SVG path, with few characters."""

from collections.abc import Iterable, Sequence

import numpy as np

from wherein.images.contours import simplified
from wherein.images.polygons import Polygon, Rings

_STEPS = 1000
"""Tolerance of outlines: the longer side of the scene divided by this. A choice: about a pixel of a window,
half the width of the line. The exact outlines are in the JSON."""

Points = Sequence[Sequence[float]]


def curve(points: Points, digits: int = 1) -> str:
    """A path of straight lines through points.

    Points after the first are relative to the one before, which halves the number of characters. Coordinates
    are rounded before their differences are taken, so that rounding errors do not add up.

    Example:
        >>> curve([(10.04, 2.0), (13.0, 1.5), (13.0, 11.5)])
        'M10 2l3-.5 0 10'
    """
    grid = np.round(np.asarray(points, dtype=np.float64) * 10**digits)
    first, *steps = (np.diff(grid, axis=0, prepend=0) / 10**digits).tolist()
    return f"M{_joined(first)}" + (f"l{_joined(value for step in steps for value in step)}" if steps else "")


def outline_path(rings: Rings, side: int) -> str:
    """A path of closed outlines in a scene whose longer side has `side` pixels."""
    digits = 1 if side < 2 * _STEPS else 0
    return "".join(curve(_fewer(ring, side / _STEPS), digits) + "z" for ring in rings)


def _fewer(ring: Polygon, tolerance: float) -> list[list[float]]:
    return simplified(ring, tolerance).tolist() if len(ring) > 3 else ring.tolist()


def _joined(values: Iterable[float]) -> str:
    """Numbers for SVG, where a minus sign also separates, and a zero before the point can be omitted."""
    words = (f"{value + 0.0:g}" for value in values)  # + 0.0 turns −0 into 0
    short = [word.replace("0.", ".", 1) if word.startswith(("0.", "-0.")) else word for word in words]
    return "".join(word if k == 0 or word[0] == "-" else f" {word}" for k, word in enumerate(short))

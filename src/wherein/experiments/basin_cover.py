"""The number of starts that cover all poses, given the basin of attraction around one start (section 6).

The basin is measured along one direction of translation and assumed to be the same along all. So a start
leads to every pose that is less than r pixels away and whose rotation, or scale, is within an interval I
around its own. Discs of radius r on a square lattice with spacing √2 r cover the plane, so every place in a
scene of W × H pixels, with every rotation, is covered by

    N = n ⌈W / (√2 r)⌉ ⌈H / (√2 r)⌉,    n = ⌈360° / |I|⌉

starts. Shifts and scales are relative to the size of the motif at the start: a start of half the size has a
basin of half the radius. With I = [low, high] and ρ = high / low, scales from s to S are covered by starts of
n sizes, whose basins have a radius of r s ρᵏ pixels or more:

    N = Σₖ ⌈W / (√2 r s ρᵏ)⌉ ⌈H / (√2 r s ρᵏ)⌉,    k = 0 … n − 1,    n = ⌈log(S / s) / log ρ⌉.

Every rectangle r × I inside the basin gives such a cover. The result is the one with the fewest starts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cover:
    """The smallest number of starts, and the rectangle of the basin from which it is computed.

    Attributes:
        starts: N.
        radius: r, in pixels.
        low, high: the ends of I, in degrees or as scales.
        bound: whether the rectangle ends at the edge of the measured grid. Then the basin may be larger, and
            N is an upper bound.
    """

    starts: int
    radius: float
    low: float
    high: float
    bound: bool


@dataclass(frozen=True)
class PoseSpace:
    """All poses that the starts must cover.

    Attributes:
        width, height: of the scene, in pixels.
        lowest, highest: of the second parameter, rotation or scale.
        ratio: whether the second parameter is a scale, so that its intervals are ratios.
    """

    width: float
    height: float
    lowest: float
    highest: float
    ratio: bool

    def starts(self, radius: float, low: float, high: float) -> int:
        """N."""
        if not self.ratio:
            return _ceil((self.highest - self.lowest) / (high - low)) * self._places(radius)
        growth = high / low
        sizes = _ceil(math.log(self.highest / self.lowest) / math.log(growth))
        return sum(self._places(radius * self.lowest * growth**k) for k in range(sizes))

    def _places(self, radius: float) -> int:
        apart = math.sqrt(2) * radius
        return _ceil(self.width / apart) * _ceil(self.height / apart)


def _ceil(size: float) -> int:
    """⌈size⌉, tolerant to rounding errors: 360 / 90 must not become 5 because an angle was rounded."""
    return math.ceil(size - 1e-9)


def cover(
    inside: NDArray[np.bool_],
    shifts: Sequence[float],
    others: Sequence[float],
    start: float,
    space: PoseSpace,
) -> Cover | None:
    """The smallest cover for a measured basin.

    Arguments:
        inside: whether a start leads to the pose (row: second parameter, column: shift).
        shifts, others: the values of the columns and the rows, ascending.
        start: the second parameter's value at the start itself; `shifts` contains 0.
        space: the poses to cover.

    Returns:
        None if the basin contains no rectangle with more than one shift and one value of the second
        parameter: then the grid is too coarse to measure the basin.

    >>> inside = np.array([[False, True, False], [True, True, True], [True, True, True]])
    >>> cover(inside, (-10, 0, 10), (-30, 0, 30), 0, PoseSpace(140, 140, -180, 180, ratio=False))
    Cover(starts=1200, radius=10, low=0, high=30, bound=True)
    """
    at, value = np.array(shifts), np.array(others)
    lows, highs = [v for v in others if v <= start], [v for v in others if v >= start]
    found = []
    for radius, low, high in product((r for r in shifts if r > 0), lows, highs):
        rows, columns = (value >= low) & (value <= high), np.abs(at) <= radius
        if low < high and inside[np.ix_(rows, columns)].all():
            edge = radius == max(shifts) or low == min(others) or high == max(others)
            found.append(Cover(space.starts(radius, low, high), radius, low, high, edge))
    return min(found, key=lambda each: (each.starts, -each.radius), default=None)

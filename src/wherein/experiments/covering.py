"""How many starts cover all poses, given the basin of attraction around one (section 6).

A basin that was measured in one direction of translation is taken for the same in all of them: a start leads
to every pose that lies less than r pixels away and whose turn, or scale, is within an interval I around its
own. Discs of radius r cover the plane from a square lattice with the spacing √2 r, so every place in a scene
of W × H pixels, with every turn, is covered by

    N = n ⌈W / (√2 r)⌉ ⌈H / (√2 r)⌉,    n = ⌈360° / |I|⌉

starts. Shifts and scales are relative to the motif as the start has it: a start of half the size has half
the reach. With I = [low, high] and ρ = high / low, scales from s to S are covered by starts of n sizes, which
reach r s ρᵏ pixels at least:

    N = Σₖ ⌈W / (√2 r s ρᵏ)⌉ ⌈H / (√2 r s ρᵏ)⌉,    k = 0 … n − 1,    n = ⌈log(S / s) / log ρ⌉.

Any rectangle r × I inside of the basin gives such a cover: the one that takes the fewest counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cover:
    """The fewest starts, and the rectangle that they are a lattice of.

    Attributes:
        starts: N.
        radius: r, in pixels.
        low, high: the ends of I, degrees or scales.
        bound: the rectangle ends where the measured grid ends: the basin may be larger, and N less.
    """

    starts: int
    radius: float
    low: float
    high: float
    bound: bool


@dataclass(frozen=True)
class Space:
    """All poses that there are.

    Attributes:
        width, height: of the scene, in pixels.
        lowest, highest: of the other parameter.
        ratio: it is a scale, and steps of it are ratios.
    """

    width: float
    height: float
    lowest: float
    highest: float
    ratio: bool

    def starts(self, radius: float, low: float, high: float) -> int:
        """N."""
        if not self.ratio:
            return _up((self.highest - self.lowest) / (high - low)) * self._places(radius)
        growth = high / low
        sizes = _up(math.log(self.highest / self.lowest) / math.log(growth))
        return sum(self._places(radius * self.lowest * growth**k) for k in range(sizes))

    def _places(self, radius: float) -> int:
        apart = math.sqrt(2) * radius
        return _up(self.width / apart) * _up(self.height / apart)


def _up(size: float) -> int:
    """⌈size⌉, rounding forgiven: 360 / 90 must not be five because an angle was rounded."""
    return math.ceil(size - 1e-9)


def cover(
    inside: NDArray[np.bool_], shifts: Sequence[float], others: Sequence[float], home: float, space: Space
) -> Cover | None:
    """The fewest starts for a basin.

    Arguments:
        inside: whether the pose (row: the other parameter, column: the shift) leads home.
        shifts, others: of the columns and the rows, ascending.
        home: the other parameter's value at the start itself; `shifts` holds 0.
        space: the poses to be covered.

    Returns:
        None where no rectangle with more than one shift and one other is inside: then lattices of starts
        this coarse cover nothing.

    >>> inside = np.array([[False, True, False], [True, True, True], [True, True, True]])
    >>> cover(inside, (-10, 0, 10), (-30, 0, 30), 0, Space(140, 140, -180, 180, ratio=False))
    Cover(starts=1200, radius=10, low=0, high=30, bound=True)
    """
    at, value = np.array(shifts), np.array(others)
    lows, highs = [v for v in others if v <= home], [v for v in others if v >= home]
    found = []
    for radius, low, high in product((r for r in shifts if r > 0), lows, highs):
        rows, columns = (value >= low) & (value <= high), np.abs(at) <= radius
        if low < high and inside[np.ix_(rows, columns)].all():
            edge = radius == max(shifts) or low == min(others) or high == max(others)
            found.append(Cover(space.starts(radius, low, high), radius, low, high, edge))
    return min(found, key=lambda each: (each.starts, -each.radius), default=None)

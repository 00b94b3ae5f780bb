"""Measures how far beyond the range of a detector a template is still found."""

from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict

from wherein.detect.calibration.store import Rotation, Scale
from wherein.detect.search_range import Range

IsFound = Callable[[float, float], bool]
"""Takes a rotation in degrees and a scale; returns whether the template is found in that pose."""

_RATIO, _DEGREES, _TRIES = 1.04, 5.0, 10
"""Ratio of scales and number of degrees of a step outwards, and maximum number of steps. Choices: fine enough
for a user to see how much margin there is, and at most 1.5 times the scale and 50° beyond the range."""


class Reach(BaseModel):
    """The limits beyond a detector's range within which the template was still found.

    Attributes:
        rotation: ± degrees.
        scale: lowest and highest.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    rotation: Rotation
    scale: tuple[Scale, Scale]


def measure_reach(ranges: Range, is_found: IsFound) -> Reach:
    """The reach of a detector, by stepping outwards from its range until the template is not found.

    Arguments:
        ranges: what the detector searches.
        is_found: runs the detector.
    """
    low, high = ranges.scale
    below = (low / _RATIO**k for k in range(1, _TRIES + 1))
    above = (high * _RATIO**k for k in range(1, _TRIES + 1))
    turns = (min(180.0, ranges.rotation + _DEGREES * k) for k in range(1, _TRIES + 1))
    # One parameter at a time: all combinations would take far more searches. Rotations are tried at the
    # lowest scale of the range, where the object has the fewest pixels.
    return Reach(
        rotation=_last(
            ranges.rotation, turns if ranges.rotation < 180 else iter(()), lambda t: is_found(t, low)
        ),
        scale=(_last(low, below, lambda s: is_found(0.0, s)), _last(high, above, lambda s: is_found(0.0, s))),
    )


def _last(first: float, outwards: Iterator[float], holds: Callable[[float], bool]) -> float:
    """The last of the values before the first one for which `holds` fails; `first` if that is the first."""
    last = first
    for value in outwards:
        if not holds(value):
            break
        last = value
    return round(last, 4)

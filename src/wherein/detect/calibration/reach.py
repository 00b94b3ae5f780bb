"""How far beyond what was asked for the template is still found."""

from collections.abc import Callable, Iterator

from pydantic import BaseModel, ConfigDict

from wherein.detect.range import Range

Found = Callable[[float, float], bool]
"""Whether the template is found, turned by degrees and at a scale."""

_RATIO, _DEGREES, _TRIES = 1.04, 5.0, 10


class Limits(BaseModel):
    """The last pose, going outwards from the range of a detector, in which the template was still found.

    Attributes:
        rotation: ± degrees.
        scale: lowest and highest.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    rotation: float
    scale: tuple[float, float]


def limits(ranges: Range, found: Found) -> Limits:
    """Step outwards until it fails.

    Arguments:
        ranges: what the detector looks for.
        found: asks the detector.
    """
    low, high = ranges.scale
    below = (low / _RATIO**k for k in range(1, _TRIES + 1))
    above = (high * _RATIO**k for k in range(1, _TRIES + 1))
    turns = (min(180.0, ranges.rotation + _DEGREES * k) for k in range(1, _TRIES + 1))
    return Limits(
        rotation=_last(
            ranges.rotation, turns if ranges.rotation < 180 else iter(()), lambda t: found(t, low)
        ),
        scale=(_last(low, below, lambda s: found(0.0, s)), _last(high, above, lambda s: found(0.0, s))),
    )


def _last(first: float, outwards: Iterator[float], holds: Callable[[float], bool]) -> float:
    last = first
    for value in outwards:
        if not holds(value):
            break
        last = value
    return round(last, 4)

"""Readings: the value that a needle, a dial or a lever shows, from the turn of the part."""

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wherein.errors import TemplateError

MAX_UNIT, MAX_POINTS = 40, 200
"""Maximum number of letters in a unit, and of points in a reading. Choices: far more than a scale has."""

_USE = 'use {"unit": "°C", "at": [[turn, value], [turn, value], …]}, two or more turns in degrees'


@dataclass(frozen=True)
class Reading:
    """The value of a part as a function of its turn: piecewise linear between given points.

    Beyond the first and the last point, the value is extrapolated from the two nearest points. Hence a needle
    past the end of its scale reads more than the end. Clamping would hide that. The part's `turn` limits how
    far the needle can go.

    Attributes:
        unit: shown after the value, as "°C"; may be empty.
        at: (turn in degrees, value), sorted by turn; at least two, of different turns.

    Example:
        >>> scale = Reading("bar", ((-90.0, 0.0), (0.0, 1.0), (90.0, 4.0)))
        >>> scale(-45.0), scale(30.0), scale(105.0)
        (0.5, 2.0, 4.5)
    """

    unit: str
    at: tuple[tuple[float, float], ...]

    @staticmethod
    def of(record: "Reading | Mapping[str, Any]", what: str) -> "Reading":
        """A reading from its entry in template.json.

        Arguments:
            record: the entry; a `Reading` is returned as it is.
            what: the owner of the reading, for error messages.

        Raises:
            TemplateError: it is not a mapping of `unit` and `at`, or `at` is not two or more points of finite
                numbers and different turns.
        """
        if isinstance(record, Reading):
            return record
        if not isinstance(record, Mapping):
            raise TemplateError(f"{what} has reading={record!r:.60}: {_USE}")
        unknown = sorted(map(str, set(record) - {"unit", "at"}))
        if unknown:
            raise TemplateError(f'{what} has a reading with "{unknown[0]:.60}": {_USE}')
        unit = record.get("unit", "")
        if not isinstance(unit, str):
            raise TemplateError(
                f'{what} has a reading with the unit {unit!r:.60}: use text, for example "bar"'
            )
        if len(unit) > MAX_UNIT:
            raise TemplateError(
                f"{what} has a reading whose unit has {len(unit)} letters: the maximum is {MAX_UNIT}"
            )
        if not unit.isprintable():  # includes half a surrogate pair, which cannot be written to a file
            raise TemplateError(f"{what} has a reading with the unit {unit!a}: use letters and signs")
        points = sorted(_point(point, what) for point in _points(record, what))
        turns = [turn for turn, _ in points]
        for turn, following in pairwise(turns):
            if turn == following:
                raise TemplateError(f"{what} has a reading with two values at turn {turn:g}: keep one")
        return Reading(unit, tuple(points))

    def __call__(self, turn: float) -> float:
        """The value at a turn in degrees."""
        # The index of the segment's right end, kept within [1, n − 1] so that the end segments extrapolate.
        right = min(max(bisect_left(self.at, turn, key=lambda point: point[0]), 1), len(self.at) - 1)
        (t0, v0), (t1, v1) = self.at[right - 1 : right + 1]
        return v0 + (v1 - v0) * (turn - t0) / (t1 - t0)

    def to_dict(self) -> dict[str, Any]:
        """The entry in template.json."""
        return {"unit": self.unit, "at": [list(point) for point in self.at]}


def _points(record: Mapping[str, Any], what: str) -> list[Any]:
    points = record.get("at")
    if not isinstance(points, list | tuple):
        raise TemplateError(f'{what} has a reading with "at": {points!r:.60}: {_USE}')
    if len(points) < 2:
        raise TemplateError(f"{what} has a reading with {len(points)} of the points that it needs: {_USE}")
    if len(points) > MAX_POINTS:
        raise TemplateError(f"{what} has a reading with {len(points)} points: the maximum is {MAX_POINTS}")
    return list(points)


def _point(point: Any, what: str) -> tuple[float, float]:
    try:
        turn, value = (math.nan if isinstance(number, str | bool) else float(number) for number in point)
    except (TypeError, ValueError, OverflowError):  # not a pair, or not numbers
        turn = value = math.nan
    if not (math.isfinite(turn) and math.isfinite(value)):
        raise TemplateError(
            f"{what} has a reading with the point {point!r:.60}: use [turn, value], two numbers"
        )
    return turn, value


def rounded_value(value: float | None) -> float | None:
    """A value as it is written to files: with six significant digits, since any magnitude occurs."""
    return None if value is None else float(f"{value:.6g}") + 0.0  # + 0.0 turns −0 into 0

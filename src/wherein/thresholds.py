"""Thresholds and scales as people give them. Without torch, for the command line."""

import math
import re
from dataclasses import dataclass

from wherein.errors import ArgumentError

_RATE = re.compile(r"(?P<rate>.+?)\s*/\s*(?:mp|megapixels?)", re.IGNORECASE)

MIN_SCALE, MAX_SCALE = 0.05, 20.0
"""Of the scales that are searched. A choice: at 1/20 nothing of a usual template is left, and a template that
is enlarged 20 times should be taken from a larger picture. Whoever gives 80 and 125 thinks of percents."""


@dataclass(frozen=True)
class MinScore:
    """A threshold as it was given: a score, a rate of false alarms, or neither for the calibrated one."""

    score: float | None = None
    per_megapixel: float | None = None

    @staticmethod
    def of(text: str) -> "MinScore":
        """The threshold that a text stands for: "0.7", or "0.01/MP" for a rate.

        Raises:
            ArgumentError: it is neither, or out of range.
        """
        rate = _RATE.fullmatch(text.strip())
        try:
            number = float(text if rate is None else rate["rate"])
        except ValueError:
            number = math.nan
        if rate is not None and 0 < number < math.inf:
            return MinScore(per_megapixel=number)
        if rate is None and 0 < number < 1:
            return MinScore(score=number)
        raise ArgumentError(
            f"{text} is not allowed: use a score between 0 and 1, or a rate of false alarms such as 0.01/MP."
        )

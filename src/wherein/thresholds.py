"""Parsing of thresholds, and the range of scales. Without torch, so that the command line starts fast."""

import math
import re
from dataclasses import dataclass

from wherein.errors import ArgumentError

_RATE = re.compile(r"(?P<rate>.+?)\s*/\s*(?:mp|megapixels?)", re.IGNORECASE)

MIN_SCALE, MAX_SCALE = 0.05, 20.0
"""Limits of the scales that can be searched. A choice: at 1/20 nothing of a usual template is left, and a
template that is enlarged 20 times should be made from a larger picture. The upper limit also catches 80 and
125, which are meant as percentages."""


@dataclass(frozen=True)
class MinScore:
    """A threshold as given by the user: a score, a false-alarm rate, or neither for the calibrated one."""

    score: float | None = None
    per_megapixel: float | None = None

    @staticmethod
    def of(text: str) -> "MinScore":
        """Parse a text: "0.7" for a score, or "0.01/MP" for a rate.

        Raises:
            ArgumentError: the text is neither, or out of range.
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

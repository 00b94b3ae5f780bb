"""What was measured for a template, and what a score means by it."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from wherein.detect.calibration.basins import Basin
from wherein.detect.calibration.reach import Reach
from wherein.detect.calibration.store import CalibrationStore, StoredCalibration
from wherein.detect.fast.pieces import Pieces
from wherein.detect.score import evidence_weight, information
from wherein.detect.search_range import Range
from wherein.template.bundle import Template

VERSION = 3
"""Of the measurement: raise it when old calibrations are no longer right."""

_MAX_FALSE_ALARMS = 1e-4
"""False alarms in a scene without the template that the threshold allows. A choice: one in ten thousand
scenes."""

_MARGIN = 0.35
"""Where the threshold lies between the scores of clutter (0) and of the object (1). A choice: nearer to
clutter, since in a photograph an object may be more occluded or blurred than in the test scenes."""

_LOW_SHARE = 20
"""The score that the object reaches in all but one of so many scenes counts as its lowest. A choice: 5 % of
the test scenes may be too hard."""

_EULER_GAMMA = 0.5772
"""The mean of the standard Gumbel distribution."""

_MAX_MEGAPIXELS_PER_ALARM = 1e9
"""Rarer false alarms are reported as "less than once in" this many megapixels. A choice: nobody searches
more, so nobody could tell rarer rates apart."""

_Scores = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]


class Calibration(StoredCalibration):
    """What was measured for a template and a range of poses.

    Attributes:
        basins: basin of attraction of each piece at the scale of the first search, by name.
        chance: the ZNCC that clutter reaches where a piece is searched for, by name.
        threshold: the lowest score of a detection.
        clutter: scores of scenes without the template, sorted.
        present: scores of scenes with the template, sorted.
        confused: pairs of leaves that look alike, and their ZNCC.
        limits: how far beyond the range the template is still found.
        megapixels: of each scene without the template.
        suspects: indices of the given backgrounds that score as high as the template itself: they may show
            it.
    """

    format: Literal["wherein-calibration/1"] = "wherein-calibration/1"
    version: int = VERSION
    basins: dict[str, Basin]
    chance: dict[str, float]
    threshold: Annotated[float, Field(gt=0, le=1)]
    clutter: _Scores
    present: _Scores
    confused: list[tuple[str, str, float]]
    limits: Reach
    megapixels: Annotated[float, Field(gt=0)]
    suspects: tuple[Annotated[int, Field(ge=0)], ...] = ()

    def serves(self, template: Template, ranges: Range) -> bool:
        """Whether it was measured for this template, with all its pieces, and this range of poses."""
        names = {piece.name for piece in Pieces.of(template).pieces}
        return super().serves(template, ranges) and names == set(self.basins) == set(self.chance)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of the evidence of each piece, by name."""
        return {name: evidence_weight(chance) for name, chance in self.chance.items()}

    @property
    def warnings(self) -> list[str]:
        """Sentences about what may go wrong: no clear threshold, backgrounds with the object, similar
        parts."""
        found = []
        if not self.separates:
            found.append(
                f"no threshold separates the object (scores from {self.present[0]:.2f}) from clutter "
                f"(scores up to {self.clutter[-1]:.2f}): expect missed objects or false alarms"
            )
        elif missed := sum(score < self.threshold for score in self.present):
            found.append(f"the object was missed in {missed} of {len(self.present)} test scenes")
        if self.suspects:
            listed = ", ".join(str(index + 1) for index in self.suspects)
            found.append(
                f"some backgrounds (numbers {listed} of those used) score as high as the object, which "
                "raised the threshold: if they show the object, remove them and calibrate again"
            )
        found += [f"{a} and {b} look alike (ZNCC {zncc:.2f})" for a, b, zncc in self.confused]
        return found

    @property
    def separates(self) -> bool:
        """Whether there is a threshold that clutter stays below and the object above."""
        return self.threshold < _low_score(self.present)

    def false_alarms(self, score: float) -> float:
        """The expected number of detections of at least this score per megapixel without the template.

        By the Gumbel distribution of the maximum of many values: the tail of the information −ln(1 − score²)
        is exponential.
        """
        location, spread = _gumbel(self.clutter)
        value = float(information(np.array(score)))
        return math.exp(-(value - location) / spread) / self.megapixels

    def describe_false_alarms(self, score: float) -> str:
        """How often clutter reaches this score, as text: "once in 40 megapixels".

        Arguments:
            score: of a detection, or a threshold.
        """
        rate, measured = self.false_alarms(score), self.megapixels * len(self.clutter)
        if rate >= 1:
            return f"{rate:.1f} per megapixel"
        # Two digits: the law was fitted to a few dozen scenes, more would claim a precision that it lacks.
        # The lower bound keeps a rate of 0 (a score far above all clutter) from dividing by zero.
        every = float(f"{1 / max(rate, 0.1 / _MAX_MEGAPIXELS_PER_ALARM):.2g}")
        rare = every > _MAX_MEGAPIXELS_PER_ALARM
        often = "less than once in 10⁹ megapixels" if rare else f"once in {every:,.0f} megapixels"
        # Less than one expected in everything that calibration looked at: the tail of the law, not a count.
        return often if rate * measured >= 1 else f"{often} (extrapolated from {measured:.2g} megapixels)"


STORE = CalibrationStore(Calibration, VERSION, "json")


def _gumbel(scores: Sequence[float]) -> tuple[float, float]:
    """Location and scale of the Gumbel distribution of the scores' information, by moments."""
    # Of the information and not of the score, which is bounded: its tail is exponential, as Gumbel's law
    # needs.
    values = information(np.array(scores))
    # At least 1e-3: on flat backgrounds all scores are the same.
    spread = max(float(values.std()) * math.sqrt(6) / math.pi, 1e-3)
    return float(values.mean()) - _EULER_GAMMA * spread, spread


def _low_score(present: Sequence[float]) -> float:
    """The score that the object reaches in 95 % of the scenes, out of sorted scores."""
    return present[len(present) // _LOW_SHARE]


def rare_clutter_score(empty: Sequence[float]) -> float:
    """The score that clutter reaches in one of 1 / `_MAX_FALSE_ALARMS` scenes, extrapolated."""
    location, spread = _gumbel(empty)
    return math.sqrt(-math.expm1(-(location - spread * math.log(_MAX_FALSE_ALARMS))))


def suspect_scenes(empty: Sequence[float], present: Sequence[float]) -> list[int]:
    """The indices of scenes said to be empty that score as high as the object.

    None where that is not unusual: only if most scenes stay clear of the object's scores is one that does not
    a mistake.

    Arguments:
        empty: scores of scenes without the object, as the user says.
        present: scores of scenes with the object.
    """
    low = _low_score(sorted(present))
    others = [score for score in empty if score < low]
    clear = len(others) >= len(empty) / 2 and len(others) > 1 and rare_clutter_score(others) < low
    return [index for index, score in enumerate(empty) if score >= low] if clear else []


def choose_threshold(empty: Sequence[float], present: Sequence[float]) -> float:
    """The threshold: above what clutter reaches, and below what the object reaches if there is room.

    Arguments:
        empty: scores of scenes without the object.
        present: scores of scenes with the object, sorted.
    """
    rare, low = rare_clutter_score(empty), _low_score(present)
    # Where the two overlap, false alarms are avoided rather than misses.
    return rare + _MARGIN * (low - rare) if low > rare else rare

"""What was measured for a template, and what a score says by it."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from wherein.detect.calibration.basins import Basin
from wherein.detect.calibration.reach import Limits
from wherein.detect.calibration.store import CalibrationStore, StoredCalibration
from wherein.detect.fast.pieces import Pieces
from wherein.detect.range import Range
from wherein.detect.score import evidence_weight, information
from wherein.template.bundle import Template

VERSION = 3
"""Of what is measured: raise it where old calibrations are no longer right."""

_RARE = 1e-4
"""False alarms a scene that the threshold is to stay clear of."""

_SHARE = 0.35
"""Where between what clutter and what the object reaches the threshold lies."""

_MAX_MEGAPIXELS_PER_ALARM = 1e9
"""Rarer false alarms are reported as "less than once in" this many megapixels. A choice: nobody searches
more, so nobody could tell rarer rates apart."""

_Scores = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]


class Calibration(StoredCalibration):
    """What was measured for a template and a range of poses.

    Attributes:
        basins: degrees and ratio of scale from which a piece finds name at its coarsest scale, by name.
        chance: the ZNCC that clutter reaches where a piece is looked for, by name.
        threshold: the least score of a detection.
        clutter: scores that scenes without the template reached, sorted.
        present: scores of scenes with it, sorted.
        confused: pairs of leaves that look alike, and their ZNCC.
        limits: how far beyond the range it is still found.
        megapixels: of a scene in which this was measured.
        suspects: those of the pictures given as backgrounds, counted from 0, in which something scored as the
            template itself does: it may well be in them.
    """

    format: Literal["wherein-calibration/1"] = "wherein-calibration/1"
    version: int = VERSION
    basins: dict[str, Basin]
    chance: dict[str, float]
    threshold: Annotated[float, Field(gt=0, le=1)]
    clutter: _Scores
    present: _Scores
    confused: list[tuple[str, str, float]]
    limits: Limits
    megapixels: Annotated[float, Field(gt=0)]
    suspects: tuple[Annotated[int, Field(ge=0)], ...] = ()

    def serves(self, template: Template, ranges: Range) -> bool:
        """Whether it was made for this template, with all its pieces, and this range of poses."""
        homes = {piece.name for piece in Pieces.of(template).pieces}
        return super().serves(template, ranges) and homes == set(self.basins) == set(self.chance)

    @property
    def weights(self) -> dict[str, float]:
        """How much the evidence of a piece counts, by name."""
        return {name: evidence_weight(chance) for name, chance in self.chance.items()}

    @property
    def doubts(self) -> list[str]:
        """What a user should know, in words: no threshold that separates, and parts that look alike."""
        words = []
        if not self.separates:
            words.append(
                f"the template reaches {self.present[0]:.2f} and more, clutter up to {self.clutter[-1]:.2f}: "
                "no threshold separates them, expect misses or false alarms"
            )
        elif missed := sum(score < self.threshold for score in self.present):
            words.append(f"it was missed in {missed} of {len(self.present)} scenes in which it was painted")
        if self.suspects:
            listed = ", ".join(str(index + 1) for index in self.suspects)
            words.append(
                f"something scored as the template itself does in backgrounds that were given (of those that "
                f"were used: {listed}), which raised the threshold: if they show the object, leave them out "
                "and calibrate anew"
            )
        words += [f"{a} and {b} look alike (ZNCC {zncc:.2f})" for a, b, zncc in self.confused]
        return words

    @property
    def separates(self) -> bool:
        """Whether there is a threshold that clutter stays below and the object above."""
        return self.threshold < self.present[len(self.present) // 20]

    def false_alarms(self, score: float) -> float:
        """How many detections of at least this score a megapixel without the template would give.

        By Gumbel's law for the greatest of many: the information −ln(1 − score²) has an exponential tail.
        """
        place, spread = _gumbel(self.clutter)
        told = float(information(np.array(score)))
        return math.exp(-(told - place) / spread) / self.megapixels

    def describe_false_alarms(self, score: float) -> str:
        """How often clutter reaches this score, as text: "once in 40 megapixels".

        Arguments:
            score: of a detection, or a threshold.
        """
        rate, measured = self.false_alarms(score), self.megapixels * len(self.clutter)
        if rate >= 1:
            return f"{rate:.1f} times in a megapixel"
        # Two digits: the law was fitted to a few dozen scenes, more would claim a precision that it lacks.
        # The lower bound keeps a rate of 0 (a score far above all clutter) from dividing by zero.
        every = float(f"{1 / max(rate, 0.1 / _MAX_MEGAPIXELS_PER_ALARM):.2g}")
        rare = every > _MAX_MEGAPIXELS_PER_ALARM
        often = "less than once in 10⁹ megapixels" if rare else f"once in {every:,.0f} megapixels"
        # Less than one expected in everything that calibration looked at: the tail of the law, not a count.
        return often if rate * measured >= 1 else f"{often} (extrapolated from {measured:.2g} megapixels)"


STORE = CalibrationStore(Calibration, VERSION, "json")


def _gumbel(scores: Sequence[float]) -> tuple[float, float]:
    """Place and spread of Gumbel's law in the information, by moments."""
    told = information(np.array(scores))
    spread = max(float(told.std()) * math.sqrt(6) / math.pi, 1e-3)
    return float(told.mean()) - 0.5772 * spread, spread


def rare_score(empty: Sequence[float]) -> float:
    """The score that clutter reaches once in 1/_RARE scenes."""
    place, spread = _gumbel(empty)
    return math.sqrt(-math.expm1(-(place - spread * math.log(_RARE))))


def standing_out(empty: Sequence[float], present: Sequence[float]) -> list[int]:
    """The scenes, said to be without the object, that scored as those with it do, where all others stay clear
    of that."""
    low = sorted(present)[len(present) // 20]
    others = [score for score in empty if score < low]
    clear = len(others) >= len(empty) / 2 and len(others) > 1 and rare_score(others) < low
    return [index for index, score in enumerate(empty) if score >= low] if clear else []


def decision(empty: Sequence[float], present: Sequence[float]) -> float:
    """The threshold: clear of what clutter reaches, and below what the object does, where there is such."""
    rare = rare_score(empty)
    low = present[len(present) // 20]
    return rare + _SHARE * (low - rare) if low > rare else rare

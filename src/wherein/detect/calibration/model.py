"""Calibration: what was measured for a template."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from wherein.detect.calibration.false_alarms import clutter_spread, describe_rate, false_alarm_rate, low_score
from wherein.detect.calibration.reach import Reach
from wherein.detect.calibration.store import MAX_VALUES, CalibrationStore, StoredCalibration
from wherein.detect.fast.limbs.roots import STRONG_EVIDENCE
from wherein.detect.fast.pieces import Pieces
from wherein.detect.score import MAX_ZNCC, evidence_weight, information
from wherein.detect.search_range import MAX_LOOK_EFFORT, USUAL_LOOK_EFFORT, Range
from wherein.planes.look.crowd_floor import CrowdFloor
from wherein.template.bundle import Template
from wherein.template.part_limits import MAX_PARTS

VERSION = 25
"""Of the measurement: raise it when old calibrations are no longer right."""

LITTLE_TEXTURE = 0.7
"""Threshold from which a template is said to have little texture. A choice: that of silhouettes, where things
with texture have 0.3 to 0.6."""

# A calibration may come with a template from someone else: every number is bounded by what can be measured,
# so that none can set more work than a measured one would.
_Zncc = Annotated[float, Field(ge=-1, le=1)]
_Scores = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=MAX_VALUES)]
_MAX_INFORMATION = float(information(np.array(MAX_ZNCC)))
_MAX_PAIR = 2 * _MAX_INFORMATION * evidence_weight(0.0)


class Calibration(StoredCalibration):
    """What was measured for a template and a range of poses.

    Attributes:
        chance: the ZNCC that clutter reaches where a piece is searched for, by name.
        tilt_cost: the information that clutter gains where the body may be tilted.
        size_power: of the object's size, by which the information that clutter reaches falls.
        crowd_from: the ZNCC of the third best place of clutter before the fits, at most: where three places
            reach more, there may be a crowd.
        look_effort: which of `shared_search.EFFORTS` the body needs beside other templates, where that was
            measured: together with others.
        pair_from: the highest weighted evidence of two limbs of clutter whose joints agree: only pairs with
            more are followed, where there is a body.
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
    chance: Annotated[dict[str, _Zncc], Field(max_length=MAX_PARTS)]
    tilt_cost: Annotated[float, Field(ge=0, le=_MAX_INFORMATION)] = 0.0
    size_power: Annotated[float, Field(ge=0, le=1)] = 0.0
    crowd_from: _Zncc = 0.0
    look_effort: Annotated[int, Field(ge=0, le=MAX_LOOK_EFFORT)] = USUAL_LOOK_EFFORT
    pair_from: Annotated[float, Field(ge=0, le=_MAX_PAIR)] = 0.0
    threshold: Annotated[float, Field(gt=0, le=1)]
    clutter: _Scores
    present: _Scores
    confused: Annotated[list[tuple[str, str, _Zncc]], Field(max_length=MAX_VALUES)]
    limits: Reach
    megapixels: Annotated[float, Field(ge=1e-6, le=1e6)]  # from one pixel
    suspects: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(max_length=MAX_VALUES)] = ()

    def serves(self, template: Template, ranges: Range) -> bool:
        """Whether it was measured for this template, with all its pieces, and this range of poses."""
        names = {piece.name for piece in Pieces.of(template).pieces}
        return super().serves(template, ranges) and names == set(self.chance)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of the evidence of each piece, by name."""
        return {name: evidence_weight(chance) for name, chance in self.chance.items()}

    @property
    def min_pair_evidence(self) -> float:
        """The weighted evidence that two limbs must have together to be followed."""
        return max(STRONG_EVIDENCE, self.pair_from)

    @property
    def crowd_floor(self) -> CrowdFloor:
        """From which ZNCC of the third best place there may be a crowd, in scenes of any size."""
        return CrowdFloor(self.crowd_from, 1e6 * self.megapixels, clutter_spread(self.clutter))

    @property
    def warnings(self) -> list[str]:
        """Sentences about what may go wrong: no clear threshold, backgrounds with the object, similar
        parts."""
        found = []
        if not self.separates:
            missed = sum(score < self.threshold for score in self.present)
            found.append(
                f"the object scores too little to be told from clutter in {missed} of {len(self.present)} "
                f"test scenes: its lowest score was {self.present[0]:.2f}, the threshold is "
                f"{self.threshold:.2f}, clutter scored up to {self.clutter[-1]:.2f}"
            )
        elif missed := sum(score < self.threshold for score in self.present):
            found.append(f"the object was missed in {missed} of {len(self.present)} test scenes")
        if self.threshold >= LITTLE_TEXTURE:
            found.append(
                f"little tells the object from clutter, which scores up to {self.clutter[-1]:.2f}: it has "
                "little texture, or its outline is a common one"
            )
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
        return self.threshold < low_score(self.present)

    @property
    def usual_clutter(self) -> float:
        """The score that clutter exceeded in one of ten scenes."""
        return self.clutter[9 * len(self.clutter) // 10]

    def false_alarms(self, score: float) -> float:
        """The expected number of detections of at least this score per megapixel without the template."""
        return false_alarm_rate(score, self.clutter, self.megapixels)

    def describe_false_alarms(self, score: float) -> str:
        """How often clutter reaches this score, as text: "once in 40 megapixels".

        Arguments:
            score: of a detection, or a threshold.
        """
        return describe_rate(self.false_alarms(score), self.megapixels * len(self.clutter))


STORE = CalibrationStore(Calibration, VERSION, "json")

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

VERSION = 26
"""Version of the measurement. Raise it when calibrations that were measured before are no longer valid."""

LITTLE_TEXTURE = 0.7
"""A template with at least this threshold is reported to have little texture. A choice: silhouettes have such
thresholds, objects with texture have 0.3 to 0.6."""

# A calibration may come with a template from someone else. Every number is limited to what a measurement can
# yield, so that a crafted file cannot cause more work than a measured one.
_Zncc = Annotated[float, Field(ge=-1, le=1)]
_Scores = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=MAX_VALUES)]
_MAX_INFORMATION = float(information(np.array(MAX_ZNCC)))
_MAX_PAIR = 2 * _MAX_INFORMATION * evidence_weight(0.0)


class Calibration(StoredCalibration):
    """What was measured for a template and a range of poses.

    Attributes:
        chance: for each piece, by name, the ZNCC that clutter reaches where the piece is searched for.
        tilt_cost: the information that clutter gains if the body may be tilted.
        size_power: p, if the information that clutter reaches is proportional to size⁻ᵖ.
        crowd_from: the highest ZNCC of the third best place in scenes of clutter, before the fits. If three
            places of a scene reach more, there may be a crowd.
        look_effort: the index in `shared_search.EFFORTS` of the effort that the template needs when it is
            searched for together with others; measured only in a calibration together with others.
        pair_from: the highest weighted evidence of two limbs in clutter whose joints agree. If there is a
            body, only pairs of limbs with more are followed.
        threshold: the minimum score of a detection.
        clutter: the highest scores of scenes without the object, sorted.
        present: the highest scores of scenes with the object, sorted.
        confused: pairs of leaves that look alike, and their ZNCC.
        limits: how far beyond the range the object is still found.
        megapixels: size of each scene without the object.
        suspects: indices of those of the user's backgrounds that score as high as the object, and so may show
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
        """The weighted evidence that two limbs must have together for their pair to be followed."""
        return max(STRONG_EVIDENCE, self.pair_from)

    @property
    def crowd_floor(self) -> CrowdFloor:
        """The ZNCC of the third best place from which there may be a crowd, in scenes of any size."""
        return CrowdFloor(self.crowd_from, 1e6 * self.megapixels, clutter_spread(self.clutter))

    @property
    def warnings(self) -> list[str]:
        """Sentences about possible problems: no clear threshold, suspect backgrounds, similar parts."""
        found = []
        if not self.separates:
            missed = sum(score < self.threshold for score in self.present)
            found.append(
                f"the object cannot be told from clutter in {missed} of {len(self.present)} test scenes: its "
                f"lowest score was {self.present[0]:.2f}, the threshold is {self.threshold:.2f}, and clutter "
                f"scored up to {self.clutter[-1]:.2f}"
            )
        elif missed := sum(score < self.threshold for score in self.present):
            found.append(f"the object was missed in {missed} of {len(self.present)} test scenes")
        if self.threshold >= LITTLE_TEXTURE:
            found.append(
                f"the object is hard to tell from clutter, which scores up to {self.clutter[-1]:.2f}: it has "
                "little texture, or a common outline"
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
        """Whether the object reaches the threshold in all test scenes but the hardest ones."""
        # Of a threshold from `choose_threshold` it is known already that clutter rarely reaches it.
        return self.threshold < low_score(self.present)

    @property
    def usual_clutter(self) -> float:
        """The 90th percentile of the scores of clutter."""
        return self.clutter[9 * len(self.clutter) // 10]

    def false_alarms(self, score: float) -> float:
        """The expected number of detections of at least this score per megapixel without the object."""
        return false_alarm_rate(score, self.clutter, self.megapixels)

    def describe_false_alarms(self, score: float) -> str:
        """How often clutter reaches this score, as text: "once in 40 megapixels".

        Arguments:
            score: of a detection, or a threshold.
        """
        return describe_rate(self.false_alarms(score), self.megapixels * len(self.clutter))


STORE = CalibrationStore(Calibration, VERSION, "json")

"""Scores of hypotheses: from the evidence of the pieces, corrected for tilt and size.

Clutter reaches more evidence where a search has more freedom. What it gains by a tilt is subtracted from the
evidence of the body, and what it gains at small sizes is divided out.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.score import (
    MAX_ZNCC,
    MIN_EVIDENCE,
    combined_score,
    equivalent_zncc,
    information,
    size_factor,
    tilt_share,
)
from wherein.detect.search_range import Range
from wherein.motion.homography import scales, tilts
from wherein.pyramid.levels import Poses

_MIN_TILT_EVIDENCE = 0.6
"""Minimum weighted evidence that a tilt must gain; clutter reaches 1 in total. Measured on six thin or plain
objects. Painted without any tilt, tilted poses gained up to 0.3, and their corners were off by 1 to 14 % of
the size, those of upright poses by less than 1.5 %. Painted at 20°, a letter gained 1.1 to 5 and a spade up
to 1.2; for a thermometer or a wrench, which gain less, upright poses are no worse."""


@dataclass(frozen=True)
class Scoring:
    """Scores hypotheses about a template in a range of poses.

    Arguments:
        root: name of the template's root, which is its body if it has one.
        middle: of the canvas, (x, y). Under perspective, size and tilt depend on the place: they are measured
            here.
        ranges: of the search.
        weights: of the evidence of each piece, by name.
        tilt_cost: information that clutter gains where the body may be tilted.
        size_power: p, where the information that clutter reaches falls as the object's size to the power −p.
    """

    root: str
    middle: tuple[float, float]
    ranges: Range
    weights: Mapping[str, float]
    tilt_cost: float = 0.0
    size_power: float = 0.0

    def found(self, placement: Placement, name: str) -> NDArray[np.bool_]:
        """Whether a piece was found in each hypothesis, (H,)."""
        return np.asarray(self.weights[name] * self._information(placement, name) >= MIN_EVIDENCE)

    def _information(self, placement: Placement, name: str) -> NDArray[np.float64]:
        """The information of the fit of a piece, (H,)."""
        zncc = placement.zncc[name]
        return self.body_information(zncc, placement.frames[name]) if name == self.root else information(zncc)

    def evidence_found(self, placement: Placement) -> NDArray[np.float64]:
        """The total weighted evidence of those placed pieces that were found, (H,)."""
        total = np.zeros(len(placement))
        for name in placement.zncc:
            known = self._information(placement, name)
            total += np.where(self.weights[name] * known >= MIN_EVIDENCE, self.weights[name] * known, 0.0)
        return total

    def body_information(self, zncc: NDArray[np.float64], frames: Poses) -> NDArray[np.float64]:
        """The information of the fit of the body, less what clutter gains by its tilt, (H,)."""
        return np.maximum(information(zncc) - self._tilt_costs(frames), 0.0)

    def _tilt_costs(self, frames: Poses) -> NDArray[np.float64]:
        """The information that clutter gains by the tilt of each root frame, (H,)."""
        if not self.tilt_cost:
            return np.zeros(len(frames))
        return self.tilt_cost * tilt_share(tilts(frames, self.middle), self.ranges.tilt)

    def least_tilt_gains(self, frames: Poses) -> NDArray[np.float64]:
        """The information that each root frame must gain by its tilt; if it gains less, it is set upright,
        (H,)."""
        # Costs are information of the body; dividing by the weight turns weighted evidence into information.
        weight = self.weights.get(self.root, 1.0)
        return np.maximum(self._tilt_costs(frames), _MIN_TILT_EVIDENCE / weight)

    def score(
        self,
        placement: Placement,
        evidence: Mapping[str, NDArray[np.float64]],
        visible: Mapping[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """The scores of hypotheses, (H,); arguments as of `Hypotheses`."""
        root = self.root
        if root in evidence:
            # Only the body determines the tilt, so only its evidence pays for it.
            known = np.maximum(evidence[root] - self._tilt_costs(placement.frames[root]), 0.0)
            evidence = {**evidence, root: known}
        if self.size_power:
            sizes = scales(placement.frames[root], self.middle)
            factor = size_factor(sizes, self.size_power, self.ranges.usual_scale)
            # ZNCC is capped at `MAX_ZNCC`, and the factor must not lift information above that cap.
            most = information(np.array(MAX_ZNCC))
            evidence = {name: np.minimum(part * factor, most) for name, part in evidence.items()}
        return combined_score(evidence, visible, self.weights)

    def body_zncc(self, frames: Poses, score: float) -> NDArray[np.float64]:
        """The ZNCC that a body without limbs needs for a score, at the size of each root frame, (H,).

        For a body in plain view and upright: the inverse of `score` for a single piece.
        """
        factor = size_factor(scales(frames, self.middle), self.size_power, self.ranges.usual_scale)
        return equivalent_zncc(information(np.array(score)) / factor)

"""Mutual exclusion of hypotheses: each pixel of a scene is evidence for one object only."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.geometry import mapped
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.score import combined_score

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder

OVERLAP = 0.5
"""Fraction of a piece. A choice: if more of it lies on pixels that another object has claimed, it is no
evidence. Half, since objects that lie on each other are still two."""

_SAME_PLACE = 0.15
"""Fraction of the object's diagonal. A choice: two hypotheses whose corners are all closer than this are
the same object. There are two where an occluder has pulled the pieces of one object apart."""


class Claims:
    """The evidence that is left to each hypothesis after others have claimed pixels.

    Arguments:
        finder: that made the hypotheses.
        hypotheses: all of them.

    Attributes:
        evidence: (H,) by name of the piece; 0 where a piece lies on claimed pixels.
    """

    def __init__(self, finder: "Finder", hypotheses: Hypotheses) -> None:
        placement = hypotheses.placement
        self.evidence = {name: values.copy() for name, values in hypotheses.evidence.items()}
        self._footprints = {name: model.footprint for name, model in finder.models.items()}
        self._poses = {
            name: placement.frames[name] @ model.to_canvas for name, model in finder.models.items()
        }
        corners = {name: mapped(poses, self._footprints[name].corners) for name, poses in self._poses.items()}
        self._low = {name: ends.min(2) for name, ends in corners.items()}
        self._high = {name: ends.max(2) for name, ends in corners.items()}
        self._free = np.ones(len(placement), dtype=np.bool_)

    def claim(self, first: int, overlap: float) -> None:
        """Claim all pixels of a hypothesis's pieces. Later claims do not take any of its own evidence.

        A piece that shares more than `overlap` of its pixels is no evidence any more.
        """
        self._free[first] = False
        for name, poses in self._poses.items():
            if self.evidence[name][first] > 0:
                for other in self._poses:
                    rows = self._touching(other, name, first)
                    points = mapped(self._poses[other][rows], self._footprints[other].points)
                    shared = self._footprints[name].covers(poses[first], points).mean(-1)
                    self.evidence[other][rows[shared > overlap]] = 0.0

    def _touching(self, other: str, name: str, first: int) -> NDArray[np.int64]:
        """The hypotheses whose piece `other` may overlap the piece `name` of `first`, by bounding boxes."""
        # Most hypotheses lie elsewhere, and boxes are far cheaper to test than pixels.
        meets = (self._low[other] <= self._high[name][first]) & (self._high[other] >= self._low[name][first])
        return np.flatnonzero(self._free & (self.evidence[other] > 0) & meets.all(1))


def exclusive(
    finder: "Finder",
    hypotheses: Hypotheses,
    threshold: float,
    count: int | None,
    overlap: float = OVERLAP,
) -> Hypotheses:
    """The hypotheses that stand after mutual exclusion, the highest score first.

    Greedy: the best hypothesis claims its pixels, the others lose the evidence of pieces that lie on them,
    then comes the best of the rest, and so on. A hypothesis in the same place as one that was kept is
    dropped, however much evidence it has left.

    Arguments:
        finder: that made the hypotheses.
        hypotheses: all of them.
        threshold: minimum score.
        count: maximum number that are kept; None: all.
        overlap: fraction of a piece that may lie on pixels of another object.

    Returns:
        The kept hypotheses, with the evidence and scores that are left to them.
    """
    claims = Claims(finder, hypotheses)
    kept: list[int] = []
    final: list[float] = []
    scores, free = hypotheses.scores.copy(), np.ones(len(hypotheses.scores), dtype=np.bool_)
    while len(scores) and (count is None or len(kept) < count):
        first = int(scores.argmax())
        if scores[first] < threshold:
            break
        kept.append(first)
        final.append(float(scores[first]))
        scores[first] = -1.0
        if scores.max() < threshold:  # claims can only lower the scores
            break
        claims.claim(first, overlap)
        # Needed as well: an occluder may have pulled pieces off the claimed pixels.
        free &= ~_in_the_same_place(finder, hypotheses, first)
        scores = np.where(free, combined_score(claims.evidence, hypotheses.visible, finder.weights), -1.0)
    left = replace(hypotheses, evidence=claims.evidence)
    return replace(left[np.array(kept, dtype=np.int64)], scores=np.array(final, dtype=np.float64))


def _in_the_same_place(finder: "Finder", hypotheses: Hypotheses, first: int) -> NDArray[np.bool_]:
    """Which hypotheses have the corners of the canvas near those of `first`, itself among them, (H,)."""
    width, height = finder.template.size
    corners = np.array(((0, width, width, 0), (0, 0, height, height), (1, 1, 1, 1.0)))
    ends = mapped(hypotheses.placement.frames[finder.pieces.tree.root], corners)
    diagonal = np.linalg.norm(ends[first, :, 2] - ends[first, :, 0])
    return np.asarray(np.linalg.norm(ends - ends[first], axis=1).max(-1) <= _SAME_PLACE * diagonal)

"""Each pixel of a scene is evidence for one object only."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.finder import Finder
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.score import combined_score
from wherein.images.motif import Motif

_SHARED = 0.3
"""Of a piece: where more of it lies on what another object has claimed, it is no evidence."""

_SAME = 0.15
"""Of the object's size: two that lie closer than this, and are turned alike, are one, seen twice, where
something in front of it has pulled its pieces apart."""

_POINTS = 100


class Footprint:
    """A motif's mask to ask which points of the scene it covers, and some points of it to ask about."""

    def __init__(self, motif: Motif) -> None:
        self.mask: NDArray[np.bool_] = motif.mask.numpy() > 0.5
        rows, columns = np.nonzero(self.mask)
        points = np.stack((columns, rows, np.ones_like(rows))).astype(np.float64)
        self.points = points[:, :: max(1, len(rows) // _POINTS)]
        (left, top), (right, bottom) = points[:2].min(1) - 0.5, points[:2].max(1) + 0.5
        self.corners = np.array(
            ((left, right, right, left), (top, top, bottom, bottom), (1.0, 1.0, 1.0, 1.0))
        )

    def covers(self, pose: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which points (…, 3, N) of the scene lie under the motif at a pose."""
        there = np.round(np.linalg.inv(pose) @ points).astype(np.int64)
        x, y = there[..., 0, :], there[..., 1, :]
        height, width = self.mask.shape
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
        return inside & self.mask[y.clip(0, height - 1), x.clip(0, width - 1)]


class Claims:
    """Takes from hypotheses the pieces that lie on what others have claimed.

    Arguments:
        finder: whose hypotheses they are.
        hypotheses: the hypotheses.
    """

    def __init__(self, finder: Finder, hypotheses: Hypotheses) -> None:
        pieces, placement = finder.pieces.pieces, hypotheses.placement
        self.evidence = {name: values.copy() for name, values in hypotheses.evidence.items()}
        self._stencils = {piece.name: Footprint(piece.motif) for piece in pieces}
        self._poses = {piece.name: placement.frames[piece.name] @ piece.fitted_leaf.rest for piece in pieces}
        corners = {name: (poses @ self._stencils[name].corners)[:, :2] for name, poses in self._poses.items()}
        self._low = {name: ends.min(2) for name, ends in corners.items()}
        self._high = {name: ends.max(2) for name, ends in corners.items()}
        self._free = np.ones(len(placement), dtype=np.bool_)

    def claim(self, first: int) -> None:
        """Give to one hypothesis all pixels of its pieces; from then on its own are out of reach."""
        self._free[first] = False
        for name, poses in self._poses.items():
            if self.evidence[name][first] > 0:
                for other in self._poses:
                    rows = self._touching(other, name, first)
                    points = self._poses[other][rows] @ self._stencils[other].points
                    shared = self._stencils[name].covers(poses[first], points).mean(-1)
                    self.evidence[other][rows[shared > _SHARED]] = 0.0

    def _touching(self, other: str, name: str, first: int) -> NDArray[np.int64]:
        """The hypotheses whose piece may lie on a piece of `first`, by the boxes around the two."""
        meets = (self._low[other] <= self._high[name][first]) & (self._high[other] >= self._low[name][first])
        return np.flatnonzero(self._free & (self.evidence[other] > 0) & meets.all(1))


def exclusive(finder: Finder, hypotheses: Hypotheses, threshold: float, count: int | None) -> Hypotheses:
    """The surest hypothesis, then the surest of the rest without the evidence that it has claimed, and so on.

    Where one object is, there is no other of the same kind, whatever is left of the evidence.

    Arguments:
        finder: whose hypotheses they are.
        hypotheses: all of them.
        threshold: the least score.
        count: the most that are kept; None: all.
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
        if scores.max() < threshold:  # and claims only lower them
            break
        claims.claim(first)
        free &= ~_in_the_same_place(finder, hypotheses, first)
        scores = np.where(free, combined_score(claims.evidence, hypotheses.visible, finder.weights), -1.0)
    left = replace(hypotheses, evidence=claims.evidence)
    return replace(left[np.array(kept, dtype=np.int64)], scores=np.array(final, dtype=np.float64))


def _in_the_same_place(finder: Finder, hypotheses: Hypotheses, first: int) -> NDArray[np.bool_]:
    """Which hypotheses are about where `first` is, by the corners of the canvas; that one among them."""
    width, height = finder.template.size
    corners = np.array(((0, width, width, 0), (0, 0, height, height), (1, 1, 1, 1)))
    ends = (hypotheses.placement.frames[finder.pieces.tree.root] @ corners)[:, :2]
    across = np.linalg.norm(ends[first, :, 2] - ends[first, :, 0])
    return np.asarray(np.linalg.norm(ends - ends[first], axis=1).max(-1) <= _SAME * across)

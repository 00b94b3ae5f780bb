"""Each pixel of a scene is evidence for one object only."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.evidence import score
from wherein.detect.finder import Finder, Judged
from wherein.images.motif import Motif

_SHARED = 0.3
"""Of a piece: where more of it lies on what another object has claimed, it is no evidence."""

_POINTS = 100


class Stencil:
    """A motif's mask to ask which points of the scene it covers, and some points of it to ask about."""

    def __init__(self, motif: Motif) -> None:
        self.mask: NDArray[np.bool_] = motif.mask.numpy() > 0.5
        rows, columns = np.nonzero(self.mask)
        points = np.stack((columns, rows, np.ones_like(rows))).astype(np.float64)
        self.points = points[:, :: max(1, len(rows) // _POINTS)]

    def covers(self, pose: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which points of the scene lie under the motif at a pose."""
        x, y = np.round((np.linalg.inv(pose) @ points)[:2]).astype(np.int64)
        height, width = self.mask.shape
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
        return inside & self.mask[y.clip(0, height - 1), x.clip(0, width - 1)]


def apart(finder: Finder, judged: Judged, threshold: float, count: int | None) -> Judged:
    """The surest hypothesis, then the surest of the rest without the evidence that it has claimed, and so on.

    Arguments:
        finder: whose hypotheses they are.
        judged: all of them.
        threshold: the least score.
        count: the most that are kept; None: all.
    """
    pieces = finder.pieces.pieces
    stencils = {piece.home: Stencil(piece.motif) for piece in pieces}
    kept: list[int] = []
    final: list[float] = []
    scores = judged.scores.copy()
    while len(scores) and (count is None or len(kept) < count):
        first = int(scores.argmax())
        if scores[first] < threshold:
            break
        kept.append(first)
        final.append(float(scores[first]))
        judged = replace(judged, told=dict(judged.told))
        for piece in pieces:
            pose = judged.placed.frames[piece.home][first] @ piece.carrier.rest
            if judged.told[piece.home][first] > 0:
                _claim(finder, judged, stencils, piece.home, pose, kept)
        scores = score(judged.told, judged.seen, finder.weights)
        scores[kept] = -1.0
    return replace(judged[np.array(kept, dtype=np.int64)], scores=np.array(final, dtype=np.float64))


def _claim(
    finder: Finder,
    judged: Judged,
    stencils: dict[str, Stencil],
    home: str,
    pose: NDArray[np.float64],
    kept: list[int],
) -> None:
    """Take from all other hypotheses the pieces that lie on this one."""
    for other in finder.pieces.pieces:
        told = judged.told[other.home].copy()
        for k in range(len(told)):
            if k in kept or told[k] <= 0:
                continue
            there = judged.placed.frames[other.home][k] @ other.carrier.rest @ stencils[other.home].points
            if stencils[home].covers(pose, there).mean() > _SHARED:
                told[k] = 0.0
        judged.told[other.home] = told  # type: ignore[index]

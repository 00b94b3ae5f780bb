"""Mutual exclusion of hypotheses: each pixel of a scene is evidence for one object only.

The footprint of a piece says which pixels it covers, and how much of it lies inside the scene. Its support
says where its evidence comes from: the points that agree with the scene. Beside an object that was found, a
worse pose may share less than half of its area, and yet fit by nothing but the edges of that object.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Hypotheses
from wherein.images.motif import Motif
from wherein.motion.homography import mapped
from wherein.pyramid.levels import Poses, ScenePyramid

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder

OVERLAP = 0.5
"""Fraction of a piece. A choice: if more of it lies on pixels that another object has claimed, it is no
evidence. Half, since objects that lie on each other are still two."""

_SAME_PLACE = 0.15
"""Fraction of the object's diagonal. A choice: two hypotheses whose corners are all closer than this are
the same object. There are two where an occluder has pulled the pieces of one object apart."""


_FOOTPRINT_POINTS = 100
"""Points of a piece that are tested for overlap. A choice: about 100 give the shared fraction to a few
percent."""

EDGE, _AROUND = 2.0, 8
"""Pixels of the coarsest resolution around an object that its edges reach, and in how many directions that is
tested. Choices: the smoothing of the channels."""

_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, without their whole part, are spread evenly."""

Supports = Mapping[tuple[str, int], tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Points of the scene that a piece is compared with, and how much each of them agrees, by the name of the
piece and the number of the hypothesis."""


class Footprint:
    """The pixels that a motif covers.

    Attributes:
        mask: which pixels of the motif belong to it.
        points: some of them as (x, y), (N, 2).
        corners: of their bounding box as (x, y), (4, 2).
    """

    def __init__(self, motif: Motif) -> None:
        self.mask: NDArray[np.bool_] = motif.mask.numpy() > 0.5
        rows, columns = np.nonzero(self.mask)
        points = np.stack((columns, rows), 1).astype(np.float64)
        # By the golden ratio and not every n-th: that would be a few columns only, if n divides the width.
        count = min(len(rows), _FOOTPRINT_POINTS)
        self.points = points[np.unique((np.arange(count) * _GOLDEN % 1 * len(rows)).astype(np.int64))]
        # To the outer edges of the pixels, not to their centres.
        (left, top), (right, bottom) = points.min(0) - 0.5, points.max(0) + 0.5
        self.corners = np.array(((left, top), (right, top), (right, bottom), (left, bottom)))

    def covers(self, pose: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which points (…, N, 2) of the scene lie under the motif at a pose."""
        there = mapped(np.linalg.inv(pose).astype(np.float64), points)
        x, y = np.moveaxis(np.round(there.clip(-1e6, 1e6)).astype(np.int64), -1, 0)
        height, width = self.mask.shape
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
        return inside & self.mask[y.clip(0, height - 1), x.clip(0, width - 1)]

    def explains(
        self, pose: NDArray[np.float64], points: NDArray[np.float64], around: float
    ) -> NDArray[np.bool_]:
        """Which points (N, 2) of the scene lie under the motif at a pose, or so many of its pixels around it.

        An edge at the outline of an object shows on both sides of it.
        """
        shifts = [np.eye(3)]
        for angle in np.arange(_AROUND) * (2 * math.pi / _AROUND):
            shifts.append(np.eye(3))
            shifts[-1][:2, 2] = around * math.cos(angle), around * math.sin(angle)
        return np.any([self.covers(pose @ shift, points) for shift in shifts], axis=0)

    def visible(self, poses: Poses, size: tuple[int, int]) -> NDArray[np.float64]:
        """The fraction of the motif that lies inside a scene of some width and height, for each pose."""
        return share_inside(self.points, poses, size)


def share_inside(points: NDArray[np.float64], poses: Poses, size: tuple[int, int]) -> NDArray[np.float64]:
    """The fraction of points (N, 2) that lie inside a scene of some width and height, for each pose."""
    x, y = np.moveaxis(mapped(poses, points), -1, 0)
    inside = (x >= -0.5) & (y >= -0.5) & (x <= size[0] - 0.5) & (y <= size[1] - 0.5)
    return np.asarray(inside.mean(-1))


class Claims:
    """The evidence that is left to each hypothesis after others have claimed pixels.

    Arguments:
        finder: that made the hypotheses.
        hypotheses: all of them.
        scene: where they are; None: only areas are compared, unless there are supports.
        supports: where the evidence of each piece comes from, as of `Finder.support`, by its name and the
            number of the hypothesis; what is missing is made from the scene.

    Attributes:
        evidence: (H,) by name of the piece; 0 where a piece lies on claimed pixels.
    """

    def __init__(
        self,
        finder: "Finder",
        hypotheses: Hypotheses,
        scene: ScenePyramid | None = None,
        supports: Supports | None = None,
    ) -> None:
        self._scene, self._finder = scene, finder
        self._supports = dict(supports or {})
        placement = hypotheses.placement
        self.evidence = {name: values.copy() for name, values in hypotheses.evidence.items()}
        self._footprints = {name: model.footprint for name, model in finder.models.items()}
        self._poses = {
            name: placement.frames[name] @ model.to_canvas for name, model in finder.models.items()
        }
        corners = {name: mapped(poses, self._footprints[name].corners) for name, poses in self._poses.items()}
        self._low = {name: ends.min(1) for name, ends in corners.items()}
        self._high = {name: ends.max(1) for name, ends in corners.items()}
        self._free = np.ones(len(placement), dtype=np.bool_)

    def claim(self, first: int, overlap: float) -> None:
        """Claim all pixels of a hypothesis's pieces. Later claims do not take any of its own evidence.

        A piece that shares more than `overlap` of its pixels is no evidence any more, nor is one that has
        more of its evidence from there.
        """
        self._free[first] = False
        for name, poses in self._poses.items():
            if self.evidence[name][first] > 0:
                for other in self._poses:
                    rows = self._touching(other, name, first)
                    points = mapped(self._poses[other][rows], self._footprints[other].points)
                    shared = self._footprints[name].covers(poses[first], points).mean(-1)
                    self.evidence[other][rows[shared > overlap]] = 0.0
                    for row in rows[shared <= overlap]:
                        if self._explained(name, first, other, int(row)) > overlap:
                            self.evidence[other][row] = 0.0

    def _explained(self, name: str, first: int, other: str, row: int) -> float:
        """The share of the evidence of a piece `other` that comes from pixels of the piece `name` of
        `first`."""
        if self._scene is None and (other, row) not in self._supports:
            return 0.0
        points, evidence = self._support(other, row)
        around = EDGE / float(self._finder.models[name].stages[0].from_full[0, 0])
        covered = self._footprints[name].explains(self._poses[name][first], points, around)
        return float(evidence[covered].sum() / max(float(evidence.sum()), 1e-12))

    def _support(self, name: str, row: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Points of the scene that a piece is compared with, and how much each of them agrees."""
        if (name, row) not in self._supports:
            assert self._scene is not None, "a scene to compare with"
            self._supports[name, row] = self._finder.support(self._scene, name, self._poses[name][row])
        return self._supports[name, row]

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
    scene: ScenePyramid | None = None,
    supports: Supports | None = None,
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
        overlap: fraction of a piece, or of its evidence, that may lie on pixels of another object.
        scene, supports: as of `Claims`.

    Returns:
        The kept hypotheses, with the evidence and scores that are left to them.
    """
    claims = Claims(finder, hypotheses, scene, supports)
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
        scores = np.where(
            free, finder.scoring.score(hypotheses.placement, claims.evidence, hypotheses.visible), -1.0
        )
    left = replace(hypotheses, evidence=claims.evidence)
    return replace(left[np.array(kept, dtype=np.int64)], scores=np.array(final, dtype=np.float64))


def _in_the_same_place(finder: "Finder", hypotheses: Hypotheses, first: int) -> NDArray[np.bool_]:
    """Which hypotheses have the corners of the canvas near those of `first`, itself among them, (H,)."""
    ends = mapped(hypotheses.placement.frames[finder.pieces.tree.root], finder.corners)
    diagonal = np.linalg.norm(ends[first, 2] - ends[first, 0])
    return np.asarray(np.linalg.norm(ends - ends[first], axis=2).max(1) <= _SAME_PLACE * diagonal)

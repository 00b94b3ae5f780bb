"""A piece with all that can be prepared before there is a scene: resolutions, starts, footprint."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.geometry import mapped
from wherein.detect.fast.pieces import Joint, Piece
from wherein.images.motif import Motif
from wherein.motion.models import motion_named
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.plane_search import motif_stages
from wherein.pyramid.levels import Poses
from wherein.template.tree import Matrix

BASIN = 2.0
"""Radius of the basin of attraction of one point of a motif, in pixels of its resolution. A choice: about the
width of an edge in the channels."""

_FOOTPRINT_POINTS = 100
"""Points of a piece that are tested for overlap. A choice: about 100 give the shared fraction to a few
percent."""

_GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, without their whole part, are spread evenly."""

EUCLIDEAN = motion_named("euclidean")


class Footprint:
    """The pixels that a motif covers.

    Attributes:
        mask: which pixels of the motif belong to it.
        points: some of them as (x, y, 1), (3, N).
        corners: of their bounding box as (x, y, 1), (3, 4).
    """

    def __init__(self, motif: Motif) -> None:
        self.mask: NDArray[np.bool_] = motif.mask.numpy() > 0.5
        rows, columns = np.nonzero(self.mask)
        points = np.stack((columns, rows, np.ones_like(rows))).astype(np.float64)
        # By the golden ratio and not every n-th: that would be a few columns only, if n divides the width.
        count = min(len(rows), _FOOTPRINT_POINTS)
        self.points = points[:, np.unique((np.arange(count) * _GOLDEN % 1 * len(rows)).astype(np.int64))]
        # To the outer edges of the pixels, not to their centres.
        (left, top), (right, bottom) = points[:2].min(1) - 0.5, points[:2].max(1) + 0.5
        self.corners = np.array(
            ((left, right, right, left), (top, top, bottom, bottom), (1.0, 1.0, 1.0, 1.0))
        )

    def covers(self, pose: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which points (…, 2, N) of the scene lie under the motif at a pose."""
        ones = np.ones_like(points[..., :1, :])
        there = mapped(np.linalg.inv(pose).astype(np.float64), np.concatenate((points, ones), -2))
        x, y = np.moveaxis(np.round(there.clip(-1e6, 1e6)).astype(np.int64), -2, 0)
        height, width = self.mask.shape
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
        return inside & self.mask[y.clip(0, height - 1), x.clip(0, width - 1)]

    def visible(self, poses: Poses, size: tuple[int, int]) -> NDArray[np.float64]:
        """The fraction of the motif that lies inside a scene of some width and height, for each pose."""
        x, y = np.moveaxis(mapped(poses, self.points), -2, 0)
        inside = (x >= -0.5) & (y >= -0.5) & (x <= size[0] - 0.5) & (y <= size[1] - 0.5)
        return np.asarray(inside.mean(-1))


@dataclass(frozen=True, eq=False)
class PieceModel:
    """A piece with all that can be prepared before there is a scene.

    Attributes:
        piece: what is searched for.
        group: the group that the piece is attached to, if any.
        any_polarity: whether light and dark may be exchanged.
    """

    piece: Piece
    group: Joint | None = None
    any_polarity: bool = False

    @cached_property
    def stages(self) -> tuple[PlaneMotif, ...]:
        """The fitted leaf at each resolution, from coarse to fine; the fit is scored at the last."""
        return motif_stages(self.piece.motif, self.any_polarity, self.piece.covered)

    @cached_property
    def turn_step(self) -> float:
        """Degrees between starts about the joint, such that one of them has every point within its basin."""
        motif, (x, y) = self.piece.motif, self.piece.fitted_leaf.at
        corners = [(x + i, y + j) for i in (0, motif.width - 1) for j in (0, motif.height - 1)]
        # The farthest corner from the joint moves most in a turn.
        reach = max(math.dist(corner, self.piece.joint) for corner in corners)
        return self._step(reach)

    def _step(self, reach: float) -> float:
        """Degrees of a turn that moves a point at a distance by the width of a basin, at the coarsest."""
        pixel = 1 / math.sqrt(self.stages[0].from_full[0, 0] * self.stages[0].from_full[1, 1])
        return 2 * math.degrees(math.atan2(BASIN * pixel, max(reach, 1e-9)))

    @cached_property
    def starts(self) -> Matrix:
        """Turns about the joint from which fits start, (T, 3, 3)."""
        return self.piece.starts(self.turn_step)

    @cached_property
    def group_starts(self) -> Poses:
        """Turns of the group combined with turns of the piece, (T, 3, 3)."""
        assert self.group is not None, "a piece that is attached to a group"
        step = self._step(math.dist(self.group.joint, self.piece.joint))
        # Two limits: the piece's joint moves no further than a basin, and the piece's own turns leave no gap
        # between the directions that it can have at two neighbouring turns of the group.
        turns = self.group.starts(min(step, 2 * self.piece.turn + self.turn_step))
        both: Poses = turns[:, None] @ self.starts
        return both.reshape(-1, 3, 3)

    @cached_property
    def to_canvas(self) -> NDArray[np.float64]:
        """The matrix from pixels of the fitted leaf to the canvas."""
        return self.piece.fitted_leaf.rest

    @cached_property
    def from_canvas(self) -> NDArray[np.float64]:
        """The matrix from the canvas to pixels of the fitted leaf."""
        return np.linalg.inv(self.to_canvas).astype(np.float64)

    @cached_property
    def footprint(self) -> Footprint:
        """The pixels that the piece covers."""
        return Footprint(self.piece.motif)

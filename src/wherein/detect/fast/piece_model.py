"""A piece with all that can be prepared before there is a scene: scales, starts, stages, cells."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray

from wherein.detect.fast.pieces import Joint, Piece
from wherein.images.motif import Motif
from wherein.motion.models import motion_named
from wherein.pyramid.cells import cell_numbers
from wherein.pyramid.descent import Stage
from wherein.pyramid.levels import MotifPyramid, Poses, coarsest_scale
from wherein.template.tree import Matrix, Point

_SCREEN_POINTS, _JOINT_POINTS = 140, 100
"""Minimum number of pixels well inside the mask of a reduced motif. Choices: over a whole scene there is more
clutter to tell the motif from than about a joint, and that takes more pixels."""

_MIN_SIDE, _MIN_PURE = 5, 0.45
"""Minimum width and height of a reduced motif in pixels, and minimum fraction of its pixels that are not
mixed with background. Choices: of a thinner motif most pixels are outline, where the background shows
through."""

_MAX_SCREEN_SCALE, _MAX_JOINT_SCALE, _MAX_SCORING_SCALE = 16, 4, 2
"""Maximum factors by which a motif is reduced: in the first search over a scene, about a joint, and where its
fit is scored. Choices: about a joint no start is far off, so detail matters more than a still wider basin."""

BASIN = 1.5
"""Radius of the basin of attraction of one point of a motif, in pixels of the scale. A choice, for turns
about a joint and for tracking; for the first search the basin of each piece is measured
(`calibration.basins`)."""

COARSE_STEPS, COARSE_PIXELS = 8, 600
"""Gauss–Newton steps and compared pixels of a descent. A choice: a pose only has to reach the basin of the
next scale."""

_FINE_STEPS, FINE_PIXELS = 12, 1200
"""The same near the end of the descent, where the pose is scored. A choice."""

_SAME_PLACE, _MIN_SAME_PLACE = 0.03, 1.5
"""Poses may be duplicates if they are closer than this fraction of the motif's diagonal, or closer than so
many pixels. Choices."""

_MAX_CELLS, _MIN_CELL_SIZE, _MIN_CELLS = 6, 4, 9
"""Maximum number of cells along each axis, minimum width of a cell in pixels, and minimum number of cells
of a piece; with fewer, leaving some out says little. Choices."""

_CELL_POINTS = 600
"""Maximum number of pixels that are compared cell by cell. A choice."""

_FOOTPRINT_POINTS = 100
"""Points of a piece that are tested for overlap. A choice: about 100 give the shared fraction to a few
percent."""

EUCLIDEAN, SIMILARITY = motion_named("euclidean"), motion_named("similarity")


def coarsest_distinctive_scale(
    motif: Motif, points: int = _SCREEN_POINTS, largest: int = _MAX_SCREEN_SCALE
) -> int:
    """The largest power of 2 by which a motif can be reduced and still be told from clutter.

    Arguments:
        motif: at full size.
        points: how many pixels well inside its mask must be left.
        largest: maximum of the result.
    """
    pyramid = MotifPyramid(motif)
    return coarsest_scale(lambda scale: _distinctive(pyramid.reduced(scale), points), largest)


def scoring_scale(motif: Motif) -> int:
    """The scale at which the fit of a motif is scored: 2, or 1 for a small motif."""
    # At half size, noise and blur matter less than at full size.
    return coarsest_distinctive_scale(motif, _JOINT_POINTS, _MAX_SCORING_SCALE)


def _distinctive(small: Motif, points: int) -> bool:
    """Whether a reduced motif has enough pixels well inside its mask, and is not too thin."""
    # On its outline a reduced motif is mixed with background, which differs from scene to scene.
    pure, half = int((small.mask > 0.85).sum()), int((small.mask > 0.5).sum())
    across = min(small.mask.amax(0).gt(0.5).sum(), small.mask.amax(1).gt(0.5).sum())
    return pure >= points and pure >= _MIN_PURE * half and int(across) >= _MIN_SIDE


def coarse_stage(scale: int) -> Stage:
    """A short descent on few pixels, at one scale."""
    return Stage(scale, COARSE_STEPS, pixels=COARSE_PIXELS)


@dataclass(frozen=True, eq=False)
class Cells:
    """The compared pixels of a piece at its scoring scale, and the cell of a grid that each lies in.

    Attributes:
        points: (x, y) in pixels of the reduced motif, (N, 2).
        values: the motif there, (N, C).
        member: 1 where a point is in a cell, else 0, (N, K).
    """

    points: NDArray[np.float64]
    values: NDArray[np.float64]
    member: NDArray[np.float64]

    @staticmethod
    def of(pyramid: MotifPyramid, scale: int) -> "Cells | None":
        """The cells of a motif at a scale; None if there are too few of them."""
        side = pyramid.side(scale, EUCLIDEAN, _CELL_POINTS)
        points = side.points + side.centre
        numbers = cell_numbers(points, _MAX_CELLS, _MIN_CELL_SIZE)
        if len(numbers.unique()) < _MIN_CELLS:
            return None
        member = F.one_hot(numbers, _MAX_CELLS**2)
        return Cells(*(array.double().numpy() for array in (points, side.known[..., -1], member)))


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
        self.points = points[:, :: max(1, len(rows) // _FOOTPRINT_POINTS)]
        # To the outer edges of the pixels, not to their centres.
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


@dataclass(frozen=True, eq=False)
class PieceModel:
    """A piece with all that can be prepared before there is a scene.

    Attributes:
        piece: what is searched for.
        pyramid: the leaf that is fitted, at every scale.
        group: the group that the piece is attached to, if any.
    """

    piece: Piece
    pyramid: MotifPyramid
    group: Joint | None = None

    @staticmethod
    def of(piece: Piece, group: Joint | None = None) -> "PieceModel":
        """The model of a piece, attached to a group or not; everything in it is computed on first use."""
        return PieceModel(piece, MotifPyramid(piece.motif), group)

    @cached_property
    def screen_scale(self) -> int:
        """The scale of the first search, over all places."""
        return coarsest_distinctive_scale(self.piece.motif)

    @cached_property
    def joint_scale(self) -> int:
        """The scale of the first search about a joint."""
        # Fewer pixels than over a whole scene: there are few places to confuse, and a wide basin is worth
        # more.
        return coarsest_distinctive_scale(self.piece.motif, _JOINT_POINTS, _MAX_JOINT_SCALE)

    @cached_property
    def turn_step(self) -> float:
        """Degrees between starts about the joint, such that one of them has every point within its basin."""
        motif, (x, y) = self.piece.motif, self.piece.fitted_leaf.at
        corners = [(x + i, y + j) for i in (0, motif.width - 1) for j in (0, motif.height - 1)]
        # The farthest corner from the joint moves most in a turn.
        reach = max(math.dist(corner, self.piece.joint) for corner in corners)
        return 2 * math.degrees(math.atan2(BASIN * self.joint_scale, reach))

    @cached_property
    def starts(self) -> Matrix:
        """Turns about the joint from which descents start, (T, 3, 3)."""
        return self.piece.starts(self.turn_step)

    @cached_property
    def group_starts(self) -> Poses:
        """Turns of the group combined with turns of the piece, (T, 3, 3)."""
        assert self.group is not None, "a piece that is attached to a group"
        reach = math.dist(self.group.joint, self.piece.joint)
        step = 2 * math.degrees(math.atan2(BASIN * self.joint_scale, reach))
        # Two limits: the piece's joint moves no further than a basin, and the piece's own turns leave no gap
        # between the directions that it can have at two neighbouring turns of the group.
        turns = self.group.starts(min(step, 2 * self.piece.turn + self.turn_step))
        both: Poses = turns[:, None] @ self.starts
        return both.reshape(-1, 3, 3)

    @cached_property
    def joint_stages(self) -> tuple[Stage, ...]:
        """The stages of a descent about the joint, down to the scale at which the fit is scored."""
        return tuple(coarse_stage(scale) for scale in halved_scales(self.joint_scale, self.scoring_scale))

    @cached_property
    def occluded_stage(self) -> Stage:
        """The robust descent of a piece that may be occluded, at the scale at which the fit is scored."""
        return Stage(self.scoring_scale, _FINE_STEPS, pixels=FINE_PIXELS)

    @cached_property
    def scoring_scale(self) -> int:
        """The scale at which the fit is scored."""
        return scoring_scale(self.piece.motif)

    @cached_property
    def to_canvas(self) -> NDArray[np.float64]:
        """The matrix from pixels of the fitted leaf to the canvas."""
        return self.piece.fitted_leaf.rest

    @cached_property
    def from_canvas(self) -> NDArray[np.float64]:
        """The matrix from the canvas to pixels of the fitted leaf."""
        return np.linalg.inv(self.to_canvas).astype(np.float64)

    @cached_property
    def centre(self) -> Point:
        """The centre of the fitted leaf, in its pixels."""
        return self.piece.motif.centre

    @cached_property
    def duplicate_distance(self) -> float:
        """Poses whose centres are closer, in pixels of the scene, may be duplicates."""
        motif = self.piece.motif
        return max(_MIN_SAME_PLACE, _SAME_PLACE * math.hypot(motif.width, motif.height))

    @cached_property
    def cells(self) -> Cells | None:
        """The cells by which the piece is compared where it may be occluded; None if it has too few."""
        return Cells.of(self.pyramid, self.scoring_scale)

    @cached_property
    def footprint(self) -> Footprint:
        """The pixels that the piece covers."""
        return Footprint(self.piece.motif)


def halved_scales(first: int, last: int) -> tuple[int, ...]:
    """Powers of 2 from the first down to the last."""
    return (first, *halved_scales(first // 2, last)) if first > last else (first,)

"""The search for one piece: at which scales, from how many poses, and which of the poses go on."""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.pieces import Piece
from wherein.images.motif import Motif
from wherein.motion.models import Motion, motion_named
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import MotifPyramid, Poses, ScenePyramid, coarsest_scale
from wherein.pyramid.screen import Kernels, PoseGrid, peaks, screen
from wherein.template.pose import placed
from wherein.template.tree import Matrix

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

_MAX_STARTS, _MAX_KEPT, _USUAL_PIXELS = 64, 32, 512 * 384
"""Maximum number of descents that are started, and of poses that go on to the next scale, in a scene of so
many pixels (the size of calibration's scenes). Choices; in larger scenes both grow in proportion to the
area."""

_KERNEL_POINTS = 64
"""Maximum number of points of a motif in the first search. A choice: it only has to rank places."""

_COARSE_STEPS, _COARSE_PIXELS = 8, 600
"""Gauss–Newton steps and compared pixels of a descent. A choice: a pose only has to reach the basin of the
next scale."""

_FINE_STEPS, _FINE_PIXELS = 12, 1200
"""The same near the end of the descent, where the pose is scored. A choice."""

_MIN_RELATIVE_ZNCC = 0.6
"""A choice: poses with a ZNCC below this share of the best are dropped."""

_UNOCCLUDED_ZNCC = 0.93
"""A choice: with a lower ZNCC the piece may be occluded."""

_SAME_PLACE, _MIN_SAME_PLACE, _SAME_DIRECTION = 0.03, 1.5, 0.98
"""Poses are duplicates if they are closer than this fraction of the motif's diagonal (and at least so many
pixels), and if the cosine of the angle between them is larger (11.5°). Choices."""


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
    return Stage(scale, _COARSE_STEPS, pixels=_COARSE_PIXELS)


@dataclass(frozen=True, eq=False)
class PieceModel:
    """A piece with all that can be prepared before there is a scene.

    Attributes:
        piece: what is searched for.
        pyramid: the leaf that is fitted, at every scale.
    """

    piece: Piece
    pyramid: MotifPyramid

    @staticmethod
    def of(piece: Piece) -> "PieceModel":
        """The model of a piece; everything in it is computed on first use."""
        return PieceModel(piece, MotifPyramid(piece.motif))

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
    def joint_stages(self) -> tuple[Stage, ...]:
        """The stages of a descent about the joint, down to the scale at which the fit is scored."""
        return tuple(coarse_stage(scale) for scale in _scales(self.joint_scale, self.scoring_scale))

    @cached_property
    def occluded_stage(self) -> Stage:
        """The robust descent of a piece that may be occluded, at the scale at which the fit is scored."""
        return Stage(self.scoring_scale, _FINE_STEPS, pixels=_FINE_PIXELS)

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


EUCLIDEAN, SIMILARITY = motion_named("euclidean"), motion_named("similarity")


@dataclass(frozen=True, eq=False)
class PieceSearch:
    """Searches a scene for a piece at every place, rotation and scale.

    Attributes:
        model: the piece.
        kernels: its motif at every rotation and scale of the first search.
        motion: how poses may move in the descent.
    """

    model: PieceModel
    kernels: Kernels
    motion: Motion

    @staticmethod
    def of(
        model: PieceModel,
        rotation: float,
        scale: tuple[float, float],
        turn: float = 15.0,
        ratio: float = 1.12,
    ) -> "PieceSearch":
        """The search of a range of poses.

        Arguments:
            model: the piece.
            rotation: ± degrees.
            scale: lowest and highest.
            turn: maximum distance of neighbouring rotations, in degrees.
            ratio: maximum factor between neighbouring scales.
        """
        grid = PoseGrid.over(min(180.0, rotation), turn, scale, ratio)
        kernels = Kernels.of(model.piece.motif, model.screen_scale, grid, limit=_KERNEL_POINTS)
        # A free scale only where scales are searched: small motifs would shrink until they fit on any
        # shading.
        motion = EUCLIDEAN if scale[0] == scale[1] else SIMILARITY
        return PieceSearch(model, kernels, motion)

    def __call__(self, scene: ScenePyramid, threads: int, crowd: int = 1) -> Fits:
        """Likely poses of the piece (leaf pixels → scene), refined at its scoring scale, the best first.

        Arguments:
            scene: the scene to search.
            threads: number of threads of the first search.
            crowd: factor by which more poses than usual are followed.
        """
        max_kept = round(_MAX_KEPT * _pose_factor(scene, crowd))
        found = Fits(self.starts(scene, threads, crowd), np.zeros(0))
        for stage in self.stages:
            ended = descend(scene, self.model.pyramid, self.motion, stage, found.poses)
            # Many starts lie in one basin. Without the duplicates, other objects have a chance to go on.
            found = likely(distinct(ended, self.model.piece.motif, max_kept), few=6)
        return found

    def starts(self, scene: ScenePyramid, threads: int, crowd: int = 1) -> Poses:
        """The best places of the first search, from which descents start; arguments as for a call."""
        motif = self.model.piece.motif
        maps = screen(scene.reduced(self.model.screen_scale), self.kernels, threads)
        spots, _ = peaks(maps, self.kernels, round(_MAX_STARTS * _pose_factor(scene, crowd)))
        return np.reshape([placed(a, s, (x, y), motif.centre) for x, y, a, s in spots], (-1, 3, 3))

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of a descent, from the scale of the first search to the one at which fits are scored."""
        scales = _scales(self.model.screen_scale, self.model.scoring_scale)
        # More pixels from the third scale on: by then few poses are left, and they have to be ranked.
        return tuple(
            Stage(scale, _COARSE_STEPS, pixels=_COARSE_PIXELS if k < 2 else _FINE_PIXELS)
            for k, scale in enumerate(scales)
        )


def _scales(first: int, last: int) -> tuple[int, ...]:
    """Powers of 2 from the first down to the last."""
    return (first, *_scales(first // 2, last)) if first > last else (first,)


def _pose_factor(scene: ScenePyramid, crowd: int) -> float:
    """The factor by which more poses than usual are followed, in a large scene or a crowd."""
    return crowd * max(1.0, math.prod(scene.size) / _USUAL_PIXELS)


def distinct(found: Fits, motif: Motif, count: int) -> Fits:
    """The best `count` poses without duplicates: of descents that end in the same pose, one is kept."""
    order = np.argsort(-found.zncc, kind="stable")
    poses, zncc = found.poses[order], found.zncc[order]
    near = max(_MIN_SAME_PLACE, _SAME_PLACE * math.hypot(motif.width, motif.height))
    spots = (poses @ np.array((*motif.centre, 1.0)))[:, :2]
    directions = poses[:, :2, 0] / np.linalg.norm(poses[:, :2, 0], axis=1, keepdims=True)
    kept: list[int] = []
    # A hash grid with cells of this size: duplicates lie in the same cell or in a neighbouring one. Comparing
    # all pairs would take too long in a large scene, where there are thousands of poses.
    cells: defaultdict[tuple[float, float], list[int]] = defaultdict(list)
    for index, (column, row) in enumerate(np.floor(spots / near).tolist()):
        if len(kept) == count:
            break
        beside = [k for i, j in product((-1, 0, 1), repeat=2) for k in cells.get((column + i, row + j), ())]
        same = np.abs(spots[beside] - spots[index]).max(-1) < near
        if not (same & (directions[beside] @ directions[index] > _SAME_DIRECTION)).any():
            kept.append(index)
            cells[column, row].append(index)
    return Fits(poses[kept], zncc[kept])


def likely(found: Fits, few: int = 3) -> Fits:
    """The poses whose ZNCC is not far below the best, and the first `few` in any case.

    Arguments:
        found: poses, the best first.
        few: how many are kept however badly they fit.
    """
    best = found.zncc.max(initial=0.0)
    kept = (found.zncc >= _MIN_RELATIVE_ZNCC * best) | (np.arange(len(found.zncc)) < few)
    return found[np.flatnonzero(kept)]


def refit_occluded(scene: ScenePyramid, model: PieceModel, motion: Motion, stage: Stage, found: Fits) -> Fits:
    """The same poses; those that may be occluded are fitted again with robust weights.

    An occluder pulls a least-squares fit aside. Where there is none, equal weights are more accurate, so
    only the poses that fit badly are fitted again.

    Arguments:
        scene: where the piece is.
        model: the piece.
        motion: how the poses may move.
        stage: the scale, steps and pixels of the robust descent.
        found: leaf pixels → scene.
    """
    unsure = maybe_occluded(found)
    again = descend(scene, model.pyramid, motion, stage, found.poses[unsure], robust=True)
    poses, zncc = found.poses.copy(), found.zncc.copy()
    poses[unsure], zncc[unsure] = again.poses, again.zncc
    return Fits(poses, zncc)


def maybe_occluded(found: Fits) -> NDArray[np.int64]:
    """The indices of the poses that fit, but so badly that something may be in front of the piece."""
    # −1 means that there is no fit at all, which robust weights cannot repair.
    return np.flatnonzero((found.zncc < _UNOCCLUDED_ZNCC) & (found.zncc > 0))


def best_of_each(found: Fits, groups: int, count: int = 1) -> Fits:
    """The best `count` poses of each group, where `found` holds equally many poses of each in turn."""
    zncc = found.zncc.reshape(groups, -1)
    # Stable, here and elsewhere: among equal scores the order must not depend on the library's sorting.
    chosen = np.argsort(-zncc, axis=1, kind="stable")[:, :count]
    poses: Poses = np.take_along_axis(found.poses.reshape(groups, -1, 3, 3), chosen[..., None, None], 1)
    return Fits(poses.reshape(-1, 3, 3), np.take_along_axis(zncc, chosen, 1).ravel())

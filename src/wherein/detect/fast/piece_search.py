"""How one piece is looked for: at which scales, from how many poses, and what of them lives on."""

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

_POINTS, _SIDE, _PURE = 140, 5, 0.45
"""The least that a motif is reduced to for the first look: points, pixels across, and the share of its pixels
that are not half background."""

BASIN = 1.5
"""Pixels of the scale from which a point of the motif finds name."""


_SCREENED, _KEPT, _USUAL = 64, 32, 512 * 384
"""Places at which a descent begins, and poses that go on to the next scale at most, in a scene of so many
pixels; in larger ones as many more."""

_BEHIND = 0.6
"""Which share of the best ZNCC is far behind it."""

_COVERED = 0.93
"""ZNCC below which something may be in front of a piece."""

_SAME_DIRECTION = 0.98
"""The cosine of 11°."""


def coarsest(motif: Motif, points: int = _POINTS, most: int = 16) -> int:
    """The largest power of 2 by which the motif can be reduced and still be told from others."""
    pyramid = MotifPyramid(motif)
    return coarsest_scale(lambda scale: _distinctive(pyramid.reduced(scale), points), most)


def _distinctive(small: Motif, points: int) -> bool:
    pure, half = int((small.mask > 0.85).sum()), int((small.mask > 0.5).sum())
    across = min(small.mask.amax(0).gt(0.5).sum(), small.mask.amax(1).gt(0.5).sum())
    return pure >= points and pure >= _PURE * half and int(across) >= _SIDE


@dataclass(frozen=True, eq=False)
class PieceModel:
    """A piece with all that can be prepared of it before there is a scene.

    Attributes:
        piece: what is searched for.
        pyramid: the leaf that is fitted, at every scale.
    """

    piece: Piece
    pyramid: MotifPyramid

    @staticmethod
    def of(piece: Piece) -> "PieceModel":
        """Nothing is made yet."""
        return PieceModel(piece, MotifPyramid(piece.motif))

    @cached_property
    def coarsest(self) -> int:
        """The scale of the first search, over all places."""
        return coarsest(self.piece.motif)

    @cached_property
    def joint_scale(self) -> int:
        """The scale of the first search about a joint. There are few places to confuse, so a wide basin of
        attraction matters more than detail."""
        return coarsest(self.piece.motif, points=100, most=4)

    @cached_property
    def turn_step(self) -> float:
        """Degrees between starts about the joint, so that no point of the piece is further than a basin
        away."""
        motif, (x, y) = self.piece.motif, self.piece.fitted_leaf.at
        corners = [(x + i, y + j) for i in (0, motif.width - 1) for j in (0, motif.height - 1)]
        reach = max(math.dist(corner, self.piece.joint) for corner in corners)
        return 2 * math.degrees(math.atan2(BASIN * self.joint_scale, reach))

    @cached_property
    def starts(self) -> Matrix:
        """(T, 3, 3): turns about the joint from which a descent begins."""
        return self.piece.starts(self.turn_step)

    @cached_property
    def joint_stages(self) -> tuple[Stage, ...]:
        """The stages of a descent about the joint, down to the scale at which the fit is scored."""
        return tuple(Stage(factor, 8, pixels=600) for factor in _halves(self.joint_scale, self.scoring_scale))

    @cached_property
    def occluded_stage(self) -> Stage:
        """The robust descent of a piece that may be occluded, at the scale at which the fit is scored."""
        return Stage(self.scoring_scale, 12, pixels=1200)

    @cached_property
    def scoring_scale(self) -> int:
        """The scale at which the fit is scored: noise and blur matter less at half size than at full."""
        return min(2, coarsest(self.piece.motif, points=100))

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
    """PoseGrid for a piece at every place, rotation and scale."""

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
        """For poses within ± `rotation` degrees and the scales."""
        looks = PoseGrid.over(min(180.0, rotation), turn, scale, ratio)
        kernels = Kernels.of(model.piece.motif, model.coarsest, looks, limit=64)
        motion = EUCLIDEAN if scale[0] == scale[1] else SIMILARITY
        return PieceSearch(model, kernels, motion)

    def __call__(self, scene: ScenePyramid, threads: int, crowd: int = 1) -> Fits:
        """Its likely poses (leaf pixels → scene), brought to rest at half size, the best first.

        Arguments:
            scene: where to look.
            threads: for the first look.
            crowd: times as many as usual.
        """
        kept = round(_KEPT * _more(scene, crowd))
        found = Fits(self.starts(scene, threads, crowd), np.zeros(0))
        for stage in self.stages:
            ended = descend(scene, self.model.pyramid, self.motion, stage, found.poses)
            found = likely(distinct(ended, self.model.piece.motif, kept), few=6)
        return found

    def starts(self, scene: ScenePyramid, threads: int, crowd: int = 1) -> Poses:
        """The best places of a first look, from which descents begin; arguments as of a call."""
        motif = self.model.piece.motif
        maps = screen(scene.surface(self.model.coarsest).scene, self.kernels, threads)
        spots, _ = peaks(maps, self.kernels, round(_SCREENED * _more(scene, crowd)))
        return np.reshape([placed(a, s, (x, y), motif.centre) for x, y, a, s in spots], (-1, 3, 3))

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The scales of a descent, from the first look to where the fit is scored."""
        factors = _halves(self.model.coarsest, self.model.scoring_scale)
        return tuple(Stage(f, 8, pixels=600 if k < 2 else 1200) for k, f in enumerate(factors))


def _halves(first: int, last: int) -> tuple[int, ...]:
    """Powers of 2 from the first down to the last."""
    return (first, *_halves(first // 2, last)) if first > last else (first,)


def _more(scene: ScenePyramid, crowd: int) -> float:
    """Times as many poses as usual are followed: in a large scene, or a crowd."""
    return crowd * max(1.0, math.prod(scene.size) / _USUAL)


def distinct(found: Fits, motif: Motif, count: int) -> Fits:
    """The best `count`, one of each pose: starts that came to rest together are one."""
    order = np.argsort(-found.zncc, kind="stable")
    poses, zncc = found.poses[order], found.zncc[order]
    near = max(1.5, 0.03 * math.hypot(motif.width, motif.height))
    spots = (poses @ np.array((*motif.centre, 1.0)))[:, :2]
    directions = poses[:, :2, 0] / np.linalg.norm(poses[:, :2, 0], axis=1, keepdims=True)
    kept: list[int] = []
    # By cells of this side: those that are the same lie in the same cell or in one beside it.
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
    """Those that are not far behind the best, and the first few in any case; the best come first."""
    kept = (found.zncc >= _BEHIND * found.zncc.max(initial=0.0)) | (np.arange(len(found.zncc)) < few)
    return found[np.flatnonzero(kept)]


def refit_occluded(scene: ScenePyramid, model: PieceModel, motion: Motion, stage: Stage, found: Fits) -> Fits:
    """The same poses, those that fit badly after a descent that trusts pixels less which do not fit.

    Something in front of a piece pulls it aside; where nothing is, trusting all pixels alike is more exact.
    """
    unsure = maybe_occluded(found)
    again = descend(scene, model.pyramid, motion, stage, found.poses[unsure], robust=True)
    poses, zncc = found.poses.copy(), found.zncc.copy()
    poses[unsure], zncc[unsure] = again.poses, again.zncc
    return Fits(poses, zncc)


def maybe_occluded(found: Fits) -> NDArray[np.int64]:
    """Which poses fit so badly that something may be in front of them."""
    return np.flatnonzero((found.zncc < _COVERED) & (found.zncc > 0))


def best_of_each(found: Fits, groups: int, count: int = 1) -> Fits:
    """Of `groups` equally many poses one after the other, the best `count` of each group."""
    zncc = found.zncc.reshape(groups, -1)
    chosen = np.argsort(-zncc, axis=1, kind="stable")[:, :count]
    poses: Poses = np.take_along_axis(found.poses.reshape(groups, -1, 3, 3), chosen[..., None, None], 1)
    return Fits(poses.reshape(-1, 3, 3), np.take_along_axis(zncc, chosen, 1).ravel())

"""The search for one piece over all of a scene: from how many poses, and which of them go on."""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.piece_model import (
    COARSE_PIXELS,
    COARSE_STEPS,
    EUCLIDEAN,
    FINE_PIXELS,
    SIMILARITY,
    PieceModel,
    halved_scales,
)
from wherein.motion.models import Motion
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.first_search import Kernels, PoseGrid, peaks, screen
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.pose import placed
from wherein.template.tree import Point

_MAX_STARTS, _MAX_KEPT, _USUAL_PIXELS = 64, 32, 512 * 384
"""Maximum number of descents that are started, and of poses that go on to the next scale, in a scene of so
many pixels (the size of calibration's scenes). Choices; in larger scenes both grow in proportion to the
area."""

_KERNEL_POINTS = 64
"""Maximum number of points of a motif in the first search. A choice: it only has to rank places."""

_SAME_DIRECTION = 0.98
"""Poses of the same place are duplicates if the cosine of the angle between them is larger (11.5°). A
choice."""

_MIN_RELATIVE_ZNCC = 0.6
"""A choice: poses with a ZNCC below this share of the best are dropped."""

_UNOCCLUDED_ZNCC = 0.93
"""A choice: with a lower ZNCC the piece may be occluded."""


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
        model, max_kept = self.model, round(_MAX_KEPT * _pose_factor(scene, crowd))
        found = Fits(self.starts(scene, threads, crowd), np.zeros(0))
        for stage in self.stages:
            ended = descend(scene, model.pyramid, self.motion, stage, found.poses)
            # Many starts lie in one basin. Without the duplicates, other objects have a chance to go on.
            found = likely(distinct(ended, model.centre, model.duplicate_distance, max_kept), few=6)
        return found

    def starts(self, scene: ScenePyramid, threads: int, crowd: int = 1) -> Poses:
        """The best places of the first search, from which descents start; arguments as for a call."""
        maps = screen(scene.reduced(self.model.screen_scale), self.kernels, threads)
        spots, _ = peaks(maps, self.kernels, round(_MAX_STARTS * _pose_factor(scene, crowd)))
        return np.reshape([placed(a, s, (x, y), self.model.centre) for x, y, a, s in spots], (-1, 3, 3))

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of a descent, from the scale of the first search to the one at which fits are scored."""
        scales = halved_scales(self.model.screen_scale, self.model.scoring_scale)
        # More pixels from the third scale on: by then few poses are left, and they have to be ranked.
        return tuple(
            Stage(scale, COARSE_STEPS, pixels=COARSE_PIXELS if k < 2 else FINE_PIXELS)
            for k, scale in enumerate(scales)
        )


def _pose_factor(scene: ScenePyramid, crowd: int) -> float:
    """The factor by which more poses than usual are followed, in a large scene or a crowd."""
    return crowd * max(1.0, math.prod(scene.size) / _USUAL_PIXELS)


def distinct(found: Fits, centre: Point, near: float, count: int) -> Fits:
    """The best `count` poses without duplicates: of descents that end in the same pose, one is kept.

    Arguments:
        found: poses of a motif.
        centre: of the motif, in its pixels.
        near: duplicates are closer than this, in pixels of the scene.
        count: maximum number of poses.
    """
    order = np.argsort(-found.zncc, kind="stable")
    poses, zncc = found.poses[order], found.zncc[order]
    spots = (poses @ np.array((*centre, 1.0)))[:, :2]
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

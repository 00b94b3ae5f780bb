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
from wherein.pyramid.levels import Descended, MotifLevels, SceneLevels, descend
from wherein.pyramid.register_pyramid import Poses
from wherein.pyramid.screen import Kernels, Looks, peaks, screen
from wherein.registration.plan import Stage
from wherein.template.pose import placed
from wherein.template.tree import Matrix

_POINTS, _SIDE, _PURE = 140, 5, 0.45
"""The least that a motif is reduced to for the first look: points, pixels across, and the share of its pixels
that are not half background."""

BASIN = 1.5
"""Pixels of the scale from which a point of the motif finds home."""


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
    levels, factor = MotifLevels(motif), 1
    while 2 * factor <= most and _tells(levels.reduced(2 * factor), points):
        factor *= 2
    return factor


def _tells(small: Motif, points: int) -> bool:
    pure, half = int((small.mask > 0.85).sum()), int((small.mask > 0.5).sum())
    across = min(small.mask.amax(0).gt(0.5).sum(), small.mask.amax(1).gt(0.5).sum())
    return pure >= points and pure >= _PURE * half and int(across) >= _SIDE


@dataclass(frozen=True, eq=False)
class Fitting:
    """A piece with all that can be made of it before a scene is seen.

    Attributes:
        piece: what is looked for.
        levels: its carrier at every scale.
    """

    piece: Piece
    levels: MotifLevels

    @staticmethod
    def of(piece: Piece) -> "Fitting":
        """Nothing is made yet."""
        return Fitting(piece, MotifLevels(piece.motif))

    @cached_property
    def first(self) -> int:
        """The scale of the first look at every place."""
        return coarsest(self.piece.motif)

    @cached_property
    def near(self) -> int:
        """The scale of the first look around a joint: a wide basin matters more than what can be told
        apart."""
        return coarsest(self.piece.motif, points=100, most=4)

    @cached_property
    def turn_step(self) -> float:
        """Degrees between starts about the joint, so that no point of the piece is further than a basin
        away."""
        motif, (x, y) = self.piece.motif, self.piece.carrier.at
        corners = [(x + i, y + j) for i in (0, motif.width - 1) for j in (0, motif.height - 1)]
        reach = max(math.dist(corner, self.piece.joint) for corner in corners)
        return 2 * math.degrees(math.atan2(BASIN * self.near, reach))

    @cached_property
    def starts(self) -> Matrix:
        """(T, 3, 3): turns about the joint from which a descent begins."""
        return self.piece.starts(self.turn_step)

    @cached_property
    def about_joint(self) -> tuple[Stage, ...]:
        """The scales of a descent about the joint: from the first look to where the fit is judged."""
        return tuple(Stage(factor, 8, pixels=600) for factor in _halves(self.near, self.judged))

    @cached_property
    def under_covers(self) -> Stage:
        """How a piece that may be covered descends once more where the fit is judged."""
        return Stage(self.judged, 12, pixels=1200)

    @cached_property
    def judged(self) -> int:
        """The scale at which the fit is judged: noise and blur matter less at half size than at full."""
        return min(2, coarsest(self.piece.motif, points=100))

    @cached_property
    def rest(self) -> NDArray[np.float64]:
        """Carrier pixels → canvas."""
        return self.piece.carrier.rest

    @cached_property
    def away(self) -> NDArray[np.float64]:
        """Canvas → carrier pixels."""
        return np.linalg.inv(self.rest).astype(np.float64)


EUCLIDEAN, SIMILARITY = motion_named("euclidean"), motion_named("similarity")


@dataclass(frozen=True, eq=False)
class Seeker:
    """Looks for a piece at every place, rotation and scale."""

    fitting: Fitting
    kernels: Kernels
    motion: Motion

    @staticmethod
    def of(
        fitting: Fitting, rotation: float, scale: tuple[float, float], turn: float = 15.0, ratio: float = 1.12
    ) -> "Seeker":
        """For poses within ± `rotation` degrees and the scales."""
        looks = Looks.over(min(180.0, rotation), turn, scale, ratio)
        kernels = Kernels.of(fitting.piece.motif, fitting.first, looks, limit=64)
        motion = EUCLIDEAN if scale[0] == scale[1] else SIMILARITY
        return Seeker(fitting, kernels, motion)

    def __call__(self, scene: SceneLevels, threads: int, crowd: int = 1) -> Descended:
        """Its likely poses (carrier pixels → scene), brought to rest at half size, the best first.

        Arguments:
            scene: where to look.
            threads: for the first look.
            crowd: times as many as usual.
        """
        kept = round(_KEPT * _more(scene, crowd))
        found = Descended(self.starts(scene, threads, crowd), np.zeros(0))
        for stage in self.stages:
            ended = descend(scene, self.fitting.levels, self.motion, stage, found.poses)
            found = likely(distinct(ended, self.fitting.piece.motif, kept), few=6)
        return found

    def starts(self, scene: SceneLevels, threads: int, crowd: int = 1) -> Poses:
        """The best places of a first look, from which descents begin; arguments as of a call."""
        motif = self.fitting.piece.motif
        maps = screen(scene.surface(self.fitting.first).scene, self.kernels, threads)
        spots, _ = peaks(maps, self.kernels, round(_SCREENED * _more(scene, crowd)))
        centre = ((motif.width - 1) / 2, (motif.height - 1) / 2)
        return np.reshape([placed(a, s, (x, y), centre) for x, y, a, s in spots], (-1, 3, 3))

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The scales of a descent, from the first look to where the fit is judged."""
        factors = _halves(self.fitting.first, self.fitting.judged)
        return tuple(Stage(f, 8, pixels=600 if k < 2 else 1200) for k, f in enumerate(factors))


def _halves(first: int, last: int) -> tuple[int, ...]:
    """Powers of 2 from the first down to the last."""
    return (first, *_halves(first // 2, last)) if first > last else (first,)


def _more(scene: SceneLevels, crowd: int) -> float:
    """Times as many poses as usual are followed: in a large scene, or a crowd."""
    return crowd * max(1.0, math.prod(scene.size) / _USUAL)


def distinct(found: Descended, motif: Motif, count: int) -> Descended:
    """The best `count`, one of each pose: starts that came to rest together are one."""
    order = np.argsort(-found.zncc, kind="stable")
    poses, zncc = found.poses[order], found.zncc[order]
    near = max(1.5, 0.03 * math.hypot(motif.width, motif.height))
    spots = (poses @ np.array(((motif.width - 1) / 2, (motif.height - 1) / 2, 1.0)))[:, :2]
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
    return Descended(poses[kept], zncc[kept])


def likely(found: Descended, few: int = 3) -> Descended:
    """Those that are not far behind the best, and the first few in any case; the best come first."""
    kept = (found.zncc >= _BEHIND * found.zncc.max(initial=0.0)) | (np.arange(len(found.zncc)) < few)
    return found[np.flatnonzero(kept)]


def despite_covers(
    scene: SceneLevels, fitting: Fitting, motion: Motion, stage: Stage, found: Descended
) -> Descended:
    """The same poses, those that fit badly after a descent that trusts pixels less which do not fit.

    Something in front of a piece pulls it aside; where nothing is, trusting all pixels alike is more exact.
    """
    unsure = covered(found)
    again = descend(scene, fitting.levels, motion, stage, found.poses[unsure], robust=True)
    poses, zncc = found.poses.copy(), found.zncc.copy()
    poses[unsure], zncc[unsure] = again.poses, again.zncc
    return Descended(poses, zncc)


def covered(found: Descended) -> NDArray[np.int64]:
    """Which poses fit so badly that something may be in front of them."""
    return np.flatnonzero((found.zncc < _COVERED) & (found.zncc > 0))


def best_of_each(found: Descended, groups: int, count: int = 1) -> Descended:
    """Of `groups` equally many poses one after the other, the best `count` of each group."""
    zncc = found.zncc.reshape(groups, -1)
    chosen = np.argsort(-zncc, axis=1, kind="stable")[:, :count]
    poses: Poses = np.take_along_axis(found.poses.reshape(groups, -1, 3, 3), chosen[..., None, None], 1)
    return Descended(poses.reshape(-1, 3, 3), np.take_along_axis(zncc, chosen, 1).ravel())

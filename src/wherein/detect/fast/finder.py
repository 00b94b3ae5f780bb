"""The search: hypotheses about the whole object, with every piece placed, coarse to fine over the tree."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.evidence import evidence
from wherein.detect.fast.joint_groups import carried, place_group, with_group
from wherein.detect.fast.joint_hidden import place_beyond
from wherein.detect.fast.joints import LOOSE, TIGHT, Placed, place, scales
from wherein.detect.fast.piece_search import EUCLIDEAN, SIMILARITY, Fitting, Seeker, despite_covers, likely
from wherein.detect.fast.pieces import Piece, Pieces
from wherein.detect.fast.polish import at_rest
from wherein.detect.fast.root_joints import rooted
from wherein.detect.fast.roots import SURE, from_pairs, from_singles, settled
from wherein.detect.fast.score import FOUND, information, score
from wherein.motion.models import Motion
from wherein.pyramid.levels import Descended, SceneLevels, descend, seen
from wherein.pyramid.register_pyramid import Poses
from wherein.registration.plan import Stage
from wherein.template.bundle import Template

_LEADING = 4
"""Limbs that are looked for everywhere, where there is no body to go by or it is hidden."""

_HYPOTHESES = 12
"""That are followed down the tree."""


@dataclass(frozen=True)
class Range:
    """Which poses are looked for: ± degrees, and scales from the lowest to the highest."""

    rotation: float = 180.0
    scale: tuple[float, float] = (1.0, 1.0)

    @property
    def fixed(self) -> bool:
        """Whether there is but one scale."""
        return self.scale[0] == self.scale[1]


@dataclass(frozen=True)
class Steps:
    """How far apart the looks at a piece are: degrees, and ratio of scale."""

    turn: float = 10.0
    ratio: float = 1.1


@dataclass(frozen=True)
class Look:
    """How a scene is looked at.

    Attributes:
        enough: the score from which no more is looked for.
        threads: for the first look.
        crowd: times as many poses as usual are followed, for scenes with many objects.
        most: hypotheses that go on to full size in an octave; None: all that are sure enough.
    """

    enough: float
    threads: int = 1
    crowd: int = 1
    most: int | None = None


@dataclass(frozen=True)
class Judged:
    """Hypotheses with every piece placed, and the score of each.

    Attributes:
        placed: the pieces.
        told: (H,) by home, the information of each piece: `detect.visible`.
        seen: (H,) by home, which share of the piece is in the frame.
        scores: (H,).
    """

    placed: Placed
    told: Mapping[str, NDArray[np.float64]]
    seen: Mapping[str, NDArray[np.float64]]
    scores: NDArray[np.float64]

    def and_also(self, other: "Judged") -> "Judged":
        """Both, those of `self` first."""
        return Judged(
            self.placed.and_also(other.placed),
            {h: np.concatenate((part, other.told[h])) for h, part in self.told.items()},
            {h: np.concatenate((part, other.seen[h])) for h, part in self.seen.items()},
            np.concatenate((self.scores, other.scores)),
        )

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Judged":
        return Judged(
            self.placed[chosen],
            {h: part[chosen] for h, part in self.told.items()},
            {h: part[chosen] for h, part in self.seen.items()},
            self.scores[chosen],
        )


class Finder:
    """Finds where a template could be, in any scene.

    Arguments:
        template: what to look for.
        ranges: which poses.
        weights: how much the evidence of a piece counts, by home.
        steps: between looks, by home.
        reason: evidence that two limbs must have to be followed, in units of what clutter gives one.
    """

    def __init__(
        self,
        template: Template,
        ranges: Range,
        weights: Mapping[str, float],
        steps: Mapping[str, Steps] | None = None,
        reason: float = SURE,
    ) -> None:
        self.template, self.ranges, self.weights, self.steps = template, ranges, weights, steps or {}
        self.reason = reason
        self.pieces = Pieces.of(template)
        self.fittings = {piece.home: Fitting.of(piece) for piece in self.pieces.pieces}

    @cached_property
    def of_body(self) -> Seeker | None:
        """Looks for the body, if there is one."""
        body = self.pieces.body
        if body is None:
            return None
        return self._seeker(body, self.ranges.rotation)

    @cached_property
    def of_limbs(self) -> Mapping[str, Seeker]:
        """Look for the limbs that hang on the root."""
        free = {p.home: p.turn + sum(g.turn for g in self.pieces.groups_above(p)) for p in self.leading}
        return {p.home: self._seeker(p, self.ranges.rotation + free[p.home]) for p in self.leading}

    @cached_property
    def leading(self) -> tuple[Piece, ...]:
        """The limbs with the most texture among those that hang on the root."""
        hung = sorted(self.pieces.hung_on_root, key=lambda piece: piece.texture, reverse=True)
        return tuple(hung[:_LEADING])

    def _seeker(self, piece: Piece, rotation: float) -> Seeker:
        steps = self.steps.get(piece.home, Steps())
        return Seeker.of(self.fittings[piece.home], rotation, self.ranges.scale, steps.turn, steps.ratio)

    def __call__(self, scene: SceneLevels, look: Look) -> Judged:
        """Hypotheses from the body, if there is one; from the limbs where that is not enough."""
        by_body = self.by_body(scene, look) if self.of_body is not None else None
        if by_body is not None and (len(self.leading) < 2 or by_body.scores.max(initial=0.0) >= look.enough):
            return by_body
        by_limbs = self.by_limbs(scene, look)
        return by_limbs if by_body is None else by_body.and_also(by_limbs)

    def by_body(self, scene: SceneLevels, look: Look) -> Judged:
        """Hypotheses from the body."""
        assert self.of_body is not None, "a template with a body"
        fitting = self.of_body.fitting
        found = likely(self.of_body(scene, look.threads, look.crowd))
        found = despite_covers(scene, fitting, self.motion, fitting.under_covers, found)
        root = self.pieces.tree.root
        placed = Placed({root: found.poses @ fitting.away}, {root: found.zncc})
        return self.judge(scene, self.with_limbs(scene, placed))

    def by_limbs(self, scene: SceneLevels, look: Look) -> Judged:
        """Hypotheses from pairs of limbs; where that is not enough, from single ones."""
        found, most = self._seek_limbs(scene, look), _HYPOTHESES * look.crowd
        above = {piece.home: self.pieces.groups_above(piece) for piece in self.leading}
        pairs = from_pairs(found, self.leading, self.weights, self.ranges.scale, most, self.reason, above)
        judged = self.from_roots(scene, pairs, most)
        if judged.scores.max(initial=0.0) >= look.enough and self._sure_pieces(judged)[0] > 1:
            return judged
        singles = from_singles(found, self.leading, self.weights)
        return judged.and_also(self.from_roots(scene, singles))

    def _sure_pieces(self, judged: Judged) -> NDArray[np.int64]:
        """How many pieces of each hypothesis are there beyond doubt: with one alone, the root is a guess."""
        return np.sum([self.weights[home] * told >= SURE for home, told in judged.told.items()], axis=0)

    def _seek_limbs(self, scene: SceneLevels, look: Look) -> dict[str, Descended]:
        """Likely frames of every leading limb by home, the limbs side by side."""
        seekers = self.of_limbs
        scene.surface(max((seeker.fitting.first for seeker in seekers.values()), default=1))  # not by each
        with ThreadPoolExecutor(look.threads) as pool:
            ended = list(pool.map(lambda seeker: seeker(scene, 1, look.crowd), seekers.values()))
        return {
            home: Descended(one.poses @ seekers[home].fitting.away, one.zncc)
            for home, one in zip(seekers, ended, strict=True)
        }

    def from_roots(self, scene: SceneLevels, roots: Poses, most: int = _HYPOTHESES) -> Judged:
        """Pieces placed about guessed roots, the roots about the pieces, and the pieces again of the best."""
        hung, root = self.pieces.hung_on_root, self.pieces.tree.root
        placed = self.with_limbs(scene, Placed({root: roots}, {}), LOOSE)
        trust = {piece.home: information(placed.zncc[piece.home]) for piece in hung}
        told = sum(self.weights[home] * trust[home] for home in trust)
        best = np.argsort(-np.asarray(told), kind="stable")[:most]
        sizes = self._sizes(scene, placed, trust)
        roots = settled(placed.frames, trust, hung, roots, sizes)[best]
        placed = Placed({root: roots}, {})
        if self.pieces.body is not None:
            placed = self._with_body(scene, placed)
        return self.judge(scene, self.with_limbs(scene, placed))

    def _sizes(
        self, scene: SceneLevels, placed: Placed, trust: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """The scale of each hypothesis: the mean over its limbs, each left to find its own."""
        roots = placed.frames[self.pieces.tree.root]
        if self.ranges.fixed:
            return np.full(len(roots), self.ranges.scale[0])
        total, weights = np.zeros(len(roots)), np.full(len(roots), 1e-9)
        for piece in self.pieces.hung_on_root:
            fitting = self.fittings[piece.home]
            stage, poses = Stage(fitting.judged, 8, pixels=600), placed.frames[piece.home] @ fitting.rest
            ended = descend(scene, fitting.levels, SIMILARITY, stage, poses)
            weight = trust[piece.home] * piece.texture
            total += weight * np.log(np.maximum(scales(ended.poses), 1e-9))
            weights += weight
        means = np.where(weights > 1e-6, np.exp(total / weights), scales(roots))
        return np.clip(means, *self.ranges.scale)

    def _with_body(self, scene: SceneLevels, placed: Placed) -> Placed:
        """The body where the limbs say that it is."""
        body = self.pieces.body
        assert body is not None, "a template with a body"
        fitting, root = self.fittings[body.home], self.pieces.tree.root
        found = Descended(placed.frames[root] @ fitting.rest, np.zeros(0))
        for factor in (4, 2):
            stage = Stage(max(min(factor, fitting.near), fitting.judged), 8, pixels=600)
            found = descend(scene, fitting.levels, self.motion, stage, found.poses)
        # One that is covered says nothing, and must not pull the limbs aside.
        sure = self.weights[body.home] * information(found.zncc) >= FOUND
        frames = np.where(sure[:, None, None], found.poses @ fitting.away, placed.frames[root])
        return Placed({root: frames}, {root: np.where(sure, found.zncc, -1.0)})

    @property
    def motion(self) -> Motion:
        """Of the body."""
        return EUCLIDEAN if self.ranges.fixed else SIMILARITY

    def with_limbs(self, scene: SceneLevels, placed: Placed, tolerance: float = TIGHT) -> Placed:
        """Every limb about the root, or about the limb or the group that it hangs on."""
        for group, pieces in self.pieces.in_order:
            fittings = [self.fittings[piece.home] for piece in pieces]
            if group is not None:
                placed = place_group(scene, placed, group, fittings, self.weights, tolerance)
            elif pieces[0] is not self.pieces.body:
                placed = self._with_limb(scene, placed, fittings[0], tolerance)
        return placed

    def _with_limb(self, scene: SceneLevels, placed: Placed, fitting: Fitting, tolerance: float) -> Placed:
        """One limb, also where what it hangs on is hidden."""
        piece = fitting.piece
        placed = place(scene, placed, fitting, tolerance)
        if piece.parent in self.fittings and piece.parent != self.pieces.tree.root:
            lost = np.flatnonzero(~self._found(placed, piece.parent) & ~self._found(placed, piece.home))
            beyond = place_beyond(scene, placed[lost], fitting, self.fittings[piece.parent])
            told = np.flatnonzero(self._found(beyond, piece.home))
            placed = placed.with_rows(lost[told], beyond[told])
        return placed

    def _found(self, placed: Placed, home: str) -> NDArray[np.bool_]:
        """Under which hypotheses a piece is there."""
        return self.weights[home] * information(placed.zncc[home]) >= FOUND

    def judge(self, scene: SceneLevels, placed: Placed) -> Judged:
        """The score of each hypothesis, the best first."""
        visible, told = {}, {}
        for piece in self.pieces.pieces:
            fitting, home = self.fittings[piece.home], piece.home
            poses = placed.frames[home] @ fitting.rest
            visible[home] = seen(scene, fitting.levels, poses)
            told[home] = evidence(scene, fitting, Descended(poses, placed.zncc[home]))
        scores = score(told, visible, self.weights)
        order = np.argsort(-scores, kind="stable")
        return Judged(placed, told, visible, scores)[order]

    def polish(self, scene: SceneLevels, judged: Judged) -> Judged:
        """The same hypotheses at full size, judged at the scale where they were before."""
        placed = judged.placed
        for group, pieces in self.pieces.in_order:
            if group is not None:
                placed = carried(judged.placed, placed, group)
            for piece in pieces:
                placed = at_rest(scene, placed, self.fittings[piece.home], self.motion)
            if group is not None:
                placed, _ = with_group(placed, group, pieces, self.weights)
        return self.judge(scene, rooted(placed, self.pieces, self.weights))

"""The search: hypotheses about the whole object, with every piece placement, coarse to fine over the tree."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.evidence import piece_evidence
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.joints import (
    LOOSE,
    TIGHT,
    carried,
    place,
    place_behind_hidden,
    place_group,
    scales,
    with_group,
)
from wherein.detect.fast.piece_search import (
    EUCLIDEAN,
    SIMILARITY,
    PieceModel,
    PieceSearch,
    likely,
    refit_occluded,
)
from wherein.detect.fast.pieces import Piece, Pieces
from wherein.detect.fast.polish import polish_piece
from wherein.detect.fast.roots import (
    SURE,
    root_from_joints,
    roots_from_pairs,
    roots_from_singles,
    settle_roots,
)
from wherein.detect.range import Effort, Range, Sampling
from wherein.detect.score import FOUND, combined_score, information
from wherein.motion.models import Motion
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import Poses, ScenePyramid, visible_fraction
from wherein.template.bundle import Template

_LEADING = 4
"""Limbs that are looked for everywhere, where there is no body to go by or it is hidden."""

_HYPOTHESES = 12
"""That are followed down the tree."""


class Finder:
    """SearchResult where a template could be, in any scene.

    Arguments:
        template: what to look for.
        ranges: which poses.
        weights: how much the evidence of a piece counts, by name.
        steps: between looks, by name.
        reason: evidence that two limbs must have to be followed, in units of what clutter gives one.
    """

    def __init__(
        self,
        template: Template,
        ranges: Range,
        weights: Mapping[str, float],
        steps: Mapping[str, Sampling] | None = None,
        reason: float = SURE,
    ) -> None:
        self.template, self.ranges, self.weights, self.steps = template, ranges, weights, steps or {}
        self.reason = reason
        self.pieces = Pieces.of(template)
        self.models = {piece.name: PieceModel.of(piece) for piece in self.pieces.pieces}

    @cached_property
    def body_search(self) -> PieceSearch | None:
        """PoseGrid for the body, if there is one."""
        body = self.pieces.body
        if body is None:
            return None
        return self._search(body, self.ranges.rotation)

    @cached_property
    def limb_searches(self) -> Mapping[str, PieceSearch]:
        """Look for the limbs that hang on the root."""
        free = {p.name: p.turn + sum(g.turn for g in self.pieces.groups_above(p)) for p in self.leading_limbs}
        return {p.name: self._search(p, self.ranges.rotation + free[p.name]) for p in self.leading_limbs}

    @cached_property
    def leading_limbs(self) -> tuple[Piece, ...]:
        """The limbs with the most texture among those that hang on the root."""
        hung = sorted(self.pieces.hung_on_root, key=lambda piece: piece.texture, reverse=True)
        return tuple(hung[:_LEADING])

    def _search(self, piece: Piece, rotation: float) -> PieceSearch:
        steps = self.steps.get(piece.name, Sampling())
        return PieceSearch.of(self.models[piece.name], rotation, self.ranges.scale, steps.turn, steps.ratio)

    def __call__(self, scene: ScenePyramid, effort: Effort) -> Hypotheses:
        """Hypotheses from the body, if there is one; from the limbs where that is not enough."""
        by_body = self.by_body(scene, effort) if self.body_search is not None else None
        if by_body is not None and (
            len(self.leading_limbs) < 2 or by_body.scores.max(initial=0.0) >= effort.enough
        ):
            return by_body
        by_limbs = self.by_limbs(scene, effort)
        return by_limbs if by_body is None else by_body.joined(by_limbs)

    def by_body(self, scene: ScenePyramid, effort: Effort) -> Hypotheses:
        """Hypotheses from the body."""
        assert self.body_search is not None, "a template with a body"
        model = self.body_search.model
        found = likely(self.body_search(scene, effort.threads, effort.crowd))
        found = refit_occluded(scene, model, self.motion, model.occluded_stage, found)
        root = self.pieces.tree.root
        placement = Placement({root: found.poses @ model.from_canvas}, {root: found.zncc})
        return self.scored(scene, self.with_limbs(scene, placement))

    def by_limbs(self, scene: ScenePyramid, effort: Effort) -> Hypotheses:
        """Hypotheses from pairs of limbs; where that is not enough, from single ones."""
        found, most = self._search_limbs(scene, effort), _HYPOTHESES * effort.crowd
        above = {piece.name: self.pieces.groups_above(piece) for piece in self.leading_limbs}
        pairs = roots_from_pairs(
            found, self.leading_limbs, self.weights, self.ranges.scale, most, self.reason, above
        )
        hypotheses = self.from_roots(scene, pairs, most)
        if hypotheses.scores.max(initial=0.0) >= effort.enough and self._sure_pieces(hypotheses)[0] > 1:
            return hypotheses
        singles = roots_from_singles(found, self.leading_limbs, self.weights)
        return hypotheses.joined(self.from_roots(scene, singles))

    def _sure_pieces(self, hypotheses: Hypotheses) -> NDArray[np.int64]:
        """How many pieces of each hypothesis are there beyond doubt: with one alone, the root is a guess."""
        return np.sum(
            [self.weights[name] * evidence >= SURE for name, evidence in hypotheses.evidence.items()], axis=0
        )

    def _search_limbs(self, scene: ScenePyramid, effort: Effort) -> dict[str, Fits]:
        """Likely frames of every leading limb by name, the limbs side by side."""
        searches = self.limb_searches
        scene.surface(max((search.model.coarsest for search in searches.values()), default=1))  # not by each
        with ThreadPoolExecutor(effort.threads) as pool:
            ended = list(pool.map(lambda search: search(scene, 1, effort.crowd), searches.values()))
        return {
            name: Fits(one.poses @ searches[name].model.from_canvas, one.zncc)
            for name, one in zip(searches, ended, strict=True)
        }

    def from_roots(self, scene: ScenePyramid, roots: Poses, most: int = _HYPOTHESES) -> Hypotheses:
        """Pieces placement about guessed roots, the roots about the pieces, and the pieces again of the best."""
        hung, root = self.pieces.hung_on_root, self.pieces.tree.root
        placement = self.with_limbs(scene, Placement({root: roots}, {}), LOOSE)
        trust = {piece.name: information(placement.zncc[piece.name]) for piece in hung}
        evidence = sum(self.weights[name] * trust[name] for name in trust)
        best = np.argsort(-np.asarray(evidence), kind="stable")[:most]
        sizes = self._sizes(scene, placement, trust)
        roots = root_from_joints(placement.frames, trust, hung, roots, sizes)[best]
        placement = Placement({root: roots}, {})
        if self.pieces.body is not None:
            placement = self._with_body(scene, placement)
        return self.scored(scene, self.with_limbs(scene, placement))

    def _sizes(
        self, scene: ScenePyramid, placement: Placement, trust: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """The scale of each hypothesis: the mean over its limbs, each left to find its own."""
        roots = placement.frames[self.pieces.tree.root]
        if self.ranges.fixed_scale:
            return np.full(len(roots), self.ranges.scale[0])
        total, weights = np.zeros(len(roots)), np.full(len(roots), 1e-9)
        for piece in self.pieces.hung_on_root:
            model = self.models[piece.name]
            stage, poses = (
                Stage(model.scoring_scale, 8, pixels=600),
                placement.frames[piece.name] @ model.to_canvas,
            )
            ended = descend(scene, model.pyramid, SIMILARITY, stage, poses)
            weight = trust[piece.name] * piece.texture
            total += weight * np.log(np.maximum(scales(ended.poses), 1e-9))
            weights += weight
        means = np.where(weights > 1e-6, np.exp(total / weights), scales(roots))
        return np.clip(means, *self.ranges.scale)

    def _with_body(self, scene: ScenePyramid, placement: Placement) -> Placement:
        """The body where the limbs say that it is."""
        body = self.pieces.body
        assert body is not None, "a template with a body"
        model, root = self.models[body.name], self.pieces.tree.root
        found = Fits(placement.frames[root] @ model.to_canvas, np.zeros(0))
        for factor in (4, 2):
            stage = Stage(max(min(factor, model.joint_scale), model.scoring_scale), 8, pixels=600)
            found = descend(scene, model.pyramid, self.motion, stage, found.poses)
        # One that is covered says nothing, and must not pull the limbs aside.
        sure = self.weights[body.name] * information(found.zncc) >= FOUND
        frames = np.where(sure[:, None, None], found.poses @ model.from_canvas, placement.frames[root])
        return Placement({root: frames}, {root: np.where(sure, found.zncc, -1.0)})

    @property
    def motion(self) -> Motion:
        """Of the body."""
        return EUCLIDEAN if self.ranges.fixed_scale else SIMILARITY

    def with_limbs(self, scene: ScenePyramid, placement: Placement, tolerance: float = TIGHT) -> Placement:
        """Every limb about the root, or about the limb or the group that it hangs on."""
        for group, pieces in self.pieces.in_order:
            models = [self.models[piece.name] for piece in pieces]
            if group is not None:
                placement = place_group(scene, placement, group, models, self.weights, tolerance)
            elif pieces[0] is not self.pieces.body:
                placement = self._with_limb(scene, placement, models[0], tolerance)
        return placement

    def _with_limb(
        self, scene: ScenePyramid, placement: Placement, model: PieceModel, tolerance: float
    ) -> Placement:
        """One limb, also where what it hangs on is hidden."""
        piece = model.piece
        placement = place(scene, placement, model, tolerance)
        if piece.parent in self.models and piece.parent != self.pieces.tree.root:
            lost = np.flatnonzero(~self._found(placement, piece.parent) & ~self._found(placement, piece.name))
            beyond = place_behind_hidden(scene, placement[lost], model, self.models[piece.parent])
            evidence = np.flatnonzero(self._found(beyond, piece.name))
            placement = placement.replaced(lost[evidence], beyond[evidence])
        return placement

    def _found(self, placement: Placement, name: str) -> NDArray[np.bool_]:
        """Under which hypotheses a piece is there."""
        return self.weights[name] * information(placement.zncc[name]) >= FOUND

    def scored(self, scene: ScenePyramid, placement: Placement) -> Hypotheses:
        """The score of each hypothesis, the best first."""
        visible, evidence = {}, {}
        for piece in self.pieces.pieces:
            model, name = self.models[piece.name], piece.name
            poses = placement.frames[name] @ model.to_canvas
            visible[name] = visible_fraction(scene, model.pyramid, poses)
            evidence[name] = piece_evidence(scene, model, Fits(poses, placement.zncc[name]))
        scores = combined_score(evidence, visible, self.weights)
        order = np.argsort(-scores, kind="stable")
        return Hypotheses(placement, evidence, visible, scores)[order]

    def polish(self, scene: ScenePyramid, hypotheses: Hypotheses) -> Hypotheses:
        """The same hypotheses at full size, hypotheses at the scale where they were before."""
        placement = hypotheses.placement
        for group, pieces in self.pieces.in_order:
            if group is not None:
                placement = carried(hypotheses.placement, placement, group)
            for piece in pieces:
                placement = polish_piece(scene, placement, self.models[piece.name], self.motion)
            if group is not None:
                placement, _ = with_group(placement, group, pieces, self.weights)
        return self.scored(scene, settle_roots(placement, self.pieces, self.weights))

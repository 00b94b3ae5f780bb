"""The search for an object by its limbs, if it has no body or the body is hidden.

1. A few limbs are searched for over the whole scene.
2. Pairs of limbs whose joints agree, and single limbs that fit very well, determine roots (`roots`).
3. All limbs are placed about each root, the root is fitted to their joints, and the body is fitted there.
4. The limbs are placed once more, and the hypotheses are scored.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.joints.joint_geometry import LOOSE
from wherein.detect.fast.limbs.roots import (
    STRONG_EVIDENCE,
    best_pair_evidence,
    root_from_joints,
    roots_from_pairs,
    roots_from_singles,
)
from wherein.detect.fast.pieces import Joint, Piece
from wherein.detect.score import MIN_EVIDENCE, combined_score, equivalent_zncc, information
from wherein.detect.search_range import Effort
from wherein.motion.homography import scales
from wherein.motion.models import MOTIONS
from wherein.planes.own_resolution import judged
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.planes.plane_search import PlaneSearch
from wherein.pyramid.levels import Poses, ScenePyramid

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder
    from wherein.planes.look.shared_look import SharedLook

_MAX_LEADING_LIMBS = 4
"""Maximum number of limbs that are searched for over the whole scene. A choice: each takes as much time as
the body, and two visible limbs are enough."""

_MAX_HYPOTHESES = 12
"""Maximum number of roots from pairs of limbs about which all limbs are rated. A choice."""

_MAX_ROOTS = 4
"""Maximum number of these roots, and of those from single limbs, about which limbs are placed. A choice."""

_LEAST_RATED = 0.7
"""Lowest ratio of the score by ratings of the limbs to the final score, for true objects and roots from two
limbs. Measured on 281 objects with a hidden body, of six templates (four cut from photographs): two had 0.46
and 0.56, and scored far above the threshold; the others had at least 0.74."""

_LEAST_PLACED = 0.85
"""The same after the limbs are placed. A choice: roots are still off by some pixels."""

_PLAIN_VIEW, _MIN_LIMBS_SCORE = 0.9, 0.5
"""ZNCC of limbs in plain view, and the score that they must then reach together for the search by limbs to be
used. Choices: clutter reaches the low scores of limbs with little evidence."""

_SIMILARITY = MOTIONS["similarity"]


class LimbSearch:
    """Finds hypotheses by the limbs of a template, in any scene.

    Arguments:
        finder: the finder of the whole object.
        min_pair_evidence: minimum weighted evidence of two limbs together, or of one alone, that are
            followed.
    """

    def __init__(self, finder: "Finder", min_pair_evidence: float) -> None:
        self._finder, self._min_pair_evidence = finder, min_pair_evidence

    @cached_property
    def searches(self) -> Mapping[str, PlaneSearch]:
        """The searches for the leading limbs, by name: over the range of the object, extended by the turns of
        their joints."""
        # Without tilt: a single limb is too small to determine its plane, and two joints determine a
        # similarity.
        flat = replace(self._finder.ranges, tilt=0.0)
        free = {
            p.name: p.turn + sum(g.turn for g in self._finder.pieces.groups_above(p)) for p in self.leading
        }
        return {p.name: self._finder.search_of(p, flat, free[p.name]) for p in self.leading}

    @cached_property
    def _look(self) -> "SharedLook":
        """One first look for all leading limbs together, in the order of `searches`."""
        return self._finder.look_for(list(self.searches.values()))

    @cached_property
    def leading(self) -> tuple[Piece, ...]:
        """The limbs attached to the root that have the most texture."""
        limbs = sorted(self._finder.pieces.root_limbs, key=lambda piece: piece.texture, reverse=True)
        return tuple(limbs[:_MAX_LEADING_LIMBS])

    @cached_property
    def suffices(self) -> bool:
        """Whether the limbs alone distinguish an object with a hidden body from clutter."""
        limbs = [piece.name for piece in self._finder.pieces.limbs]
        shown = {name: np.array([_PLAIN_VIEW * (name in limbs)]) for name in self._finder.weights}
        evidence = {name: information(zncc) for name, zncc in shown.items()}
        score = combined_score(
            evidence, dict.fromkeys(self._finder.weights, np.ones(1)), self._finder.weights
        )
        # With fewer than two limbs there is no pair that determines the root.
        return len(self.leading) > 1 and bool(score[0] >= _MIN_LIMBS_SCORE)

    def __call__(self, scene: ScenePyramid, effort: Effort) -> Hypotheses:
        """Hypotheses from pairs of limbs, and also from single limbs if none of those is good enough."""
        found, count = self._search_limbs(scene, effort), _MAX_HYPOTHESES * effort.crowd
        finder, least = self._finder, self._min_pair_evidence
        pairs = roots_from_pairs(
            found, self.leading, finder.weights, finder.ranges.scale, count, least, self._groups
        )
        hypotheses = self.from_roots(scene, pairs, _MAX_ROOTS * effort.crowd, effort.least)
        # One strong piece alone may reach a high score too, but does not determine the root.
        if hypotheses.scores.max(initial=0.0) >= effort.stop_score and self._strong_pieces(hypotheses)[0] > 1:
            return hypotheses
        singles = roots_from_singles(found, self.leading, finder.weights, least)
        return hypotheses.joined(self.from_roots(scene, singles, least=effort.least))

    def best_pair(self, scene: ScenePyramid) -> float:
        """The highest weighted evidence of two limbs whose joints agree."""
        found, finder = self._search_limbs(scene, Effort(1.0)), self._finder
        return best_pair_evidence(found, self.leading, finder.weights, finder.ranges.scale, self._groups)

    @cached_property
    def _groups(self) -> Mapping[str, tuple[Joint, ...]]:
        """The groups between each leading limb and the root, the nearest first, by name."""
        return {piece.name: self._finder.pieces.groups_above(piece) for piece in self.leading}

    def _strong_pieces(self, hypotheses: Hypotheses) -> NDArray[np.int64]:
        """The number of pieces with strong evidence in each hypothesis, (H,)."""
        strong = [
            self._finder.weights[name] * evidence >= STRONG_EVIDENCE
            for name, evidence in hypotheses.evidence.items()
        ]
        return np.sum(strong, axis=0)

    def _search_limbs(self, scene: ScenePyramid, effort: Effort) -> dict[str, PlaneFits]:
        """Likely frames of every leading limb, by name."""
        # These are refined, but not fitted. Fits are left to pairs that agree, of which clutter has few.
        searches = self.searches
        if self._finder.body_search is None:
            ended = {name: search.briefly(scene, effort.crowd) for name, search in searches.items()}
        else:
            # If a body was not found, it is rarely hidden and mostly absent. One look for all limbs, which is
            # less thorough, takes far less time than a look for each.
            places = zip(searches, self._look(scene), strict=True)
            ended = {name: searches[name].likely(scene, poses, effort.crowd) for name, poses in places}
        return {
            name: replace(fits, poses=fits.poses @ self._finder.models[name].from_canvas)
            for name, fits in ended.items()
        }

    def from_roots(
        self, scene: ScenePyramid, roots: Poses, count: int = _MAX_ROOTS, least: float = 0.0
    ) -> Hypotheses:
        """Hypotheses from the `count` best of approximate root frames, without those that cannot reach the
        score `least`.

        The limbs are placed about the given roots, the roots are fitted to the joints of the limbs that were
        found, and the limbs are placed once more about the fitted roots.
        """
        finder = self._finder
        limbs, root = finder.pieces.root_limbs, finder.pieces.tree.root
        rated = finder.limb_evidence(scene, roots)
        roots = roots[self._useful(rated, _LEAST_RATED * least)[:count]]
        if not len(roots):
            return finder.nothing
        # Loose, since the roots are estimates, and so are their joints. Only limbs at the root: limbs of
        # limbs do not constrain it.
        names = [piece.name for piece in limbs]
        placement = finder.with_limbs(scene, Placement({root: roots}, {}), LOOSE, names)
        trust = {piece.name: information(placement.zncc[piece.name]) for piece in limbs}
        evidence = np.sum([finder.weights[name] * own for name, own in trust.items()], axis=0)
        best = self._useful(evidence, _LEAST_PLACED * least)
        placement, roots = placement[best], roots[best]
        trust = {name: own[best] for name, own in trust.items()}
        sizes = self._root_scales(scene, placement, trust)
        roots = root_from_joints(placement.frames, trust, limbs, roots, sizes)
        placement = Placement({root: roots}, {})
        if finder.pieces.body is not None:
            placement = self._with_body(scene, placement)
        return finder.scored(scene, finder.with_limbs(scene, placement))

    def _useful(self, evidence: NDArray[np.float64], least: float) -> NDArray[np.int64]:
        """The indices of hypotheses that score at least `least` by the evidence of limbs, the best first."""
        # The body counts as not found, since it is hidden or is found by its own search: its weight lowers
        # the score, as in the final one. Limbs of limbs were not rated and do not count.
        root_limbs, body = self._finder.pieces.root_limbs, self._finder.pieces.body
        counted = root_limbs if body is None else (body, *root_limbs)
        scores = equivalent_zncc(evidence / sum(self._finder.weights[piece.name] for piece in counted))
        order = np.argsort(-evidence, kind="stable")
        return order[scores[order] >= least]

    def _root_scales(
        self, scene: ScenePyramid, placement: Placement, trust: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """The scale of each hypothesis, (H,): the geometric mean over its limbs, each fitted with a free
        scale."""
        roots = placement.frames[self._finder.pieces.tree.root]
        if self._finder.ranges.fixed_scale:
            return np.full(len(roots), self._finder.ranges.scale[0])
        total, weights = np.zeros(len(roots)), np.full(len(roots), 1e-9)
        for piece in self._finder.pieces.root_limbs:
            model = self._finder.models[piece.name]
            poses = placement.frames[piece.name] @ model.to_canvas
            ended = fit_planes(scene, model.stages[-1], _SIMILARITY, PlaneStage(), poses)
            weight = trust[piece.name] * piece.texture  # more texture determines the scale better
            total += weight * np.log(np.maximum(scales(ended.poses, (0.0, 0.0)), 1e-9))
            weights += weight
        means = np.where(weights > 1e-6, np.exp(total / weights), scales(roots, (0.0, 0.0)))
        return np.clip(means, *self._finder.ranges.scale)

    def _with_body(self, scene: ScenePyramid, placement: Placement) -> Placement:
        """The placement with the body, fitted from the root that the limbs determine."""
        body = self._finder.pieces.body
        assert body is not None, "a template with a body"
        model, root = self._finder.models[body.name], self._finder.pieces.tree.root
        found = PlaneFits(placement.frames[root] @ model.to_canvas, np.zeros(0), np.zeros(0))
        for motif in model.stages:
            found = fit_planes(scene, motif, self._finder.motion, PlaneStage(), found.poses)
        found = judged(scene, model.judges, self._finder.motion, found)
        # A hidden body fits whatever covers it. Such a fit must not move the root, and with it the limbs.
        fitted = found.poses @ model.from_canvas
        visible = (
            self._finder.weights[body.name] * self._finder.scoring.body_information(found.zncc, fitted)
            >= MIN_EVIDENCE
        )
        frames = np.where(visible[:, None, None], fitted, placement.frames[root])
        return Placement({root: frames}, {root: np.where(visible, found.zncc, -1.0)})

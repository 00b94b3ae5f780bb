"""The search for an object by its limbs, where it has no body or that is hidden.

A few limbs are looked for over the whole scene. Pairs whose joints agree, and single limbs that fit very
well, say where the root is (`roots`); about it all limbs are placed, and in the end the body.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.joints import LOOSE
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
"""How many limbs are searched for over the whole scene, where there is no body or it is hidden. A choice:
each costs as much time as the body, and two that are visible are enough."""

_MAX_HYPOTHESES = 12
"""How many root hypotheses from pairs of limbs are rated by all their limbs. A choice."""

_MAX_ROOTS = 4
"""How many of them, and of those from single limbs, are followed down the tree. A choice."""

_LEAST_RATED = 0.7
"""Share of its score in the end that an object at least has when the limbs are rated about a root that two of
them gave. By 281 objects with a hidden body, of six templates (four cut from photographs): two had 0.46 and
0.56, and scored far above the threshold; the others had at least 0.74."""

_LEAST_PLACED = 0.85
"""The same when they are placed. A choice: roots are still off by some pixels."""

_PLAIN_VIEW, _MIN_LIMBS_SCORE = 0.9, 0.5
"""ZNCC of limbs in plain view, and the score that they must then reach together for an object to be found
without its body. Choices: what little limbs reach, clutter reaches too."""

_SIMILARITY = MOTIONS["similarity"]


class LimbSearch:
    """Finds hypotheses by the limbs of a template, in any scene.

    Arguments:
        finder: of the whole object.
        min_pair_evidence: weighted evidence that two limbs must have together, or one alone, to be followed.
    """

    def __init__(self, finder: "Finder", min_pair_evidence: float) -> None:
        self._finder, self._min_pair_evidence = finder, min_pair_evidence

    @cached_property
    def searches(self) -> Mapping[str, PlaneSearch]:
        """The searches for the leading limbs, by name: over the range, and as far as their joints may
        turn."""
        # Not tilted: a single limb is too small to tell how its plane lies, and pairs of them do not.
        flat = replace(self._finder.ranges, tilt=0.0)
        free = {
            p.name: p.turn + sum(g.turn for g in self._finder.pieces.groups_above(p)) for p in self.leading
        }
        return {p.name: self._finder.search_of(p, flat, free[p.name]) for p in self.leading}

    @cached_property
    def _look(self) -> "SharedLook":
        """One look for the leading limbs together, in the order of `searches`."""
        return self._finder.look_for(list(self.searches.values()))

    @cached_property
    def leading(self) -> tuple[Piece, ...]:
        """Those limbs attached to the root that have the most texture."""
        limbs = sorted(self._finder.pieces.root_limbs, key=lambda piece: piece.texture, reverse=True)
        return tuple(limbs[:_MAX_LEADING_LIMBS])

    @cached_property
    def suffices(self) -> bool:
        """Whether an object whose body is hidden can be told from clutter by its limbs."""
        limbs = [piece.name for piece in self._finder.pieces.limbs]
        shown = {name: np.array([_PLAIN_VIEW * (name in limbs)]) for name in self._finder.weights}
        evidence = {name: information(zncc) for name, zncc in shown.items()}
        score = combined_score(
            evidence, dict.fromkeys(self._finder.weights, np.ones(1)), self._finder.weights
        )
        # With fewer than two limbs there is no pair to tell where the body is.
        return len(self.leading) > 1 and bool(score[0] >= _MIN_LIMBS_SCORE)

    def __call__(self, scene: ScenePyramid, effort: Effort) -> Hypotheses:
        """Hypotheses from pairs of limbs, and from single limbs if those are not enough."""
        found, count = self._search_limbs(scene, effort), _MAX_HYPOTHESES * effort.crowd
        finder, least = self._finder, self._min_pair_evidence
        pairs = roots_from_pairs(
            found, self.leading, finder.weights, finder.ranges.scale, count, least, self._groups
        )
        hypotheses = self.from_roots(scene, pairs, _MAX_ROOTS * effort.crowd, effort.least)
        # One strong piece alone reaches a high score too, but then the root is a guess.
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
        # None is fitted: two that agree are placed and fitted with all the others, and in clutter none do.
        searches = self.searches
        if self._finder.body_search is None:
            ended = {name: search.briefly(scene, effort.crowd) for name, search in searches.items()}
        else:
            # A body is rarely hidden, and mostly not there at all: one look for all limbs takes far less time
            # than looks for each.
            places = zip(searches, self._look(scene), strict=True)
            ended = {name: searches[name].likely(scene, poses, effort.crowd) for name, poses in places}
        return {
            name: replace(fits, poses=fits.poses @ self._finder.models[name].from_canvas)
            for name, fits in ended.items()
        }

    def from_roots(
        self, scene: ScenePyramid, roots: Poses, count: int = _MAX_ROOTS, least: float = 0.0
    ) -> Hypotheses:
        """Hypotheses from the `count` best of approximate root frames, if they may score at least `least`.

        The limbs are placed about the given roots, the roots are fitted to the joints of the limbs that were
        found, and the limbs are placed once more about those.
        """
        finder = self._finder
        limbs, root = finder.pieces.root_limbs, finder.pieces.tree.root
        rated = finder.limb_evidence(scene, roots)
        roots = roots[self._useful(rated, _LEAST_RATED * least)[:count]]
        if not len(roots):
            return finder.nothing
        # Loose, since the roots are guesses and their joints are off; limbs of limbs say nothing about them.
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
        # The body counts as not found: it is hidden, or is found by itself. Limbs of limbs do not count.
        root_limbs, body = self._finder.pieces.root_limbs, self._finder.pieces.body
        counted = root_limbs if body is None else (body, *root_limbs)
        scores = equivalent_zncc(evidence / sum(self._finder.weights[piece.name] for piece in counted))
        order = np.argsort(-evidence, kind="stable")
        return order[scores[order] >= least]

    def _root_scales(
        self, scene: ScenePyramid, placement: Placement, trust: Mapping[str, NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """The scale of each hypothesis: the geometric mean over its limbs, each fitted with a free scale."""
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
        """The placement with the body fitted where the limbs have it."""
        body = self._finder.pieces.body
        assert body is not None, "a template with a body"
        model, root = self._finder.models[body.name], self._finder.pieces.tree.root
        found = PlaneFits(placement.frames[root] @ model.to_canvas, np.zeros(0), np.zeros(0))
        for motif in model.stages:
            found = fit_planes(scene, motif, self._finder.motion, PlaneStage(), found.poses)
        found = judged(scene, model.judges, self._finder.motion, found)
        # A hidden body fits whatever covers it, and must not pull the limbs aside.
        fitted = found.poses @ model.from_canvas
        visible = (
            self._finder.weights[body.name] * self._finder.scoring.body_information(found.zncc, fitted)
            >= MIN_EVIDENCE
        )
        frames = np.where(visible[:, None, None], fitted, placement.frames[root])
        return Placement({root: frames}, {root: np.where(visible, found.zncc, -1.0)})

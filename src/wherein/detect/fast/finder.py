"""The search for the whole object: hypotheses with a frame for every piece, coarse to fine, down the tree.

All pieces are fitted in the same way, by their channels (`planes.plane_fit`), as flat motifs in one plane.
The body's pose is that plane: a homography where the object may be tilted. A limb then moves *in* the plane,
by a turn about its joint, whatever the perspective.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.exclusion import Supports
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.joints import (
    TIGHT,
    carry_group,
    place,
    place_behind_hidden,
    place_group,
    turn_group,
)
from wherein.detect.fast.limbs.axles import set_apart
from wherein.detect.fast.limbs.limb_search import LimbSearch
from wherein.detect.fast.limbs.roots import STRONG_EVIDENCE
from wherein.detect.fast.limbs.settled_roots import settle_roots
from wherein.detect.fast.piece_model import PieceModel
from wherein.detect.fast.pieces import Joint, Piece, Pieces
from wherein.detect.fast.polish import (
    end_pieces,
    polish_pieces,
    with_polished,
)
from wherein.detect.fast.scoring import Scoring
from wherein.detect.score import equivalent_zncc, information
from wherein.detect.search_range import Effort, Range
from wherein.planes.cover import point_evidence
from wherein.planes.look.crowd_floor import NO_FLOOR, CrowdFloor
from wherein.planes.look.shared_look import SharedLook
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_search import GoesOn, PlaneSearch
from wherein.planes.rating import rate_turns
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.bundle import Template

_MIN_BODY_EVIDENCE, _MAX_UNLIKELY = 1.3, 2
"""Weighted evidence of a body whose limbs are searched for, and how many are followed where none has it.
Choices: clutter reaches 1 at the best of all places."""

_MAX_RATED, _RATED_SHARE = 4, 0.5
"""Number of likely bodies whose limbs are placed, if they can come to a score of use; of more, those with at
least this share of the threshold when all limbs are rated. Choices: ratings are lower than what fits
reach."""

_LEAST_RATED = 0.85
"""Share of its score in the end that an object at least has when its limbs are rated. By 290 objects in plain
view and with limbs missing or covered, of six templates (four cut from photographs): the lowest was 0.87, and
half had more than 0.98."""


class Finder:
    """Finds hypotheses about where a template is, in any scene.

    Arguments:
        template: what to search for.
        ranges: in which poses.
        weights: of the evidence of a piece, by name.
        tilt_cost: information that clutter gains where the body may be tilted.
        size_power: of the object's size, by which the information that clutter reaches falls.
        crowd_from: of the search for the body (`PlaneSearch`).
        min_pair_evidence: weighted evidence that two limbs must have together to be followed.

    Attributes:
        middle, corners: of the canvas, (x, y) and (4, 2).
        motion: how the body may move in the end.
        scoring: how hypotheses are scored.
    """

    def __init__(
        self,
        template: Template,
        ranges: Range,
        weights: Mapping[str, float],
        tilt_cost: float = 0.0,
        min_pair_evidence: float = STRONG_EVIDENCE,
        size_power: float = 0.0,
        crowd_from: CrowdFloor = NO_FLOOR,
    ) -> None:
        self.template, self.ranges = template, ranges
        self._crowd_from, self._min_pair_evidence = crowd_from, min_pair_evidence
        self.pieces, self.motion = Pieces.of(template), ranges.of_plane().motion
        self.middle = template.centre
        root = self.pieces.tree.root
        self.scoring = Scoring(root, self.middle, ranges, weights, tilt_cost, size_power)
        width, height = template.size
        self.corners = np.array(((0.0, 0.0), (width, 0.0), (width, height), (0.0, height)))
        groups = {group.name: group for group in self.pieces.groups}
        self.models = {
            p.name: PieceModel(p, groups.get(p.parent), ranges.any_polarity) for p in self.pieces.pieces
        }

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights of the evidence of pieces, by name."""
        return self.scoring.weights

    @cached_property
    def body_search(self) -> PlaneSearch | None:
        """The search for the body, if there is one."""
        body = self.pieces.body
        return None if body is None else self.search_of(body, self.ranges)

    @cached_property
    def nothing(self) -> Hypotheses:
        """No hypotheses: what is found in most scenes, without the work of placing the limbs of none."""
        root, pieces, groups = self.pieces.tree.root, self.pieces.pieces, self.pieces.groups
        frames = {name: np.zeros((0, 3, 3)) for name in (root, *(one.name for one in (*pieces, *groups)))}
        each = {piece.name: np.zeros(0) for piece in pieces}
        return Hypotheses(Placement(frames, each), each, each, np.zeros(0))

    @cached_property
    def limb_search(self) -> LimbSearch:
        """The search by limbs, for objects without a body, or with a hidden one."""
        return LimbSearch(self, self._min_pair_evidence)

    def search_of(self, piece: Piece, ranges: Range, further: float = 0.0) -> PlaneSearch:
        """The search for a piece that may be turned `further` degrees relative to the object."""
        own = ranges.of_plane(further)
        model = self.models[piece.name]
        return PlaneSearch(
            piece.motif, own, ranges.any_polarity, piece.covered, self._crowd_from, lambda: model.stages
        )

    @staticmethod
    def look_for(searches: Sequence[PlaneSearch]) -> SharedLook:
        """One look for several pieces together."""
        return SharedLook(searches)

    def __call__(self, scene: ScenePyramid, effort: Effort) -> Hypotheses:
        """Hypotheses from the body, if there is one, and from the limbs if those do not reach
        `stop_score`."""
        from_body = self.from_body(scene, effort) if self.body_search is not None else None
        # The search for limbs over all of the scene costs more than that for the body.
        if from_body is not None and (
            not self.limb_search.suffices or from_body.scores.max(initial=0.0) >= effort.stop_score
        ):
            return from_body
        from_limbs = self.limb_search(scene, effort)
        return from_limbs if from_body is None else from_body.joined(from_limbs)

    def from_body(
        self,
        scene: ScenePyramid,
        effort: Effort,
        refined: PlaneFits | None = None,
        goes_on: GoesOn | None = None,
    ) -> Hypotheses:
        """Hypotheses from the body: its pose fixes the root's frame.

        Arguments:
            scene: the scene to search.
            effort: how far to search.
            refined: poses of the body to follow; None: those of a search of the whole scene.
            goes_on: which fits of these are followed any further; None: all.
        """
        search = self.body_search
        assert search is not None, "a template with a body"
        ended = (
            search(scene, self._standing_out, self._may_stand_out)
            if refined is None
            else search.followed(scene, refined, self._standing_out, goes_on)
        )
        found = ended[-1]
        if not self.pieces.limbs:
            return self.from_body_poses(scene, found)
        # Placing all limbs costs far more than the fit of the body, so only likely poses go on: those that
        # fit better than clutter does, or else the best two, unless the limbs are looked for next anyway.
        weight = self.weights.get(self.pieces.tree.root, 1.0)
        frames = found.poses @ self.models[self.pieces.tree.root].from_canvas
        likely = weight * self.scoring.body_information(found.zncc, frames) >= _MIN_BODY_EVIDENCE
        if not likely.any() and not self.limb_search.suffices:
            likely[:_MAX_UNLIKELY] = True
        return self.from_body_poses(
            scene, self._with_likely_limbs(scene, found[np.flatnonzero(likely)], effort)
        )

    def _with_likely_limbs(self, scene: ScenePyramid, found: PlaneFits, effort: Effort) -> PlaneFits:
        """Poses of the body about which limbs may be found.

        Clutter looks a little like the body somewhere, in a busy scene at a dozen places. To rate the limbs
        about each takes a tenth of the time of placing them.
        """
        root, limbs = self.pieces.tree.root, self.pieces.root_limbs
        frames = found.poses @ self.models[root].from_canvas
        evidence = self.weights.get(root, 1.0) * self.scoring.body_information(found.zncc, frames)
        if len(found) <= _MAX_RATED and (evidence >= STRONG_EVIDENCE).all():
            return found
        # Limbs of limbs are not rated.
        total = sum(self.weights[name] for name in (root, *(piece.name for piece in limbs)))
        scores = equivalent_zncc((self.limb_evidence(scene, frames) + evidence) / total)
        kept = scores >= _RATED_SHARE * effort.stop_score
        kept[np.argsort(-scores, kind="stable")[:_MAX_RATED]] = True
        if self.limb_search.suffices:  # else there is no other way to find it
            kept &= (scores >= _LEAST_RATED * effort.least) | (evidence >= STRONG_EVIDENCE)
        return found[np.flatnonzero(kept)]

    @cached_property
    def _standing_out(self) -> float:
        """ZNCC of the body from which a pose stands out from clutter."""
        weight = self.weights.get(self.pieces.tree.root)
        # Without weights, during calibration, clutter is what is looked for.
        return math.inf if weight is None else float(equivalent_zncc(np.array(_MIN_BODY_EVIDENCE / weight)))

    @cached_property
    def _may_stand_out(self) -> GoesOn | None:
        """Which fits of the body may still stand out from clutter; None: all are followed, where there is no
        other way to find the object."""
        # Fits of what is there hardly get better from one resolution to the next. Of 160 painted crabs and
        # robots, a quarter of them with a hidden body, the same are found as without this.
        least = self._standing_out
        if not self.pieces.limbs or math.isinf(least) or not self.limb_search.suffices:
            return None
        return lambda fits, last: np.asarray(fits.zncc >= least)

    def from_body_poses(self, scene: ScenePyramid, found: PlaneFits) -> Hypotheses:
        """Hypotheses from poses of the body, with all limbs."""
        if not len(found):
            return self.nothing
        root = self.pieces.tree.root
        frames = found.poses @ self.models[root].from_canvas
        placement = Placement({root: frames / frames[:, 2:, 2:]}, {root: found.zncc})
        return self.scored(scene, self.with_limbs(scene, placement))

    def limb_evidence(self, scene: ScenePyramid, roots: Poses) -> NDArray[np.float64]:
        """The weighted evidence of limbs about each root frame, approximately: rated, not placed, (H,)."""
        total = np.zeros(len(roots))
        for piece in self.pieces.root_limbs:
            model = self.models[piece.name]
            turns = (model.group_starts if model.group else model.starts) @ model.to_canvas
            ratings = rate_turns(scene, model.stages[0], roots, turns)
            total += self.weights[piece.name] * information(ratings.max(1))
        return total

    def with_limbs(
        self,
        scene: ScenePyramid,
        placement: Placement,
        tolerance: float = TIGHT,
        names: Collection[str] | None = None,
    ) -> Placement:
        """The placement with every limb, each about the joint of its parent.

        Arguments:
            scene: the scene to search.
            placement: with the root's frames.
            tolerance: how far a joint may be off, in canvas pixels.
            names: of the limbs that are placed, with those that they are attached to; None: all.
        """
        for group, pieces in self.pieces.in_order:
            if names is not None and not self._is_wanted(group, pieces, placement, names):
                continue
            models = [self.models[piece.name] for piece in pieces]
            if group is not None:
                placement = place_group(scene, placement, group, models, self.weights, tolerance)
            elif pieces[0] is not self.pieces.body:
                placement = self.with_limb(scene, placement, models[0], tolerance)
        placed = [self.models[limb.name] for limb in self.pieces.limbs if limb.name in placement.zncc]
        return set_apart(scene, placement, placed, self.weights)

    @staticmethod
    def _is_wanted(
        group: Joint | None, pieces: Sequence[Piece], placement: Placement, names: Collection[str]
    ) -> bool:
        """Whether some of the pieces are to be placed; a group without any if what it is attached to is."""
        if pieces or group is None:
            return any(piece.name in names for piece in pieces)
        return group.parent in placement.frames

    def with_limb(
        self, scene: ScenePyramid, placement: Placement, model: PieceModel, tolerance: float
    ) -> Placement:
        """The placement with one limb, also where the limb that it is attached to is hidden."""
        piece = model.piece
        placement = place(scene, placement, model, tolerance)
        if piece.parent in self.models and piece.parent != self.pieces.tree.root:
            hidden = ~self.scoring.found(placement, piece.parent) & ~self.scoring.found(placement, piece.name)
            # Not where hardly anything was found so far: that is clutter, and to look behind hidden limbs
            # takes several times as long as to place all the others.
            sure = self.scoring.evidence_found(placement) >= STRONG_EVIDENCE
            lost = np.flatnonzero(hidden & sure)
            beyond = place_behind_hidden(scene, placement[lost], model, self.models[piece.parent])
            good = np.flatnonzero(self.scoring.found(beyond, piece.name))
            placement = placement.replaced(lost[good], beyond[good])
        return placement

    def scored(self, scene: ScenePyramid, placement: Placement) -> Hypotheses:
        """The hypotheses with their scores, the highest first."""
        found = self.evaluated(scene, placement)
        # Best first: later stages cut the list off.
        return found[np.argsort(-found.scores, kind="stable")]

    def evaluated(self, scene: ScenePyramid, placement: Placement) -> Hypotheses:
        """The hypotheses with their scores, in their order."""
        visible, evidence = {}, {}
        for name, model in self.models.items():
            poses = placement.frames[name] @ model.to_canvas
            visible[name] = model.visible(poses, scene.size)
            evidence[name] = information(placement.zncc[name])
        return Hypotheses(placement, evidence, visible, self.scoring.score(placement, evidence, visible))

    def polish(self, scene: ScenePyramid, hypotheses: Hypotheses) -> Hypotheses:
        """The same hypotheses refined at full size, and scored again."""
        return self.scored(scene, self.polish_placement(scene, hypotheses.placement))

    def polish_placement(
        self, scene: ScenePyramid, before: Placement, names: Collection[str] | None = None
    ) -> Placement:
        """The same placement refined at full size.

        Arguments:
            scene: where the object is.
            before: with every piece.
            names: of the pieces that are refined; None: all.
        """
        models = [model for name, model in self.models.items() if names is None or name in names]
        polished = polish_pieces(scene, before, models, self.motion, self.scoring.least_tilt_gains)
        placement = before
        for group, pieces in self.pieces.in_order:
            if group is not None:
                # Its parent has been refined before it. The pieces need a frame of the group to keep to.
                placement = carry_group(before, placement, group)
            for piece in pieces:
                if piece.name in polished:
                    placement = with_polished(placement, self.models[piece.name], polished[piece.name])
            if group is not None:
                placement, _ = turn_group(placement, group, pieces, self.weights)
        return settle_roots(placement, self.pieces, self.weights)

    def polish_body(self, scene: ScenePyramid, before: Placement) -> Placement:
        """The placement with the body refined at full size; limbs are not needed yet."""
        model = self.models[self.pieces.tree.root]
        found = polish_pieces(scene, before, [model], self.motion, self.scoring.least_tilt_gains)
        return with_polished(before, model, found[model.piece.name])

    def uncover(self, scene: ScenePyramid, hypotheses: Hypotheses) -> Hypotheses:
        """The same hypotheses with what is partly covered fitted by the rest, and then by the pixels; their
        scores remain."""
        placement = end_pieces(scene, hypotheses.placement, list(self.models.values()), self.motion)
        return replace(hypotheses, placement=placement)

    def support(
        self, scene: ScenePyramid, name: str, pose: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where in a scene a piece at a pose of its leaf is compared, (N, 2), and how much agrees, (N,)."""
        return point_evidence(scene, self.models[name].stages[0].rough, pose)

    def supports(self, scene: ScenePyramid, hypotheses: Hypotheses) -> Supports:
        """Where the evidence of every piece of hypotheses comes from, as of `support`."""
        return {
            (name, row): self.support(scene, name, frame @ model.to_canvas)
            for name, model in self.models.items()
            for row, frame in enumerate(hypotheses.placement.frames[name])
        }

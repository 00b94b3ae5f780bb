"""The search for the whole object: hypotheses with a frame for every piece, coarse to fine, down the tree.

All pieces are fitted in the same way, by their channels (`planes.plane_fit`), as flat motifs in one plane.
The pose of the body determines that plane; it is a homography if the object may be tilted. A limb then moves
*in* the plane, by a turn about its joint, whatever the perspective.

`Finder` makes hypotheses from the body (`likely_bodies`, then the limbs down the tree) or from the limbs
(`limbs.limb_search`), scores them (`scoring`), and refines them (`refinement`). `SceneSearch` decides which
hypotheses are refined, and which remain.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.exclusion import Supports
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.joints.behind_hidden import place_behind_hidden
from wherein.detect.fast.joints.joint_geometry import TIGHT
from wherein.detect.fast.joints.joint_groups import carry_group, place_group, turn_group
from wherein.detect.fast.joints.placing import place
from wherein.detect.fast.likely_bodies import LikelyBodies
from wherein.detect.fast.limbs.axles import set_apart
from wherein.detect.fast.limbs.limb_search import LimbSearch
from wherein.detect.fast.limbs.roots import STRONG_EVIDENCE
from wherein.detect.fast.limbs.settled_roots import settle_roots
from wherein.detect.fast.piece_model import PieceModel
from wherein.detect.fast.pieces import Joint, Piece, Pieces
from wherein.detect.fast.rectified import rectified
from wherein.detect.fast.refinement.last_fits import end_pieces
from wherein.detect.fast.refinement.polish import polish_pieces, with_polished
from wherein.detect.fast.scoring import Scoring
from wherein.detect.score import information
from wherein.detect.search_range import Effort, Range
from wherein.planes.cover import point_evidence
from wherein.planes.look.crowd_floor import NO_FLOOR, CrowdFloor
from wherein.planes.look.shared_look import SharedLook
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_search import GoesOn, PlaneSearch
from wherein.planes.rating import rate_turns
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.bundle import Template


class Finder:
    """Finds hypotheses about where a template is, in any scene.

    Arguments:
        template: what to search for.
        ranges: the poses to search.
        weights: of the evidence of each piece, by name; during calibration none are known.
        tilt_cost: information that clutter gains where the body may be tilted.
        size_power: p, where the information that clutter reaches falls as the object's size to the power −p.
        crowd_from: passed on to the search for the body (`PlaneSearch`).
        min_pair_evidence: weighted evidence that two limbs must have together to be followed.

    Attributes:
        given: the template as it was given.
        template: the one that is searched for: as seen from in front, if the given one was photographed at
            an angle. All frames are of its canvas.
        from_given: canvas of the given template → canvas of that one, 3×3.
        middle, corners: of the canvas, (x, y) and (4, 2).
        motion: how the body may move in its last fits.
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
        front = rectified(template, ranges.tilt)
        self.given, self.from_given, self.template = template, front.from_given, front.template
        self.ranges = ranges
        self._crowd_from, self._min_pair_evidence = crowd_from, min_pair_evidence
        self.pieces, self.motion = Pieces.of(self.template), ranges.of_plane().motion
        self.middle = self.template.centre
        root = self.pieces.tree.root
        self.scoring = Scoring(root, self.middle, ranges, weights, tilt_cost, size_power)
        width, height = self.template.size
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
        """The search for the body; None if the template has none."""
        body = self.pieces.body
        return None if body is None else self.search_of(body, self.ranges)

    @cached_property
    def nothing(self) -> Hypotheses:
        """No hypotheses, with all names present. Most scenes have none, and this skips the placement of
        limbs."""
        root, pieces, groups = self.pieces.tree.root, self.pieces.pieces, self.pieces.groups
        frames = {name: np.zeros((0, 3, 3)) for name in (root, *(one.name for one in (*pieces, *groups)))}
        each = {piece.name: np.zeros(0) for piece in pieces}
        return Hypotheses(Placement(frames, each), each, each, np.zeros(0))

    @cached_property
    def limb_search(self) -> LimbSearch:
        """The search by limbs, for templates without a body and for objects whose body is hidden."""
        return LimbSearch(self, self._min_pair_evidence)

    def search_of(self, piece: Piece, ranges: Range, further: float = 0.0) -> PlaneSearch:
        """The search for a piece that may be turned by up to `further` degrees relative to the object."""
        own = ranges.of_plane(further)
        # No lambda: a detector can be pickled.
        stages = partial(getattr, self.models[piece.name], "stages")
        return PlaneSearch(piece.motif, own, ranges.any_polarity, piece.covered, self._crowd_from, stages)

    @staticmethod
    def look_for(searches: Sequence[PlaneSearch]) -> SharedLook:
        """One first look for several pieces together."""
        return SharedLook(searches)

    def __call__(self, scene: ScenePyramid, effort: Effort) -> Hypotheses:
        """Hypotheses from the body, if there is one, and also from the limbs if the best of the former does
        not reach `stop_score`."""
        from_body = self.from_body(scene, effort) if self.body_search is not None else None
        # The search for limbs over the whole scene costs more than the search for the body.
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
            goes_on: which fits of `refined` are followed to the next resolution; None: all.
        """
        return self.from_body_poses(scene, self.likely_bodies(scene, effort, refined, goes_on))

    @cached_property
    def likely_bodies(self) -> LikelyBodies:
        """The search for the poses of the body about which the limbs are placed."""
        return LikelyBodies(self)

    def from_body_poses(self, scene: ScenePyramid, found: PlaneFits) -> Hypotheses:
        """Hypotheses from poses of the body, with all limbs."""
        if not len(found):
            return self.nothing
        root = self.pieces.tree.root
        frames = found.poses @ self.models[root].from_canvas
        placement = Placement({root: frames / frames[:, 2:, 2:]}, {root: found.zncc})
        return self.scored(scene, self.with_limbs(scene, placement))

    def limb_evidence(self, scene: ScenePyramid, roots: Poses) -> NDArray[np.float64]:
        """The approximate weighted evidence of the limbs about each root frame, (H,): from ratings, not
        fits."""
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
            names: of the limbs to place, and of the limbs that these are attached to; None: all.
        """
        for group, pieces in self.pieces.in_order:
            if names is not None and not self._is_wanted(group, pieces, placement, names):
                continue
            # Parents come first in this order, so that each joint has a frame when its piece is placed.
            models = [self.models[piece.name] for piece in pieces]
            if group is not None:
                placement = place_group(scene, placement, group, models, self.weights, tolerance)
            elif pieces[0] is not self.pieces.body:
                placement = self.with_limb(scene, placement, models[0], tolerance)
        # Only when all limbs are placed can two that lie on each other be told apart.
        placed = [self.models[limb.name] for limb in self.pieces.limbs if limb.name in placement.zncc]
        return set_apart(scene, placement, placed, self.weights)

    @staticmethod
    def _is_wanted(
        group: Joint | None, pieces: Sequence[Piece], placement: Placement, names: Collection[str]
    ) -> bool:
        """Whether any of the pieces is to be placed. A group without pieces is if its parent has a frame."""
        if pieces or group is None:
            return any(piece.name in names for piece in pieces)
        return group.parent in placement.frames

    def with_limb(
        self, scene: ScenePyramid, placement: Placement, model: PieceModel, tolerance: float
    ) -> Placement:
        """The placement with one limb, which is also searched for where the limb that it is attached to is
        hidden."""
        piece = model.piece
        placement = place(scene, placement, model, tolerance)
        if piece.parent in self.models and piece.parent != self.pieces.tree.root:
            hidden = ~self.scoring.found(placement, piece.parent) & ~self.scoring.found(placement, piece.name)
            # Not where hardly anything was found so far: that is clutter, and a search behind hidden limbs
            # takes several times as long as the placement of all others.
            sure = self.scoring.evidence_found(placement) >= STRONG_EVIDENCE
            lost = np.flatnonzero(hidden & sure)
            beyond = place_behind_hidden(scene, placement[lost], model, self.models[piece.parent])
            good = np.flatnonzero(self.scoring.found(beyond, piece.name))
            placement = placement.replaced(lost[good], beyond[good])
        return placement

    def scored(self, scene: ScenePyramid, placement: Placement) -> Hypotheses:
        """Hypotheses with their scores, the highest first."""
        found = self.evaluated(scene, placement)
        # Best first: later stages keep only the first few.
        return found[np.argsort(-found.scores, kind="stable")]

    def evaluated(self, scene: ScenePyramid, placement: Placement) -> Hypotheses:
        """Hypotheses with their scores, in the order of the placement."""
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
                # The parent of the group is already refined, and the pieces need a frame of the group, whose
                # joints they must keep. So the group first keeps its turn relative to its parent, and after
                # its pieces are refined it gets the turn that they determine.
                placement = carry_group(before, placement, group)
            for piece in pieces:
                if piece.name in polished:
                    placement = with_polished(placement, self.models[piece.name], polished[piece.name])
            if group is not None:
                placement, _ = turn_group(placement, group, pieces, self.weights)
        return settle_roots(placement, self.pieces, self.weights)

    def polish_body(self, scene: ScenePyramid, before: Placement) -> Placement:
        """The placement with the body refined at full size. No limbs are needed."""
        model = self.models[self.pieces.tree.root]
        found = polish_pieces(scene, before, [model], self.motion, self.scoring.least_tilt_gains)
        return with_polished(before, model, found[model.piece.name])

    def uncover(self, scene: ScenePyramid, hypotheses: Hypotheses) -> Hypotheses:
        """The same hypotheses after their last fits: without covered pixels, and then by the pixels
        themselves.

        Their scores do not change.
        """
        placement = end_pieces(scene, hypotheses.placement, list(self.models.values()), self.motion)
        return replace(hypotheses, placement=placement)

    def support(
        self, scene: ScenePyramid, name: str, pose: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The points of the scene with which a piece at a pose is compared, (N, 2), and how well each agrees,
        (N,)."""
        return point_evidence(scene, self.models[name].stages[0].rough, pose)

    def supports(self, scene: ScenePyramid, hypotheses: Hypotheses) -> Supports:
        """The support of every piece of every hypothesis, by the name of the piece and the number of the
        hypothesis."""
        return {
            (name, row): self.support(scene, name, frame @ model.to_canvas)
            for name, model in self.models.items()
            for row, frame in enumerate(hypotheses.placement.frames[name])
        }

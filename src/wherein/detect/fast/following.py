"""Finds objects near known places, and follows them from frame to frame of a video.

For an object that was detected in the frame before, the turn of every part is predicted from its last turn
and its last angular velocity. Each piece is fitted from there at its coarsest resolution, and then to
convergence by the same last stage as in a search (`detect.fast.refinement`), which gives the same pose. A
piece is searched for only if it was not found before, or fits less well than before: a body in its
neighbourhood, a limb at all turns. Of the two poses, the better one is kept.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.assemble import frames_of
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.joints.joint_geometry import LOOSE, TIGHT, keeps_joint
from wherein.detect.fast.joints.joint_groups import place_group
from wherein.detect.fast.joints.placing import best_of_each
from wherein.detect.fast.piece_model import BASIN, EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import Joint, Piece
from wherein.detect.result import Detection
from wherein.motion.homography import mapped, relative, rotations, shift
from wherein.planes.own_resolution import judged
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import FitJob, PlaneFits, fit_each, fit_planes
from wherein.planes.rating import best_turns, rate_turns
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.tree import Matrix

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder

_MAX_FOLLOWED = 2
"""Number of poses of each followed object that are kept for the next resolution. A choice."""

_NEAR_SHIFTS, _NEAR_TURNS, _MAX_NEAR = 3, 2, 4
"""Number of steps of shift, and of turn, to either side of the last pose that are rated, and number of starts
that are fitted. Choices: an object may move by about half the extent of its body from frame to frame."""

_FIT, _APPROACH = PlaneStage(), PlaneStage(rounds=1, steps=4)
"""The stages of fits that a finer fit follows, and of fits that a fit to convergence follows. Choices."""

_MIN_KEPT = 0.9
"""A piece is searched for again if its ZNCC is below this fraction of its last one. A choice: light and noise
change it by a few hundredths from frame to frame."""

_UNKNOWN = 0.02
"""ZNCC that stands for an unknown one before a piece is refined. A choice: so low that any refined pose is
better, and above 0, since 0 or less means that the piece was not found."""


@dataclass(frozen=True, eq=False)
class Seen:
    """An object as it was detected in the frame before.

    Attributes:
        last: the detection in that frame.
        rates: degrees per frame by which each part turned last, by name; 0 for a missing name.
        renewed: the names of leaves whose `turn_spread` is measured again; that of the others is kept as long
            as they fit as well as before.
    """

    last: Detection
    rates: Mapping[str, float]
    renewed: Collection[str] = ()


class Follower:
    """Finds objects near known places, in any scene.

    Arguments:
        finder: the finder of the template.
    """

    def __init__(self, finder: "Finder") -> None:
        self._finder = finder

    def near(self, scene: ScenePyramid, roots: Poses, stop_score: float) -> Hypotheses:
        """Hypotheses near known places: from the body, and from the limbs if those do not all reach
        `stop_score`, or the body of one was not found.

        Arguments:
            scene: the scene to search.
            roots: canvas → scene, (N, 3, 3): where objects were, or are expected.
            stop_score: from which a hypothesis is good enough.
        """
        finder = self._finder
        if finder.body_search is None:
            return finder.limb_search.from_roots(scene, roots, len(roots))
        hypotheses = finder.from_body_poses(scene, self._body_near(scene, roots))
        # Without its body an object may score well by one limb alone, about a root that is only estimated.
        body_found = finder.scoring.found(hypotheses.placement, finder.pieces.tree.root)
        good = (hypotheses.scores >= stop_score) & body_found
        if good.all() or not finder.pieces.root_limbs:
            return hypotheses
        # The body of some object is hidden. Which object it is cannot be told from the hypotheses, so the
        # limbs are placed about all known roots.
        return hypotheses.joined(finder.limb_search.from_roots(scene, roots, len(roots)))

    def _body_near(self, scene: ScenePyramid, roots: Poses) -> PlaneFits:
        """The best pose of the body near each root, fitted from the shifts and turns that rate best."""
        model = self._body
        ratings = rate_turns(scene, model.stages[0], roots, self._offsets)
        chosen = np.argsort(-ratings, axis=1, kind="stable")[:, :_MAX_NEAR]
        starts = roots[:, None] @ self._offsets[chosen]
        found = PlaneFits(starts.reshape(-1, 3, 3), np.zeros(0), np.zeros(0))
        for motif in model.stages:
            found = fit_planes(scene, motif, self._finder.motion, _FIT, found.poses)
            found = best_of_each(found, len(roots), 1 if motif is model.stages[-1] else _MAX_FOLLOWED)
        return judged(scene, model.judges, self._finder.motion, found)

    @cached_property
    def _body(self) -> PieceModel:
        return self._finder.models[self._finder.pieces.tree.root]

    @cached_property
    def _offsets(self) -> Poses:
        """Offsets of the body from its last pose: all combinations of shifts and turns, the identity first.

        One step moves points of the object by twice the radius of a basin of attraction, so that the basins
        of neighbouring starts touch.
        """
        finder, model = self._finder, self._body
        distance = 2 * BASIN / math.sqrt(abs(np.linalg.det(model.stages[0].from_full)))
        turn = math.degrees(math.atan2(distance, math.hypot(*finder.corners[2]) / 2))
        turns = rotations(turn * _around_zero(_NEAR_TURNS), finder.middle)
        steps = distance * _around_zero(_NEAR_SHIFTS)
        shifts = np.repeat(np.eye(3)[None], len(steps) ** 2, axis=0)
        shifts[:, 0, 2], shifts[:, 1, 2] = np.repeat(steps, len(steps)), np.tile(steps, len(steps))
        return (shifts[:, None] @ turns).reshape(-1, 3, 3) @ model.to_canvas

    def again(
        self, scene: ScenePyramid, roots: Poses, seen: Sequence[Seen], stop_score: float
    ) -> Hypotheses | None:
        """Refined hypotheses about objects that were detected in the frame before.

        None if any of them does not reach `stop_score`, or its body was not found: then the caller searches.

        Arguments:
            scene: the scene to search.
            roots: canvas → scene, (N, 3, 3): where objects are expected.
            seen: each object in the frame before.
            stop_score: from which a hypothesis is good enough.
        """
        finder = self._finder
        if finder.body_search is None:
            return None
        root, limbs = finder.pieces.tree.root, [piece.name for piece in finder.pieces.limbs]
        # The body to convergence first: limbs move in its plane and have its size, so an error of the body
        # would be one of the limbs too.
        placement = self._with_limbs(scene, self._body_again(scene, roots, seen), self._expected(seen))
        placement = finder.polish_placement(scene, placement, limbs)
        worse = {piece.name: self._got_worse(placement, piece, seen) for piece in finder.pieces.limbs}
        for index in range(len(roots)):
            lost = {name for name, own in worse.items() if own[index]}
            if lost:
                placement = self._with_lost(scene, placement, index, lost)
        found = replace(finder.evaluated(scene, placement), spreads=self._spreads(seen, worse))
        if not ((found.scores >= stop_score) & finder.scoring.found(placement, root)).all():
            return None
        return found[np.argsort(-found.scores, kind="stable")]

    def _body_again(self, scene: ScenePyramid, roots: Poses, seen: Sequence[Seen]) -> Placement:
        """The placement with the body alone, fitted to convergence near each root.

        The fit starts from the root itself. If the ZNCC falls, a second fit starts from the shifts and turns
        that rate best, and the better pose is kept.
        """
        model, motion = self._body, self._finder.motion
        placement = self._with_body(scene, roots @ model.to_canvas, len(roots))
        worse = np.flatnonzero(self._got_worse(placement, model.piece, seen))
        if not len(worse):
            return placement
        found = best_turns(
            scene, model.stages[0], motion, _APPROACH, roots[worse], len(worse) * [self._offsets], _MAX_NEAR
        )
        found = best_of_each(found, len(worse), _MAX_FOLLOWED)
        other, name = self._with_body(scene, found.poses, len(worse)), model.piece.name
        better = np.flatnonzero(other.zncc[name] > placement.zncc[name][worse])
        return placement.replaced(worse[better], other[better])

    def _with_body(self, scene: ScenePyramid, poses: Poses, count: int) -> Placement:
        """The placement with the body alone, fitted from the same number of poses for each of `count`
        objects."""
        finder, model = self._finder, self._body
        found = PlaneFits(poses, np.zeros(0), np.zeros(0))
        # Without the finest stage, which refinement does; a model with a single stage has no other.
        for motif in model.stages[:-1] or model.stages:
            found = best_of_each(fit_planes(scene, motif, finder.motion, _APPROACH, found.poses), count)
        frames, name = found.poses @ model.from_canvas, model.piece.name
        placement = Placement({name: frames / frames[:, 2:, 2:]}, {name: np.full(count, _UNKNOWN)})
        return finder.polish_body(scene, placement)

    def _expected(self, seen: Sequence[Seen]) -> dict[str, Poses]:
        """The predicted motion of every piece and group relative to its parent, (N, 3, 3) by name."""
        pieces = self._finder.pieces
        frames = [frames_of(self._finder, one.last) for one in seen]
        return {
            joint.name: np.stack([_moved(joint, own, one) for own, one in zip(frames, seen, strict=True)])
            for joint in (*pieces.limbs, *pieces.groups)
        }

    def _with_limbs(self, scene: ScenePyramid, placement: Placement, moved: Mapping[str, Poses]) -> Placement:
        """The placement with every limb near its predicted pose, fitted at its coarsest resolution.

        Arguments:
            scene: the scene to search.
            placement: with the root's frames.
            moved: the predicted motion of each piece and group relative to its parent.
        """
        for groups, pieces in self._generations:
            for group in groups:
                frames = placement.frames[group.parent] @ moved[group.name]
                placement = placement.with_frames(group.name, frames)
            models = [self._finder.models[piece.name] for piece in pieces]
            starts = [placement.frames[piece.parent] @ moved[piece.name] for piece in pieces]
            fits = fit_each(
                scene,
                [
                    FitJob(model.stages[0], EUCLIDEAN, _APPROACH, own @ model.to_canvas)
                    for model, own in zip(models, starts, strict=True)
                ],
            )
            for model, own, found in zip(models, starts, fits, strict=True):
                piece, ended = model.piece, found.poses @ model.from_canvas
                # A limb that has left its joint keeps the predicted pose, and is refined from there.
                good = keeps_joint(piece, placement.frames[piece.parent], ended, LOOSE) & (found.zncc > 0)
                frames = np.where(good[:, None, None], ended, own)
                placement = placement.with_piece(piece.name, frames, np.full(len(own), _UNKNOWN))
        return placement

    @cached_property
    def _generations(self) -> tuple[tuple[list[Joint], list[Piece]], ...]:
        """Limbs that can be placed together, with the groups that become known before them, from the root
        outwards."""
        pieces = self._finder.pieces
        known = {pieces.tree.root}
        limbs, groups = list(pieces.limbs), list(pieces.groups)
        ordered = []
        while limbs or groups:
            # Groups are listed from the root outwards, so a group within another comes after it.
            ready = list[Joint]()
            for group in groups:
                if group.parent in known:
                    ready.append(group)
                    known.add(group.name)
            placed = [piece for piece in limbs if piece.parent in known]
            known |= {piece.name for piece in placed}
            groups = [group for group in groups if group.name not in known]
            limbs = [piece for piece in limbs if piece.name not in known]
            ordered.append((ready, placed))
        return tuple(ordered)

    def _got_worse(self, placement: Placement, piece: Piece, seen: Sequence[Seen]) -> NDArray[np.bool_]:
        """Whether a piece was not found before, or fits less well than before, (N,)."""
        before = [one.last.parts[piece.fitted_leaf.name] for one in seen]
        # Infinity, so that any ZNCC is below it if the piece was not found before.
        least = np.array([_MIN_KEPT * part.score if part.found else math.inf for part in before])
        return np.asarray(placement.zncc[piece.name] < least)

    def _with_lost(
        self, scene: ScenePyramid, placement: Placement, index: int, lost: Collection[str]
    ) -> Placement:
        """The placement with some limbs of one hypothesis searched for at all turns, if that raises its
        score.

        The limbs attached to them are placed again as well.
        """
        finder, stale = self._finder, set[str]()
        before = other = placement[np.array([index])]
        for group, pieces in finder.pieces.in_order:
            models = [finder.models[piece.name] for piece in pieces if piece is not finder.pieces.body]
            above = group.parent if group is not None else pieces[0].parent
            if not models or not (above in stale or any(model.piece.name in lost for model in models)):
                continue
            stale |= {model.piece.name for model in models}
            if group is not None:
                stale.add(group.name)
                other = place_group(scene, other, group, models, finder.weights, TIGHT)
            else:
                other = finder.with_limb(scene, other, models[0], TIGHT)
        # Both are refined before they are compared: refinement raises scores.
        other = finder.polish_placement(scene, other, stale)
        better = finder.evaluated(scene, other).scores[0] > finder.evaluated(scene, before).scores[0]
        return placement.replaced(np.array([index]), other) if better else placement

    def _spreads(
        self, seen: Sequence[Seen], worse: Mapping[str, NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.float64]]:
        """The turn spreads that are kept from the frame before, (N,) by the name of the limb; NaN for the
        others."""
        spreads = {}
        for piece in self._finder.pieces.limbs:
            leaf = piece.fitted_leaf.name
            kept = [math.nan if leaf in one.renewed else one.last.parts[leaf].turn_spread for one in seen]
            known = np.array([math.nan if value is None else value for value in kept])
            spreads[piece.name] = np.where(worse[piece.name], math.nan, known)
        return spreads


def _moved(joint: Joint, frames: Mapping[str, Matrix], seen: Seen) -> Matrix:
    """The predicted motion of a part relative to its parent: a turn about the last position of its joint."""
    at = mapped(relative(frames[joint.parent], frames[joint.name]), joint.joint) - np.array(joint.joint)
    turn = seen.last.parts[joint.name].turn + seen.rates.get(joint.name, 0.0)
    return shift(float(at[0]), float(at[1])) @ rotations(np.array(turn), joint.joint)


def _around_zero(count: int) -> NDArray[np.float64]:
    """0, −1, 1, −2, 2, … up to ±`count`."""
    return np.array([0.0, *(sign * k for k in range(1, count + 1) for sign in (-1.0, 1.0))])

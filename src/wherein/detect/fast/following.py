"""Following: objects near known places, and from frame to frame, each from where its parts are expected.

An object that was seen in the frame before is expected with every part at its last turn and as fast as it
turned. Each piece is fitted from there at its coarsest resolution and then to convergence: the same last
stage as that of a search (`detect.fast.polish`), and so the same pose. Only a piece that was not found
before, or that fits less well than it did, is searched for, a body in the neighbourhood and a limb at all
turns, and the better of the two poses stands.
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
from wherein.detect.fast.joints import LOOSE, TIGHT, best_of_each, keeps_joint, place_group
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
"""How many poses of each followed object go on from one resolution to the next. A choice."""

_NEAR_SHIFTS, _NEAR_TURNS, _MAX_NEAR = 3, 2, 4
"""How many steps of a shift and of a turn to either side of where an object was are rated, and how many
starts are fitted. Choices: an object may move by about half the extent of its body from frame to frame."""

_FIT, _APPROACH = PlaneStage(), PlaneStage(rounds=1, steps=4)
"""Fits that are followed by finer ones, and that are followed by a fit to convergence. Choices."""

_FELL = 0.9
"""A limb is searched for at all turns if its ZNCC is below this share of what it was. A choice: light and
noise change it by a few hundredths from frame to frame."""

_UNKNOWN = 0.02
"""ZNCC of a piece before it is polished, where it is not known. A choice: whatever it fits with is better."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of an object in the frame before.

    Attributes:
        last: the detection there.
        rates: degrees by which each part turned since the frame before that, by name; 0 where it is missing.
        renewed: the names of leaves whose `turn_spread` is measured anew; that of others remains, as long as
            they fit as well as before.
    """

    last: Detection
    rates: Mapping[str, float]
    renewed: Collection[str] = ()


class Follower:
    """Finds objects near known places, in any scene.

    Arguments:
        finder: of the template.
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
        # Without its body an object may score well by a limb alone, about a root that is a guess.
        body_found = finder.scoring.found(hypotheses.placement, finder.pieces.tree.root)
        good = (hypotheses.scores >= stop_score) & body_found
        if good.all() or not finder.pieces.root_limbs:
            return hypotheses
        # The body of some object is hidden. Which of them is not known, so the limbs are searched for at all
        # places.
        return hypotheses.joined(finder.limb_search.from_roots(scene, roots, len(roots)))

    def _body_near(self, scene: ScenePyramid, roots: Poses) -> PlaneFits:
        """The best pose of the body near each root, from the shifts and turns about it that rate best."""
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
        """Poses of the body about where an object was, none first: shifts with turns either way.

        Each step moves the canvas by twice the radius of a basin, so that the basins of neighbours touch.
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
        """Hypotheses about objects that were seen in the frame before, refined; None where one of them does
        not reach `stop_score`, or its body was not found.

        Arguments:
            scene: the scene to search.
            roots: canvas → scene, (N, 3, 3): where objects are expected.
            seen: what was seen of each of them.
            stop_score: from which a hypothesis is good enough.
        """
        finder = self._finder
        if finder.body_search is None:
            return None
        root, limbs = finder.pieces.tree.root, [piece.name for piece in finder.pieces.limbs]
        # The body to convergence first: limbs move in its plane and have its size, as exactly as it is known.
        placement = self._with_limbs(scene, self._body_again(scene, roots, seen), self._expected(seen))
        placement = finder.polish_placement(scene, placement, limbs)
        fell = {piece.name: self._fell(placement, piece, seen) for piece in finder.pieces.limbs}
        for index in range(len(roots)):
            lost = {name for name, own in fell.items() if own[index]}
            if lost:
                placement = self._with_lost(scene, placement, index, lost)
        found = replace(finder.evaluated(scene, placement), spreads=self._spreads(seen, fell))
        if not ((found.scores >= stop_score) & finder.scoring.found(placement, root)).all():
            return None
        return found[np.argsort(-found.scores, kind="stable")]

    def _body_again(self, scene: ScenePyramid, roots: Poses, seen: Sequence[Seen]) -> Placement:
        """The placement with the body alone, fitted to convergence near each root.

        From the root itself; if it fits less well there than before, from the shifts and turns that rate
        best.
        """
        model, motion = self._body, self._finder.motion
        placement = self._with_body(scene, roots @ model.to_canvas, len(roots))
        fell = np.flatnonzero(self._fell(placement, model.piece, seen))
        if not len(fell):
            return placement
        found = best_turns(
            scene, model.stages[0], motion, _APPROACH, roots[fell], len(fell) * [self._offsets], _MAX_NEAR
        )
        found = best_of_each(found, len(fell), _MAX_FOLLOWED)
        other, name = self._with_body(scene, found.poses, len(fell)), model.piece.name
        better = np.flatnonzero(other.zncc[name] > placement.zncc[name][fell])
        return placement.replaced(fell[better], other[better])

    def _with_body(self, scene: ScenePyramid, poses: Poses, count: int) -> Placement:
        """The placement with the body alone, fitted from poses, equally many for each of `count` objects."""
        finder, model = self._finder, self._body
        found = PlaneFits(poses, np.zeros(0), np.zeros(0))
        for motif in model.stages[:-1] or model.stages:
            found = best_of_each(fit_planes(scene, motif, finder.motion, _APPROACH, found.poses), count)
        frames, name = found.poses @ model.from_canvas, model.piece.name
        placement = Placement({name: frames / frames[:, 2:, 2:]}, {name: np.full(count, _UNKNOWN)})
        return finder.polish_body(scene, placement)

    def _expected(self, seen: Sequence[Seen]) -> dict[str, Poses]:
        """The motion of every piece and group relative to its parent, (N, 3, 3) by name, as expected."""
        pieces = self._finder.pieces
        frames = [frames_of(pieces.tree, one.last) for one in seen]
        return {
            joint.name: np.stack([_moved(joint, own, one) for own, one in zip(frames, seen, strict=True)])
            for joint in (*pieces.limbs, *pieces.groups)
        }

    def _with_limbs(self, scene: ScenePyramid, placement: Placement, moved: Mapping[str, Poses]) -> Placement:
        """The placement with every limb near where it is expected, fitted at its coarsest resolution.

        Arguments:
            scene: the scene to search.
            placement: with the root's frames.
            moved: the motion of each piece and group relative to its parent, as expected.
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
                good = keeps_joint(piece, placement.frames[piece.parent], ended, LOOSE) & (found.zncc > 0)
                frames = np.where(good[:, None, None], ended, own)
                placement = placement.with_piece(piece.name, frames, np.full(len(own), _UNKNOWN))
        return placement

    @cached_property
    def _generations(self) -> tuple[tuple[list[Joint], list[Piece]], ...]:
        """Limbs that can be placed at the same time, and the groups that they are attached to, in order."""
        pieces = self._finder.pieces
        known = {pieces.tree.root}
        limbs, groups = list(pieces.limbs), list(pieces.groups)
        ordered = []
        while limbs or groups:
            # Groups are listed from the root outwards, so that those within groups come after them.
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

    def _fell(self, placement: Placement, piece: Piece, seen: Sequence[Seen]) -> NDArray[np.bool_]:
        """Whether a piece was not found before, or fits less well than it did, (N,)."""
        before = [one.last.parts[piece.fitted_leaf.name] for one in seen]
        least = np.array([_FELL * part.score if part.found else math.inf for part in before])
        return np.asarray(placement.zncc[piece.name] < least)

    def _with_lost(
        self, scene: ScenePyramid, placement: Placement, index: int, lost: Collection[str]
    ) -> Placement:
        """The placement with some limbs of one hypothesis searched for at all turns, if it scores higher so.

        Those that are attached to them are placed anew as well.
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
        other = finder.polish_placement(scene, other, stale)
        better = finder.evaluated(scene, other).scores[0] > finder.evaluated(scene, before).scores[0]
        return placement.replaced(np.array([index]), other) if better else placement

    def _spreads(
        self, seen: Sequence[Seen], fell: Mapping[str, NDArray[np.bool_]]
    ) -> dict[str, NDArray[np.float64]]:
        """The turn spreads that remain as they were, (N,) by the name of the limb; NaN where they do not."""
        spreads = {}
        for piece in self._finder.pieces.limbs:
            leaf = piece.fitted_leaf.name
            kept = [math.nan if leaf in one.renewed else one.last.parts[leaf].turn_spread for one in seen]
            known = np.array([math.nan if value is None else value for value in kept])
            spreads[piece.name] = np.where(fell[piece.name], math.nan, known)
        return spreads


def _moved(joint: Joint, frames: Mapping[str, Matrix], seen: Seen) -> Matrix:
    """The motion of a part relative to its parent as it is expected, a turn about where its joint was."""
    at = mapped(relative(frames[joint.parent], frames[joint.name]), joint.joint) - np.array(joint.joint)
    turn = seen.last.parts[joint.name].turn + seen.rates.get(joint.name, 0.0)
    return shift(float(at[0]), float(at[1])) @ rotations(np.array(turn), joint.joint)


def _around_zero(count: int) -> NDArray[np.float64]:
    """0, −1, 1, −2, 2, … to either side."""
    return np.array([0.0, *(sign * k for k in range(1, count + 1) for sign in (-1.0, 1.0))])

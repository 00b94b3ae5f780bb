"""The last stage: each piece at full size, to a pose that fits both its picture and its joint.

An occluder pulls a fit aside unless pixels that do not fit get less weight (a robust fit). But blur makes
*every* edge fit badly, and less weight on edges leaves a small piece without a hold. The picture alone
cannot say which of the two it is. The joint can: of the plain and the robust fit, the one that keeps closer
to the joint is right. And where that costs hardly any correlation, the piece is turned about its joint
exactly, which leaves one parameter to estimate instead of three.
"""

import numpy as np

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import TIGHT, joint_error, keeps_joint, turns
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.piece_search import maybe_occluded, refit_occluded
from wherein.motion.models import Motion
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.pose import rotations

FULL, _EVALUATE = Stage(1, 30, tolerance=1e-3), Stage(1, 0)
"""A descent to convergence at full size, and one evaluation there. The number of steps is a choice; few poses
need all of them."""

_MAX_LOSS = 0.02
"""ZNCC at the scoring scale that a pose may lose in the descent at full size. A choice: a pose that loses
more has left for another optimum."""

_TURN_STEPS = (2.0, 0.7, 0.2)
"""Degrees between the three turns about the joint that a parabola is fitted to, one step size after the
other. A choice: each about a third of the one before."""

_MAX_JOINT_LOSS = 0.004
"""ZNCC that a pose may lose by keeping to its joint exactly. A choice: joints are placed by hand, and one
that is wrong must not bind."""


def polish_piece(scene: ScenePyramid, placement: Placement, model: PieceModel, motion: Motion) -> Placement:
    """The placement with one piece refined at full size, in the hypotheses where that is no worse.

    Arguments:
        scene: where the piece is.
        placement: with the piece and its parent.
        model: the piece.
        motion: how the body may move; a limb keeps the scale of its parent.
    """
    piece, before = model.piece, placement.frames[model.piece.name]
    zncc, limb = placement.zncc[piece.name], piece.parent != piece.name
    if limb:
        found = polish_limb(scene, model, placement.frames[piece.parent], before @ model.to_canvas)
    else:
        found = polish_body(scene, model, motion, before @ model.to_canvas)
    frames = found.poses @ model.from_canvas
    good = (found.zncc >= zncc - _MAX_LOSS) & (zncc > 0)
    if limb:
        # The descent is free to shift the limb: one that has left its joint fits something else.
        good &= keeps_joint(piece, placement.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    return placement.with_piece(piece.name, frames, np.where(good, found.zncc, zncc))


def polish_body(scene: ScenePyramid, model: PieceModel, motion: Motion, poses: Poses) -> Fits:
    """Poses of a body (leaf pixels → scene) refined at full size, with their ZNCC at the scoring scale."""
    ended = descend(scene, model.pyramid, motion, FULL, poses)
    ended = refit_occluded(scene, model, motion, FULL, ended)
    return descend(scene, model.pyramid, motion, Stage(model.scoring_scale, 0), ended.poses)


def polish_limb(scene: ScenePyramid, model: PieceModel, parents: Poses, poses: Poses) -> Fits:
    """Poses of a limb refined at full size, with their ZNCC at the scoring scale.

    Arguments:
        scene: where the limb is.
        model: the limb.
        parents: frames of its parent, canvas → scene, one for each pose.
        poses: leaf pixels → scene.
    """
    ended = descend(scene, model.pyramid, EUCLIDEAN, FULL, poses)
    # Where the picture fits well, it is more accurate than joints that are placed by hand.
    unsure = maybe_occluded(ended)
    best = ended.poses.copy()
    best[unsure] = _fit_to_joint(scene, model, parents[unsure], ended[unsure])
    return descend(scene, model.pyramid, EUCLIDEAN, Stage(model.scoring_scale, 0), best)


def _fit_to_joint(scene: ScenePyramid, model: PieceModel, parents: Poses, plain: Fits) -> Poses:
    """Of the plain and a robust fit the one nearer to the joint, turned about the joint exactly if that
    fits."""
    piece = model.piece
    robust = refit_occluded(scene, model, EUCLIDEAN, FULL, plain)
    off = [joint_error(piece, parents, found.poses @ model.from_canvas) for found in (plain, robust)]
    free = np.where((off[0] < off[1])[:, None, None], plain.poses, robust.poses)
    hinged = _best_turns(scene, model, parents, free)
    zncc = [descend(scene, model.pyramid, EUCLIDEAN, _EVALUATE, found).zncc for found in (hinged, free)]
    return np.where((zncc[0] >= zncc[1] - _MAX_JOINT_LOSS)[:, None, None], hinged, free)


def _best_turns(scene: ScenePyramid, model: PieceModel, parents: Poses, free: Poses) -> Poses:
    """The turns about the joint with the highest ZNCC, near the turns of free poses."""
    angles = turns(parents, free @ model.from_canvas)

    def about_joint(degrees: np.ndarray) -> Poses:
        turned: Poses = parents[:, None] @ rotations(degrees, model.piece.joint) @ model.to_canvas
        return turned.reshape(-1, 3, 3)

    for step in _TURN_STEPS:
        tried = about_joint(angles[:, None] + step * np.array((-1.0, 0.0, 1.0)))
        zncc = descend(scene, model.pyramid, EUCLIDEAN, _EVALUATE, tried).zncc.reshape(-1, 3)
        angles = angles + step * _summit(zncc)
    return about_joint(angles[:, None])


def _summit(values: np.ndarray) -> np.ndarray:
    """Where the parabola through values at −1, 0 and 1 has its maximum; the best of the three if it has
    none."""
    before, here, after = values.T
    bend = before - 2 * here + after
    opens_down = bend < -1e-9
    peak = 0.5 * (before - after) / np.where(opens_down, bend, 1.0)
    # Not far beyond the three points, where the parabola is a guess.
    return np.where(opens_down, np.clip(peak, -1.5, 1.5), values.argmax(1) - 1.0)

"""The last stage: a piece at full size, where its picture and its joint agree.

Something in front of a piece pulls it aside unless pixels that do not fit are trusted less; but blur makes
*every* edge fit badly, and to trust edges less leaves a small piece without a hold. The picture alone cannot
say which of the two it is. The joint can: of the two poses, the one that keeps to it is right. And where the
picture does not object, the piece turns about its joint exactly, which leaves one number to be told instead
of three.
"""

import numpy as np

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import TIGHT, joint_error, keeps_joint, turns
from wherein.detect.fast.piece_search import EUCLIDEAN, PieceModel, maybe_occluded, refit_occluded
from wherein.motion.models import Motion
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.pose import rotations

FULL, _LOOK = Stage(1, 30, tolerance=1e-3), Stage(1, 0)
"""To rest at full size, and one look there."""

_WORSE = 0.02
"""ZNCC where it is scored that a pose may lose on its way to rest at full size."""

_TURNS = (2.0, 0.7, 0.2)
"""Degrees between three looks about the joint, through which a parabola is laid, one after the other."""

_OBJECTS = 0.004
"""ZNCC that a pose may lose by keeping to its joint exactly."""


def polish_piece(scene: ScenePyramid, placement: Placement, model: PieceModel, motion: Motion) -> Placement:
    """The same hypotheses with one piece at full size, where that is no worse.

    Arguments:
        scene: where it is.
        placement: with the piece, and what it hangs on.
        model: the piece.
        motion: of the body.
    """
    piece, before = model.piece, placement.frames[model.piece.name]
    zncc, limb = placement.zncc[piece.name], piece.parent != piece.name
    if limb:
        found = polish_limb(scene, model, placement.frames[piece.parent], before @ model.to_canvas)
    else:
        found = polish_body(scene, model, motion, before @ model.to_canvas)
    frames = found.poses @ model.from_canvas
    good = (found.zncc >= zncc - _WORSE) & (zncc > 0)
    if limb:
        good &= keeps_joint(piece, placement.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    return placement.with_piece(piece.name, frames, np.where(good, found.zncc, zncc))


def polish_body(scene: ScenePyramid, model: PieceModel, motion: Motion, poses: Poses) -> Fits:
    """Where poses of a piece that hangs on nothing come to rest, with their ZNCC where they are scored."""
    ended = descend(scene, model.pyramid, motion, FULL, poses)
    ended = refit_occluded(scene, model, motion, FULL, ended)
    return descend(scene, model.pyramid, motion, Stage(model.scoring_scale, 0), ended.poses)


def polish_limb(scene: ScenePyramid, model: PieceModel, parents: Poses, poses: Poses) -> Fits:
    """The same of a piece that hangs on others.

    Arguments:
        scene: where it is.
        model: the piece.
        parents: frames of what it hangs on, canvas → scene, as many as poses.
        poses: leaf pixels → scene.
    """
    ended = descend(scene, model.pyramid, EUCLIDEAN, FULL, poses)
    unsure = maybe_occluded(ended)
    best = ended.poses.copy()
    best[unsure] = _by_the_joint(scene, model, parents[unsure], ended[unsure])
    return descend(scene, model.pyramid, EUCLIDEAN, Stage(model.scoring_scale, 0), best)


def _by_the_joint(scene: ScenePyramid, model: PieceModel, parents: Poses, plain: Fits) -> Poses:
    """The better of two descents, and then the same about the joint where the picture does not object."""
    piece = model.piece
    robust = refit_occluded(scene, model, EUCLIDEAN, FULL, plain)
    off = [joint_error(piece, parents, found.poses @ model.from_canvas) for found in (plain, robust)]
    free = np.where((off[0] < off[1])[:, None, None], plain.poses, robust.poses)
    hinged = _hinged(scene, model, parents, free)
    told = [descend(scene, model.pyramid, EUCLIDEAN, _LOOK, found).zncc for found in (hinged, free)]
    return np.where((told[0] >= told[1] - _OBJECTS)[:, None, None], hinged, free)


def _hinged(scene: ScenePyramid, model: PieceModel, parents: Poses, free: Poses) -> Poses:
    """The turns about the joint with the best ZNCC, near those of free poses."""
    angles = turns(parents, free @ model.from_canvas)

    def about_joint(degrees: np.ndarray) -> Poses:
        turned: Poses = parents[:, None] @ rotations(degrees, model.piece.joint) @ model.to_canvas
        return turned.reshape(-1, 3, 3)

    for step in _TURNS:
        looks = about_joint(angles[:, None] + step * np.array((-1.0, 0.0, 1.0)))
        zncc = descend(scene, model.pyramid, EUCLIDEAN, _LOOK, looks).zncc.reshape(-1, 3)
        angles = angles + step * _summit(zncc)
    return about_joint(angles[:, None])


def _summit(values: np.ndarray) -> np.ndarray:
    """Where the parabola through values at −1, 0 and 1 is highest; the highest of the three where it opens
    upwards."""
    before, here, after = values.T
    bend = before - 2 * here + after
    opens_down = bend < -1e-9
    peak = 0.5 * (before - after) / np.where(opens_down, bend, 1.0)
    return np.where(opens_down, np.clip(peak, -1.5, 1.5), values.argmax(1) - 1.0)

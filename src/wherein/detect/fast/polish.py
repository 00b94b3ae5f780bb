"""The last stage: a piece at full size, where its picture and its joint agree.

Something in front of a piece pulls it aside unless pixels that do not fit are trusted less; but blur makes
*every* edge fit badly, and to trust edges less leaves a small piece without a hold. The picture alone cannot
say which of the two it is. The joint can: of the two poses, the one that keeps to it is right. And where the
picture does not object, the piece turns about its joint exactly, which leaves one number to be told instead
of three.
"""

import numpy as np

from wherein.detect.fast.joints import TIGHT, Placed, astray, at_joint, turns
from wherein.detect.fast.piece_search import EUCLIDEAN, Fitting, covered, despite_covers
from wherein.motion.models import Motion
from wherein.pyramid.levels import Descended, SceneLevels, descend
from wherein.pyramid.register_pyramid import Poses
from wherein.registration.plan import Stage
from wherein.template.pose import rotations

FULL, _LOOK = Stage(1, 30, tolerance=1e-3), Stage(1, 0)
"""To rest at full size, and one look there."""

_WORSE = 0.02
"""ZNCC where it is judged that a pose may lose on its way to rest at full size."""

_TURNS = (2.0, 0.7, 0.2)
"""Degrees between three looks about the joint, through which a parabola is laid, one after the other."""

_OBJECTS = 0.004
"""ZNCC that a pose may lose by keeping to its joint exactly."""


def at_rest(scene: SceneLevels, placed: Placed, fitting: Fitting, motion: Motion) -> Placed:
    """The same hypotheses with one piece at full size, where that is no worse.

    Arguments:
        scene: where it is.
        placed: with the piece, and what it hangs on.
        fitting: the piece.
        motion: of the body.
    """
    piece, before = fitting.piece, placed.frames[fitting.piece.home]
    zncc, limb = placed.zncc[piece.home], piece.parent != piece.home
    if limb:
        found = limb_at_rest(scene, fitting, placed.frames[piece.parent], before @ fitting.rest)
    else:
        found = body_at_rest(scene, fitting, motion, before @ fitting.rest)
    frames = found.poses @ fitting.away
    good = (found.zncc >= zncc - _WORSE) & (zncc > 0)
    if limb:
        good &= at_joint(piece, placed.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    return placed.with_piece(piece.home, frames, np.where(good, found.zncc, zncc))


def body_at_rest(scene: SceneLevels, fitting: Fitting, motion: Motion, poses: Poses) -> Descended:
    """Where poses of a piece that hangs on nothing come to rest, with their ZNCC where they are judged."""
    ended = descend(scene, fitting.levels, motion, FULL, poses)
    ended = despite_covers(scene, fitting, motion, FULL, ended)
    return descend(scene, fitting.levels, motion, Stage(fitting.judged, 0), ended.poses)


def limb_at_rest(scene: SceneLevels, fitting: Fitting, parents: Poses, poses: Poses) -> Descended:
    """The same of a piece that hangs on others.

    Arguments:
        scene: where it is.
        fitting: the piece.
        parents: frames of what it hangs on, canvas → scene, as many as poses.
        poses: carrier pixels → scene.
    """
    ended = descend(scene, fitting.levels, EUCLIDEAN, FULL, poses)
    unsure = covered(ended)
    best = ended.poses.copy()
    best[unsure] = _by_the_joint(scene, fitting, parents[unsure], ended[unsure])
    return descend(scene, fitting.levels, EUCLIDEAN, Stage(fitting.judged, 0), best)


def _by_the_joint(scene: SceneLevels, fitting: Fitting, parents: Poses, plain: Descended) -> Poses:
    """The better of two descents, and then the same about the joint where the picture does not object."""
    piece = fitting.piece
    robust = despite_covers(scene, fitting, EUCLIDEAN, FULL, plain)
    off = [astray(piece, parents, found.poses @ fitting.away) for found in (plain, robust)]
    free = np.where((off[0] < off[1])[:, None, None], plain.poses, robust.poses)
    hinged = _hinged(scene, fitting, parents, free)
    told = [descend(scene, fitting.levels, EUCLIDEAN, _LOOK, found).zncc for found in (hinged, free)]
    return np.where((told[0] >= told[1] - _OBJECTS)[:, None, None], hinged, free)


def _hinged(scene: SceneLevels, fitting: Fitting, parents: Poses, free: Poses) -> Poses:
    """The turns about the joint with the best ZNCC, near those of free poses."""
    angles = turns(parents, free @ fitting.away)

    def about_joint(degrees: np.ndarray) -> Poses:
        turned: Poses = parents[:, None] @ rotations(degrees, fitting.piece.joint) @ fitting.rest
        return turned.reshape(-1, 3, 3)

    for step in _TURNS:
        looks = about_joint(angles[:, None] + step * np.array((-1.0, 0.0, 1.0)))
        zncc = descend(scene, fitting.levels, EUCLIDEAN, _LOOK, looks).zncc.reshape(-1, 3)
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

"""Given where the object could be, place every piece: top-down, each about the joint that it hangs on.

Groups that turn but have no picture of their own: their parts say how.

A part of such a group is looked for about every turn of the group and of itself. Where the group's joint g
lies is known, and a part that is found says where its own joint q is; the turn of the group is then

    arg Σ_k w_k conj(q_k − g) (p_k − g),   p_k the joint as found, in the frame of what the group hangs on,

the least squares over all parts that agree on one. Those that do not are looked for again about that turn.

Pieces beyond a hidden one: the hand is seen, the arm that it hangs on is not.

Where a piece is not found, those that hang on it are looked for about every turn that it may have; the one
that is found then says how the hidden piece is turned.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.piece_search import BASIN, EUCLIDEAN, PieceModel, best_of_each
from wherein.detect.fast.pieces import Joint, Piece
from wherein.detect.score import FOUND, information
from wherein.pyramid.descent import descend
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.pose import rotations
from wherein.template.tree import Point

LOOSE, TIGHT = 6.0, 2.5
"""Canvas pixels by which a joint may seem to have moved: at a coarse scale or about a guessed root, and where
the fit is scored."""

_LOOKED, _FOLLOWED = 6, 3
"""Turns of a piece from which a descent begins, and that go on to the next finer scale."""

BEYOND = 3.0
"""Degrees by which a turn may exceed its limit: limits are drawn by hand."""


def place(
    scene: ScenePyramid,
    placement: Placement,
    model: PieceModel,
    tolerance: float = TIGHT,
    group: Joint | None = None,
) -> Placement:
    """One more piece, from turns about its joint a basin apart; where its parent is, has been placement.

    Arguments:
        scene: where to look.
        placement: the pieces above it.
        model: the piece.
        tolerance: canvas pixels by which its joint may seem to have moved in the end; on the way it is loose.
        group: what it hangs on, where that may have any of its turns.
    """
    piece, parents = model.piece, placement.frames[(group or model.piece).parent]
    if not len(parents):
        return placement.with_piece(piece.name, parents, np.zeros(0))
    starts = parents[:, None] @ (_starts(model, group) if group else model.starts)
    evaluate = replace(model.joint_stages[0], steps=0)
    found = descend(scene, model.pyramid, EUCLIDEAN, evaluate, (starts @ model.to_canvas).reshape(-1, 3, 3))
    found = best_of_each(found, len(parents), _LOOKED)
    for stage in model.joint_stages:
        last = stage is model.joint_stages[-1]
        found = descend(scene, model.pyramid, EUCLIDEAN, stage, found.poses)
        repeated = np.repeat(parents, len(found.poses) // len(parents), axis=0)
        frames = found.poses @ model.from_canvas
        if group:
            repeated = turned(group, repeated, [piece], {piece.name: frames})
        fits = keeps_joint(piece, repeated, frames, tolerance if last else LOOSE)
        found = replace(found, zncc=np.where(fits, found.zncc, -1.0))
        found = best_of_each(found, len(parents), 1 if last else _FOLLOWED)
    frames = np.where((found.zncc > 0)[:, None, None], found.poses @ model.from_canvas, parents)
    return placement.with_piece(piece.name, frames, found.zncc)


def _starts(model: PieceModel, group: Joint) -> Poses:
    """(T, 3, 3): turns of a group and of a piece on it, those of the group so that no point of the piece is
    further than a basin away, and that all directions are among them which the piece can have."""
    piece = model.piece
    reach = math.dist(group.joint, piece.joint)
    step = 2 * math.degrees(math.atan2(BASIN * model.joint_scale, reach))
    held = group.starts(min(step, 2 * piece.turn + model.turn_step))
    both: Poses = held[:, None] @ piece.starts(model.turn_step)
    return both.reshape(-1, 3, 3)


def turned(
    group: Joint,
    parents: Poses,
    pieces: Sequence[Piece],
    frames: Mapping[str, Poses],
    trust: Mapping[str, NDArray[np.float64]] | None = None,
) -> Poses:
    """Frames of a group under which the joints of its pieces are where their frames have them, by least
    squares, none of the pieces being turned further than it may.

    Arguments:
        group: what turns.
        parents: (H, 3, 3), of what it hangs on.
        pieces: what hangs on it.
        frames: (H, 3, 3) by name.
        trust: (H,) by name, with 0 for a piece that says nothing; all alike where it is None.
    """
    pull, away = np.zeros(len(parents), np.complex128), np.linalg.inv(parents)
    weights = [trust[piece.name] if trust else np.ones(len(parents)) for piece in pieces]
    for piece, weight in zip(pieces, weights, strict=True):
        rest = complex(piece.joint[0] - group.joint[0], piece.joint[1] - group.joint[1])
        x, y = (away @ frames[piece.name] @ np.array((*piece.joint, 1.0)))[:, :2].T
        pull += weight * rest.conjugate() * (x - group.joint[0] + 1j * (y - group.joint[1]))
    degrees = np.degrees(np.angle(pull))
    for piece, weight in zip(pieces, weights, strict=True):
        whole = turns(parents, frames[piece.name])
        own = np.clip(_wrapped(whole - degrees), -piece.turn, piece.turn)
        degrees = np.where(weight > 0, _wrapped(whole - own), degrees)
    return parents @ rotations(np.clip(degrees, -group.turn, group.turn), group.joint)


def _wrapped(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between −180 and 180."""
    return (degrees + 180.0) % 360.0 - 180.0


def keeps_joint(piece: Joint, parents: Poses, frames: Poses, tolerance: float) -> NDArray[np.bool_]:
    """Whether each frame is its parent's, but for a turn about the joint within the limits."""
    moved, turned = joint_error(piece, parents, frames), turns(parents, frames)
    return (moved <= max(tolerance, piece.play)) & (np.abs(turned) <= piece.turn + BEYOND)


def joint_error(piece: Joint, parents: Poses, frames: Poses) -> NDArray[np.float64]:
    """How far each frame has the joint from where its parent has it, in canvas pixels."""
    joint = np.array((*piece.joint, 1.0))
    return np.linalg.norm(((frames - parents) @ joint)[:, :2], axis=1) / np.maximum(scales(parents), 1e-9)


def turns(parents: Poses, frames: Poses) -> NDArray[np.float64]:
    """Degrees by which each frame is turned against its parent."""
    relative = np.linalg.inv(parents)[:, :2, :2] @ frames[:, :2, :2]
    return np.degrees(np.arctan2(relative[:, 1, 0], relative[:, 0, 0]))


def turn_towards(piece: Joint, parents: Poses, frames: Poses, point: Point) -> NDArray[np.float64]:
    """Degrees by which a piece must turn about its joint so that a canvas point of it lies in the direction
    where each of the frames has it."""
    joint, target = np.array((*piece.joint, 1.0)), np.array((*point, 1.0))
    arm = (np.linalg.inv(parents) @ frames @ target - joint)[:, :2]
    rest = (target - joint)[:2]
    return np.degrees(np.arctan2(arm[:, 1], arm[:, 0]) - np.arctan2(rest[1], rest[0])) % 360.0


def scales(frames: Poses) -> NDArray[np.float64]:
    """√|det A| of each."""
    return np.sqrt(np.abs(np.linalg.det(frames[:, :2, :2])))


def place_group(
    scene: ScenePyramid,
    placement: Placement,
    group: Joint,
    models: Sequence[PieceModel],
    weights: Mapping[str, float],
    tolerance: float = TIGHT,
) -> Placement:
    """One more group, with all pieces that hang on it.

    Arguments:
        scene: where to look.
        placement: what it hangs on.
        group: what turns; with no piece right on it, as what it hangs on.
        models: the pieces.
        weights: how much the evidence of a piece counts, by name.
        tolerance: canvas pixels by which a joint may seem to have moved in the end.
    """
    for model in models:
        placement = place(scene, placement, model, tolerance, group)
    pieces = [model.piece for model in models]
    placement, evidence = with_group(placement, group, pieces, weights)
    frames = placement.frames[group.name]
    sure = np.max([evidence[piece.name] for piece in pieces], axis=0, initial=0.0) >= FOUND
    for model in models:
        name = model.piece.name
        fits = keeps_joint(model.piece, frames, placement.frames[name], tolerance) & (
            placement.zncc[name] > 0
        )
        kept = np.where(fits[:, None, None], placement.frames[name], frames)
        placement = placement.with_piece(name, kept, np.where(fits, placement.zncc[name], -1.0))
        again = np.flatnonzero(~fits & sure)
        placement = placement.replaced(again, place(scene, placement[again], model, tolerance))
    return placement


def with_group(
    placement: Placement, group: Joint, pieces: Sequence[Piece], weights: Mapping[str, float]
) -> tuple[Placement, dict[str, NDArray[np.float64]]]:
    """The same with a group turned as its pieces say that most evidence agrees with; and their evidence."""
    parents = placement.frames[group.parent]
    evidence = {piece.name: weights[piece.name] * information(placement.zncc[piece.name]) for piece in pieces}
    trust, most = evidence, np.full(len(placement), -1.0)
    for lead in pieces:
        guess = turned(group, parents, [lead], placement.frames, evidence)
        agree = {
            piece.name: np.where(
                (piece is lead) | keeps_joint(piece, guess, placement.frames[piece.name], LOOSE),
                evidence[piece.name],
                0.0,
            )
            for piece in pieces
        }
        total = np.sum(list(agree.values()), axis=0)
        trust = {name: np.where(total > most, agree[name], trust[name]) for name in agree}
        most = np.maximum(total, most)
    frames = turned(group, parents, pieces, placement.frames, trust)
    return placement.with_frames(group.name, frames), evidence


def carried(before: Placement, placement: Placement, group: Joint) -> Placement:
    """The same with a group turned as it was before against what it hangs on, which has moved."""
    held = placement.frames[group.parent] @ np.linalg.inv(before.frames[group.parent])
    return placement.with_frames(group.name, held @ before.frames[group.name])


def place_behind_hidden(
    scene: ScenePyramid, placement: Placement, model: PieceModel, hidden: PieceModel
) -> Placement:
    """The same hypotheses with a piece placement about every turn of a hidden one, which then is where the
    piece says; as they were where that leads to nothing.

    Arguments:
        scene: where to look.
        placement: hypotheses under none of which the two pieces are found.
        model: the piece.
        hidden: the one that it hangs on.
    """
    name, above = model.piece.name, hidden.piece
    held = placement.frames[above.parent]
    tried = held[:, None] @ hidden.starts
    guesses = Placement({above.name: tried.reshape(-1, 3, 3)}, {})
    found = place(scene, guesses, model, LOOSE)
    best = found.zncc[name].reshape(tried.shape[:2]).argmax(1)
    found = found[best + np.arange(len(best)) * tried.shape[1]]
    frames, zncc = found.frames[name], found.zncc[name]
    implied = held @ rotations(turn_towards(above, held, frames, model.piece.joint), above.joint)
    good = (zncc > 0) & keeps_joint(model.piece, implied, frames, TIGHT)
    good &= keeps_joint(above, held, implied, TIGHT)
    chosen = {
        name: np.where(good[:, None, None], frames, placement.frames[name]),
        above.name: np.where(good[:, None, None], implied, placement.frames[above.name]),
    }
    zncc = np.where(good, zncc, placement.zncc[name])
    return replace(placement, frames={**placement.frames, **chosen}, zncc={**placement.zncc, name: zncc})

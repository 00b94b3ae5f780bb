"""Placement of pieces at their joints: given the root's frame, top-down, each piece about its own joint.

**Pieces.** The parent's frame says where the joint of a piece is. What is left is a turn, which is found by
descents from turns a basin apart.

**Groups** turn but have no picture: their pieces determine the turn. A piece of a group is searched for at
every turn of the group and of itself. Where the group's joint g lies is known, and a piece that is found
shows where its own joint q lies now. The turn of the group is then the least-squares solution

    arg Σ_k w_k conj(q_k − g) (p_k − g),   p_k the joint as found, in the frame of the group's parent,

over all pieces that agree on one turn. The others are searched for again at that turn.

**Pieces attached to a hidden piece**, such as the hand of an arm that is covered: where a piece is not found,
those attached to it are searched for at every turn that it may have, and one that is found shows how the
hidden piece is turned.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.pieces import TURN_TOLERANCE, Joint, Piece
from wherein.detect.score import MIN_EVIDENCE, information
from wherein.motion.homography import mapped, relative, rigid, rotations
from wherein.motion.parallax import leans, raised_starts, without_parallax
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PlaneFits, fit_planes
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.rating import best_turns
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.tree import Point

LOOSE, TIGHT = 6.0, 2.5
"""How far a fitted piece may have its joint from where its parent has it, in canvas pixels: on the way, at a
coarse scale or about a guessed root, and where the fit is scored. Choices."""

_MAX_REFINED, _MAX_STARTS, _MAX_FOLLOWED = 8, 4, 4
"""Maximum number of turns of a piece that are refined, from which fits start, and that go on to the next
finer resolution. Choices."""

_REFINE, _FIT = PlaneStage(rounds=1, steps=4), PlaneStage()

_MIN_SHARE = 0.5
"""Share of the best ZNCC that a pose must have to be fitted on. By 563 limbs of the crab, the robot and the
gauge: of limbs that fitted with 0.6 or more, the start that won had at least 0.55 of the best before the
first fit; of limbs with 0.4 or more, at least 0.39."""

_SAME = 0.5
"""Pixels of the motif's resolution within which two poses are one. A choice: most starts that are left after
the refinement have come to the same place."""


def place(
    scene: ScenePyramid,
    placement: Placement,
    model: PieceModel,
    tolerance: float = TIGHT,
    with_group: bool = False,
    taken: Callable[[Poses], NDArray[np.bool_]] | None = None,
) -> Placement:
    """The placement with one more piece: the best fit about its joint, from turns a basin apart.

    Arguments:
        scene: the scene to search.
        placement: with the frames of the piece's parent.
        model: the piece.
        tolerance: how far the joint may be off in the end, in canvas pixels; on the way it is `LOOSE`.
        with_group: try every turn of the group that the piece is attached to; the placement then needs the
            frames of the group's parent.
        taken: at which frames (N, 3, 3) the piece cannot be; only with a single hypothesis. None: at none.
    """
    piece, group = model.piece, model.group if with_group else None
    assert group is not None or not with_group, "a piece that is attached to a group"
    parents = placement.frames[(group or piece).parent]
    if not len(parents):
        return placement.with_piece(piece.name, parents, np.zeros(0))
    at_rest = model.group_starts if group else model.starts
    starts = [
        raised_starts(parent, piece.joint, at_rest, piece.height, model.basin) @ model.to_canvas
        for parent in parents
    ]
    if taken is not None:
        free = ~taken(parents[0] @ starts[0] @ model.from_canvas)
        starts = [starts[0][free if free.any() else slice(1)]]
    # All turns are rated and the best refined before any is fitted: both cost a fraction of a fit.
    found = best_turns(scene, model.stages[0], EUCLIDEAN, _REFINE, parents, starts, _MAX_REFINED)
    found = _at_joint(model, group, parents, found, LOOSE, _MAX_STARTS, taken)
    for motif in model.stages:
        last = motif is model.stages[-1]
        hopeful = _hopeful(motif, found, len(parents))
        fits = fit_planes(scene, motif, EUCLIDEAN, _FIT, found.poses[hopeful])
        found = replace(found, zncc=np.full(len(found), -1.0)).replaced(np.flatnonzero(hopeful), fits)
        found = _at_joint(
            model, group, parents, found, tolerance if last else LOOSE, 1 if last else _MAX_FOLLOWED, taken
        )
    # A piece that was not found is at rest, so that those attached to it have a frame.
    frames = np.where((found.zncc > 0)[:, None, None], found.poses @ model.from_canvas, parents)
    return placement.with_piece(piece.name, frames, found.zncc)


def _hopeful(motif: PlaneMotif, found: PlaneFits, groups: int) -> NDArray[np.bool_]:
    """Which poses are worth a fit, (B,): not far below the best of their group, and no better one is at the
    same place; the best of each group comes first."""
    zncc = found.zncc.reshape(groups, -1)
    (x, y), radius = motif.centre, motif.radius
    middle, edge = np.moveaxis(mapped(found.poses @ motif.to_full, [(x, y), (x + radius, y)]), 1, 0)
    pixel = (np.linalg.norm(edge - middle, axis=1) / radius).reshape(groups, -1)
    ends = np.concatenate((middle, edge), 1).reshape(groups, -1, 1, 4)
    apart = np.abs(ends - ends.swapaxes(1, 2)).max(-1)
    same = np.tril(apart < _SAME * pixel[:, :, None], -1).any(2)
    return ((zncc > -1) & (zncc >= _MIN_SHARE * zncc[:, :1]) & ~same).ravel()


def _at_joint(
    model: PieceModel,
    group: Joint | None,
    parents: Poses,
    found: PlaneFits,
    tolerance: float,
    count: int,
    taken: Callable[[Poses], NDArray[np.bool_]] | None = None,
) -> PlaneFits:
    """The best `count` poses about each parent, without those that have left their joint."""
    frames = found.poses @ model.from_canvas
    repeated = np.repeat(parents, len(found.poses) // len(parents), axis=0)
    if group:
        repeated = group_frames(group, repeated, [model.piece], {model.piece.name: frames})
    # The fit is free to shift the piece. One that has left its joint fits something else.
    fits = keeps_joint(model.piece, repeated, frames, tolerance)
    fits = fits if taken is None else fits & ~taken(frames)
    return best_of_each(replace(found, zncc=np.where(fits, found.zncc, -1.0)), len(parents), count)


def best_of_each(found: PlaneFits, groups: int, count: int = 1) -> PlaneFits:
    """The best `count` poses of each group, where `found` holds equally many poses of each in turn."""
    zncc = found.zncc.reshape(groups, -1)
    # Stable, here and elsewhere: among equal scores the order must not depend on the library's sorting.
    chosen = np.argsort(-zncc, axis=1, kind="stable")[:, :count]
    return found[(chosen + np.arange(groups)[:, None] * zncc.shape[1]).ravel()]


def group_frames(
    group: Joint,
    parents: Poses,
    pieces: Sequence[Piece],
    frames: Mapping[str, Poses],
    trust: Mapping[str, NDArray[np.float64]] | None = None,
) -> Poses:
    """The frames of a group that fit the joints of its pieces best, by weighted least squares, (H, 3, 3).

    No piece is turned further than it may relative to the group; if need be, the group turns instead.

    Arguments:
        group: what turns.
        parents: frames of the group's parent, (H, 3, 3).
        pieces: those attached to the group.
        frames: of the pieces, (H, 3, 3) by name.
        trust: weight of each piece, (H,) by name, 0 for one that was not found; None: all equal.
    """
    pull, inverse = np.zeros(len(parents), np.complex128), np.linalg.inv(parents)
    weights = [trust[piece.name] if trust else np.ones(len(parents)) for piece in pieces]
    for piece, weight in zip(pieces, weights, strict=True):
        rest = complex(piece.joint[0] - group.joint[0], piece.joint[1] - group.joint[1])
        x, y = mapped(inverse @ frames[piece.name], piece.joint).T
        pull += weight * rest.conjugate() * (x - group.joint[0] + 1j * (y - group.joint[1]))
    degrees = np.degrees(np.angle(pull))
    for piece, weight in zip(pieces, weights, strict=True):
        # A piece beyond its own limit shows that the group has turned too: the only clue there is where the
        # piece's joint lies on the group's.
        total = turns(parents, frames[piece.name])
        own = np.clip(wrapped(total - degrees), -piece.turn, piece.turn)
        degrees = np.where(weight > 0, wrapped(total - own), degrees)
    return parents @ rotations(np.clip(degrees, -group.turn, group.turn), group.joint)


def wrapped(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same angles between −180 and 180."""
    return (degrees + 180.0) % 360.0 - 180.0


def keeps_joint(piece: Joint, parents: Poses, frames: Poses, tolerance: float) -> NDArray[np.bool_]:
    """Whether each frame is its parent's up to a turn about the joint within the limits, (H,).

    The piece may lie above the plane of its parent.
    """
    moved, most = relative(parents, frames), max(tolerance, piece.play)
    off = _joint_shift(piece, moved)
    kept = np.linalg.norm(off, axis=1) <= most
    # Most joints are where they should be, whatever lies above its plane.
    rest = np.flatnonzero(~kept)
    if len(rest):
        lean = leans(np.broadcast_to(parents, moved.shape)[rest], piece.joint)
        kept[rest] = np.linalg.norm(without_parallax(off[rest], lean, piece.height), axis=1) <= most
    return kept & (np.abs(_turns(moved)) <= piece.turn + TURN_TOLERANCE)


def _joint_shift(piece: Joint, moved: Poses) -> NDArray[np.float64]:
    """From where a parent to where a piece has the joint, for frames relative to the parents', (H, 2)."""
    return np.asarray(mapped(moved, piece.joint) - np.array(piece.joint))


def turns(parents: Poses, frames: Poses) -> NDArray[np.float64]:
    """Degrees by which each frame is turned relative to its parent, in the plane of the object, (H,)."""
    return _turns(relative(parents, frames))


def _turns(moved: Poses) -> NDArray[np.float64]:
    """The same for frames relative to those of the parents."""
    return np.degrees(np.arctan2(moved[:, 1, 0], moved[:, 0, 0]))


def turn_towards(piece: Joint, parents: Poses, frames: Poses, point: Point) -> NDArray[np.float64]:
    """Degrees by which a piece must turn to bring one of its points into the direction in which it was found.

    Arguments:
        piece: what turns.
        parents: frames of its parent, (H, 3, 3).
        frames: canvas → scene, (H, 3, 3): where they map the point is where it was found.
        point: on the canvas.
    """
    arm = mapped(relative(parents, frames), point) - np.array(piece.joint)
    rest = np.array(point) - np.array(piece.joint)
    return np.degrees(np.arctan2(arm[:, 1], arm[:, 0]) - np.arctan2(rest[1], rest[0])) % 360.0


def place_group(
    scene: ScenePyramid,
    placement: Placement,
    group: Joint,
    models: Sequence[PieceModel],
    weights: Mapping[str, float],
    tolerance: float = TIGHT,
) -> Placement:
    """The placement with one more group and all pieces attached to it.

    Arguments:
        scene: the scene to search.
        placement: with the frames of the group's parent.
        group: what turns; without pieces it stays at rest.
        models: the pieces attached to it.
        weights: of the evidence of the pieces, by name.
        tolerance: how far a joint may be off in the end, in canvas pixels.
    """
    for model in models:
        placement = place(scene, placement, model, tolerance, with_group=True)
    pieces = [model.piece for model in models]
    placement, evidence = turn_group(placement, group, pieces, weights)
    frames = placement.frames[group.name]
    determined = np.max([evidence[piece.name] for piece in pieces], axis=0, initial=0.0) >= MIN_EVIDENCE
    for model in models:
        name = model.piece.name
        fits = keeps_joint(model.piece, frames, placement.frames[name], tolerance) & (
            placement.zncc[name] > 0
        )
        kept = np.where(fits[:, None, None], placement.frames[name], frames)
        placement = placement.with_piece(name, kept, np.where(fits, placement.zncc[name], -1.0))
        # With every turn of the group allowed, this piece found something else. Now the turn is known.
        again = np.flatnonzero(~fits & determined)
        placement = placement.replaced(again, place(scene, placement[again], model, tolerance))
    return placement


def turn_group(
    placement: Placement, group: Joint, pieces: Sequence[Piece], weights: Mapping[str, float]
) -> tuple[Placement, dict[str, NDArray[np.float64]]]:
    """The placement with the frames of a group, turned as its pieces agree best.

    Arguments:
        placement: with the pieces, and the frames of the group's parent.
        group: what turns.
        pieces: those attached to it.
        weights: of the evidence of the pieces, by name.

    Returns:
        The placement, and the weighted evidence of the pieces, (H,) by name.
    """
    parents = placement.frames[group.parent]
    evidence = {piece.name: weights[piece.name] * information(placement.zncc[piece.name]) for piece in pieces}
    # Consensus as in RANSAC, but over all pieces: the turn that each of them implies is checked against the
    # others, since one piece that fits clutter would spoil a mean over all.
    trust, best = evidence, np.full(len(placement), -1.0)
    for lead in pieces:
        guess = group_frames(group, parents, [lead], placement.frames, evidence)
        agree = {
            piece.name: np.where(
                (piece is lead) | keeps_joint(piece, guess, placement.frames[piece.name], LOOSE),
                evidence[piece.name],
                0.0,
            )
            for piece in pieces
        }
        total = np.sum(list(agree.values()), axis=0)
        trust = {name: np.where(total > best, agree[name], trust[name]) for name in agree}
        best = np.maximum(total, best)
    frames = group_frames(group, parents, pieces, placement.frames, trust)
    return placement.with_frames(group.name, frames), evidence


def carry_group(before: Placement, placement: Placement, group: Joint) -> Placement:
    """The placement with a group turned relative to its parent as it was before the parent moved."""
    moved = placement.frames[group.parent] @ np.linalg.inv(before.frames[group.parent])
    return placement.with_frames(group.name, moved @ before.frames[group.name])


def in_plane_of(
    moved: Placement, body: PieceModel, limbs: Sequence[PieceModel], before: Placement
) -> Placement:
    """The placement before the body moved, with the limbs in the plane that it has now, where they were seen.

    In the plane of a body that was not exact yet, a limb has a wrong shape, and makes up for it by a turn.
    """
    root = body.piece.name
    known = np.flatnonzero(moved.zncc[root] > 0)  # of one that is hidden, the plane follows from the limbs
    planes, placement = moved.frames[root][known], before
    for limb in limbs:
        name, corners = limb.piece.name, mapped(limb.to_canvas, limb.footprint.corners)
        frames = before.frames[name].copy()
        frames[known] = planes @ rigid(corners, mapped(relative(planes, frames[known]), corners))
        placement = placement.with_frames(name, frames)
    return placement


def place_behind_hidden(
    scene: ScenePyramid, placement: Placement, model: PieceModel, hidden: PieceModel
) -> Placement:
    """The placement with a piece that is attached to a hidden one, and the turn of the hidden one that
    follows.

    Arguments:
        scene: the scene to search.
        placement: hypotheses in which neither of the two pieces was found; one stays as it is if the piece is
            not found at any turn of the hidden one.
        model: the piece.
        hidden: the piece that it is attached to.
    """
    name, above = model.piece.name, hidden.piece
    parents = placement.frames[above.parent]
    tried = parents[:, None] @ hidden.starts
    guesses = Placement({above.name: tried.reshape(-1, 3, 3)}, {})
    # Loose, since the turns that are tried are a basin apart.
    found = place(scene, guesses, model, LOOSE)
    best = found.zncc[name].reshape(tried.shape[:2]).argmax(1)
    found = found[best + np.arange(len(best)) * tried.shape[1]]
    frames, zncc = found.frames[name], found.zncc[name]
    # The joint of the piece as found gives the exact turn of the hidden one, which both joints must then
    # keep.
    implied = parents @ rotations(turn_towards(above, parents, frames, model.piece.joint), above.joint)
    good = (zncc > 0) & keeps_joint(model.piece, implied, frames, TIGHT)
    good &= keeps_joint(above, parents, implied, TIGHT)
    chosen = {
        name: np.where(good[:, None, None], frames, placement.frames[name]),
        above.name: np.where(good[:, None, None], implied, placement.frames[above.name]),
    }
    zncc = np.where(good, zncc, placement.zncc[name])
    return replace(placement, frames={**placement.frames, **chosen}, zncc={**placement.zncc, name: zncc})

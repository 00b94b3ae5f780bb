"""Groups that turn but have no picture of their own: their parts say how.

A part of such a group is looked for about every turn of the group and of itself. Where the group's joint g
lies is known, and a part that is found says where its own joint q is; the turn of the group is then

    arg Σ_k w_k conj(q_k − g) (p_k − g),   p_k the joint as found, in the frame of what the group hangs on,

the least squares over all parts that agree on one. Those that do not are looked for again about that turn.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.joints import LOOSE, TIGHT, Placed, at_joint, place, turned
from wherein.detect.fast.piece_search import Fitting
from wherein.detect.fast.pieces import Joint, Piece
from wherein.detect.fast.score import FOUND, information
from wherein.pyramid.levels import SceneLevels


def place_group(
    scene: SceneLevels,
    placed: Placed,
    group: Joint,
    fittings: Sequence[Fitting],
    weights: Mapping[str, float],
    tolerance: float = TIGHT,
) -> Placed:
    """One more group, with all pieces that hang on it.

    Arguments:
        scene: where to look.
        placed: what it hangs on.
        group: what turns; with no piece right on it, as what it hangs on.
        fittings: the pieces.
        weights: how much the evidence of a piece counts, by home.
        tolerance: canvas pixels by which a joint may seem to have moved in the end.
    """
    for fitting in fittings:
        placed = place(scene, placed, fitting, tolerance, group)
    pieces = [fitting.piece for fitting in fittings]
    placed, told = with_group(placed, group, pieces, weights)
    frames = placed.frames[group.home]
    sure = np.max([told[piece.home] for piece in pieces], axis=0, initial=0.0) >= FOUND
    for fitting in fittings:
        home = fitting.piece.home
        fits = at_joint(fitting.piece, frames, placed.frames[home], tolerance) & (placed.zncc[home] > 0)
        kept = np.where(fits[:, None, None], placed.frames[home], frames)
        placed = placed.with_piece(home, kept, np.where(fits, placed.zncc[home], -1.0))
        again = np.flatnonzero(~fits & sure)
        placed = placed.with_rows(again, place(scene, placed[again], fitting, tolerance))
    return placed


def with_group(
    placed: Placed, group: Joint, pieces: Sequence[Piece], weights: Mapping[str, float]
) -> tuple[Placed, dict[str, NDArray[np.float64]]]:
    """The same with a group turned as its pieces say that most evidence agrees with; and their evidence."""
    parents = placed.frames[group.parent]
    told = {piece.home: weights[piece.home] * information(placed.zncc[piece.home]) for piece in pieces}
    trust, most = told, np.full(len(placed), -1.0)
    for lead in pieces:
        guess = turned(group, parents, [lead], placed.frames, told)
        agree = {
            piece.home: np.where(
                (piece is lead) | at_joint(piece, guess, placed.frames[piece.home], LOOSE),
                told[piece.home],
                0.0,
            )
            for piece in pieces
        }
        total = np.sum(list(agree.values()), axis=0)
        trust = {home: np.where(total > most, agree[home], trust[home]) for home in agree}
        most = np.maximum(total, most)
    frames = turned(group, parents, pieces, placed.frames, trust)
    return placed.with_frames(group.home, frames), told


def carried(before: Placed, placed: Placed, group: Joint) -> Placed:
    """The same with a group turned as it was before against what it hangs on, which has moved."""
    held = placed.frames[group.parent] @ np.linalg.inv(before.frames[group.parent])
    return placed.with_frames(group.home, held @ before.frames[group.home])

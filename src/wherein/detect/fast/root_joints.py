"""The root between the joints of its limbs, where there is no body that says where it is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.joints import TIGHT, Placed, at_joint, scales
from wherein.detect.fast.pieces import Joint, Piece, Pieces
from wherein.detect.fast.roots import settled
from wherein.detect.fast.score import FOUND, information


def rooted(placed: Placed, pieces: Pieces, weights: Mapping[str, float]) -> Placed:
    """The same with the root between the joints of its limbs, where there is no body that says more, and with
    groups at rest that nothing tells the turn of, where that agrees with what is seen.

    Arguments:
        placed: every piece.
        pieces: of the template.
        weights: how much the evidence of a piece counts, by home.
    """
    hung, groups = pieces.hung_on_root, pieces.groups
    if not hung:
        return placed
    told = {piece.home: weights[piece.home] * information(placed.zncc[piece.home]) for piece in hung}
    trust = {home: np.where(weight >= FOUND, weight, 0.0) for home, weight in told.items()}
    free = _about_joints(placed, pieces, trust)
    if not groups:
        return free
    rested = _about_joints(_resting(placed, groups, hung, trust), pieces, trust)
    rested = _resting(rested, groups, hung, trust)  # with the root where it now is
    simpler = np.flatnonzero(_joined(rested, hung, trust) & ~_body_seen(placed, pieces))
    return free.with_rows(simpler, rested[simpler])


def _about_joints(placed: Placed, pieces: Pieces, trust: Mapping[str, NDArray[np.float64]]) -> Placed:
    """The root where the joints of its limbs say, unless the body does."""
    hung, root = pieces.hung_on_root, pieces.tree.root
    roots = settled(placed.frames, trust, hung, placed.frames[root], scales(placed.frames[root]))
    if len(hung) == 1 and pieces.body is None:  # nothing tells how it is turned: as it was drawn
        roots = placed.frames[hung[0].home]
    roots = np.where(_body_seen(placed, pieces)[:, None, None], placed.frames[root], roots)
    return replace(placed, frames={**placed.frames, root: roots})


def _body_seen(placed: Placed, pieces: Pieces) -> NDArray[np.bool_]:
    """Under which hypotheses."""
    return placed.zncc.get(pieces.tree.root, np.full(len(placed), -1.0)) > 0


def _resting(
    placed: Placed, groups: Sequence[Joint], pieces: Sequence[Piece], trust: Mapping[str, NDArray[np.float64]]
) -> Placed:
    """The same with groups at rest of which one piece is seen at most, or of which alone pieces are seen:
    nothing can then tell the group's turn from the root's."""
    seen = {piece.home: (trust[piece.home] > 0).astype(int) for piece in pieces}
    for group in groups:
        inside = [seen[piece.home] for piece in pieces if piece.parent == group.home]
        outside = [seen[piece.home] for piece in pieces if piece.parent != group.home]
        none = np.zeros(len(placed), dtype=int)
        alone = (sum(inside, none) <= 1) | (sum(outside, none) == 0)
        frames = np.where(alone[:, None, None], placed.frames[group.parent], placed.frames[group.home])
        placed = placed.with_frames(group.home, frames)
    return placed


def _joined(
    placed: Placed, pieces: Sequence[Piece], trust: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.bool_]:
    """Under which hypotheses all pieces that are seen are where their joints say."""
    fits = np.ones(len(placed), dtype=np.bool_)
    for piece in pieces:
        held = at_joint(piece, placed.frames[piece.parent], placed.frames[piece.home], TIGHT)
        fits &= held | (trust[piece.home] <= 0)
    return fits

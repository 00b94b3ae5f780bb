"""Each root where the joints of its limbs have it, once all pieces are refined.

The root's frame is that of the body; where there is no body, or it is hidden, the joints of the limbs
determine it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import TIGHT, keeps_joint
from wherein.detect.fast.limbs.roots import root_from_joints
from wherein.detect.fast.pieces import Joint, Piece, Pieces
from wherein.detect.score import MIN_EVIDENCE, information
from wherein.motion.homography import scales


def settle_roots(placement: Placement, pieces: Pieces, weights: Mapping[str, float]) -> Placement:
    """The placement with each root at the joints of its limbs, unless the body was found.

    Groups whose turn nothing determines are put at rest, if the limbs that were found still fit then.

    Arguments:
        placement: with every piece.
        pieces: of the template.
        weights: of the evidence of a piece, by name.
    """
    limbs, groups = pieces.root_limbs, pieces.groups
    if not limbs:
        return placement
    evidence = {piece.name: weights[piece.name] * information(placement.zncc[piece.name]) for piece in limbs}
    # Limbs that fit no better than clutter would pull the root aside.
    trust = {name: np.where(weight >= MIN_EVIDENCE, weight, 0.0) for name, weight in evidence.items()}
    free = _at_joints(placement, pieces, trust)
    if not groups:
        return free
    rested = _at_joints(_groups_at_rest(placement, groups, limbs, trust), pieces, trust)
    rested = _groups_at_rest(rested, groups, limbs, trust)  # relative to the root where it is now
    # Of the hypotheses that fit equally, the one with fewer turned joints.
    simpler = np.flatnonzero(_joints_kept(rested, limbs, trust) & ~_body_found(placement, pieces))
    return free.replaced(simpler, rested[simpler])


def _at_joints(placement: Placement, pieces: Pieces, trust: Mapping[str, NDArray[np.float64]]) -> Placement:
    """The placement with each root at the joints of its limbs, unless the body was found."""
    limbs, root = pieces.root_limbs, pieces.tree.root
    before = placement.frames[root]
    roots = root_from_joints(placement.frames, trust, limbs, before, scales(before, (0.0, 0.0)))
    if len(limbs) == 1 and pieces.body is None:
        # The turn of the only limb cannot be told from the root's. Take the limb to be at rest.
        roots = placement.frames[limbs[0].name]
    roots = np.where(_body_found(placement, pieces)[:, None, None], before, roots)
    return replace(placement, frames={**placement.frames, root: roots})


def _body_found(placement: Placement, pieces: Pieces) -> NDArray[np.bool_]:
    """In which hypotheses the body was found, (H,)."""
    return placement.zncc.get(pieces.tree.root, np.full(len(placement), -1.0)) > 0


def _groups_at_rest(
    placement: Placement,
    groups: Sequence[Joint],
    pieces: Sequence[Piece],
    trust: Mapping[str, NDArray[np.float64]],
) -> Placement:
    """The placement with those groups at rest whose turn cannot be told from the root's.

    That is the case if at most one limb of the group was found, or no limb outside of it.
    """
    found = {piece.name: (trust[piece.name] > 0).astype(int) for piece in pieces}
    for group in groups:
        inside = [found[piece.name] for piece in pieces if piece.parent == group.name]
        outside = [found[piece.name] for piece in pieces if piece.parent != group.name]
        none = np.zeros(len(placement), dtype=int)
        unknown = (sum(inside, none) <= 1) | (sum(outside, none) == 0)
        frames = np.where(
            unknown[:, None, None], placement.frames[group.parent], placement.frames[group.name]
        )
        placement = placement.with_frames(group.name, frames)
    return placement


def _joints_kept(
    placement: Placement, pieces: Sequence[Piece], trust: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.bool_]:
    """In which hypotheses all limbs that were found keep their joints, (H,)."""
    kept = np.ones(len(placement), dtype=np.bool_)
    for piece in pieces:
        fits = keeps_joint(piece, placement.frames[piece.parent], placement.frames[piece.name], TIGHT)
        kept &= fits | (trust[piece.name] <= 0)
    return kept

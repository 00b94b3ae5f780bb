"""Fits each root to the joints of its limbs, after all pieces are refined.

The frame of the root is that of the body. If there is no body, or it is hidden, the joints of the limbs
determine the root.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import TIGHT, keeps_joint
from wherein.detect.fast.limbs.roots import root_from_joints
from wherein.detect.fast.pieces import Joint, Piece, Pieces
from wherein.detect.score import MIN_EVIDENCE, information
from wherein.motion.homography import scales


def settle_roots(placement: Placement, pieces: Pieces, weights: Mapping[str, float]) -> Placement:
    """The placement with each root fitted to the joints of its limbs, unless the body was found.

    Groups whose turn cannot be determined are put at rest, if the limbs that were found keep their joints
    then.

    Arguments:
        placement: with every piece.
        pieces: of the template.
        weights: of the evidence of each piece, by name.
    """
    limbs, groups = pieces.root_limbs, pieces.groups
    if not limbs:
        return placement
    evidence = {piece.name: weights[piece.name] * information(placement.zncc[piece.name]) for piece in limbs}
    # Limbs that fit no better than clutter get no weight: they would pull the root off its place.
    trust = {name: np.where(weight >= MIN_EVIDENCE, weight, 0.0) for name, weight in evidence.items()}
    free = _at_joints(placement, pieces, trust)
    if not groups:
        return free
    rested = _at_joints(_groups_at_rest(placement, groups, limbs, trust), pieces, trust)
    # Once more, since a group at rest has the frame of its parent, and the root has moved.
    rested = _groups_at_rest(rested, groups, limbs, trust)
    # Of two explanations that fit equally well, the one with fewer turned joints is kept.
    simpler = np.flatnonzero(_joints_kept(rested, limbs, trust) & ~_body_found(placement, pieces))
    return free.replaced(simpler, rested[simpler])


def _at_joints(placement: Placement, pieces: Pieces, trust: Mapping[str, NDArray[np.float64]]) -> Placement:
    """The placement with each root fitted to the joints of its limbs, unless the body was found."""
    limbs, root = pieces.root_limbs, pieces.tree.root
    before = placement.frames[root]
    roots = root_from_joints(placement.frames, trust, limbs, before, scales(before, (0.0, 0.0)))
    if len(limbs) == 1 and pieces.body is None:
        # The turn of a single limb cannot be distinguished from that of the root. The limb is taken to be at
        # rest.
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
    """The placement with those groups at rest whose turn cannot be distinguished from that of the root.

    That is so if at most one limb of the group was found, or no limb outside it.
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

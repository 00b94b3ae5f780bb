"""Placement of groups: they have no picture, so the pieces attached to them determine their turn."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import LOOSE, TIGHT, group_frames, keeps_joint
from wherein.detect.fast.joints.placing import place
from wherein.detect.fast.piece_model import PieceModel
from wherein.detect.fast.pieces import Joint, Piece
from wherein.detect.score import MIN_EVIDENCE, information
from wherein.pyramid.levels import ScenePyramid


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
        group: the group; without pieces it stays at rest.
        models: the pieces attached to it.
        weights: of the evidence of the pieces, by name.
        tolerance: how far a joint may be off after the last fit, in canvas pixels.
    """
    for model in models:
        placement = place(scene, placement, model, tolerance, with_group=True)
    pieces = [model.piece for model in models]
    placement, evidence = turn_group(placement, group, pieces, weights)
    frames = placement.frames[group.name]
    # One piece with more evidence than clutter is enough to determine the turn of the group.
    determined = np.max([evidence[piece.name] for piece in pieces], axis=0, initial=0.0) >= MIN_EVIDENCE
    for model in models:
        name = model.piece.name
        fits = keeps_joint(model.piece, frames, placement.frames[name], tolerance) & (
            placement.zncc[name] > 0
        )
        kept = np.where(fits[:, None, None], placement.frames[name], frames)
        placement = placement.with_piece(name, kept, np.where(fits, placement.zncc[name], -1.0))
        # With all turns of the group allowed, this piece fitted something else. Now that the turn is known,
        # it is searched for again at this turn alone.
        again = np.flatnonzero(~fits & determined)
        placement = placement.replaced(again, place(scene, placement[again], model, tolerance))
    return placement


def turn_group(
    placement: Placement, group: Joint, pieces: Sequence[Piece], weights: Mapping[str, float]
) -> tuple[Placement, dict[str, NDArray[np.float64]]]:
    """The placement with the frames of a group, at the turn on which its pieces agree best.

    Arguments:
        placement: with the pieces, and the frames of the group's parent.
        group: the group.
        pieces: those attached to it.
        weights: of the evidence of the pieces, by name.

    Returns:
        The placement, and the weighted evidence of the pieces, (H,) by name.
    """
    parents = placement.frames[group.parent]
    evidence = {piece.name: weights[piece.name] * information(placement.zncc[piece.name]) for piece in pieces}
    # A consensus as in RANSAC, but every piece is tried as the sample: the turn that it implies is compared
    # with all other pieces. A mean over all pieces would be wrong if one of them fits clutter.
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
    """The placement with a group at the turn relative to its parent that it had before the parent moved."""
    moved = placement.frames[group.parent] @ np.linalg.inv(before.frames[group.parent])
    return placement.with_frames(group.name, moved @ before.frames[group.name])

"""New poses of one piece in a placement: kept where they keep its joint, and followed by its limbs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import TIGHT, keeps_joint
from wherein.detect.fast.piece_model import PieceModel
from wherein.motion.homography import (
    mapped,
    relative,
    rigid,
)
from wherein.planes.plane_fit import PlaneFits

PRESENT = 0.35
"""ZNCC from which there is an object at all. A choice."""


def is_limb(model: PieceModel) -> bool:
    """Whether a piece is a limb, and not the body."""
    return model.piece.parent != model.piece.name


def refined_piece(
    placement: Placement,
    model: PieceModel,
    found: PlaneFits,
    good: NDArray[np.bool_],
    by_pixels: NDArray[np.bool_],
) -> Placement:
    """The placement with new poses of a piece where they are good and keep its joint; `by_pixels`: which of
    them were fitted by pixels."""
    piece, before = model.piece, placement.frames[model.piece.name]
    frames = found.poses @ model.from_canvas
    frames = frames / frames[:, 2:, 2:]
    if is_limb(model):
        # The fit is free to shift the limb: one that has left its joint fits something else.
        good = good & keeps_joint(piece, placement.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    zncc = np.where(good, found.zncc, placement.zncc[piece.name])
    return placement.with_piece(piece.name, frames, zncc, good & by_pixels)


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

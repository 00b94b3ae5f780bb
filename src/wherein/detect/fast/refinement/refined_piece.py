"""Replaces the poses of one piece in a placement, and moves limbs into the refined plane of the body."""

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
"""Minimum ZNCC of a piece that is taken to be present at all. A choice."""


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
    """The placement with new poses of a piece, in the hypotheses where they are good and keep its joint.

    Arguments:
        placement: with the piece and its parent.
        model: the piece.
        found: the new poses and their ZNCC.
        good: in which hypotheses they may replace the old ones, (H,).
        by_pixels: which of the new poses were fitted by pixels, (H,).
    """
    piece, before = model.piece, placement.frames[model.piece.name]
    # A homography is defined up to a factor. The last element is set to 1.
    frames = found.poses @ model.from_canvas
    frames = frames / frames[:, 2:, 2:]
    if is_limb(model):
        # The fit may shift the limb. A limb that has left its joint fits something else in the scene.
        good = good & keeps_joint(piece, placement.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    zncc = np.where(good, found.zncc, placement.zncc[piece.name])
    return placement.with_piece(piece.name, frames, zncc, good & by_pixels)


def in_plane_of(
    moved: Placement, body: PieceModel, limbs: Sequence[PieceModel], before: Placement
) -> Placement:
    """The placement before the body moved, with each limb moved into the new plane of the body.

    In the plane of a body that was not exact yet, a limb is distorted, and compensates for that by a turn. In
    the new plane each limb gets the rigid motion that keeps its corners closest to where they were found.

    Arguments:
        moved: with the new frames of the body.
        body: the body.
        limbs: the limbs that follow.
        before: the placement before the body moved.
    """
    root = body.piece.name
    known = np.flatnonzero(moved.zncc[root] > 0)  # the plane of a hidden body follows from the limbs instead
    planes, placement = moved.frames[root][known], before
    for limb in limbs:
        name, corners = limb.piece.name, mapped(limb.to_canvas, limb.footprint.corners)
        frames = before.frames[name].copy()
        frames[known] = planes @ rigid(corners, mapped(relative(planes, frames[known]), corners))
        placement = placement.with_frames(name, frames)
    return placement

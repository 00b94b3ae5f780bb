"""The last stage: each piece to convergence at its finest resolution, to a pose that fits its joint."""

import numpy as np

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import TIGHT, keeps_joint
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.motion.models import Motion
from wherein.planes.plane_fit import PlaneFits, PlaneStage, fit_planes
from wherein.pyramid.levels import ScenePyramid

POLISH = (
    PlaneStage(rounds=2, steps=6, tolerance=0.005),
    PlaneStage(rounds=4, steps=1, tolerance=0.005, unchecked=True),
)
"""A fit to convergence. The numbers are choices; few poses need all of the rounds."""

_MAX_LOSS = 0.02
"""ZNCC by which a pose may seem worse after the last rounds. A choice: what interpolation costs."""


def polish_piece(scene: ScenePyramid, placement: Placement, model: PieceModel, motion: Motion) -> Placement:
    """The placement with one piece refined, in the hypotheses where that is not worse.

    Arguments:
        scene: where the piece is.
        placement: with the piece and its parent.
        model: the piece.
        motion: how the body may move; a limb moves in the plane of its parent.
    """
    piece, before = model.piece, placement.frames[model.piece.name]
    zncc, limb = placement.zncc[piece.name], piece.parent != piece.name
    moves = EUCLIDEAN if limb else motion
    found = PlaneFits(before @ model.to_canvas, zncc, np.zeros(0))
    for stage in POLISH:
        found = fit_planes(scene, model.stages[-1], moves, stage, found.poses)
    frames = found.poses @ model.from_canvas
    frames = frames / frames[:, 2:, 2:]
    good = (found.zncc >= zncc - _MAX_LOSS) & (zncc > 0)
    if limb:
        # The fit is free to shift the limb: one that has left its joint fits something else.
        good &= keeps_joint(piece, placement.frames[piece.parent], frames, TIGHT)
    frames = np.where(good[:, None, None], frames, before)
    return placement.with_piece(piece.name, frames, np.where(good, found.zncc, zncc))

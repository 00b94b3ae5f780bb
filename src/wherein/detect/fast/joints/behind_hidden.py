"""Placement of pieces that are attached to a hidden piece, such as the hand of a covered arm."""

from dataclasses import replace

import numpy as np

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import LOOSE, TIGHT, keeps_joint, turn_towards
from wherein.detect.fast.joints.placing import place
from wherein.detect.fast.piece_model import PieceModel
from wherein.motion.homography import rotations
from wherein.pyramid.levels import ScenePyramid


def place_behind_hidden(
    scene: ScenePyramid, placement: Placement, model: PieceModel, hidden: PieceModel
) -> Placement:
    """The placement with a piece that is attached to a hidden one, and the turn of the hidden piece that it
    implies.

    Arguments:
        scene: the scene to search.
        placement: hypotheses in which neither of the two pieces was found. A hypothesis remains unchanged if
            the piece is not found at any turn of the hidden one.
        model: the piece.
        hidden: the piece that it is attached to.
    """
    name, above = model.piece.name, hidden.piece
    parents = placement.frames[above.parent]
    # Every turn of the hidden piece is a hypothesis of its own here: H × T of them.
    tried = parents[:, None] @ hidden.starts
    guesses = Placement({above.name: tried.reshape(-1, 3, 3)}, {})
    # Loose, since the true turn may lie between two of those that are tried, which are a basin apart.
    found = place(scene, guesses, model, LOOSE)
    best = found.zncc[name].reshape(tried.shape[:2]).argmax(1)
    found = found[best + np.arange(len(best)) * tried.shape[1]]
    frames, zncc = found.frames[name], found.zncc[name]
    # The joint of the piece as found determines the exact turn of the hidden piece. Both joints must be kept
    # under that turn.
    implied = parents @ rotations(turn_towards(above, parents, frames, model.piece.joint), above.joint)
    good = (zncc > 0) & keeps_joint(model.piece, implied, frames, TIGHT)
    good &= keeps_joint(above, parents, implied, TIGHT)
    chosen = {
        name: np.where(good[:, None, None], frames, placement.frames[name]),
        above.name: np.where(good[:, None, None], implied, placement.frames[above.name]),
    }
    zncc = np.where(good, zncc, placement.zncc[name])
    return replace(placement, frames={**placement.frames, **chosen}, zncc={**placement.zncc, name: zncc})

"""Pieces beyond a hidden one: the hand is seen, the arm that it hangs on is not.

Where a piece is not found, those that hang on it are looked for about every turn that it may have; the one
that is found then says how the hidden piece is turned.
"""

from dataclasses import replace

import numpy as np

from wherein.detect.fast.joints import LOOSE, TIGHT, Placed, at_joint, place, turn_towards
from wherein.detect.fast.piece_search import Fitting
from wherein.pyramid.levels import SceneLevels
from wherein.template.pose import rotations


def place_beyond(scene: SceneLevels, placed: Placed, fitting: Fitting, hidden: Fitting) -> Placed:
    """The same hypotheses with a piece placed about every turn of a hidden one, which then is where the
    piece says; as they were where that leads to nothing.

    Arguments:
        scene: where to look.
        placed: hypotheses under none of which the two pieces are found.
        fitting: the piece.
        hidden: the one that it hangs on.
    """
    home, above = fitting.piece.home, hidden.piece
    held = placed.frames[above.parent]
    tried = held[:, None] @ hidden.starts
    guesses = Placed({above.home: tried.reshape(-1, 3, 3)}, {})
    found = place(scene, guesses, fitting, LOOSE)
    best = found.zncc[home].reshape(tried.shape[:2]).argmax(1)
    found = found[best + np.arange(len(best)) * tried.shape[1]]
    frames, zncc = found.frames[home], found.zncc[home]
    implied = held @ rotations(turn_towards(above, held, frames, fitting.piece.joint), above.joint)
    good = (zncc > 0) & at_joint(fitting.piece, implied, frames, TIGHT)
    good &= at_joint(above, held, implied, TIGHT)
    chosen = {
        home: np.where(good[:, None, None], frames, placed.frames[home]),
        above.home: np.where(good[:, None, None], implied, placed.frames[above.home]),
    }
    zncc = np.where(good, zncc, placed.zncc[home])
    return replace(placed, frames={**placed.frames, **chosen}, zncc={**placed.zncc, home: zncc})

"""Geometry of joints: whether a piece keeps its joint, its turn, and the turn of a group."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.pieces import TURN_TOLERANCE, Joint, Piece
from wherein.motion.homography import mapped, relative, rotations
from wherein.motion.parallax import leans, without_parallax
from wherein.pyramid.levels import Poses
from wherein.template.tree import Point

LOOSE, TIGHT = 6.0, 2.5
"""Maximum distance in canvas pixels between the joint of a fitted piece and the same joint under its parent's
frame. `LOOSE` is for intermediate fits, at a coarse scale or about an estimated root; `TIGHT` is for fits
that are scored. Choices."""


def group_frames(
    group: Joint,
    parents: Poses,
    pieces: Sequence[Piece],
    frames: Mapping[str, Poses],
    trust: Mapping[str, NDArray[np.float64]] | None = None,
) -> Poses:
    """The frames of a group that fit the joints of its pieces best, by weighted least squares, (H, 3, 3).

    If a piece is turned beyond its own limit, the group is turned by the excess.

    Arguments:
        group: the group.
        parents: frames of the group's parent, (H, 3, 3).
        pieces: those attached to the group.
        frames: of the pieces, (H, 3, 3) by name.
        trust: weight of each piece, (H,) by name, 0 for a piece that was not found; None: all equal.
    """
    pull, inverse = np.zeros(len(parents), np.complex128), np.linalg.inv(parents)
    weights = [trust[piece.name] if trust else np.ones(len(parents)) for piece in pieces]
    for piece, weight in zip(pieces, weights, strict=True):
        # As complex numbers, a turn by θ multiplies by exp(iθ). Σ w |exp(iθ) rest − found|² is smallest where
        # θ is the argument of Σ w conj(rest) found.
        rest = complex(piece.joint[0] - group.joint[0], piece.joint[1] - group.joint[1])
        x, y = mapped(inverse @ frames[piece.name], piece.joint).T
        pull += weight * rest.conjugate() * (x - group.joint[0] + 1j * (y - group.joint[1]))
    degrees = np.degrees(np.angle(pull))
    for piece, weight in zip(pieces, weights, strict=True):
        # A piece beyond its own limit shows that the group has turned too. If the joint of the piece
        # coincides with that of the group, this is the only information about the group's turn: `rest` is 0.
        total = turns(parents, frames[piece.name])
        own = np.clip(wrapped(total - degrees), -piece.turn, piece.turn)
        degrees = np.where(weight > 0, wrapped(total - own), degrees)
    return parents @ rotations(np.clip(degrees, -group.turn, group.turn), group.joint)


def wrapped(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angles in degrees, reduced to the interval from −180 to 180."""
    return (degrees + 180.0) % 360.0 - 180.0


def keeps_joint(piece: Joint, parents: Poses, frames: Poses, tolerance: float) -> NDArray[np.bool_]:
    """Whether each frame differs from its parent's only by a turn about the joint, within its limit, (H,).

    The joint may be off by `tolerance` canvas pixels, or by the joint's play if that is more. The piece may
    lie above the plane of its parent, and parallax of a height up to `piece.height` is not counted.
    """
    moved, most = relative(parents, frames), max(tolerance, piece.play)
    off = _joint_shift(piece, moved)
    kept = np.linalg.norm(off, axis=1) <= most
    # Parallax is computed only for joints that are too far off without it, which are few.
    rest = np.flatnonzero(~kept)
    if len(rest):
        lean = leans(np.broadcast_to(parents, moved.shape)[rest], piece.joint)
        kept[rest] = np.linalg.norm(without_parallax(off[rest], lean, piece.height), axis=1) <= most
    return kept & (np.abs(_turns(moved)) <= piece.turn + TURN_TOLERANCE)


def _joint_shift(piece: Joint, moved: Poses) -> NDArray[np.float64]:
    """The shift of the joint, in canvas pixels, by frames relative to those of the parents, (H, 2)."""
    return np.asarray(mapped(moved, piece.joint) - np.array(piece.joint))


def turns(parents: Poses, frames: Poses) -> NDArray[np.float64]:
    """Degrees by which each frame is turned relative to its parent, in the plane of the object, (H,)."""
    return _turns(relative(parents, frames))


def _turns(moved: Poses) -> NDArray[np.float64]:
    """The turns in degrees of frames relative to those of their parents, (H,)."""
    return np.degrees(np.arctan2(moved[:, 1, 0], moved[:, 0, 0]))


def turn_towards(piece: Joint, parents: Poses, frames: Poses, point: Point) -> NDArray[np.float64]:
    """Degrees by which a piece must turn so that one of its points lies in the direction where it was found.

    Arguments:
        piece: the piece that turns.
        parents: frames of its parent, (H, 3, 3).
        frames: canvas → scene, (H, 3, 3): they map the point to where it was found.
        point: on the canvas.
    """
    arm = mapped(relative(parents, frames), point) - np.array(piece.joint)
    rest = np.array(point) - np.array(piece.joint)
    return np.degrees(np.arctan2(arm[:, 1], arm[:, 0]) - np.arctan2(rest[1], rest[0])) % 360.0

"""Given where the object could be, place every piece: top-down, each about the joint that it hangs on."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.piece_search import BASIN, EUCLIDEAN, Fitting, best_of_each
from wherein.detect.fast.pieces import Joint, Piece
from wherein.pyramid.levels import SceneLevels, descend
from wherein.pyramid.register_pyramid import Poses
from wherein.template.pose import rotations
from wherein.template.tree import Point

LOOSE, TIGHT = 6.0, 2.5
"""Canvas pixels by which a joint may seem to have moved: at a coarse scale or about a guessed root, and where
the fit is judged."""

_LOOKED, _FOLLOWED = 6, 3
"""Turns of a piece from which a descent begins, and that go on to the next finer scale."""

BEYOND = 3.0
"""Degrees by which a turn may exceed its limit: limits are drawn by hand."""


@dataclass(frozen=True)
class Placed:
    """H hypotheses: the frame of every home, canvas → scene, and how well its piece fits.

    Attributes:
        frames: (H, 3, 3) by home, also of groups without a piece; the root's always among them.
        zncc: (H,) by home; −1 where it was not found about its joint.
    """

    frames: Mapping[str, Poses]
    zncc: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(next(iter(self.frames.values())))

    def __getitem__(self, chosen: NDArray[np.int64]) -> "Placed":
        return Placed(
            {home: frames[chosen] for home, frames in self.frames.items()},
            {home: zncc[chosen] for home, zncc in self.zncc.items()},
        )

    def with_rows(self, chosen: NDArray[np.int64], other: "Placed") -> "Placed":
        """The same with some hypotheses replaced."""
        rows = np.arange(len(self))
        rows[chosen] = len(self) + np.arange(len(other))
        return self.and_also(other)[rows]

    def and_also(self, other: "Placed") -> "Placed":
        """Both, those of `self` first."""
        return Placed(
            {home: np.concatenate((frames, other.frames[home])) for home, frames in self.frames.items()},
            {home: np.concatenate((zncc, other.zncc[home])) for home, zncc in self.zncc.items()},
        )

    def with_piece(self, home: str, frames: Poses, zncc: NDArray[np.float64]) -> "Placed":
        """The same with one more piece."""
        return replace(self.with_frames(home, frames), zncc={**self.zncc, home: zncc})

    def with_frames(self, home: str, frames: Poses) -> "Placed":
        """The same with the frames of one more part."""
        return replace(self, frames={**self.frames, home: frames})


def place(
    scene: SceneLevels,
    placed: Placed,
    fitting: Fitting,
    tolerance: float = TIGHT,
    group: Joint | None = None,
) -> Placed:
    """One more piece, from turns about its joint a basin apart; where its parent is, has been placed.

    Arguments:
        scene: where to look.
        placed: the pieces above it.
        fitting: the piece.
        tolerance: canvas pixels by which its joint may seem to have moved in the end; on the way it is loose.
        group: what it hangs on, where that may have any of its turns.
    """
    piece, parents = fitting.piece, placed.frames[(group or fitting.piece).parent]
    if not len(parents):
        return placed.with_piece(piece.home, parents, np.zeros(0))
    starts = parents[:, None] @ (_starts(fitting, group) if group else fitting.starts)
    look = replace(fitting.about_joint[0], steps=0)
    found = descend(scene, fitting.levels, EUCLIDEAN, look, (starts @ fitting.rest).reshape(-1, 3, 3))
    found = best_of_each(found, len(parents), _LOOKED)
    for stage in fitting.about_joint:
        last = stage is fitting.about_joint[-1]
        found = descend(scene, fitting.levels, EUCLIDEAN, stage, found.poses)
        repeated = np.repeat(parents, len(found.poses) // len(parents), axis=0)
        frames = found.poses @ fitting.away
        if group:
            repeated = turned(group, repeated, [piece], {piece.home: frames})
        fits = at_joint(piece, repeated, frames, tolerance if last else LOOSE)
        found = replace(found, zncc=np.where(fits, found.zncc, -1.0))
        found = best_of_each(found, len(parents), 1 if last else _FOLLOWED)
    frames = np.where((found.zncc > 0)[:, None, None], found.poses @ fitting.away, parents)
    return placed.with_piece(piece.home, frames, found.zncc)


def _starts(fitting: Fitting, group: Joint) -> Poses:
    """(T, 3, 3): turns of a group and of a piece on it, those of the group so that no point of the piece is
    further than a basin away, and that all directions are among them which the piece can have."""
    piece = fitting.piece
    reach = math.dist(group.joint, piece.joint)
    step = 2 * math.degrees(math.atan2(BASIN * fitting.near, reach))
    held = group.starts(min(step, 2 * piece.turn + fitting.turn_step))
    both: Poses = held[:, None] @ piece.starts(fitting.turn_step)
    return both.reshape(-1, 3, 3)


def turned(
    group: Joint,
    parents: Poses,
    pieces: Sequence[Piece],
    frames: Mapping[str, Poses],
    trust: Mapping[str, NDArray[np.float64]] | None = None,
) -> Poses:
    """Frames of a group under which the joints of its pieces are where their frames have them, by least
    squares, none of the pieces being turned further than it may.

    Arguments:
        group: what turns.
        parents: (H, 3, 3), of what it hangs on.
        pieces: what hangs on it.
        frames: (H, 3, 3) by home.
        trust: (H,) by home, with 0 for a piece that says nothing; all alike where it is None.
    """
    pull, away = np.zeros(len(parents), np.complex128), np.linalg.inv(parents)
    weights = [trust[piece.home] if trust else np.ones(len(parents)) for piece in pieces]
    for piece, weight in zip(pieces, weights, strict=True):
        rest = complex(piece.joint[0] - group.joint[0], piece.joint[1] - group.joint[1])
        x, y = (away @ frames[piece.home] @ np.array((*piece.joint, 1.0)))[:, :2].T
        pull += weight * rest.conjugate() * (x - group.joint[0] + 1j * (y - group.joint[1]))
    degrees = np.degrees(np.angle(pull))
    for piece, weight in zip(pieces, weights, strict=True):
        whole = turns(parents, frames[piece.home])
        own = np.clip(_wrapped(whole - degrees), -piece.turn, piece.turn)
        degrees = np.where(weight > 0, _wrapped(whole - own), degrees)
    return parents @ rotations(np.clip(degrees, -group.turn, group.turn), group.joint)


def _wrapped(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between −180 and 180."""
    return (degrees + 180.0) % 360.0 - 180.0


def at_joint(piece: Joint, parents: Poses, frames: Poses, tolerance: float) -> NDArray[np.bool_]:
    """Whether each frame is its parent's, but for a turn about the joint within the limits."""
    moved, turned = astray(piece, parents, frames), turns(parents, frames)
    return (moved <= max(tolerance, piece.play)) & (np.abs(turned) <= piece.turn + BEYOND)


def astray(piece: Joint, parents: Poses, frames: Poses) -> NDArray[np.float64]:
    """How far each frame has the joint from where its parent has it, in canvas pixels."""
    joint = np.array((*piece.joint, 1.0))
    return np.linalg.norm(((frames - parents) @ joint)[:, :2], axis=1) / np.maximum(scales(parents), 1e-9)


def turns(parents: Poses, frames: Poses) -> NDArray[np.float64]:
    """Degrees by which each frame is turned against its parent."""
    relative = np.linalg.inv(parents)[:, :2, :2] @ frames[:, :2, :2]
    return np.degrees(np.arctan2(relative[:, 1, 0], relative[:, 0, 0]))


def turn_towards(piece: Joint, parents: Poses, frames: Poses, point: Point) -> NDArray[np.float64]:
    """Degrees by which a piece must turn about its joint so that a canvas point of it lies in the direction
    where each of the frames has it."""
    joint, target = np.array((*piece.joint, 1.0)), np.array((*point, 1.0))
    arm = (np.linalg.inv(parents) @ frames @ target - joint)[:, :2]
    rest = (target - joint)[:2]
    return np.degrees(np.arctan2(arm[:, 1], arm[:, 0]) - np.arctan2(rest[1], rest[0])) % 360.0


def scales(frames: Poses) -> NDArray[np.float64]:
    """√|det A| of each."""
    return np.sqrt(np.abs(np.linalg.det(frames[:, :2, :2])))

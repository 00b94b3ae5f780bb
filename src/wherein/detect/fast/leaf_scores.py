"""Leaves that were not fitted themselves: is each of them there, where its piece says?

A piece is fitted by the leaf with the most texture, and the others are static to it: there is one place where
each can be, and one look tells how well it fits. How often chance alone fits as well is asked of the scene
itself, by the same look at other places. If the leaf is missing, its own place is one like all of them, and
the best of n + 1 with probability 1/(n + 1); nothing was searched for, so that this is all the chance there
is. And no leaf is found by less than its piece would have to show.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wherein.detect.fast.finder import Finder, Judged
from wherein.detect.fast.piece_search import EUCLIDEAN, coarsest
from wherein.detect.fast.pieces import visible
from wherein.detect.fast.score import FOUND, information, likeness
from wherein.pyramid.levels import MotifLevels, SceneLevels, descend, seen
from wherein.pyramid.register_pyramid import Poses
from wherein.registration.plan import Stage
from wherein.template.tree import Matrix, Part

_LEAST_SEEN = 0.25
"""Of a leaf: with less of it in the frame it is not found, however well that fits."""

_ELSEWHERE = 6
"""Squared: the other places, on a grid over the scene."""

Told = tuple[float, bool]
"""The ZNCC of a leaf (or one that tells as much where it is partly covered), 0 where there is none, and
whether it means that the leaf is there."""


@dataclass(frozen=True, eq=False)
class Follower:
    """A leaf that goes with the carrier of its piece.

    Attributes:
        home: of the piece.
        leaf: the part.
        levels: its picture at every scale, without what other parts cover at rest.
        weight: how much the evidence of its piece counts.
    """

    home: str
    leaf: Part
    levels: MotifLevels
    weight: float

    @cached_property
    def look(self) -> Stage:
        """At the scale where it would be judged if it were the carrier."""
        return Stage(min(2, coarsest(self.levels.motif, points=100)), 0)

    def __call__(self, scene: SceneLevels, frame: Matrix) -> Told:
        """One look where the frame of its piece has it, and looks elsewhere to compare with."""
        pose = frame @ self.leaf.rest
        poses = np.concatenate((pose[None], self._elsewhere(scene, pose)))
        zncc = descend(scene, self.levels, EUCLIDEAN, self.look, poses).zncc
        best = bool(zncc[0] > zncc[1:].max(initial=0.0))
        told = float(information(zncc[:1])[0])
        here, found = _told(told, float(seen(scene, self.levels, poses[:1])[0]), self.weight)
        return here, found and best

    def _elsewhere(self, scene: SceneLevels, pose: Matrix) -> Poses:
        """The pose with its middle on a grid of places, without those where it would lie on itself."""
        motif, size = self.levels.motif, np.array(scene.size)
        extent = np.abs(pose[:2, :2]) @ (motif.width, motif.height)
        margin = np.minimum(extent, size) / 2
        x, y = np.linspace(margin, size - 1 - margin, _ELSEWHERE, axis=1)
        spots = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
        shifts = spots - (pose @ ((motif.width - 1) / 2, (motif.height - 1) / 2, 1.0))[:2]
        poses = np.repeat(pose[None], len(shifts), axis=0)
        poses[:, :2, 2] += shifts
        return poses[(np.abs(shifts) > extent).any(1)]


def followers(finder: Finder) -> tuple[Follower, ...]:
    """Of all pieces that have more than one leaf."""
    return tuple(
        Follower(
            piece.home, leaf, MotifLevels(visible(finder.template, leaf.name)), finder.weights[piece.home]
        )
        for piece in finder.pieces.pieces
        for leaf in piece.leaves[1:]
    )


def of_carriers(finder: Finder, judged: Judged, index: int) -> dict[str, Told]:
    """What the fit of each piece says of the leaf that it was fitted by, under one hypothesis."""
    told = {}
    for piece in finder.pieces.pieces:
        here, share = judged.told[piece.home][index], judged.seen[piece.home][index]
        told[piece.carrier.name] = _told(float(here), float(share), finder.weights[piece.home])
    return told


def of_followers(
    them: tuple[Follower, ...], scene: SceneLevels, judged: Judged, index: int
) -> dict[str, Told]:
    """What the scene says of the others; of a piece that was not placed there is no place to look at."""
    return {
        one.leaf.name: one(scene, judged.placed.frames[one.home][index])
        if judged.told[one.home][index] > 0
        else (0.0, False)
        for one in them
    }


def _told(information: float, share: float, weight: float) -> Told:
    """A leaf is there that fits far better than clutter, and enough of which is in the frame."""
    return float(likeness(np.array(information))), weight * information >= FOUND and share >= _LEAST_SEEN

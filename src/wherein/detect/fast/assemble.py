"""Leaves that were not fitted themselves: is each of them there, where its piece says?

A piece is fitted by the leaf with the most texture, and the others are static to it: there is one place where
each can be, and one look tells how well it fits. How often chance alone fits as well is asked of the scene
itself, by the same look at other places. If the leaf is missing, its own place is one like all of them, and
the best of n + 1 with probability 1/(n + 1); nothing was searched for, so that this is all the chance there
is. And no leaf is found by less than its piece would have to show.

From placement pieces to what is told: every part of the tree with its matrix, score and outline.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.piece_search import EUCLIDEAN, coarsest
from wherein.detect.fast.pieces import visible
from wherein.detect.result import Detection, PartFound
from wherein.detect.score import FOUND, equivalent_zncc, information
from wherein.pyramid.descent import Stage, descend
from wherein.pyramid.levels import MotifPyramid, Poses, ScenePyramid, visible_fraction
from wherein.template.bundle import Template
from wherein.template.tree import Matrix, Part, Tree

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder

_LEAST_SEEN = 0.25
"""Of a leaf: with less of it in the frame it is not found, however well that fits."""

_ELSEWHERE = 6
"""Squared: the other places, on a grid over the scene."""

LeafScore = tuple[float, bool]
"""The ZNCC of a leaf (or one that tells as much where it is partly covered), 0 where there is none, and
whether it means that the leaf is there."""


@dataclass(frozen=True, eq=False)
class StaticLeaf:
    """A leaf that goes with the carrier of its piece.

    Attributes:
        name: of the piece.
        leaf: the part.
        levels: its picture at every scale, without what other parts cover at rest.
        weight: how much the evidence of its piece counts.
    """

    name: str
    leaf: Part
    levels: MotifPyramid
    weight: float

    @cached_property
    def look(self) -> Stage:
        """At the scale where it would be hypotheses if it were the carrier."""
        return Stage(min(2, coarsest(self.levels.motif, points=100)), 0)

    def __call__(self, scene: ScenePyramid, frame: Matrix) -> LeafScore:
        """One look where the frame of its piece has it, and looks elsewhere to compare with."""
        pose = frame @ self.leaf.rest
        poses = np.concatenate((pose[None], self._elsewhere(scene, pose)))
        zncc = descend(scene, self.levels, EUCLIDEAN, self.look, poses).zncc
        best = bool(zncc[0] > zncc[1:].max(initial=0.0))
        told = float(information(zncc[:1])[0])
        here, found = _told(told, float(visible_fraction(scene, self.levels, poses[:1])[0]), self.weight)
        return here, found and best

    def _elsewhere(self, scene: ScenePyramid, pose: Matrix) -> Poses:
        """The pose with its middle on a grid of places, without those where it would lie on itself."""
        motif, size = self.levels.motif, np.array(scene.size)
        extent = np.abs(pose[:2, :2]) @ (motif.width, motif.height)
        margin = np.minimum(extent, size) / 2
        x, y = np.linspace(margin, size - 1 - margin, _ELSEWHERE, axis=1)
        spots = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
        shifts = spots - (pose @ (*motif.centre, 1.0))[:2]
        poses = np.repeat(pose[None], len(shifts), axis=0)
        poses[:, :2, 2] += shifts
        return poses[(np.abs(shifts) > extent).any(1)]


def static_leaves(finder: "Finder") -> tuple[StaticLeaf, ...]:
    """Of all pieces that have more than one leaf."""
    return tuple(
        StaticLeaf(
            piece.name, leaf, MotifPyramid(visible(finder.template, leaf.name)), finder.weights[piece.name]
        )
        for piece in finder.pieces.pieces
        for leaf in piece.leaves[1:]
    )


def fitted_leaf_scores(finder: "Finder", hypotheses: Hypotheses, index: int) -> dict[str, LeafScore]:
    """What the fit of each piece says of the leaf that it was fitted by, under one hypothesis."""
    told = {}
    for piece in finder.pieces.pieces:
        here, share = hypotheses.evidence[piece.name][index], hypotheses.visible[piece.name][index]
        told[piece.fitted_leaf.name] = _told(float(here), float(share), finder.weights[piece.name])
    return told


def static_leaf_scores(
    them: tuple[StaticLeaf, ...], scene: ScenePyramid, hypotheses: Hypotheses, index: int
) -> dict[str, LeafScore]:
    """What the scene says of the others; of a piece that was not placement there is no place to look at."""
    return {
        one.leaf.name: one(scene, hypotheses.placement.frames[one.name][index])
        if hypotheses.evidence[one.name][index] > 0
        else (0.0, False)
        for one in them
    }


def _told(information: float, share: float, weight: float) -> LeafScore:
    """A leaf is there that fits far better than clutter, and enough of which is in the frame."""
    return float(
        equivalent_zncc(np.array(information))
    ), weight * information >= FOUND and share >= _LEAST_SEEN


def assemble(
    finder: "Finder", hypotheses: Hypotheses, index: int, static: Mapping[str, LeafScore]
) -> Detection:
    """The detection that one hypothesis stands for.

    Arguments:
        finder: whose hypotheses they are.
        hypotheses: all of them.
        index: which.
        static: of the leaves that were not fitted themselves.
    """
    frames = {name: poses[index] for name, poses in hypotheses.placement.frames.items()}
    leaves = {**fitted_leaf_scores(finder, hypotheses, index), **static}
    every = _every_frame(finder.template.parts, frames)
    return detection(finder.template, every, leaves, float(hypotheses.scores[index]))


def detection(
    template: Template,
    frames: Mapping[str, Matrix],
    leaves: Mapping[str, LeafScore],
    score: float,
) -> Detection:
    """A detection from the frames of all parts.

    Arguments:
        template: what was found.
        frames: canvas → scene of every part.
        leaves: of each its score, and whether it was found.
        score: of the whole.
    """
    parts = {}
    for name, part in template.parts.items():
        if part.parent is None and part.motif is None:
            continue
        below = template.parts.leaves_below(name)
        matrix = (frames[name] @ part.rest)[:2]
        polygon = template.outlines[name] @ matrix[:, :2].T + matrix[:, 2]
        mean = float(np.mean([leaves[leaf][0] for leaf in below]))
        found = any(leaves[leaf][1] for leaf in below)
        parts[name] = PartFound(matrix, mean, found, polygon, leaf=part.motif is not None)
    return Detection(score, frames[template.parts.root][:2], parts)


def _every_frame(tree: Tree, frames: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """Also of groups that have no piece of their own: they go with their parents."""
    every: dict[str, Matrix] = {}
    for name, part in tree.items():
        every[name] = frames[name] if name in frames else every[part.parent or tree.root]
    return every

"""From placed pieces to what is told: every part of the tree with its matrix, score and outline."""

from collections.abc import Mapping

import numpy as np

from wherein.detect.detections import Detection, PartFound
from wherein.detect.evidence import FOUND, likeness
from wherein.detect.finder import Finder, Judged
from wherein.template import Template
from wherein.template.tree import Matrix, Tree

_LEAST_SEEN = 0.25
"""Of a part: with less of it in the frame it is not found, however well that fits."""


def assemble(finder: Finder, judged: Judged, index: int) -> Detection:
    """The detection that one hypothesis stands for."""
    tree = finder.template.parts
    frames = {home: poses[index] for home, poses in judged.placed.frames.items()}
    leaves: dict[str, tuple[float, bool]] = {}
    for piece in finder.pieces.pieces:
        told = np.asarray(judged.told[piece.home][index])
        found = bool(told * finder.weights[piece.home] >= FOUND)
        found &= bool(judged.seen[piece.home][index] >= _LEAST_SEEN)
        leaves |= {leaf.name: (float(likeness(told)), found) for leaf in piece.leaves}
    return detection(finder.template, _every_frame(tree, frames), leaves, float(judged.scores[index]))


def detection(
    template: Template,
    frames: Mapping[str, Matrix],
    leaves: Mapping[str, tuple[float, bool]],
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

"""From placed pieces to what is told: every part of the tree with its matrix, score and outline."""

from collections.abc import Mapping

import numpy as np

from wherein.detect.fast.finder import Finder, Judged
from wherein.detect.fast.leaf_scores import Told, of_carriers
from wherein.detect.result import Detection, PartFound
from wherein.template.bundle import Template
from wherein.template.tree import Matrix, Tree


def assemble(finder: Finder, judged: Judged, index: int, followers: Mapping[str, Told]) -> Detection:
    """The detection that one hypothesis stands for.

    Arguments:
        finder: whose hypotheses they are.
        judged: all of them.
        index: which.
        followers: of the leaves that were not fitted themselves.
    """
    frames = {home: poses[index] for home, poses in judged.placed.frames.items()}
    leaves = {**of_carriers(finder, judged, index), **followers}
    every = _every_frame(finder.template.parts, frames)
    return detection(finder.template, every, leaves, float(judged.scores[index]))


def detection(
    template: Template,
    frames: Mapping[str, Matrix],
    leaves: Mapping[str, Told],
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

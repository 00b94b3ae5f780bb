"""Limbs on one axle, such as the hands of a clock or the two pointers of a gauge.

They are alike, so that one fits where the other is, sometimes better than where it is itself. But each pixel
is evidence for one of them only: of two that lie on each other, one is looked for again beside the other.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.exclusion import EDGE, OVERLAP
from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import place
from wherein.detect.fast.piece_model import PieceModel
from wherein.detect.score import information
from wherein.motion.homography import mapped
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.tree import Matrix

_MIN_EVIDENCE, _MIN_SHARE = 0.8, 0.35
"""Weighted evidence that a limb must have beside the other, before it is refined, and share of what it has on
it. Choices: more than where there is no limb (`assemble`); where both are at the same turn, one has far less
elsewhere."""


def on_axle(model: PieceModel, models: Sequence[PieceModel]) -> list[PieceModel]:
    """The other limbs of some that turn about the same point of the same parent, as pivots set by hand go."""
    piece = model.piece
    return [
        other
        for other in models
        if other is not model
        and other.piece.parent == piece.parent
        and math.dist(other.piece.joint, piece.joint) <= piece.play
    ]


def on_others(
    placement: Placement, row: int, model: PieceModel, others: Sequence[PieceModel], frames: Poses
) -> NDArray[np.bool_]:
    """At which frames a limb is mostly on or beside other limbs of a hypothesis that were found, (N,).

    A thin limb fits one edge of a thick one, too.
    """
    taken = np.zeros(len(frames), dtype=np.bool_)
    for other in others:
        if placement.zncc[other.piece.name][row] > 0:
            there = placement.frames[other.piece.name][row]
            around = EDGE / float(other.stages[0].from_full[0, 0])
            shared = [_shared(model, frame, other, there, around) for frame in frames]
            taken |= np.array(shared, dtype=np.float64) > OVERLAP
    return taken


def _shared(model: PieceModel, frame: Matrix, other: PieceModel, there: Matrix, around: float = 0.0) -> float:
    """The fraction of a piece that lies on another one, or so many of its pixels around it."""
    points = mapped(frame @ model.to_canvas, model.footprint.points)
    return float(other.footprint.explains(there @ other.to_canvas, points, around).mean())


def set_apart(
    scene: ScenePyramid, placement: Placement, models: Sequence[PieceModel], weights: Mapping[str, float]
) -> Placement:
    """The placement with limbs on one axle that lay on each other beside each other, where they fit there.

    Arguments:
        scene: the scene to search.
        placement: with all of the limbs.
        models: of the limbs.
        weights: of the evidence of pieces, by name.
    """
    for pair in combinations(models, 2):
        if pair[1] not in on_axle(pair[0], models):
            continue
        found = (placement.zncc[pair[0].piece.name] > 0) & (placement.zncc[pair[1].piece.name] > 0)
        for row in np.flatnonzero(found):
            one = placement[np.array([row])]
            frames = [one.frames[model.piece.name][0] for model in pair]
            shared = _shared(pair[0], frames[0], pair[1], frames[1])
            if max(shared, _shared(pair[1], frames[1], pair[0], frames[0])) > OVERLAP:
                moved = _best_apart(scene, one, pair, models, weights)
                placement = placement.replaced(np.array([row]), moved)
    return placement


def _best_apart(
    scene: ScenePyramid,
    placement: Placement,
    pair: tuple[PieceModel, PieceModel],
    models: Sequence[PieceModel],
    weights: Mapping[str, float],
) -> Placement:
    """One hypothesis with that one of two limbs moved with which both have most evidence; as it was where
    neither fits elsewhere."""

    def evidence(one: Placement, model: PieceModel) -> float:
        return float(weights[model.piece.name] * information(one.zncc[model.piece.name])[0])

    best, most = placement, 0.0
    for model, other in (pair, pair[::-1]):
        taken: Callable[[Poses], NDArray[np.bool_]] = partial(
            on_others, placement, 0, model, on_axle(model, models)
        )
        moved = place(scene, placement, model, taken=taken)
        own, total = evidence(moved, model), evidence(moved, model) + evidence(placement, other)
        if total > most and own >= max(_MIN_EVIDENCE, _MIN_SHARE * evidence(placement, model)):
            best, most = moved, total
    return best

"""Limbs on one axle, such as the hands of a clock or the two pointers of a gauge.

They look alike, so one may fit at the pose of the other, sometimes better than at its own. But each pixel is
evidence for one of them only: if two lie on each other, one is searched for again, excluding the other.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.exclusion import EDGE, OVERLAP
from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.placing import place
from wherein.detect.fast.piece_model import PieceModel
from wherein.detect.score import information
from wherein.motion.homography import mapped
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.tree import Matrix

_MIN_EVIDENCE, _MIN_SHARE = 0.8, 0.35
"""Minimum weighted evidence of a limb at a pose beside the other one, before refinement, and minimum fraction
of its evidence on the other one. Choices: the first is more than where there is no limb (`assemble`); the
second, since limbs that are truly at the same turn have far less evidence elsewhere."""


def on_axle(model: PieceModel, models: Sequence[PieceModel]) -> list[PieceModel]:
    """Those other limbs that turn about the same point of the same parent, up to the play of a joint."""
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
    """At which frames a limb would lie mostly on or close beside other limbs of a hypothesis, (N,).

    Only limbs that were found count. Frames close beside count too, since a thin limb fits one edge of a
    thick one.
    """
    taken = np.zeros(len(frames), dtype=np.bool_)
    for other in others:
        if placement.zncc[other.piece.name][row] > 0:
            there = placement.frames[other.piece.name][row]
            # From pixels of the coarsest resolution to pixels of the other limb's picture.
            around = EDGE / float(other.stages[0].from_full[0, 0])
            shared = [_shared(model, frame, other, there, around) for frame in frames]
            taken |= np.array(shared, dtype=np.float64) > OVERLAP
    return taken


def _shared(model: PieceModel, frame: Matrix, other: PieceModel, there: Matrix, around: float = 0.0) -> float:
    """The fraction of a piece that lies on another one, or within `around` of its pixels."""
    points = mapped(frame @ model.to_canvas, model.footprint.points)
    return float(other.footprint.explains(there @ other.to_canvas, points, around).mean())


def set_apart(
    scene: ScenePyramid, placement: Placement, models: Sequence[PieceModel], weights: Mapping[str, float]
) -> Placement:
    """The placement in which limbs on one axle do not lie on each other, if they fit elsewhere.

    Arguments:
        scene: the scene to search.
        placement: with all of the limbs.
        models: the limbs.
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
            # In both directions, since a short limb may lie on a long one, but not the reverse.
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
    """One hypothesis in which one of two limbs is moved off the other: the one whose move gives both the most
    evidence. Unchanged if neither fits elsewhere."""

    def evidence(one: Placement, model: PieceModel) -> float:
        return float(weights[model.piece.name] * information(one.zncc[model.piece.name])[0])

    # The evidence of both as they are is no standard: the same pixels count twice there. So any move that
    # keeps enough evidence is better than none.
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

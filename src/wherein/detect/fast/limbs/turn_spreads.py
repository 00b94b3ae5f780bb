"""Whether the turn of a limb is unambiguous.

A limb may fit at several turns: the round hub of a needle fits at all of them. So all turns within its limits
are rated, with each pixel weighted by how much it constrains the turn. Ratings are approximate. Turns near
the one that was found count by their rating; distant turns with a similar rating are fitted before they
count.

The result is the *spread* of a turn: the distance in degrees to the farthest turn at which the limb fits
nearly as well. A small spread means that the turn is unambiguous.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints.joint_geometry import turns, wrapped
from wherein.detect.fast.limbs.axles import on_axle, on_others
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.motion.homography import relative, rotations
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import FitJob, PlaneFits, fit_each
from wherein.planes.rating import rate_turns
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_FIT = PlaneStage()

_NEARLY, _MAX_RIVALS = 0.93, 3
"""A turn fits nearly as well if its ZNCC is at least this fraction of the best; and the maximum number of
distant turns (rivals) that are fitted to check that. Choices."""

_PERHAPS = 0.5
"""A distant turn is fitted if its rating is at least this fraction of the rating of the turn that was found.
Measured on 960 turns of the robot, the crab and the gauge: the 11 that fitted nearly as well had ratings of
at least 0.8 times that rating, and seven of eight of all turns less than half."""


@dataclass(frozen=True)
class TurnSpreads:
    """How well the turns of a piece are known.

    Attributes:
        spread: ± degrees within which other turns fit nearly as well, (H,).
        clear: whether no distant turn rates even half as well, (H,); false where the spread was given as
            known.
    """

    spread: NDArray[np.float64]
    clear: NDArray[np.bool_]


def turn_spreads(
    scene: ScenePyramid,
    placement: Placement,
    models: Sequence[PieceModel],
    known: Mapping[str, NDArray[np.float64]] | None = None,
) -> dict[str, TurnSpreads]:
    """How well the turns of pieces are known, by name.

    The spread of an unambiguous turn is a few degrees, those within its own basin of attraction.

    Arguments:
        scene: the scene that was searched.
        placement: with the pieces and their parents.
        models: the pieces.
        known: spreads that need not be measured, (H,) by name; NaN where they must be.
    """
    unknown = np.full(len(placement), np.nan)
    spreads = {model.piece.name: (known or {}).get(model.piece.name, unknown).copy() for model in models}
    clear = {name: np.zeros(len(placement), dtype=np.bool_) for name in spreads}
    for model in models:
        # Computed now: two threads must not compute the same cached property.
        _ = model.turning.rough.in_c
    missing = {name: np.flatnonzero(np.isnan(own)).tolist() for name, own in spreads.items()}
    each = [(model, index) for model in models for index in missing[model.piece.name]]
    siblings = {model.piece.name: on_axle(model, models) for model in models}
    rated = shared_out(
        lambda one: _rated(scene, placement, siblings[one[0].piece.name], *one), each, scene.threads
    )
    # All fits in one call, which shares them out among threads.
    fits = fit_each(scene, [FitJob(one.model.turning, EUCLIDEAN, _FIT, one.tried) for one in rated])
    for (model, index), one, found in zip(each, rated, fits, strict=True):
        spreads[model.piece.name][index] = _spread(one, found)
        clear[model.piece.name][index] = not len(found)
    return {name: TurnSpreads(spread, clear[name]) for name, spread in spreads.items()}


@dataclass(frozen=True)
class _RatedTurns:
    """The rated turns of a piece in one hypothesis.

    Attributes:
        model: the piece.
        parent: the frame of its parent, 3×3.
        turn: the turn that was found, in degrees.
        close: degrees to the farthest turn within `max_spread` that rates nearly as well.
        tried: the poses to fit: the one that was found, then those of its rivals. Empty without rivals.
        taken: at which frames another limb on the same axle lies.
    """

    model: PieceModel
    parent: NDArray[np.float64]
    turn: float
    close: float
    tried: Poses
    taken: Callable[[Poses], NDArray[np.bool_]]


def _rated(
    scene: ScenePyramid, placement: Placement, siblings: Sequence[PieceModel], model: PieceModel, index: int
) -> _RatedTurns:
    """The rated turns of a piece in the hypothesis `index`; `siblings` are the other limbs on its axle."""
    piece = model.piece
    parent, frame = placement.frames[piece.parent][index], placement.frames[piece.name][index]
    turn = float(turns(parent[None], frame[None])[0])
    limits = np.arange(-piece.turn, piece.turn + 1e-9, model.turn_step / 2)
    # Differences from the turn that was found, which comes first. Half a step, so that no optimum lies
    # between two.
    further = wrapped(np.concatenate(((turn,), limits)) - turn)
    # Turned from the pose as it was found, with its play, and not from the rest position: the joint may be
    # off by some pixels.
    poses = relative(parent, frame) @ rotations(further, piece.joint) @ model.to_canvas
    rated = rate_turns(scene, model.turning, parent[None], poses)[0]
    near = np.abs(further) <= model.max_spread
    close = np.abs(further[near & (rated >= _NEARLY * rated[near].max())]).max(initial=0.0)
    others = np.flatnonzero(~near & (rated >= _PERHAPS * rated[0]))
    # Where another limb on the axle lies, a good fit says nothing about the turn of this one.
    taken = partial(on_others, placement, index, model, siblings)
    others = others[~taken(parent @ poses[others] @ model.from_canvas)]
    others = others[np.argsort(-rated[others], kind="stable")[:_MAX_RIVALS]]
    tried = parent @ poses[np.concatenate(((0,), others))] if len(others) else np.zeros((0, 3, 3))
    return _RatedTurns(model, parent, turn, float(close), tried, taken)


def _spread(rated: _RatedTurns, found: PlaneFits) -> float:
    """Degrees to the farthest turn at which a piece fits nearly as well."""
    if not len(found):
        return rated.close
    # Fits may move a rival onto the turn that was found, or onto another limb: both are looked at again.
    frames = found.poses[1:] @ rated.model.from_canvas
    away = np.abs(wrapped(turns(rated.parent[None], frames) - rated.turn))
    rivals = (found.zncc[1:] >= _NEARLY * found.zncc[0]) & ~rated.taken(frames)
    return float(np.append(away[rivals], rated.close).max())

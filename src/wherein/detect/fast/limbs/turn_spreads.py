"""Whether the turn of a limb can be told.

A limb may fit at several turns: the round hub of a needle at all of them. All turns within its limits are
rated, with its pixels weighed by what they say about the turn. Ratings are approximate, so those far from the
turn that was found are fitted before they count, if their rating comes anywhere near.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.joints import turns, wrapped
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
"""A turn explains the picture nearly as well if its ZNCC is this share of the best, and how many other turns
are fitted to see that. Choices."""

_PERHAPS = 0.5
"""A turn is fitted if its rating is at least this share of that of the turn that was found. By 960 turns of
the robot, the crab and the gauge: the 11 that fitted nearly as well had ratings of at least 0.8 times its
rating, and seven of eight of all turns less than half."""


@dataclass(frozen=True)
class TurnsTold:
    """How surely the turns of a piece are told.

    Attributes:
        spread: ± degrees within which other turns explain the picture nearly as well, (H,).
        clear: whether no other turn rates even half as well, (H,); not where the spread was known.
    """

    spread: NDArray[np.float64]
    clear: NDArray[np.bool_]


def turn_spreads(
    scene: ScenePyramid,
    placement: Placement,
    models: Sequence[PieceModel],
    known: Mapping[str, NDArray[np.float64]] | None = None,
) -> dict[str, TurnsTold]:
    """How surely the turns of pieces are told, by name.

    A piece whose turn can be told has a few degrees: those within its own basin.

    Arguments:
        scene: where the pieces are.
        placement: with the pieces and their parents.
        models: the pieces.
        known: spreads that are known, (H,) by name; NaN where they are not.
    """
    unknown = np.full(len(placement), np.nan)
    spreads = {model.piece.name: (known or {}).get(model.piece.name, unknown).copy() for model in models}
    clear = {name: np.zeros(len(placement), dtype=np.bool_) for name in spreads}
    for model in models:
        _ = model.turning.rough.in_c  # made before the threads start
    missing = {name: np.flatnonzero(np.isnan(own)).tolist() for name, own in spreads.items()}
    each = [(model, index) for model in models for index in missing[model.piece.name]]
    siblings = {model.piece.name: on_axle(model, models) for model in models}
    rated = shared_out(
        lambda one: _rated(scene, placement, siblings[one[0].piece.name], *one), each, scene.threads
    )
    fits = fit_each(scene, [FitJob(one.model.turning, EUCLIDEAN, _FIT, one.tried) for one in rated])
    for (model, index), one, found in zip(each, rated, fits, strict=True):
        spreads[model.piece.name][index] = _spread(one, found)
        clear[model.piece.name][index] = not len(found)
    return {name: TurnsTold(spread, clear[name]) for name, spread in spreads.items()}


@dataclass(frozen=True)
class _RatedTurns:
    """The turns of a piece in one hypothesis.

    Attributes:
        model: the piece.
        parent: the frame of its parent, 3×3.
        turn: in degrees, as it was found.
        close: degrees to the farthest turn within its basin that rates nearly as well.
        tried: the pose as it was found and those of its rivals, which are to be fitted; none without rivals.
        taken: at which frames the picture shows another limb on its axle.
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
    """The turns of a piece in the hypothesis `index`; `siblings` are the other limbs on its axle."""
    piece = model.piece
    parent, frame = placement.frames[piece.parent][index], placement.frames[piece.name][index]
    turn = float(turns(parent[None], frame[None])[0])
    limits = np.arange(-piece.turn, piece.turn + 1e-9, model.turn_step / 2)
    further = wrapped(np.concatenate(((turn,), limits)) - turn)
    # From the pose as it was found and not about the exact joint: the joint may have some play.
    poses = relative(parent, frame) @ rotations(further, piece.joint) @ model.to_canvas
    rated = rate_turns(scene, model.turning, parent[None], poses)[0]
    near = np.abs(further) <= model.max_spread
    close = np.abs(further[near & (rated >= _NEARLY * rated[near].max())]).max(initial=0.0)
    others = np.flatnonzero(~near & (rated >= _PERHAPS * rated[0]))
    taken = partial(on_others, placement, index, model, siblings)
    others = others[~taken(parent @ poses[others] @ model.from_canvas)]
    others = others[np.argsort(-rated[others], kind="stable")[:_MAX_RIVALS]]
    tried = parent @ poses[np.concatenate(((0,), others))] if len(others) else np.zeros((0, 3, 3))
    return _RatedTurns(model, parent, turn, float(close), tried, taken)


def _spread(rated: _RatedTurns, found: PlaneFits) -> float:
    """Degrees to the farthest turn at which a piece fits nearly as well."""
    if not len(found):
        return rated.close
    frames = found.poses[1:] @ rated.model.from_canvas
    away = np.abs(wrapped(turns(rated.parent[None], frames) - rated.turn))
    rivals = (found.zncc[1:] >= _NEARLY * found.zncc[0]) & ~rated.taken(frames)
    return float(np.append(away[rivals], rated.close).max())

"""The basin of attraction of a motif, measured: how far off may a start be for the descent to reach the
true pose?"""

from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from wherein.detect.fast.piece_model import BASIN, SIMILARITY, PieceModel
from wherein.pyramid.descent import Stage, descend
from wherein.pyramid.levels import ScenePyramid
from wherein.template.paint import paint
from wherein.template.pose import placed

_TURNS = (4.0, 6.0, 8.0, 10.0, 12.5, 15.0, 20.0)
_RATIOS = (1.03, 1.06, 1.09, 1.12, 1.16, 1.2)
"""Degrees, and factors of scale, by which starts are off. A choice; the first search never samples poses more
than 15° and a factor of 1.2 apart (`measure.sampling_of`), so wider basins make no difference."""

_TRIES, _MIN_SUCCESS = 12, 0.85
"""Starts of each kind, and the share of them that must reach the true pose. A choice: 11 of 12."""

_STEPS = 10
"""Gauss–Newton steps of a descent. A choice: two more than in the search, where a second scale follows."""

_MAX_ERROR = BASIN / 2
"""Pixels of the scale by which the corners may be off in the end: the radius of a basin at the next finer
scale, where a pixel is half as large."""


class Basin(BaseModel):
    """How far off a start may be at the coarsest scale, if its centre is up to half a pixel of that scale
    off too.

    Attributes:
        turn: degrees.
        ratio: factor of scale.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    turn: Annotated[float, Field(gt=0, le=180)]
    ratio: Annotated[float, Field(gt=1)]


def basin_of(model: PieceModel, background: Float[Tensor, "3 H W"], rng: np.random.Generator) -> Basin:
    """The basin of a piece, by descents from beside random poses in which it is painted into a background.

    Arguments:
        model: the piece.
        background: without the piece.
        rng: of the poses.
    """
    # Half of the smallest offsets, where not even those are within the basin.
    turn, ratio = _TURNS[0] / 2, 1.015
    for degrees in _TURNS:
        if _success_rate(model, background, rng, degrees, 1.0) < _MIN_SUCCESS:
            break
        turn = degrees
    for factor in _RATIOS:
        if _success_rate(model, background, rng, 0.0, factor) < _MIN_SUCCESS:
            break
        ratio = factor
    return Basin(turn=turn, ratio=ratio)


def _success_rate(
    model: PieceModel, background: Tensor, rng: np.random.Generator, degrees: float, ratio: float
) -> float:
    """The share of starts, turned by ± `degrees` and scaled by `ratio` or its inverse, that reach the
    pose."""
    motif, scale = model.piece.motif, model.screen_scale
    # A small crop of the background is enough, and far cheaper to reduce than all of it.
    side = min(*background.shape[-2:], 2 * max(motif.width, motif.height) + 8)
    at = ((side - 1) / 2, (side - 1) / 2)
    successes = 0
    for k in range(_TRIES):
        left, top = (int(rng.integers(extent - side + 1)) for extent in background.shape[:0:-1])
        angle = float(rng.uniform(-180, 180))
        truth = placed(angle, 1.0, at, motif.centre)
        around = background[:, top : top + side, left : left + side]
        scene = ScenePyramid(paint(around, motif, torch.from_numpy(truth)))
        # The first search samples places once a pixel of its scale, so a start is up to half a pixel off.
        beside = (
            at[0] + scale * float(rng.uniform(-0.5, 0.5)),
            at[1] + scale * float(rng.uniform(-0.5, 0.5)),
        )
        sign = 1 if k % 2 else -1
        start = placed(angle + sign * degrees, ratio**sign, beside, motif.centre)
        ended = descend(scene, model.pyramid, SIMILARITY, Stage(scale, _STEPS), start[None])
        corners = np.array([(0, 0, 1), (motif.width - 1, motif.height - 1, 1)]).T
        successes += bool(np.abs((ended.poses[0] - truth) @ corners).max() < _MAX_ERROR * scale)
    return successes / _TRIES

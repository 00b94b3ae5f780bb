"""The basin of attraction of a motif, measured: from how far does the descent come name?"""

from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from wherein.detect.fast.piece_search import SIMILARITY, PieceModel
from wherein.pyramid.descent import Stage, descend
from wherein.pyramid.levels import ScenePyramid
from wherein.template.paint import paint
from wherein.template.pose import placed

_TURNS = (4.0, 6.0, 8.0, 10.0, 12.5, 15.0, 20.0)
_RATIOS = (1.03, 1.06, 1.09, 1.12, 1.16, 1.2)
_TRIES, _HOME = 12, 0.85
"""Starts of each kind, and the share of them that must come name."""


class Basin(BaseModel):
    """How far off a start may be at the coarsest scale, half a pixel of that scale beside the truth.

    Attributes:
        turn: degrees.
        ratio: of scale.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    turn: Annotated[float, Field(gt=0, le=180)]
    ratio: Annotated[float, Field(gt=1)]


def basin_of(model: PieceModel, background: Float[Tensor, "3 H W"], rng: np.random.Generator) -> Basin:
    """Paint the motif into a background at random poses and descend from beside them."""
    turn, ratio = _TURNS[0] / 2, 1.015
    for degrees in _TURNS:
        if _home(model, background, rng, degrees, 1.0) < _HOME:
            break
        turn = degrees
    for factor in _RATIOS:
        if _home(model, background, rng, 0.0, factor) < _HOME:
            break
        ratio = factor
    return Basin(turn=turn, ratio=ratio)


def _home(
    model: PieceModel, background: Tensor, rng: np.random.Generator, degrees: float, ratio: float
) -> float:
    """The share of starts, turned by ± `degrees` and scaled by `ratio` or its inverse, that come name."""
    motif, factor = model.piece.motif, model.coarsest
    side = min(*background.shape[-2:], 2 * max(motif.width, motif.height) + 8)
    at = ((side - 1) / 2, (side - 1) / 2)
    came = 0
    for k in range(_TRIES):
        left, top = (int(rng.integers(extent - side + 1)) for extent in background.shape[:0:-1])
        angle = float(rng.uniform(-180, 180))
        truth = placed(angle, 1.0, at, motif.centre)
        around = background[:, top : top + side, left : left + side]
        scene = ScenePyramid(paint(around, motif, torch.from_numpy(truth)))
        beside = (
            at[0] + factor * float(rng.uniform(-0.5, 0.5)),
            at[1] + factor * float(rng.uniform(-0.5, 0.5)),
        )
        sign = 1 if k % 2 else -1
        start = placed(angle + sign * degrees, ratio**sign, beside, motif.centre)
        ended = descend(scene, model.pyramid, SIMILARITY, Stage(factor, 10), start[None])
        corners = np.array([(0, 0, 1), (motif.width - 1, motif.height - 1, 1)]).T
        came += bool(np.abs((ended.poses[0] - truth) @ corners).max() < 0.75 * factor)
    return came / _TRIES

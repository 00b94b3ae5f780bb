"""The descent of a flat motif on a picture of channels, from any pose.

ZNCC of the motif's channels and the picture's is maximised by damped Gauss–Newton, linearised on the motif's
side: the matrix of the normal equations is that of the motif, whatever the picture. Here in torch, for one
pose: the reference for native/plane_descent.h.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, opposite
from wherein.native.abi import MAX_PARAMETERS

if TYPE_CHECKING:
    # For the annotations alone: a descent needs numbers of a motif, not what makes one.
    from wherein.planes.plane_motif import PlaneMotif

DAMPING, EASE, TIGHTEN = 2e-3, 0.2, 10.0
"""The first damping, and the factors by which it changes after a better and a worse step. Choices."""

MAX_STEP = 0.25
"""Longest step in units of the motif's radius. A choice: beyond it the linearisation is not to be trusted."""

MIN_VISIBLE = 0.35
"""Minimum fraction of the motif that must lie in the scene. A choice: of less than a third, clutter fits too
well."""

MIN_VARIANCE = 5e-4
"""Variance of the scene's channels below which it counts as this much. A choice: that of an outline with a
contrast of one or two grey levels of 255. ZNCC divides by it, and would find any shape in the noise and
compression of a plain background. Channels are of size 1."""

_Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class PlaneStage:
    """One stage of a coarse-to-fine fit of a flat motif.

    Attributes:
        rounds: maximum number of rectifications.
        steps: maximum number of Gauss–Newton steps in each; 0 with one round evaluates only.
        tolerance: a pose has converged when a step moves it by less than this, in pixels of the motif's
            resolution.
        unchecked: take steps even where ZNCC falls, for the last rounds of a pose that is almost right. At
            the start of a round no pixel is interpolated, elsewhere all are, which lowers ZNCC by more than
            the last tenth of a pixel raises it: a step that is checked would not be taken.
    """

    rounds: int = 2
    steps: int = 3
    tolerance: float = 0.05
    unchecked: bool = False


@dataclass(frozen=True)
class Surface:
    """A picture of channels in which a motif is looked for.

    Attributes:
        channels: of the picture.
        inside: which of its pixels lie in the scene.
        steered: its channels are in the frame of the scene, and a pose turns them into the motif's; else they
            are in the frame of the motif.
    """

    channels: Float[Tensor, "8 h w"]
    inside: Bool[Tensor, "h w"]
    steered: bool = False


@dataclass(frozen=True)
class Evaluation:
    """ZNCC at a pose, the visible fraction, and the derivative of ZNCC on the motif's side, (8,)."""

    zncc: float
    visible: float
    slope: _Matrix


def descend(
    motif: "PlaneMotif", surface: Surface, start: _Matrix, parameters: int, stage: PlaneStage
) -> tuple[_Matrix, Evaluation]:
    """The motion of a motif, in its units, that fits it to a surface best; and the evaluation there.

    Arguments:
        motif: at one resolution.
        surface: what it is fitted to.
        start: the motif's units → pixels of the surface, 3×3.
        parameters: how many of a plane's parameters may change, in the order of `plane_motif`.
        stage: number of steps and tolerance.
    """
    best, mu = np.eye(3), DAMPING
    here = evaluate(motif, surface, start)
    hessian = motif.hessian[:parameters, :parameters]
    unit = 1 / np.sqrt(np.maximum(np.diag(hessian), 1e-12))
    for _ in range(stage.steps):
        if here.zncc <= -1:
            break
        scaled = unit[:, None] * hessian * unit + (mu + 1e-9) * np.eye(parameters)
        step = unit * np.linalg.solve(scaled, unit * here.slope[:parameters])
        length = float(np.linalg.norm(step))
        step = np.pad(step * min(1.0, MAX_STEP / max(length, 1e-12)), (0, MAX_PARAMETERS - parameters))
        at = best @ np.linalg.inv(_motion(step, parameters))
        at = at / at[2, 2]
        there = evaluate(motif, surface, start @ at)
        better = there.zncc > here.zncc or (stage.unchecked and there.zncc > -1)
        if better:
            best, here = at, there
        mu = min(max(mu * (EASE if better else TIGHTEN), 1e-6), 1e6)
        if length * motif.radius < stage.tolerance:
            break
    return best, here


def _motion(step: _Matrix, parameters: int) -> _Matrix:
    """The motion of a step: exact for rotations, so that a euclidean pose keeps its size."""
    dx, dy, turn, grow, a, b, p, q = step
    c, s = (np.cos(turn), np.sin(turn)) if parameters <= 3 else (1.0, turn)
    return np.array(((c + grow + a, b - s, dx), (s + b, c + grow - a, dy), (p, q, 1.0)))


def evaluate(motif: "PlaneMotif", surface: Surface, pose: _Matrix) -> Evaluation:
    """ZNCC and its derivative at a pose, the motif's units → pixels of the surface."""
    u = np.concatenate((motif.points.double().numpy(), np.ones((len(motif.points), 1))), 1) @ pose.T
    spots = torch.from_numpy(u[:, :2] / u[:, 2:])
    scene, inside = sampled(surface.channels, surface.inside, spots)
    if surface.steered:
        # A patch reaches beyond the motif, but a scene ends where it ends.
        inside &= on_picture(surface.channels, spots) & torch.from_numpy(u[:, 2] > 0)
        scene = (scene.double() @ steering(_directions_turned(pose))).to(scene)
    y = torch.where(motif.unsigned[:, None], (scene + opposite(scene.mT[..., None])[..., 0].mT) / 2, scene)
    y, t = y.double(), motif.target.double()
    w = torch.where(inside, motif.weights.double(), 0.0)[:, None]
    total = DIRECTIONS * float(w.sum())
    visible = total / motif.weight
    if visible < MIN_VISIBLE:
        return Evaluation(-1.0, visible, np.zeros(MAX_PARAMETERS))
    mean_t, mean_y = float((w * t).sum()) / total, float((w * y).sum()) / total
    own = max(float((w * (t - mean_t).square()).sum()), 1e-12) ** 0.5
    power = max(float((w * (y - mean_y).square()).sum()), MIN_VARIANCE * total) ** 0.5
    zncc = float((w * (t - mean_t) * (y - mean_y)).sum()) / (own * power)
    residual = w * ((y - mean_y) / power - zncc * (t - mean_t) / own) / own
    return Evaluation(zncc, visible, np.einsum("nc,ncp->p", residual.numpy(), motif._jacobian))


def sampled(
    found: Float[Tensor, "8 h w"], inside: Bool[Tensor, "h w"], spots: Float[Tensor, "N 2"]
) -> tuple[Float[Tensor, "N 8"], Bool[Tensor, " N"]]:
    """Channels at some places, linearly interpolated, and which of these lie in the scene."""
    height, width = inside.shape
    limits = spots.new_tensor((width - 1.001, height - 1.001))
    spots = spots.nan_to_num().clamp_min(0).minimum(limits)
    column, row = spots.long().unbind(1)
    a, b = (spots - spots.floor()).to(found).unbind(1)
    left = found[:, row, column] * (1 - b) + found[:, row + 1, column] * b
    right = found[:, row, column + 1] * (1 - b) + found[:, row + 1, column + 1] * b
    # Of the nearest pixel: of the one before, it would depend on the last bit of a place.
    across, down = (spots + 0.5).long().unbind(1)
    return (left * (1 - a) + right * a).mT, inside[down, across]


def on_picture(found: Float[Tensor, "8 h w"], spots: Float[Tensor, "N 2"]) -> Bool[Tensor, " N"]:
    """Which places lie on a picture."""
    limits = spots.new_tensor((found.shape[2] - 0.5, found.shape[1] - 0.5))
    return ((spots >= -0.5) & (spots <= limits)).all(1)


def _directions_turned(pose: _Matrix) -> float:
    """By how many directions a pose turns a motif, at the centre of its points."""
    middle = pose[:2, 2] / pose[2, 2]
    (a, b), (c, d) = pose[:2, :2] - np.outer(middle, pose[2, :2])
    return math.atan2(c - b, a + d) * DIRECTIONS / (2 * math.pi)


def steering(turn: float) -> Float[Tensor, "8 8"]:
    """The matrix that turns channels by so many directions, from the right: trigonometric interpolation."""
    number = torch.arange(DIRECTIONS, dtype=torch.float64)
    at = (number[:, None] - number - turn) * (2 * math.pi / DIRECTIONS)
    orders = torch.arange(1, DIRECTIONS // 2)[:, None, None]
    return (1 + 2 * (orders * at).cos().sum(0) + (DIRECTIONS // 2 * at).cos()) / DIRECTIONS

"""The descent of a flat motif on a picture of channels, from any pose.

ZNCC of the motif's channels and the picture's is maximised by damped Gauss–Newton, linearised on the motif's
side: the matrix of the normal equations is that of the motif, whatever the picture. Here in torch, for one
pose: the reference for native/plane_descent.h.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, channels, opposite
from wherein.native.abi import MAX_PARAMETERS
from wherein.planes.description import MARGIN
from wherein.planes.rectify import rectify
from wherein.pyramid.levels import reduce

if TYPE_CHECKING:
    # For the annotations alone: a descent needs numbers of a motif, not what makes one.
    from wherein.planes.plane_motif import PlaneMotif

DAMPING, EASE, TIGHTEN = 2e-3, 0.2, 10.0
"""The first damping, and the factors by which it changes after a better and a worse step. Choices."""

MAX_STEP = 0.25
"""Longest step in units of the motif's radius. A choice: beyond it the linearisation is not to be trusted."""

MIN_AGREEMENT = 0.5
"""ZNCC below which a step is as long as at this. A choice: a lower one is rather that of a pose far off, from
where twice as long is far enough.

Where only a share of a motif agrees with the scene, the second derivative of ZNCC is that share of the
motif's own, and so is its slope: a step by the motif's matrix leads only that share of the way. ZNCC is the
share.
"""

EXTRAPOLATED, REACH = 4.0, 0.5
"""How much longer a step may become by extrapolation, and how long, in pixels, unless it is already. Choices:
steps that lead a quarter of the way are the shortest seen where an object is in plain view; and further away,
what is not smooth is not linear."""

SLACK = 0.01
"""ZNCC by which a step of a pose that settles may make the fit worse. A choice: to rectify the scene by
another fraction of a pixel changes as much."""

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
        settles: for the last rounds of a pose that is almost right: one step in each, which the next round
            checks. At the start of a round no pixel is interpolated, elsewhere all are, which lowers ZNCC by
            more than the last tenth of a pixel raises it: a step that is checked at once would not be taken.
            `steps` is not read. From the second round on, steps are extrapolated: the scene seldom has the
            contrast and the sharpness of the motif, so that a step leads only a part of the way, and the
            next one the same part of the rest.
    """

    rounds: int = 2
    steps: int = 3
    tolerance: float = 0.05
    settles: bool = False


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
    for _ in range(stage.steps):
        if here.zncc <= -1:
            break
        step, length = _step(motif, here.slope / max(here.zncc, MIN_AGREEMENT), parameters, mu)
        at = best @ np.linalg.inv(_motion(step, parameters))
        at = at / at[2, 2]
        there = evaluate(motif, surface, start @ at)
        better = there.zncc > here.zncc
        if better:
            best, here = at, there
        mu = min(max(mu * (EASE if better else TIGHTEN), 1e-6), 1e6)
        if length * motif.radius < stage.tolerance:
            break
    return best, here


@dataclass
class Settling:
    """The moves of a pose that settles, as motions in the motif's units, from what is found in each round.

    Each round begins where no pixel is interpolated, so that its ZNCC tells whether the move to it was good.
    """

    motif: "PlaneMotif"
    parameters: int
    _from: _Matrix = field(default_factory=lambda: np.eye(3))
    _zncc: float = -1.0
    _step: _Matrix = field(default_factory=lambda: np.zeros(MAX_PARAMETERS))
    _taken: _Matrix = field(default_factory=lambda: np.zeros(MAX_PARAMETERS))
    _extrapolated: bool = False

    def move(self, pose: _Matrix, here: Evaluation) -> tuple[_Matrix, float]:
        """The motion of the next move, 3×3, and the length of the step without extrapolation, in pixels.

        Arguments:
            pose: the motif's units → scene.
            here: the evaluation there.
        """
        step, length = _step(self.motif, here.slope, self.parameters, DAMPING)
        change, own = step - self._step, float(np.linalg.norm(step))
        self._extrapolated = own < float(np.linalg.norm(self._step))
        share = float(change @ step) / max(float(change @ change), 1e-300) if self._extrapolated else 0.0
        taken = step - share * (self._taken + change)
        most = min(EXTRAPOLATED * own, max(own, REACH / self.motif.radius))
        self._taken = taken * min(1.0, most / max(float(np.linalg.norm(taken)), 1e-150))
        self._from, self._zncc, self._step = pose, here.zncc, step
        return self._motion(self._taken), length * self.motif.radius

    def led_too_far(self, here: Evaluation) -> bool:
        """Whether the last move made the fit worse."""
        return here.zncc < self._zncc - SLACK

    def back(self, again: bool) -> _Matrix:
        """Where the last step began, or where it leads without extrapolation or half as far."""
        if not again:
            return self._from
        self._step = self._step * (1.0 if self._extrapolated else 0.5)
        self._taken, self._extrapolated = self._step, False
        return self._from @ self._motion(self._taken)

    def _motion(self, step: _Matrix) -> _Matrix:
        at = np.linalg.inv(_motion(step, self.parameters))
        return np.asarray(at / at[2, 2])


def _step(motif: "PlaneMotif", slope: _Matrix, parameters: int, damping: float) -> tuple[_Matrix, float]:
    """A damped Gauss–Newton step, (8,), and its length before it was cut."""
    hessian = motif.hessian[:parameters, :parameters]
    unit = 1 / np.sqrt(np.maximum(np.diag(hessian), 1e-12))
    scaled = unit[:, None] * hessian * unit + (damping + 1e-9) * np.eye(parameters)
    step = unit * np.linalg.solve(scaled, unit * slope[:parameters])
    length = float(np.linalg.norm(step))
    return np.pad(step * min(1.0, MAX_STEP / max(length, 1e-12)), (0, MAX_PARAMETERS - parameters)), length


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


def level_of(scale: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Of `count` levels the one whose pixels come closest to a motif's that are `scale` times as large:
    finer ones would alias, coarser ones are blurred."""
    return np.asarray(np.clip(np.ceil(np.log2(scale / np.sqrt(2))), 0, count - 1))


@dataclass(frozen=True)
class Patch:
    """The scene in the motif's frame: the picture, its channels, and which pixels lie in the scene."""

    picture: Float[Tensor, "C h w"]
    channels: Float[Tensor, "8 h w"]
    inside: Bool[Tensor, "h w"]


def patch_of(
    levels: Sequence[Tensor],
    motif: "PlaneMotif",
    pose: NDArray[np.float64],
    size: tuple[int, int] | None = None,
    finest: int = 0,
) -> Patch | None:
    """The scene in the frame and at the resolution of a motif, and `MARGIN` pixels around it.

    Arguments:
        levels: of the scene.
        motif: whose channels are wanted.
        pose: pixels at its resolution → scene pixels at full size.
        size: width and height without the margin; None: those of the motif.
        finest: number of the finest level that is used.

    Returns:
        The patch, or None where the pose is mirrored or behind.
    """
    across, down = size or motif.size
    scale = _local_scale(pose, motif.centre if size is None else ((across - 1) / 2, (down - 1) / 2))
    if not scale > 0:
        return None
    level = max(int(level_of(np.array(scale), len(levels))), finest)
    to_level = reduce(2**level)
    from_patch = np.array(((1, 0, -MARGIN), (0, 1, -MARGIN), (0, 0, 1.0)))
    width, height = (side + 2 * MARGIN for side in (across, down))
    picture, inside = rectify(levels[level], to_level @ pose @ from_patch, height, width)
    return Patch(picture, channels(picture, motif.settings), inside)


def _local_scale(pose: NDArray[np.float64], at: tuple[float, float]) -> float:
    """How much larger a motif pixel is in the scene, at a point; 0 where the pose is mirrored or behind."""
    x, y, depth = pose @ (*at, 1.0)
    if not depth > 0:
        return 0.0
    linear = (pose[:2, :2] - np.outer((x / depth, y / depth), pose[2, :2])) / depth
    area = np.linalg.det(linear)
    return float(np.sqrt(area)) if area > 0 and np.isfinite(area) else 0.0

"""The descent of a flat motif on a picture of channels, from any pose.

It maximises the ZNCC ρ of the motif's channels and the picture's by damped Gauss–Newton, linearised on the
motif's side (inverse composition). Let ŷ be the picture at the points of the motif, with mean 0 and norm 1,
and t(p) the motif moved by p, with t = t(0) of mean 0 and norm 1. With the Jacobian J of t,

    ρ(p) = ⟨ŷ, t(p)⟩ / ‖t(p)‖,    ∇ρ = Jᵀ(ŷ − ρ t),    −∇²ρ ≈ H = JᵀJ − Jᵀ(1 1ᵀ / W + t tᵀ)J,

in which H is that of ŷ = t, with means and norms under the weights of the points, and W is the sum of these.
H does not depend on the picture, so it is computed once for a motif. A step of p = H⁻¹∇ρ on the motif's side
is its inverse on that of the pose. Here in torch, for one pose: the reference for native/plane_descent.h.
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
    # For annotations only: the module that makes motifs is not needed here.
    from wherein.planes.plane_motif import PlaneMotif

DAMPING, EASE, TIGHTEN = 2e-3, 0.2, 10.0
"""The initial damping, and the factors by which it changes after a better and a worse step. Choices."""

MAX_STEP = 0.25
"""Maximum length of a step, in units of the motif's radius. A choice: the linearisation fails beyond it."""

MIN_AGREEMENT = 0.5
"""Steps are divided by the ZNCC, or by this if the ZNCC is lower. A choice: at a low ZNCC the pose is rather
far off, and twice the step is enough.

If only a share of the motif agrees with the scene, slope and second derivative of the ZNCC are that share of
those of a complete match. A step with the matrix H of the complete match would lead only that share of the
way. The ZNCC is an estimate of the share.
"""

EXTRAPOLATED, REACH = 4.0, 0.5
"""Maximum factor by which extrapolation lengthens a step, and maximum length of an extrapolated step in
pixels, unless the step itself is longer. Choices: steps that led a quarter of the way were the shortest seen
for objects in plain view; and over longer distances, channels are not linear."""

SLACK = 0.01
"""ZNCC that a step of a settling pose may lose. A choice: shifting the rectified picture by a fraction of a
pixel changes the ZNCC as much."""

MIN_VISIBLE = 0.35
"""Minimum fraction of the motif that must lie in the scene. A choice: clutter fits less than a third of a
motif too well."""

MIN_VARIANCE = 5e-4
"""Lower bound of the variance of the scene's channels, by whose square root the ZNCC divides. A choice: the
variance of an outline with a contrast of one or two grey levels of 255. Without it, the ZNCC would find any
shape in the noise and compression of a plain background. The magnitude of channels is about 1."""

_Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class PlaneStage:
    """One stage of a coarse-to-fine fit of a flat motif.

    Attributes:
        rounds: maximum number of rectifications.
        steps: maximum number of Gauss–Newton steps in each round; 0 with one round only evaluates the poses.
        tolerance: a pose has converged if a step moves it by less than this, in pixels of the motif's
            resolution.
        settles: for a pose that is almost right. Each round takes one step, and the next round checks it.
            The step cannot be checked in its own round: at the pose of the rectification no channel is
            interpolated, elsewhere all are, which lowers the ZNCC by more than the last tenth of a pixel
            raises it. From the second round on, steps are extrapolated: the scene seldom has the contrast
            and the sharpness of the motif, so that a step leads only a part of the way, and the next one the
            same part of the rest. `steps` is not used.
    """

    rounds: int = 2
    steps: int = 3
    tolerance: float = 0.05
    settles: bool = False


@dataclass(frozen=True)
class Surface:
    """A picture of channels to which a motif is fitted.

    Attributes:
        channels: the channels.
        inside: which pixels lie in the scene.
        steered: True: directions are relative to the scene, and are rotated into the motif's frame at each
            pose. False: they are relative to the motif, since the picture has been rectified.
    """

    channels: Float[Tensor, "8 h w"]
    inside: Bool[Tensor, "h w"]
    steered: bool = False


@dataclass(frozen=True)
class Evaluation:
    """The ZNCC at a pose, the visible fraction, and the derivative ∇ρ on the motif's side, (8,)."""

    zncc: float
    visible: float
    slope: _Matrix


def descend(
    motif: "PlaneMotif", surface: Surface, start: _Matrix, parameters: int, stage: PlaneStage
) -> tuple[_Matrix, Evaluation]:
    """The motion of a motif, in its units, that maximises the ZNCC; and the evaluation there.

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
        # The step moves the motif, so the pose moves by its inverse.
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
    """The moves of a settling pose (`PlaneStage.settles`), as motions in the motif's units.

    Each round starts where no channel is interpolated, so that its ZNCC tells whether the last move was good.
    """

    motif: "PlaneMotif"
    parameters: int
    _from: _Matrix = field(default_factory=lambda: np.eye(3))
    _zncc: float = -1.0
    _step: _Matrix = field(default_factory=lambda: np.zeros(MAX_PARAMETERS))
    _taken: _Matrix = field(default_factory=lambda: np.zeros(MAX_PARAMETERS))
    _extrapolated: bool = False

    def move(self, pose: _Matrix, here: Evaluation) -> tuple[_Matrix, float]:
        """The next move, 3×3, and the length of its step before extrapolation, in pixels.

        Anderson acceleration of depth 1. With the step f_k at x_k, x_{k+1} = x_k + f_k − θ (x_k + f_k −
        x_{k−1} − f_{k−1}), where θ = ⟨f_k, f_k − f_{k−1}⟩ / ‖f_k − f_{k−1}‖². If each step leads the same
        part of the way, this leads all of the way. It is used only if steps are getting shorter.

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
        """Whether the last move has lowered the ZNCC by more than `SLACK`."""
        return here.zncc < self._zncc - SLACK

    def back(self, again: bool) -> _Matrix:
        """The motion before the last move; with `again`, followed by a shorter move.

        The shorter move is the step without extrapolation, or half of the step if that was the move.
        """
        if not again:
            return self._from
        self._step = self._step * (1.0 if self._extrapolated else 0.5)
        self._taken, self._extrapolated = self._step, False
        return self._from @ self._motion(self._taken)

    def _motion(self, step: _Matrix) -> _Matrix:
        at = np.linalg.inv(_motion(step, self.parameters))
        return np.asarray(at / at[2, 2])


def _step(motif: "PlaneMotif", slope: _Matrix, parameters: int, damping: float) -> tuple[_Matrix, float]:
    """A damped Gauss–Newton step, (8,), of length `MAX_STEP` at most, and its length before this limit."""
    # Scaled to a unit diagonal, so that the damping is relative to each parameter's own curvature.
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
    """The ZNCC and its derivative at a pose, which maps the motif's units to pixels of the surface."""
    u = np.concatenate((motif.points.double().numpy(), np.ones((len(motif.points), 1))), 1) @ pose.T
    spots = torch.from_numpy(u[:, :2] / u[:, 2:])
    scene, inside = sampled(surface.channels, surface.inside, spots)
    if surface.steered:
        # A rectified picture has a margin around the motif; on a whole scene, points may lie beyond its
        # border.
        inside &= on_picture(surface.channels, spots) & torch.from_numpy(u[:, 2] > 0)
        scene = (scene.double() @ steering(_directions_turned(pose))).to(scene)
    y = torch.where(motif.unsigned[:, None], (scene + opposite(scene.mT[..., None])[..., 0].mT) / 2, scene)
    y, t = y.double(), motif.target.double()
    w = torch.where(inside, motif.weights.double(), 0.0)[:, None]
    total = DIRECTIONS * float(w.sum())
    visible = total / motif.weight
    if visible < MIN_VISIBLE:
        return Evaluation(-1.0, visible, np.zeros(MAX_PARAMETERS))
    # The target has mean 0 and norm 1 over all points, but not over those that are visible.
    mean_t, mean_y = float((w * t).sum()) / total, float((w * y).sum()) / total
    own = max(float((w * (t - mean_t).square()).sum()), 1e-12) ** 0.5
    power = max(float((w * (y - mean_y).square()).sum()), MIN_VARIANCE * total) ** 0.5
    zncc = float((w * (t - mean_t) * (y - mean_y)).sum()) / (own * power)
    residual = w * ((y - mean_y) / power - zncc * (t - mean_t) / own) / own
    return Evaluation(zncc, visible, np.einsum("nc,ncp->p", residual.numpy(), motif._jacobian))


def sampled(
    found: Float[Tensor, "8 h w"], inside: Bool[Tensor, "h w"], spots: Float[Tensor, "N 2"]
) -> tuple[Float[Tensor, "N 8"], Bool[Tensor, " N"]]:
    """The channels at some places, linearly interpolated, and which places lie in the scene."""
    height, width = inside.shape
    limits = spots.new_tensor((width - 1.001, height - 1.001))
    spots = spots.nan_to_num().clamp_min(0).minimum(limits)
    column, row = spots.long().unbind(1)
    a, b = (spots - spots.floor()).to(found).unbind(1)
    left = found[:, row, column] * (1 - b) + found[:, row + 1, column] * b
    right = found[:, row, column + 1] * (1 - b) + found[:, row + 1, column + 1] * b
    # Of the nearest pixel, and not of the one before: at a whole pixel, that would depend on the last bit.
    across, down = (spots + 0.5).long().unbind(1)
    return (left * (1 - a) + right * a).mT, inside[down, across]


def on_picture(found: Float[Tensor, "8 h w"], spots: Float[Tensor, "N 2"]) -> Bool[Tensor, " N"]:
    """Which places lie on a picture."""
    limits = spots.new_tensor((found.shape[2] - 0.5, found.shape[1] - 0.5))
    return ((spots >= -0.5) & (spots <= limits)).all(1)


def _directions_turned(pose: _Matrix) -> float:
    """The rotation of a pose at the centre of the motif's points, in steps between directions."""
    # The linear part of the pose there, and the angle of the rotation that is closest to it.
    middle = pose[:2, 2] / pose[2, 2]
    (a, b), (c, d) = pose[:2, :2] - np.outer(middle, pose[2, :2])
    return math.atan2(c - b, a + d) * DIRECTIONS / (2 * math.pi)


def steering(turn: float) -> Float[Tensor, "8 8"]:
    """The matrix that rotates the directions of channels (..., 8) by `turn` steps, applied from the right.

    Trigonometric interpolation over the eight directions θ_j: entry (j, k) is the kernel
    (1 + 2 Σ_{n<4} cos n(θ_j − θ_k − φ) + cos 4(θ_j − θ_k − φ)) / 8 at the angle φ of `turn`.
    """
    number = torch.arange(DIRECTIONS, dtype=torch.float64)
    at = (number[:, None] - number - turn) * (2 * math.pi / DIRECTIONS)
    orders = torch.arange(1, DIRECTIONS // 2)[:, None, None]
    return (1 + 2 * (orders * at).cos().sum(0) + (DIRECTIONS // 2 * at).cos()) / DIRECTIONS


def level_of(scale: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """The scene level with the resolution closest to that of a motif whose pixels are `scale` wide in the
    scene.

    Finer levels would alias, coarser ones are blurred. Rounds log₂ `scale`, half a step down.
    """
    return np.asarray(np.clip(np.ceil(np.log2(scale / np.sqrt(2))), 0, count - 1))


@dataclass(frozen=True)
class Patch:
    """The scene rectified to a motif's frame: picture, channels, and which pixels lie in the scene."""

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
    """The scene rectified to the frame and resolution of a motif, with a margin of `MARGIN` pixels.

    Arguments:
        levels: of the scene.
        motif: determines size, resolution and the settings of the channels.
        pose: pixels at its resolution → scene pixels at full size.
        size: width and height without the margin; None: those of the motif.
        finest: the finest level that may be used.

    Returns:
        The patch; None if the pose is mirrored or behind the camera.
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
    """The width of a motif pixel in the scene, at a point; 0 if the pose is mirrored or behind the camera."""
    x, y, depth = pose @ (*at, 1.0)
    if not depth > 0:
        return 0.0
    linear = (pose[:2, :2] - np.outer((x / depth, y / depth), pose[2, :2])) / depth
    area = np.linalg.det(linear)
    return float(np.sqrt(area)) if area > 0 and np.isfinite(area) else 0.0

"""register(): one motif, one start, and the pose that brings them together."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from wherein.errors import ArgumentError, require
from wherein.formulations import Variables
from wherein.formulations.correlation import LEAST_VARIANCE
from wherein.images.load import Source, load_picture
from wherein.images.motif import Motif
from wherein.motion import Motion, motion_named
from wherein.pyramid import Poses, Pyramid
from wherein.solve import Damping, Status, align
from wherein.solve.schedule import Stage, coarse_to_fine


@dataclass(frozen=True)
class Registration:
    """Where a motif was found.

    Attributes:
        matrix: motif pixels → scene pixels, float64, 2×3 (3×3 for a homography).
        zncc: zero-normalised cross-correlation on the motif's support, 1 where they agree.
        cost: what was minimised at the end, 1 − ZNCC (of the trusted pixels where it was robust).
        steps: solver steps on the way to this pose, over all scales.
        status: how it ended; `str(status)` is "converged", "step limit", "diverged", "outside" or
            "no texture".
    """

    matrix: NDArray[np.float64]
    zncc: float
    cost: float
    steps: int
    status: Status

    @property
    def angle(self) -> float:
        """Degrees that the motif is turned, positive from x towards y."""
        return math.degrees(math.atan2(self.matrix[1, 0], self.matrix[0, 0]))

    @property
    def scale(self) -> float:
        """How much larger the motif is in the scene: √|det A|."""
        return float(abs(np.linalg.det(self.matrix[:2, :2])) ** 0.5)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, for JSON; None where there is no number."""
        return {
            "status": str(self.status),
            "zncc": self.zncc if math.isfinite(self.zncc) else None,
            "cost": self.cost if math.isfinite(self.cost) else None,
            "steps": self.steps,
            "matrix": self.matrix.tolist(),
            "angle": self.angle,
            "scale": self.scale,
        }


def register(
    scene: Source,
    motif: Source,
    motion: str | Motion = "euclidean",
    mask: Source | None = None,
    start: ArrayLike | None = None,
    *,
    robust: bool = False,
    color: str = "rgb",
) -> Registration:
    """Find the transformation that brings a motif onto a scene, by optimisation from one start.

    The fit is ZNCC on the motif's support, so it does not mind a change of gain and bias. It goes from coarse
    to fine; at the coarsest scale it begins from several poses around the start: all rotations where no
    start is given, those within 30° of it where one is.

    Arguments:
        scene: the picture to look in.
        motif: the picture to look for; its alpha is its mask.
        motion: "translation", "euclidean", "similarity", "affine", "homography" or a motion model.
        mask: which pixels of the motif count, (h, w); in place of its alpha.
        start: a matrix, motif pixels → scene pixels; None: the motif centred in the scene.
        robust: down-weight pixels that do not fit, for motifs that are partly hidden.
        color: "rgb", or "bgr" for arrays that come from OpenCV.

    Returns:
        A `Registration`. A fit that fails is told by its `status`, never by an exception.

    Raises:
        ArgumentError: an argument is wrong; the message says which and what is allowed.
        PictureError: a file cannot be read.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> scene = np.kron(rng.random((12, 16)), np.ones((8, 8)))
        >>> found = register(scene, scene[30:70, 40:90], motion="translation", start=[[1, 0, 38], [0, 1, 31]])
        >>> found.matrix.round(2), str(found.status)
        (array([[ 1.,  0., 40.],
               [ 0.,  1., 30.]]), 'converged')
    """
    model = motion_named(motion)
    pixels = load_picture(scene, color=color).pixels.detach().float()
    wanted = _motif(motif, mask, color)
    first = _start(start, model, wanted, pixels)
    with torch.no_grad():
        pyramid = Pyramid(pixels, wanted, model)
        side = pyramid.side(1, None)
        if float(side.known[..., -1].square().mean()) < LEAST_VARIANCE:
            return Registration(_public(first, model), math.nan, math.nan, 0, Status.FLAT)
        starts = first @ _around(model, wanted, everywhere=start is None)
        stages = coarse_to_fine(wanted.height, wanted.width, float(len(side.points)), len(starts), model.size)
        return _fit(pyramid, starts, stages, robust)


def _fit(pyramid: Pyramid, poses: Poses, stages: tuple[Stage, ...], robust: bool) -> Registration:
    """Through the stages, from many poses to one; pose matrices are float64, pictures are not.

    The start itself enters every stage anew: where a coarse scale has lost the texture, a finer one has it.
    """
    first, status = poses[:1], Status.STEP_LIMIT
    taken = np.zeros(len(poses), dtype=np.int64)
    for stage in stages:
        if stage.again:
            poses, taken = np.concatenate((poses, first)), np.append(taken, 0)
        level = pyramid.level(stage, poses, robust)
        at = level.enter(poses)
        if stage.probes:
            at = level.objective.probes(at, stage.probes, 0.25)
            taken = np.pad(taken, (0, len(at.pose) - len(taken)), constant_values=taken[0])
        damping = Damping(1e-3 if stage.scale == 1 else 1e-2)
        found = align(level.objective, at, stage.steps, damping, _tolerance(stage))
        costs, taken = found.cost.numpy(), taken + found.steps.numpy()
        order = costs.argsort(kind="stable")[: stage.keep]
        poses, taken, best = level.leave(found.variables)[order], taken[order], int(order[0])
        if stage.steps:
            status = found.status[best]
    at, cost = Variables(found.variables.pose[best : best + 1]), float(costs[best])
    level.objective.robust = False
    zncc = 1 - (float(align(level.objective, at, 0).cost) if robust else cost)
    if not math.isfinite(zncc):
        status = Status.OUTSIDE if float(level.objective.seen(at)) < 0.25 else Status.FLAT
        zncc = cost = math.nan
    matrix = _public(poses[0], pyramid.motion)
    return Registration(matrix, min(zncc, 1.0), max(cost, 0.0), int(taken[0]), status)


def _tolerance(stage: Stage) -> float:
    """In pixels of the stage: a hundredth, and at the end a hundred times finer, where the error ends too."""
    return 1e-2 if stage.scale > 1 else 1e-3 if stage.pixels else 1e-4


def _around(motion: Motion, motif: Motif, everywhere: bool) -> Poses:
    """Poses about the motif's centre to begin from, the identity first."""
    linear, centre = _linear_starts(motion.size, everywhere), ((motif.width - 1) / 2, (motif.height - 1) / 2)
    moved = np.tile(np.eye(3), (len(linear), 1, 1))
    moved[:, :2, :2] = linear
    moved[:, :2, 2] = centre - linear @ centre
    return moved


@cache
def _linear_starts(size: int, everywhere: bool) -> NDArray[np.float64]:
    """Rotations every 15° (the basin's half-width is about 10° at the coarsest scale), scales, stretches."""
    angles = range(0, 360, 15) if everywhere else (0, -15, 15, -30, 30)
    shapes = [np.eye(2)]
    if size >= 4:
        shapes += [0.85 * np.eye(2), 1.18 * np.eye(2)]
    if size >= 6:
        shapes += [_turn(k) @ np.diag((1.2, 1 / 1.2)) @ _turn(-k) for k in (0.0, 45.0, 90.0, 135.0)]
    return np.stack(
        [_turn(float(angle)) @ shape for angle in (angles if size > 2 else (0,)) for shape in shapes]
    )


def _turn(degrees: float) -> NDArray[np.float64]:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array(((c, -s), (s, c)))


def _motif(source: Source, mask: Source | None, color: str) -> Motif:
    """The motif with its mask: the one given, or its alpha, or all of it."""
    picture = load_picture(source, color=color)
    pixels = picture.pixels.detach().float()
    if mask is not None:
        weights = load_picture(mask).pixels.detach().float().mean(0)
    else:
        weights = picture.mask.detach().float() if picture.mask is not None else torch.ones_like(pixels[0])
    require(
        weights.shape == pixels.shape[-2:],
        f"the mask is {tuple(weights.shape)}, the motif {tuple(pixels.shape[-2:])}: they must agree",
    )
    require(
        bool((weights > 0.5).any()),
        "the motif's mask is empty: at least one pixel must be more than half in it",
    )
    return Motif(pixels, weights)


def _start(
    start: ArrayLike | None, motion: Motion, motif: Motif, scene: Float[Tensor, "C H W"]
) -> NDArray[np.float64]:
    """The start as a 3×3 matrix; the motif centred in the scene where there is none."""
    height, width = scene.shape[-2:]
    if start is None:
        require(
            motif.height <= height and motif.width <= width,
            f"the motif ({motif.width} × {motif.height}) is larger than the scene ({width} × {height}): "
            "are they swapped? If it is meant, give a start",
        )
        middle = np.eye(3)
        middle[:2, 2] = (width - motif.width) / 2, (height - motif.height) / 2
        return middle
    return _matrix(start, motion)


def _matrix(start: ArrayLike, motion: Motion) -> NDArray[np.float64]:
    allowed = "a 2×3 or 3×3 matrix, motif pixels → scene pixels"
    try:
        matrix: NDArray[np.float64] = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"start must be {allowed}, but it is not made of numbers") from None
    require(
        matrix.shape in ((2, 3), (3, 3)), f"start must be {allowed}, but came with the shape {matrix.shape}"
    )
    if matrix.shape == (2, 3):
        matrix = np.vstack((matrix, (0.0, 0.0, 1.0)))
    require(bool(np.isfinite(matrix).all()), f"start must be {allowed}, but has entries that are not finite")
    require(
        bool(abs(np.linalg.det(matrix)) > 1e-12 and abs(matrix[2, 2]) > 1e-12),
        f"start must be {allowed}, but cannot be inverted",
    )
    matrix = matrix / matrix[2, 2]
    require(
        motion.name == "homography" or not bool(matrix[2, :2].any()),
        f'start has perspective, which motion="{motion.name}" cannot keep: use motion="homography"',
    )
    return matrix


def _public(pose: NDArray[np.float64], motion: Motion) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = pose / pose[2, 2]
    return matrix if motion.name == "homography" else matrix[:2]

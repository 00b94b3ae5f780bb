"""register(): one motif, one start, and the pose that brings them together."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from wherein.errors import ArgumentError, require
from wherein.formulations import CorrelationObjective
from wherein.images.load import Source, load_picture
from wherein.images.motif import Motif
from wherein.motion import Motion, motion_named
from wherein.motion import field as fields
from wherein.solve import Damping, Status, gauss_newton
from wherein.solve.schedule import Stage, coarse_to_fine
from wherein.warp import Surface

_TEXTURE = 1e-7
"""A variance of the motif below this (a hundredth of a grey level of 255, squared) is no texture."""


@dataclass(frozen=True)
class Registration:
    """Where a motif was found.

    Attributes:
        matrix: motif pixels → scene pixels, float64, 2×3 (3×3 for a homography).
        zncc: zero-normalised cross-correlation on the motif's support, 1 where they agree.
        cost: what was minimised at the end, 1 − ZNCC (of the trusted pixels where it was robust).
        steps: solver steps on the way to this pose, over all scales.
        status: how it ended; `str(status)` is "converged", "step limit", "diverged", "outside" or "no texture".
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

    The fit is ZNCC on the motif's support, so it does not mind a change of gain and bias. It goes from coarse to
    fine; at the coarsest scale it begins from several poses around the start: all rotations where no
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
    if _texture(wanted) < _TEXTURE:
        return _unmoved(first, model, Status.FLAT)
    starts = first @ _around(model, wanted, everywhere=start is None)
    support = float((wanted.mask > 0.5).sum())
    stages = coarse_to_fine(wanted.height, wanted.width, support, len(starts), model.size)
    with torch.no_grad():
        return _fit(pixels, wanted, model, starts, stages, robust)


def _fit(
    scene: Float[Tensor, "C H W"],
    motif: Motif,
    motion: Motion,
    poses: Float[Tensor, "B 3 3"],
    stages: tuple[Stage, ...],
    robust: bool,
) -> Registration:
    """Through the stages, from many poses to one; pose matrices are float64, pictures are not.

    The start itself enters every stage anew: where a coarse scale has lost the texture, a finer one has it.
    """
    first = poses[:1]
    objective, status, cost = None, Status.STEP_LIMIT, math.inf
    taken = torch.zeros(len(poses), dtype=torch.int64)
    for stage in stages:
        if stage.again:
            poses, taken = torch.cat((poses, first)), F.pad(taken, (0, 1))
        objective, to_scene, to_motif = _level(scene, motif, motion, poses, stage, robust)
        at = objective.at((torch.linalg.inv(to_scene) @ poses @ to_motif).to(scene.dtype))
        if stage.probes:
            at = objective.probes(at, stage.probes, 0.25)
            taken = torch.cat((taken, taken[:1].expand(len(at.pose) - len(taken))))
        if stage.steps:
            last = stage.scale == 1
            found = gauss_newton(
                objective, at, stage.steps, Damping(1e-3 if last else 1e-2), tolerance=_tolerance(stage)
            )
            at, costs, taken = found.variables, found.cost, taken + found.steps
        else:
            costs = objective.linearise(at).cost
        order = costs.argsort(stable=True)[: stage.keep]
        poses = to_scene @ objective.matrix(at)[order].double() @ torch.linalg.inv(to_motif)
        taken, cost = taken[order], float(costs[order[0]])
        if stage.steps:
            status = found.status[int(order[0])]
    assert objective is not None
    objective.robust = False
    zncc = 1 - float(objective.linearise(type(at)(at.pose[order[:1]])).cost)
    if not math.isfinite(zncc):
        seen = float(objective.seen(type(at)(at.pose[order[:1]]))[0])
        status = Status.OUTSIDE if seen < 0.25 else Status.FLAT
        zncc = cost = math.nan
    return Registration(_public(poses[0], motion), min(zncc, 1.0), max(cost, 0.0), int(taken[0]), status)


def _tolerance(stage: Stage) -> float:
    """In pixels of the stage: a hundredth, and at the end a hundred times finer, where the error ends too."""
    return 1e-2 if stage.scale > 1 else 1e-3 if stage.pixels else 1e-4


def _level(
    scene: Float[Tensor, "C H W"],
    motif: Motif,
    motion: Motion,
    poses: Float[Tensor, "B 3 3"],
    stage: Stage,
    robust: bool,
) -> tuple[CorrelationObjective, Tensor, Tensor]:
    """The objective at a scale, and the matrices from its pixels to full-size ones of scene and motif.

    Only the part of the scene that the poses can reach is looked at.
    """
    scale = stage.scale
    left, top, right, bottom = _window(motif, poses, *scene.shape[-2:], scale)
    part = scene[:, top:bottom, left:right]
    part = F.avg_pool2d(part, scale) if scale > 1 else part
    to_scene, to_motif = _enlarge(scale), _enlarge(scale)
    to_scene[:2, 2] += torch.tensor((left, top))
    objective = CorrelationObjective(Surface(part), motif.pooled(scale), motion, stage.pixels, robust)
    return objective, to_scene, to_motif


def _window(
    motif: Motif, poses: Float[Tensor, "B 3 3"], height: int, width: int, scale: int
) -> tuple[int, int, int, int]:
    """The box of all poses with a margin of half the motif, in whole pixels of the scale: left, top, right, bottom."""
    corners = torch.tensor(
        [(x, y) for x in (0, motif.width - 1) for y in (0, motif.height - 1)], dtype=poses.dtype
    )
    reached = fields.transform(poses, corners).reshape(-1, 2)
    margin = 16 + max(motif.height, motif.width) / 2
    low, high = (reached.amin(0) - margin).tolist(), (reached.amax(0) + margin).tolist()
    sides = []
    for lowest, highest, limit in zip(low, high, (width, height), strict=True):
        # A pose far outside gets the nearest part of the scene, in which it stays outside.
        begin = min(max(0, int(max(lowest, 0)) // scale * scale), max(0, limit - 2 * scale))
        sides.append(
            (begin // scale * scale, max(min(limit, math.ceil(min(highest, limit))), begin + 2 * scale))
        )
    return sides[0][0], sides[1][0], sides[0][1], sides[1][1]


def _enlarge(scale: int) -> Float[Tensor, "3 3"]:
    """From pixels of a reduced picture to those of the full one: x ↦ scale · x + (scale − 1)/2."""
    middle = (scale - 1) / 2
    return torch.tensor(((scale, 0, middle), (0, scale, middle), (0, 0, 1)), dtype=torch.float64)


def _around(motion: Motion, motif: Motif, everywhere: bool) -> Float[Tensor, "B 3 3"]:
    """Poses about the motif's centre to begin from, the identity first."""
    centre = fields.centre_of(motif.height, motif.width, torch.empty(0, dtype=torch.float64))
    linear = torch.from_numpy(np.stack(list(_linear_starts(motion, everywhere))))
    moved = torch.eye(3, dtype=torch.float64).repeat(len(linear), 1, 1)
    moved[:, :2, :2] = linear
    return fields.shift_matrix(centre) @ moved @ fields.shift_matrix(-centre)


def _linear_starts(motion: Motion, everywhere: bool) -> Iterator[NDArray[np.float64]]:
    """Rotations every 15° (the basin's half-width is about 10° at the coarsest scale), scales, stretches."""
    angles = range(0, 360, 15) if everywhere else (0, -15, 15, -30, 30)
    shapes = [np.eye(2)]
    if motion.size >= 4:
        shapes += [0.85 * np.eye(2), 1.18 * np.eye(2)]
    if motion.size >= 6:
        shapes += [_turn(45 * k) @ np.diag((1.2, 1 / 1.2)) @ _turn(-45 * k) for k in range(4)]
    for angle in angles if motion.size > 2 else (0,):
        for shape in shapes:
            yield _turn(angle) @ shape


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


def _texture(motif: Motif) -> float:
    inside = motif.pixels[:, motif.mask > 0.5]
    return float((inside - inside.mean(1, keepdim=True)).pow(2).mean())


def _start(
    start: ArrayLike | None, motion: Motion, motif: Motif, scene: Float[Tensor, "C H W"]
) -> Float[Tensor, "3 3"]:
    """The start as a 3×3 matrix; the motif centred in the scene where there is none."""
    height, width = scene.shape[-2:]
    if start is None:
        require(
            motif.height <= height and motif.width <= width,
            f"the motif ({motif.width} × {motif.height}) is larger than the scene ({width} × {height}): "
            "are they swapped? If it is meant, give a start",
        )
        empty = torch.empty(0, dtype=torch.float64)
        return fields.shift_matrix(
            fields.centre_of(height, width, empty) - fields.centre_of(motif.height, motif.width, empty)
        )
    return _matrix(start, motion)


def _matrix(start: ArrayLike, motion: Motion) -> Float[Tensor, "3 3"]:
    allowed = "a 2×3 or 3×3 matrix, motif pixels → scene pixels"
    try:
        matrix = np.asarray(start, dtype=np.float64)
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
    return torch.from_numpy(matrix)


def _unmoved(first: Float[Tensor, "3 3"], motion: Motion, status: Status) -> Registration:
    return Registration(_public(first, motion), math.nan, math.nan, 0, status)


def _public(pose: Float[Tensor, "3 3"], motion: Motion) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = (pose / pose[2, 2]).numpy()
    return matrix if motion.name == "homography" else matrix[:2]

"""register(): one motif, one start, and the pose that brings them together."""

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from wherein.errors import ArgumentError, require
from wherein.formulations.correlation import LEAST_VARIANCE
from wherein.images.load import Source, load_mask, load_picture
from wherein.images.motif import Motif
from wherein.motion import Motion, motion_named
from wherein.pyramid import Poses, Pyramid
from wherein.solve import Damping, Status, align
from wherein.solve.schedule import Plan, Search, Stage, coarse_to_fine

_GOOD = 0.05
"""A cost, 1 − ZNCC, below which a fit is taken for right without trying others."""

_UNCERTAIN = 4
"""From this many parameters on, directions can stay undetermined at a coarse scale."""

_PROBES, _DROPS = 3, (0.25, 0.8, 1.6)
"""Along how many directions to probe, and how far: to where 1 − ZNCC² should have risen by that much."""


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
    to fine. Where the start alone does not lead to a good fit, coarse scales are searched from several poses
    around it: all rotations where no start is given, those within 37.5° of it where one is.

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
    pixels = load_picture(scene, color=color, role="scene").pixels.detach().float()
    wanted = _motif(motif, mask, color)
    first = _start(start, model, wanted, pixels)
    with torch.no_grad():
        pyramid = Pyramid(pixels, wanted, model)
        side = pyramid.side(1, None)
        if float(side.known[..., -1].square().mean()) < LEAST_VARIANCE:
            return Registration(_public(first, model), math.nan, math.nan, 0, Status.FLAT)
        plan = coarse_to_fine(wanted.height, wanted.width, float(len(side.points)))
        return _fit(_Descent(pyramid, robust), first, plan, everywhere=start is None)


@dataclass(frozen=True)
class _Candidates:
    """Poses at full size, the best first, each with its cost, the steps it took and how it ended."""

    poses: Poses
    costs: NDArray[np.float32]
    steps: NDArray[np.int64]
    statuses: tuple[Status, ...]

    @staticmethod
    def at(poses: Poses) -> "_Candidates":
        unknown = np.full(len(poses), np.inf, dtype=np.float32)
        return _Candidates(
            poses, unknown, np.zeros(len(poses), dtype=np.int64), (Status.STEP_LIMIT,) * len(poses)
        )

    @property
    def good(self) -> bool:
        """So good a fit that no other pose need be tried."""
        return bool(self.costs[0] < _GOOD)

    def or_better(self, other: "_Candidates") -> "_Candidates":
        return other if other.costs[0] < self.costs[0] else self


class _Descent:
    """Runs candidates through stages on the scales of a pyramid."""

    def __init__(self, pyramid: Pyramid, robust: bool) -> None:
        self.pyramid, self.robust = pyramid, robust

    def __call__(self, stages: tuple[Stage, ...], found: _Candidates) -> _Candidates:
        for stage in stages:
            found = self._through(stage, found)
        return found

    def _through(self, stage: Stage, found: _Candidates) -> _Candidates:
        level = self.pyramid.level(stage, found.poses, self.robust)
        damping = Damping(1e-3 if stage.scale == 1 else 1e-2)
        ended = align(level.objective, level.enter(found.poses), stage.steps, damping, stage.tolerance)
        costs = ended.cost.numpy()
        order = costs.argsort(kind="stable")[: stage.keep]
        statuses = tuple(ended.status[index] for index in order)
        steps = found.steps + ended.steps.numpy()
        return _Candidates(level.leave(ended.variables)[order], costs[order], steps[order], statuses)

    def probe(self, stage: Stage, found: _Candidates) -> _Candidates:
        """Once more from neighbours of the best pose, in the directions in which it is least certain."""
        if found.good or self.pyramid.motion.size < _UNCERTAIN:
            return found
        level = self.pyramid.level(stage, found.poses, self.robust)
        at = level.enter(found.poses[:1])
        around = np.concatenate([level.leave(level.objective.probes(at, _PROBES, drop)) for drop in _DROPS])
        return found.or_better(self._through(stage, _Candidates.at(around)))

    def zncc(self, pose: Poses, stage: Stage) -> tuple[float, float]:
        """Of a pose, every pixel trusted alike; and which fraction of the motif is in sight."""
        level = self.pyramid.level(stage, pose, robust=False)
        at = level.enter(pose)
        return 1 - float(align(level.objective, at, 0).cost), float(level.objective.seen(at))


def _fit(descend: _Descent, start: Poses, plan: Plan, everywhere: bool) -> Registration:
    """From the start alone and, as long as the fit is not good, from more poses, to the best that is found.

    Where the start leads straight to the motif, as it mostly does when it is close, nothing else is paid for.
    """
    motion, motif = descend.pyramid.motion, descend.pyramid.motif
    first, half = _Candidates.at(start[None]), (plan.alone + plan.refine)[-1]
    best = descend.probe(half, descend(plan.alone + plan.refine, first))
    for search in plan.searches:
        if best.good:
            break
        starts = start @ _around(motion, motif, search, everywhere)
        # A finer search has passed the scales before its own.
        refine = tuple(stage for stage in plan.refine if stage.scale < search.thin[0].scale)
        found = descend(search.thin + refine, _Candidates.at(starts))
        best = best.or_better(descend.probe(half, found))
    strongest, every = plan.finish
    best = descend((strongest,), best)
    # A start that was right already, or whose texture only full size shows, must not be lost on the way.
    if not best.good or descend((replace(strongest, steps=0),), first).costs[0] < best.costs[0]:
        best = best.or_better(descend((strongest,), first))
    return _result(descend, descend((every,), best), every)


def _result(descend: _Descent, best: _Candidates, stage: Stage) -> Registration:
    matrix, cost, status = (
        _public(best.poses[0], descend.pyramid.motion),
        float(best.costs[0]),
        best.statuses[0],
    )
    zncc, seen = (
        descend.zncc(best.poses[:1], stage) if descend.robust or cost == math.inf else (1 - cost, 1.0)
    )
    if not math.isfinite(zncc):
        zncc, cost, status = math.nan, math.nan, Status.OUTSIDE if seen < 0.25 else Status.FLAT
    return Registration(matrix, min(zncc, 1.0), max(cost, 0.0), int(best.steps[0]), status)


def _around(motion: Motion, motif: Motif, search: Search, everywhere: bool) -> Poses:
    """Poses about the motif's centre to begin from."""
    size = motion.size if search.shapes else min(motion.size, 3)
    linear = _linear_starts(size, search.turns, 360.0 if everywhere else 75.0)
    places = np.arange(-search.shifts, search.shifts + 1) * search.spacing
    shifts = np.array([(x, y) for y in places for x in places])
    centre = np.array(((motif.width - 1) / 2, (motif.height - 1) / 2))
    moved = np.tile(np.eye(3), (len(shifts), len(linear), 1, 1))
    moved[:, :, :2, :2] = linear
    moved[:, :, :2, 2] = centre - linear @ centre + shifts[:, None]
    return moved.reshape(-1, 3, 3)


@cache
def _linear_starts(size: int, turns: float, sector: float) -> NDArray[np.float64]:
    """Rotations `turns` degrees apart over a sector around 0, scales, stretches.

    The basin's half-width is about 10° at the coarsest scale.
    """
    angles = np.arange(turns / 2 - sector / 2, sector / 2, turns)
    shapes = [np.eye(2)]
    if size >= 4:
        shapes += [scale * np.eye(2) for scale in (0.7, 0.85, 1.18, 1.4)]
    if size >= 6:
        shapes += [_turn(k) @ np.diag((1.2, 1 / 1.2)) @ _turn(-k) for k in (0.0, 45.0, 90.0, 135.0)]
    return np.stack(
        [_turn(float(angle)) @ shape for angle in (angles if size > 2 else (0.0,)) for shape in shapes]
    )


def _turn(degrees: float) -> NDArray[np.float64]:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array(((c, -s), (s, c)))


def _motif(source: Source, mask: Source | None, color: str) -> Motif:
    """The motif with its mask: the one given, or its alpha, or all of it."""
    picture = load_picture(source, color=color, role="motif")
    pixels = picture.pixels.detach().float()
    if mask is not None:
        weights = load_mask(mask).detach().float()
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
            "are they swapped? If the scene shows it smaller, give a start that shrinks it, such as "
            f"{_shrinking(motif, width, height)}",
        )
        middle = np.eye(3)
        middle[:2, 2] = (width - motif.width) / 2, (height - motif.height) / 2
        return middle
    return _matrix(start, motion)


def _shrinking(motif: Motif, width: int, height: int) -> str:
    """A start, as it is written, that fits a motif into a scene."""
    scale = math.floor(100 * min(width / motif.width, height / motif.height)) / 100
    return f"[[{scale:g}, 0, 0], [0, {scale:g}, 0]]"


def _matrix(start: ArrayLike, motion: Motion) -> NDArray[np.float64]:
    allowed = "a 2×3 or 3×3 matrix, motif pixels → scene pixels"
    try:
        matrix: NDArray[np.float64] = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"start must be {allowed}, but {_why_no_matrix(start)}") from None
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


def _why_no_matrix(start: object) -> str:
    rows = start if isinstance(start, list | tuple) else ()
    lengths = [str(len(row)) if isinstance(row, list | tuple) else "1" for row in rows]
    return (
        f"its rows have {', '.join(lengths)} entries"
        if len(set(lengths)) > 1
        else "it is not made of numbers"
    )


def _public(pose: NDArray[np.float64], motion: Motion) -> NDArray[np.float64]:
    matrix: NDArray[np.float64] = pose / pose[2, 2]
    return matrix if motion.name == "homography" else matrix[:2]

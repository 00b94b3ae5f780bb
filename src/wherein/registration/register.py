"""register(): one scene, one motif, and the pose that brings them together."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from wherein.errors import ArgumentError, require
from wherein.formulations.correlation import LEAST_VARIANCE, MIN_VISIBLE
from wherein.images.load import Source, load_picture
from wherein.images.motif import Motif, load_motif
from wherein.motion.models import Motion, motion_named
from wherein.pyramid.descent import MAX_PIXELS
from wherein.registration.fit import Candidates, Descent, fit
from wherein.registration.plan import coarse_to_fine
from wherein.registration.problem import Problem
from wherein.solve.solution import Status


@dataclass(frozen=True)
class Registration:
    """Where a motif was found.

    Attributes:
        matrix: motif pixels → scene pixels, float64, 2×3 (3×3 for a homography).
        zncc: zero-normalised cross-correlation on the motif's support, 1 where they agree.
        seen: the share of its support that lies inside the scene, in [0, 1].
        cost: what was minimised at the end, 1 − ZNCC (of the trusted pixels where it was robust).
        steps: solver steps on the way to this pose, over all scales.
        status: how it ended; `str(status)` is "converged", "step limit", "diverged", "outside" or
            "no texture".
    """

    matrix: NDArray[np.float64]
    zncc: float
    seen: float
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
            "seen": self.seen,
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
    """Find the transformation that brings a motif onto a scene, by optimisation.

    The fit is ZNCC on the motif's support, so it does not mind a change of gain and bias. It goes from coarse
    to fine. Where the start alone does not lead to a good fit, coarse scales are searched from more poses:
    all over the scene and at all rotations where no start is given, around it and within 37.5° where one is.

    Arguments:
        scene: the picture to look in.
        motif: the picture to look for; its alpha is its mask.
        motion: "translation", "euclidean", "similarity", "affine", "homography" or a motion model.
        mask: which pixels of the motif count, (h, w); in place of its alpha.
        start: a matrix, motif pixels → scene pixels; None: the motif centred in the scene, then anywhere.
        robust: down-weight pixels that do not fit, for motifs that are partly hidden.
        color: "rgb", or "bgr" where the scene is an array that comes from OpenCV. So is the motif then,
            unless it is a file or a PIL image.

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
    wanted = load_motif(motif, mask, color, pixels.device)
    first = _start(start, model, wanted, pixels)
    with torch.no_grad():
        problem = Problem(pixels, wanted, model)
        if float(problem.motif.side(1, model, MAX_PIXELS).known[..., -1].square().mean()) < LEAST_VARIANCE:
            return Registration(
                _public(first, model), math.nan, problem.visible_fraction(first), math.nan, 0, Status.FLAT
            )
        plan = coarse_to_fine(wanted.height, wanted.width, problem.motif.support)
        descend = Descent(problem, robust)
        return _result(descend, fit(descend, first, plan, everywhere=start is None))


def _result(descend: Descent, best: Candidates) -> Registration:
    problem, cost, status = descend.problem, float(best.costs[0]), best.statuses[0]
    minimised = problem.motif.support <= MAX_PIXELS and not descend.robust
    zncc, seen = 1 - cost if minimised else descend.zncc(best.poses), problem.visible_fraction(best.poses[0])
    if not math.isfinite(zncc):
        zncc, cost, status = math.nan, math.nan, Status.OUTSIDE if seen < MIN_VISIBLE else Status.FLAT
    return Registration(
        _public(best.poses[0], problem.motion),
        zncc=min(zncc, 1.0),
        seen=seen,
        cost=max(cost, 0.0),
        steps=int(best.steps[0]),
        status=status,
    )


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
        given = start.detach().cpu() if isinstance(start, Tensor) else start
        matrix: NDArray[np.float64] = np.asarray(given, dtype=np.float64)
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
        motion.projective or not bool(matrix[2, :2].any()),
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
    return matrix if motion.projective else matrix[:2]

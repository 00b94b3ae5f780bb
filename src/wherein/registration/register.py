"""`register`: find the pose of one motif in one scene."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from torch import Tensor

from wherein.errors import ArgumentError, require
from wherein.formulations.correlation import MIN_VISIBLE
from wherein.images.frames.picture_frames import ONE_FRAME, check_one_frame
from wherein.images.load import Source, load_scene
from wherein.images.motif import Motif, alike, load_motif
from wherein.images.picture import Picture
from wherein.images.polygons import box
from wherein.images.shown import Shown
from wherein.motion.homography import angle_at, mapped, rounded, scale_at, tilt_at
from wherein.motion.models import MOTIONS, Motion, motion_named
from wherein.pyramid.levels import ScenePyramid
from wherein.registration.fit import Candidates, Descent, fit
from wherein.registration.plan import coarse_to_fine
from wherein.registration.problem import Problem
from wherein.registration.whole_scene import WholeScene
from wherein.solve.solution import Status
from wherein.threads import plain_torch

_MIN_SIDE = 8
"""Minimum width and height of a motif and a scene for the search by channels. A choice: about the width of
the window over which channels are normalised."""


@dataclass(frozen=True)
class Registration(Shown):
    """The result of `register`: the pose of a motif in a scene.

    Attributes:
        matrix: motif pixels → scene pixels, float64, 2×3 (3×3 for a homography).
        zncc: zero-mean normalised cross-correlation on the motif's support; 1 is a perfect fit.
        seen: the visible fraction, the fraction of the motif's support that lies inside the scene, in [0, 1].
        cost: the minimised cost, 1 − ZNCC (with robust weights if `robust` was set).
        steps: the number of solver steps on colours that led to this pose, over all scales; 0 unless
            `refined`.
        status: how the fit ended; `str(status)` is "converged", "step limit", "diverged", "outside" or
            "no texture".
        scene, motif: the pictures that were registered, for drawings.
        refined: whether the pose was refined on colours. If that leads away from the motif, as it can in
            different light, the pose is the one that edges or cells found.
    """

    matrix: NDArray[np.float64]
    zncc: float
    seen: float
    cost: float
    steps: int
    status: Status
    scene: Picture | None = None
    motif: Motif | None = None
    refined: bool = True

    def __repr__(self) -> str:
        x, y = self.center
        tilt = f", tilt {self.tilt:z.0f}°" if len(self.matrix) == 3 else ""
        return (
            f"Registration({self.status}, ZNCC {self.zncc:.3f}, at ({x:z.1f}, {y:z.1f}), "
            f"angle {self.angle:z.1f}°, scale {self.scale:.3f}{tilt})"
        )

    @property
    def _middle(self) -> tuple[float, float]:
        return (0.0, 0.0) if self.motif is None else self.motif.centre

    @property
    def center(self) -> tuple[float, float]:
        """The middle of the motif in the scene, (x, y)."""
        x, y = mapped(self.matrix, self._middle).tolist()
        return x, y

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box around the motif's outline in the scene: x, y, width and height."""
        _, motif = self._known
        left, top, right, bottom = box([mapped(self.matrix, ring) for ring in motif.rings])
        return left, top, right - left, bottom - top

    def draw(self) -> Image.Image:
        """The scene with the motif's outline; below it the motif, its place in the scene, the difference."""
        from wherein.drawing.registrations import draw_registration

        scene, motif = self._known
        return draw_registration(scene.pixels.detach().float(), motif, self.matrix, None, [repr(self)])

    def plot(self, ax: Any = None) -> Any:
        """Plot the scene and the outline, and return the matplotlib axes; None creates new ones."""
        from wherein.drawing.notebook import plot_motif

        scene, motif = self._known
        return plot_motif(scene.pixels.detach().float(), motif, self.matrix, ax)

    def _repr_png_(self) -> bytes | None:
        return None if self.scene is None else super()._repr_png_()

    @property
    def _known(self) -> tuple[Picture, Motif]:
        if self.scene is None or self.motif is None:
            raise ArgumentError("this registration has no pictures: use what register() returns")
        return self.scene, self.motif

    @property
    def angle(self) -> float:
        """The rotation of the motif in degrees, positive from x towards y; of a homography at its middle."""
        return angle_at(self.matrix, self._middle)

    @property
    def scale(self) -> float:
        """The size of the motif in the scene relative to its own: √|det A|; of a homography at its middle."""
        return scale_at(self.matrix, self._middle)

    @property
    def tilt(self) -> float:
        """The tilt of the motif out of the picture plane, in degrees; 0 for a 2×3 matrix."""
        return tilt_at(self.matrix, self._middle)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain numbers and lists, for JSON, rounded as detections are; NaN becomes None."""
        return {
            "status": str(self.status),
            "zncc": round(self.zncc, 6) if math.isfinite(self.zncc) else None,
            "seen": round(self.seen, 6),
            "cost": round(self.cost, 6) if math.isfinite(self.cost) else None,
            "steps": self.steps,
            "matrix": rounded(self.matrix).tolist(),
            "center": [round(value, 4) for value in self.center],
            "angle": round(self.angle, 4),
            "scale": round(self.scale, 6),
            "tilt": round(self.tilt, 4),
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
    """Find the pose of a motif in a scene, by optimisation.

    The optimised measure is ZNCC on the motif's support, which gain and bias of the light do not change. The
    fit goes from coarse to fine. If the start alone does not lead to a good fit, more starts are tried at
    coarse scales, around it and within 37.5° of it.

    Without a start, the whole scene is searched, and the search stops at the first pose that stands out. In
    photographs the light differs and objects move. So if colours do not fit, the motif is compared upright
    and at its own size in small cells, each of which may shift a little; then by the directions of its
    gradients, at all rotations, at 0.4 to 2.5 times the size and tilted by up to 75°, as far as the motion
    allows. If no pose stands out, the best of all candidates is returned.

    Arguments:
        scene: the picture to search.
        motif: the picture to find; its alpha channel is its mask.
        motion: "translation", "euclidean", "similarity", "affine", "homography" or a motion model.
        mask: the weight of each pixel of the motif, (h, w); replaces its alpha channel.
        start: a matrix, motif pixels → scene pixels. None: start in the middle of the scene, then search
            everywhere.
        robust: give less weight to pixels that do not fit, for motifs that are partly occluded.
        color: the channel order of arrays: "rgb", or "bgr" as in OpenCV. It applies to the scene, and to the
            motif unless that is a file or a PIL image.

    Returns:
        A `Registration`. If the fit fails, its `status` says how; no exception is raised.

    Raises:
        ArgumentError: an argument is wrong; the message says which and what is allowed.
        PictureError: a file cannot be read, or has several frames.

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
    threads = torch.get_num_threads()
    with plain_torch():
        # Detached, since the choice of the best of many starts is not differentiable. A network of
        # `wherein.solve.unroll` is.
        for role, given in {"scene": scene, "motif": motif, "mask": mask}.items():
            check_one_frame(given, ONE_FRAME, role)
        picture = load_scene(scene, color=color)
        pixels = picture.pixels.detach().float()
        loaded = load_motif(motif, mask, color, pixels.device)
        first = _start(start, model, loaded, pixels)
        problem = Problem(*alike(pixels, loaded), model, threads)
        plan = coarse_to_fine(loaded.height, loaded.width, problem.motif.support)
        if problem.is_flat(plan.alone[0].scale):  # no search can succeed
            visible = problem.visible_fraction(first)
            flat = Registration(_public(first, model), math.nan, visible, math.nan, 0, Status.FLAT)
            return replace(flat, scene=picture, motif=loaded)
        descend = Descent(problem, robust)
        whole = _whole_scene(problem) if start is None else None
        found = _result(descend, fit(descend, first, plan, start is None, whole))
    return replace(found, scene=picture, motif=loaded)


def _whole_scene(problem: Problem) -> WholeScene | None:
    """The searches by cells and channels; None for motion models of the caller, and for tiny pictures."""
    scene, motif = problem.scene, problem.motif.motif
    known = MOTIONS.get(problem.motion.name) is problem.motion
    if not known or min(motif.height, motif.width, *scene.size) < _MIN_SIDE:
        return None
    if scene.scene.device.type != "cpu":  # the code of `planes` is for the CPU
        scene = ScenePyramid(scene.scene.cpu(), threads=scene.threads)
        motif = Motif(motif.pixels.cpu(), motif.mask.cpu())
    return WholeScene(scene, motif, problem.motion)


def _result(descend: Descent, best: Candidates) -> Registration:
    """The best candidate as a `Registration`."""
    problem, cost, status = descend.problem, float(best.costs[0]), best.statuses[0]
    zncc = descend.zncc(best.poses) if descend.robust else 1 - cost
    visible = problem.visible_fraction(best.poses[0])
    # ZNCC is undefined if too little of the motif is visible, or if scene or motif has no texture.
    if not math.isfinite(zncc):
        zncc, cost, status = math.nan, math.nan, Status.OUTSIDE if visible < MIN_VISIBLE else Status.FLAT
    return Registration(
        _public(best.poses[0], problem.motion),
        zncc=min(zncc, 1.0),  # rounding can raise it above 1, and lower the cost below 0
        seen=visible,
        cost=max(cost, 0.0),
        steps=int(best.steps[0]),
        status=status,
        refined=best.refined,
    )


def _start(
    start: ArrayLike | None, motion: Motion, motif: Motif, scene: Float[Tensor, "C H W"]
) -> NDArray[np.float64]:
    """The start as a 3×3 matrix; the motif in the middle of the scene if there is none."""
    height, width = scene.shape[-2:]
    if start is None:
        require(
            motif.height <= height and motif.width <= width,
            f"the motif ({motif.width} × {motif.height}) is larger than the scene ({width} × {height}): "
            f"are they swapped?{_shrinking(motif, width, height)}",
        )
        middle = np.eye(3)
        middle[:2, 2] = (width - motif.width) / 2, (height - motif.height) / 2
        return middle
    return _matrix(start, motion)


def _shrinking(motif: Motif, width: int, height: int) -> str:
    """Advice to use a start that shrinks the motif to fit into the scene, if a pixel would be left."""
    scale = math.floor(100 * min(width / motif.width, height / motif.height)) / 100
    matrix = f"[[{scale:g}, 0, 0], [0, {scale:g}, 0]]"
    advice = f" If the motif is smaller in the scene, use a start that shrinks it, such as {matrix}"
    return advice if scale * min(motif.width, motif.height) >= 1 else ""


def _matrix(start: ArrayLike, motion: Motion) -> NDArray[np.float64]:
    """The caller's start as a 3×3 matrix whose last entry is 1."""
    allowed = "a 2×3 or 3×3 matrix, motif pixels → scene pixels"
    try:
        given = start.detach().cpu() if isinstance(start, Tensor) else start
        matrix: NDArray[np.float64] = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"start must be {allowed}, but {_why_no_matrix(start)}") from None
    require(matrix.shape in ((2, 3), (3, 3)), f"start must be {allowed}, but has the shape {matrix.shape}")
    if matrix.shape == (2, 3):
        matrix = np.vstack((matrix, (0.0, 0.0, 1.0)))
    require(bool(np.isfinite(matrix).all()), f"start must be {allowed}, but has values that are not finite")
    require(
        bool(abs(np.linalg.det(matrix)) > 1e-12 and abs(matrix[2, 2]) > 1e-12),
        f"start must be {allowed}, but cannot be inverted",
    )
    matrix = matrix / matrix[2, 2]  # a homogeneous matrix means the same at any scale
    require(
        motion.projective or not bool(matrix[2, :2].any()),
        f'start has perspective, but motion="{motion.name}" has none: use motion="homography"',
    )
    return matrix


def _why_no_matrix(start: object) -> str:
    """What is wrong with a start that numpy cannot convert."""
    rows = start if isinstance(start, list | tuple) else ()
    lengths = [str(len(row)) if isinstance(row, list | tuple) else "1" for row in rows]
    return (
        f"its rows have {', '.join(lengths)} entries"
        if len(set(lengths)) > 1
        else "its values are not numbers"
    )


def _public(pose: NDArray[np.float64], motion: Motion) -> NDArray[np.float64]:
    """The matrix of the result: 3×3 if the motion has perspective, else 2×3."""
    matrix: NDArray[np.float64] = pose / pose[2, 2]
    return matrix if motion.projective else matrix[:2]

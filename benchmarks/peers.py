"""The registration methods: wherein, OpenCV's ECC and kornia's ImageRegistrator.

Each takes a problem and returns a matrix motif → scene, or None if it failed. All get the same arrays;
converting them (to grey, floats or tensors) is part of their time.

The settings of the peers were chosen in trials on 8 to 36 problems of each group. They are not the best
settings for every group. On Figure 1, ECC improved with masks, and by continuing from the last good level if
a level fails. A fourth, wider blur (63 px) solved up to a quarter more of these poses in twice the time, but
fewer homographies. Colour was not tried. With kornia, step size and tolerance trade success for accuracy,
hence the two settings.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.geometry import Array, homogeneous, shift
from benchmarks.scenes import Problem


@dataclass(frozen=True)
class Outcome:
    """The result of a method on a problem."""

    matrix: Array | None  # motif → scene; None: it failed
    status: str  # in the method's own words


# --- wherein ---


def wherein_register(problem: Problem) -> Outcome:
    """`wherein.register` with its defaults. The status is only recorded; success is measured."""
    import wherein

    result = wherein.register(
        problem.scene, problem.motif, motion=problem.motion, mask=problem.mask, start=problem.start
    )
    return Outcome(np.asarray(result.matrix, dtype=np.float64), str(result.status))


def no_wherein() -> str | None:
    """The reason why wherein cannot be measured, or None."""
    import wherein

    return None if hasattr(wherein, "register") else "this wherein has no register() yet"


# --- OpenCV ---

BLURS = (31, 11, 5)  # filter sizes in px from coarse to fine, which are σ of 5, 2 and 1.1 px
STEPS, EPSILON = 50, 1e-6  # OpenCV's own defaults


def _motion_type(motion: str) -> int:
    """OpenCV's motion type. OpenCV has no similarity; the affine model contains it."""
    return {"translation": 0, "euclidean": 1, "similarity": 2, "affine": 2, "homography": 3}[motion]


def _grey(picture: NDArray) -> NDArray:
    import cv2

    return cv2.cvtColor(np.ascontiguousarray(picture[..., :3]), cv2.COLOR_RGB2GRAY)


def _ecc_start(problem: Problem) -> NDArray[np.float32]:
    start = homogeneous(problem.start_matrix).astype(np.float32)
    return start if problem.motion == "homography" else start[:2].copy()


def opencv_ecc(problem: Problem, inset: bool = False) -> Outcome:
    """findTransformECC with the motif's mask and three blur levels; its warp maps template → input.

    inset: omit the pixels that the blur mixes with mirrored or masked pixels, which bias the scale (opencv
    issue 29774). This is much more accurate, but succeeds less often.
    """
    import cv2

    motif, scene = _grey(problem.motif), _grey(problem.scene)
    masks = problem.support.astype(np.uint8) * 255, np.full(scene.shape, 255, np.uint8)
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, STEPS, EPSILON)
    warp, levels = _ecc_start(problem), 0
    for blur in BLURS:
        valid = [_shrunk(mask, blur // 2) for mask in masks] if inset else masks
        try:
            _, warp = cv2.findTransformECCWithMask(
                motif, scene, *valid, warp.copy(), _motion_type(problem.motion), criteria, blur
            )
            levels += 1
        except cv2.error:
            continue  # the next level starts from the last good warp
    return Outcome(warp.astype(np.float64) if levels else None, f"{levels} of {len(BLURS)} levels")


def _shrunk(mask: NDArray[np.uint8], by: int) -> NDArray[np.uint8]:
    import cv2

    square = np.ones((2 * by + 1, 2 * by + 1), np.uint8)
    return cv2.erode(mask, square, borderType=cv2.BORDER_CONSTANT, borderValue=0)


def opencv_ecc_multiscale(problem: Problem) -> Outcome:
    """findTransformECCMultiScale with its default pyramid of four levels."""
    import cv2

    settings = cv2.ECCParameters()
    settings.motionType = _motion_type(problem.motion)
    mask = problem.support.astype(np.uint8) * 255
    images = _grey(problem.motif), _grey(problem.scene)
    try:
        _, warp = cv2.findTransformECCMultiScale(*images, _ecc_start(problem), settings, mask)
    except cv2.error as error:
        return Outcome(None, f"cv2.error {error.code}")
    return Outcome(warp.astype(np.float64), "converged")


def no_opencv(function: str) -> Callable[[], str | None]:
    """A function that returns the reason why a function of OpenCV cannot be measured, or None."""

    def reason() -> str | None:
        try:
            import cv2
        except ImportError:
            return "OpenCV is not installed"
        return None if hasattr(cv2, function) else f"this OpenCV has no {function}"

    return reason


# --- kornia ---

MARGIN = 32  # px around the start that kornia gets of the scene; the whole scene would only be slower


def kornia_registrator(problem: Problem, **settings: Any) -> Outcome:
    """ImageRegistrator; its model maps destination → source in [-1, 1], align_corners=False.

    Source: the scene around the start, which can only be a shift. Destination: the motif in a frame of the
    same size. Kornia has no masks, but its loss can be any function: the mask is passed as a fourth channel.
    """
    from kornia.geometry import ImageRegistrator
    from kornia.geometry.transform import HomographyWarper

    source, target, origin, inset = _frames(problem)
    start = _kornia_model(problem.motion)
    registrator = ImageRegistrator(start, loss_fn=_masked_l1, warper=HomographyWarper, **settings)
    model = registrator.register(source, target)[0].detach().double().numpy()
    pixel = _denormalised(model, source.shape[-1], source.shape[-2])
    matrix = shift(*origin) @ pixel @ shift(*inset)
    return Outcome(matrix if problem.motion in ("affine", "homography") else matrix[:2], "done")


def kornia_tuned(problem: Problem) -> Outcome:
    """The same with more time: a hundredth of the tolerance, and ten times the step if there is no start.

    For a rotation, the default step of 1e-3 is in degrees, so that the motif hardly rotates at all.
    """
    return kornia_registrator(problem, lr=1e-3 if problem.start is not None else 1e-2, tolerance=1e-6)


def _kornia_model(motion: str) -> Any:
    """Kornia's model of a motion. Kornia has no affine model; the homography contains it."""
    from kornia.geometry.transform.image_registrator import Homography, Similarity

    if motion in ("affine", "homography"):
        return Homography()
    return Similarity(rotation=motion != "translation", scale=motion == "similarity", shift=True)


def _frames(problem: Problem) -> tuple[Any, Any, Array, Array]:
    """Scene and motif as (1, 4, h, w); the position of this frame in the scene, and of the motif in it."""
    import torch

    place = np.rint(homogeneous(problem.start_matrix)[:2, 2]).astype(int)
    size, scene = np.array(problem.motif_size), np.array(problem.scene_size)
    low, high = np.maximum(place - MARGIN, 0), np.minimum(place + size + MARGIN, scene)
    inset, after = place - low, high - place - size
    window = problem.scene[low[1] : high[1], low[0] : high[0]]
    support = problem.support.astype(np.float32)[..., None]
    around = ((inset[1], after[1]), (inset[0], after[0]), (0, 0))
    motif = np.pad(np.concatenate([_unit(problem.motif[..., :3]) * support, support], axis=-1), around)
    source = np.concatenate([_unit(window), np.ones((*window.shape[:2], 1), np.float32)], axis=-1)
    tensors = (torch.from_numpy(np.moveaxis(a, -1, 0)[None].copy()) for a in (source, motif))
    return (*tensors, low.astype(np.float64), inset.astype(np.float64))


def _unit(picture: NDArray) -> NDArray[np.float32]:
    return picture.astype(np.float32) / (255 if picture.dtype == np.uint8 else 1)


def _masked_l1(a: Any, b: Any, reduction: str) -> Any:
    """The L1 loss where both masks are set; kornia takes the mean of the returned tensor."""
    weight = a[:, 3:] * b[:, 3:]
    difference = (a[:, :3] - b[:, :3]).abs().mean(dim=1, keepdim=True)
    return (difference * weight / weight.mean().clamp_min(1e-6)).expand_as(a)


def _denormalised(model: Array, width: int, height: int) -> Array:
    """Convert a matrix from [-1, 1] between the picture's outer edges to pixels, with centres at integers."""
    to_unit = np.array([[2 / width, 0, 1 / width - 1], [0, 2 / height, 1 / height - 1], [0, 0, 1]])
    return np.linalg.inv(to_unit) @ model @ to_unit


def no_kornia() -> str | None:
    """The reason why kornia cannot be measured, or None."""
    try:
        import kornia  # noqa: F401 (to check whether it is installed)
    except ImportError:
        return "kornia is not installed"
    return None

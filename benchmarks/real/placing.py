"""Random poses of a cut-out in scenes, and the comparison of detections with them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.geometry import Array, apply, corners, linear, rotation, shift
from benchmarks.real.common import Picture, iou
from wherein.template import Template

SIZE = (640, 480)
NEAR = 0.05  # maximum RMS error of the corners, in diagonals of the object in the scene
OVERLAP = 0.8  # minimum IoU of the outlines, for objects that look the same in several poses


@dataclass(frozen=True)
class Verdict:
    """The result in one scene."""

    found: bool
    false: int  # number of detections that are not the object
    error: float  # corner error of the best detection, in diagonals; inf: no detection
    overlap: float  # IoU of the best detection; 0: no detection
    scored: float | None = None  # score of the best detection or candidate


def pose(size: tuple[int, int], scales: tuple[float, float], rng: np.random.Generator) -> Array:
    """A random pose, 2×3: any rotation, log-uniform scale, wholly inside the scene."""
    for _ in range(2000):
        scale, angle = np.exp(rng.uniform(*np.log(scales))), rng.uniform(-180, 180)
        at = rng.uniform(0, 1, 2) * SIZE
        turned = linear(scale * rotation(angle)) @ shift(-(size[0] - 1) / 2, -(size[1] - 1) / 2)
        matrix = (shift(*at) @ turned)[:2]
        ends = apply(matrix, corners(*size))
        if (ends >= 0).all() and (ends <= np.array(SIZE) - 1).all():
            return matrix
    raise ValueError(f"an object of {size[0]} × {size[1]} px does not fit into {SIZE[0]} × {SIZE[1]} px")


def judge(
    detections: Any,
    truth: Array | None,
    template: Template,
    symmetric: bool,
    outline: Array | None = None,
) -> Verdict:
    """Compare the detections in a scene with the true pose of the object; None: it is not in the scene.

    outline: the outline of the object in pixels of the template; None: that of the template. For a picture
    without alpha it is the frame of the picture, which distinguishes rotations that look the same.
    """
    ranked = [*detections, *detections.candidates]
    scored = max((one.score for one in ranked), default=None)
    if truth is None or not len(detections):
        return Verdict(False, len(detections), float("inf"), 0.0, scored)
    outline = template.outlines[template.parts.root] if outline is None else outline
    compared = [_compared(np.asarray(one.matrix), truth, template.size, outline) for one in detections]
    good = [overlap >= OVERLAP if symmetric else error <= NEAR for error, overlap in compared]
    best = min(compared, key=lambda pair: (-pair[1], pair[0]))
    return Verdict(any(good), len(good) - any(good), *best, scored)


def _compared(matrix: Array, truth: Array, size: tuple[int, int], outline: Array) -> tuple[float, float]:
    ends = corners(*size)
    here, there = apply(matrix, ends), apply(truth, ends)
    diagonal = np.linalg.norm(there[2] - there[0])
    error = np.sqrt(((here - there) ** 2).sum(axis=1).mean()) / diagonal
    return float(error), iou(apply(matrix, outline), apply(truth, outline), SIZE)


def fitted(cutout: Picture, longest: int) -> Picture:
    """The cut-out, reduced if its longer side exceeds `longest`."""
    from PIL import Image

    factor = longest / max(cutout.shape[:2])
    if factor >= 1:
        return cutout
    size = round(cutout.shape[1] * factor), round(cutout.shape[0] * factor)
    return np.asarray(Image.fromarray(cutout).resize(size, Image.Resampling.LANCZOS))

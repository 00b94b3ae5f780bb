"""The scenes of Figures 1 and 5: a template in a photograph, its body to be registered (appendix A.3)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.experiments.data import Subject
from wherein.images.motif import Motif
from wherein.template.pose import matrices, rotation
from wherein.template.render import render
from wherein.template.tree import Matrix

SIZE = (600, 500)
"""Width and height of a scene, a random part of the photograph."""

SHIFT, TURN, SCALES = 5.0, 45.0, (0.8, 1.25)
"""Of the poses of Figure 1: pixels and degrees to either side, factors."""

Linear = NDArray[np.float64]
"""A 2×2 matrix."""


@dataclass(frozen=True, eq=False)
class Observation:
    """A scene, the motif in it, and where that is.

    Attributes:
        scene: the template in the photograph.
        motif: the template's body.
        start: where the body would be if nothing had moved, in the middle; body pixels → scene pixels, 3×3.
        truth: where it is.
    """

    scene: Float[Tensor, "3 H W"]
    motif: Motif
    start: Matrix
    truth: Matrix


def observe(subject: Subject, moved: Matrix, rng: np.random.Generator) -> Observation:
    """Paint the template, at rest but moved by `moved` about its body's centre, over a random background.

    Arguments:
        subject: the template and its photograph.
        moved: 3×3, about the origin: it is shifted to the scene's middle, where the body's centre lies.
        rng: chooses the background.
    """
    name, motif = subject.body
    rest = subject.template.parts[name].rest
    middle = shifted((SIZE[0] - 1) / 2, (SIZE[1] - 1) / 2)
    centre = rest @ np.array(((motif.width - 1) / 2, (motif.height - 1) / 2, 1.0))
    at_rest, root = (middle @ pose @ shifted(*-centre[:2]) for pose in (np.eye(3), moved))
    painted = render(
        subject.background(*SIZE, rng), subject.template, matrices(subject.template.parts, root, {})
    )
    return Observation(painted, motif, at_rest @ rest, root @ rest)


def shifted(x: float, y: float) -> Matrix:
    """The translation by (x, y)."""
    return np.array(((1.0, 0.0, x), (0.0, 1.0, y), (0.0, 0.0, 1.0)))


def _euclidean(rng: np.random.Generator) -> Linear:
    return rotation(rng.uniform(-TURN, TURN))[:2, :2]


def _similarity(rng: np.random.Generator) -> Linear:
    scale = rng.uniform(*SCALES)
    turned: Linear = scale * _euclidean(rng)
    return turned


def _affine(rng: np.random.Generator) -> Linear:
    stretch = np.diag(rng.uniform(*SCALES, 2))
    skewed: Linear = _euclidean(rng) @ stretch @ _euclidean(rng).T
    return skewed


LINEAR: dict[str, Callable[[np.random.Generator], Linear]] = {
    "translation": lambda rng: np.eye(2),
    "euclidean": _euclidean,
    "similarity": _similarity,
    "affine": _affine,
}
"""By the motion's name: how Figure 1 draws the linear part of a pose."""


def random_motion(motion: str, rng: np.random.Generator) -> Matrix:
    """A random pose of Figure 1 about the origin, 3×3: first its shift is drawn, then its linear part."""
    moved = shifted(*rng.uniform(-SHIFT, SHIFT, 2))
    moved[:2, :2] = LINEAR[motion](rng)
    return moved


def as_tensor(*poses: Matrix) -> Float[Tensor, "B 3 3"]:
    """Matrices side by side, in float32."""
    return torch.from_numpy(np.stack(poses)).float()

"""The scenes of Figures 1 and 5: a template in a photograph, whose body is registered (appendix A.3).

Poses in such a scene are measured by the ZNCC on the motif's support, or by their corner error.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.experiments.subject import Subject
from wherein.formulations.motif_side import motif_side
from wherein.images.motif import Motif
from wherein.motion.models import Translation
from wherein.pyramid.descent import align
from wherein.pyramid.motif_levels import Level
from wherein.template.pose import matrices, rotation
from wherein.template.render import render
from wherein.template.tree import Matrix

SIZE = (600, 500)
"""Width and height of a scene in pixels. A choice: the template fits in every pose, and each side has a third
of the length of the paper's photograph (2048 × 1536)."""

SHIFT, TURN, SCALES = 5.0, 45.0, (0.8, 1.25)
"""The ranges of the poses of Figure 1 (appendix A.3): ± pixels, ± degrees, and factors."""

Linear = NDArray[np.float64]
"""A 2×2 matrix."""


@dataclass(frozen=True, eq=False)
class Observation:
    """A scene, the motif in it, and its pose.

    Attributes:
        scene: the template in the photograph.
        motif: the template's body.
        start: the pose from which a local method starts: that of the unmoved template in the middle of the
            scene; body pixels → scene pixels, 3×3.
        truth: the true pose.
    """

    scene: Float[Tensor, "3 H W"]
    motif: Motif
    start: Matrix
    truth: Matrix


def observe(subject: Subject, moved: Matrix, rng: np.random.Generator) -> Observation:
    """Paint the template, in rest position and moved by `moved`, over a random background.

    Only the template is transformed. The paper transforms the picture with its background, but a random
    background is equally random without the transformation.

    Arguments:
        subject: the template and its photograph.
        moved: 3×3, a motion about the origin, which is put at the centre of the body and of the scene.
        rng: draws the background.
    """
    name, motif = subject.body
    rest = subject.template.parts[name].rest
    middle = translation((SIZE[0] - 1) / 2, (SIZE[1] - 1) / 2)
    centre = rest @ np.array(((motif.width - 1) / 2, (motif.height - 1) / 2, 1.0))
    # The motion acts about the centre of the body, which lies at the centre of the scene.
    at_rest, root = (middle @ pose @ translation(*-centre[:2]) for pose in (np.eye(3), moved))
    painted = render(
        subject.background(*SIZE, rng), subject.template, matrices(subject.template.parts, root, {})
    )
    return Observation(painted, motif, at_rest @ rest, root @ rest)


def translation(x: float, y: float) -> Matrix:
    """The 3×3 matrix of the translation by (x, y)."""
    return np.array(((1.0, 0.0, x), (0.0, 1.0, y), (0.0, 0.0, 1.0)))


def _euclidean(rng: np.random.Generator) -> Linear:
    return rotation(rng.uniform(-TURN, TURN))[:2, :2]


def _similarity(rng: np.random.Generator) -> Linear:
    scale = rng.uniform(*SCALES)
    scaled: Linear = scale * _euclidean(rng)
    return scaled


def _affine(rng: np.random.Generator) -> Linear:
    """Singular values from `SCALES` between two rotations, which together may rotate by twice `TURN`."""
    stretch = np.diag(rng.uniform(*SCALES, 2))
    sheared: Linear = _euclidean(rng) @ stretch @ _euclidean(rng).T
    return sheared


LINEAR: dict[str, Callable[[np.random.Generator], Linear]] = {
    "translation": lambda rng: np.eye(2),
    "euclidean": _euclidean,
    "similarity": _similarity,
    "affine": _affine,
}
"""Functions that draw the linear part of a pose of Figure 1, by the name of the motion."""


def random_motion(motion: str, rng: np.random.Generator) -> Matrix:
    """A random pose of Figure 1 about the origin, 3×3."""
    # The order of the draws, first the shift, then the linear part, belongs to the results of a seed.
    moved = translation(*rng.uniform(-SHIFT, SHIFT, 2))
    moved[:2, :2] = LINEAR[motion](rng)
    return moved


def as_tensor(*poses: Matrix) -> Float[Tensor, "B 3 3"]:
    """A batch of poses, in float32."""
    return torch.from_numpy(np.stack(poses)).float()


class SupportZNCC:
    """The ZNCC (appendix A.3) of a motif and a scene, for any number of poses.

    It is 0 if too little of the motif lies in the scene. Only pixels well inside the mask are compared. A
    pose costs one interpolation of these pixels, in C if the library is available.
    """

    def __init__(self, scene: Float[Tensor, "C H W"], motif: Motif) -> None:
        self._level = Level(scene, motif_side(motif, Translation()), Translation())

    def __call__(self, poses: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        """The ZNCC at each of the poses, motif pixels → scene pixels."""
        cost = align(self._level, self._level.objective.at(poses), steps=0).cost
        return (1 - cost).clamp_min(0.0)


def corner_error(observed: Observation, pose: Matrix) -> float:
    """The largest distance of a corner of the motif from its true position, in pixels of the motif."""
    right, bottom = observed.motif.width - 1, observed.motif.height - 1
    corners = np.array(((0, right, 0, right), (0, 0, bottom, bottom), (1, 1, 1, 1)))
    scale = abs(np.linalg.det(observed.truth[:2, :2])) ** 0.5
    apart = ((pose - observed.truth) @ corners)[:2] / scale
    return float(np.linalg.norm(apart, axis=0).max())

"""Synthetic scenes with the template in known poses, on which the paper's network is calibrated."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.images.motif import Motif
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.template.tree import Matrix, Point

MARGIN = 48
"""Pixels of background around a template at any rotation. A choice: room for strides that start beside it."""

FOUND = (1.0, 2.0)
"""Maximum error in pixels and degrees of a registration that found its part. A choice."""

NEAR = (6.0, 15.0)
"""Pixels and degrees around the true pose within which a registration is not counted as false, whether it
found the part or not. A choice: it may still be on its way."""


@dataclass(frozen=True, eq=False)
class SyntheticScene:
    """The template painted over a background.

    Attributes:
        template: the object.
        scene: the picture.
        poses: the matrix of every part, its own pixels → scene; canvas → scene for a group.
    """

    template: Template
    scene: Float[Tensor, "3 H W"]
    poses: dict[str, Matrix]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.scene.shape[1], self.scene.shape[2]

    def pose(self, name: str) -> Float[Tensor, "3 3"]:
        """The true pose of a part."""
        return torch.from_numpy(self.poses[name]).to(self.scene)

    def leaf_at(self, x: float, y: float) -> str | None:
        """The leaf that is visible at a pixel; None for the background."""
        for name in reversed(self.template.paint_order):
            motif = self.template.parts[name].motif
            assert motif is not None
            column, row, _ = np.linalg.inv(self.poses[name]) @ (x, y, 1.0)
            inside = -0.5 < column < motif.width - 0.5 and -0.5 < row < motif.height - 0.5
            if inside and motif.mask[round(row), round(column)] > 0.5:
                return name
        return None


def scene_size(template: Template) -> tuple[int, int]:
    """Width and height of a scene that holds the template at any rotation."""
    side = math.ceil(math.hypot(*template.size)) + 2 * MARGIN
    return side, side


def synthetic_scenes(
    template: Template, rotation: float, backgrounds: Backgrounds, count: int, rng: np.random.Generator
) -> list[SyntheticScene]:
    """Paint the template over `count` backgrounds, at rotations spread evenly over ± `rotation` degrees.

    Joints turn by at most half of their range: extremes of both at once are outside every basin of
    attraction, and would say nothing about the hyperparameters.
    """
    angles = rotation * (2 * (rng.permutation(count) + 0.5) / count - 1)
    return [_paint(template, backgrounds(k), float(angle), rng) for k, angle in enumerate(angles)]


def _paint(template: Template, background: Tensor, angle: float, rng: np.random.Generator) -> SyntheticScene:
    height, width = background.shape[-2:]
    at = (width - 1) / 2 + rng.uniform(-8, 8), (height - 1) / 2 + rng.uniform(-8, 8)
    turns = {
        name: float(rng.uniform(-part.turn, part.turn) / 2)
        for name, part in template.parts.items()
        if part.moves
    }
    poses = matrices(template.parts, placed(angle, 1.0, at, template.centre), turns)
    return SyntheticScene(template, render(background, template, poses), poses)


def close_to(
    matrix: Float[Tensor, "N 3 3"],
    truth: Float[Tensor, "3 3"],
    point: Point,
    px: float,
    degrees: float,
) -> Bool[Tensor, " N"]:
    """Which poses put a point within `px` of its true place, and have an angle within `degrees`."""
    extended = truth.new_tensor((*point, 1.0))
    distance = ((matrix - truth) @ extended)[:, :2].norm(dim=-1)
    cosine = (matrix[:, :2, :2] * truth[:2, :2]).sum((-2, -1)) / 2  # of the angle between two rotations
    return (distance <= px) & (cosine >= math.cos(math.radians(degrees)))


def motif_centre(motif: Motif) -> Point:
    """The centre of a motif's box."""
    return (motif.width - 1) / 2, (motif.height - 1) / 2

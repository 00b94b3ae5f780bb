"""Scenes with the template in them, and the truth: what the paper's network is calibrated on."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.template.tree import Matrix, Point

MARGIN = 48
"""Pixels of background around a template, however it is turned."""

HOME = (1.0, 2.0)
"""Pixels and degrees that a part may be off where it is found."""

NEAR = (6.0, 15.0)
"""Pixels and degrees about the truth that are no mistake, find or not."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The template painted into a background.

    Attributes:
        template: what is in it.
        scene: the picture.
        places: the matrix of every part, its own pixels → scene; canvas → scene for a group.
    """

    template: Template
    scene: Float[Tensor, "3 H W"]
    places: dict[str, Matrix]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self.scene.shape[1], self.scene.shape[2]

    def at(self, name: str) -> Float[Tensor, "3 3"]:
        """Where a part is."""
        return torch.from_numpy(self.places[name]).to(self.scene)

    def whose(self, x: float, y: float) -> str | None:
        """The leaf that a pixel shows; None for the background."""
        for name in reversed(self.template.paint_order):
            motif = self.template.parts[name].motif
            assert motif is not None
            column, row, _ = np.linalg.inv(self.places[name]) @ (x, y, 1.0)
            inside = -0.5 < column < motif.width - 0.5 and -0.5 < row < motif.height - 0.5
            if inside and motif.mask[round(row), round(column)] > 0.5:
                return name
        return None


def scene_size(template: Template) -> tuple[int, int]:
    """Width and height that hold the template, however it is turned."""
    side = math.ceil(math.hypot(*template.size)) + 2 * MARGIN
    return side, side


def rehearse(
    template: Template, rotation: float, scenes: Backgrounds, count: int, rng: np.random.Generator
) -> list[Rehearsal]:
    """Paint the template into `count` backgrounds, turned by angles that divide ± `rotation` evenly.

    Joints turn by half of what they may, at most: extremes of both at once are beyond every basin.
    """
    angles = rotation * (2 * (rng.permutation(count) + 0.5) / count - 1)
    return [_paint(template, scenes(k), float(angle), rng) for k, angle in enumerate(angles)]


def _paint(template: Template, background: Tensor, angle: float, rng: np.random.Generator) -> Rehearsal:
    height, width = background.shape[-2:]
    at = (width - 1) / 2 + rng.uniform(-8, 8), (height - 1) / 2 + rng.uniform(-8, 8)
    turns = {
        name: float(rng.uniform(-part.turn, part.turn) / 2)
        for name, part in template.parts.items()
        if part.moves
    }
    places = matrices(template.parts, placed(angle, 1.0, at, template.centre), turns)
    return Rehearsal(template, render(background, template, places), places)


def at_home(
    matrix: Float[Tensor, "N 3 3"],
    truth: Float[Tensor, "3 3"],
    point: Point,
    px: float,
    degrees: float,
) -> Bool[Tensor, " N"]:
    """Which poses put a point within `px` of where it is, and are turned by no more than `degrees`."""
    raised = truth.new_tensor((*point, 1.0))
    off = ((matrix - truth) @ raised)[:, :2].norm(dim=-1)
    turn = (matrix[:, :2, :2] * truth[:2, :2]).sum((-2, -1)) / 2  # the cosine, of rotations
    return (off <= px) & (turn >= math.cos(math.radians(degrees)))

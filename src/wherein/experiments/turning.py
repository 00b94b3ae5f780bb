"""The scenes of Figure 3, a template that turns in front of a photograph, and how far off finds are."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.paper.instances import PaperDetection
from wherein.detect.result import Detection
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.template.tree import Matrix, Point, Tree

FOUND = (4.0, 5.0)
"""Pixels and degrees within which the root must lie for the object to be found."""

RIGHT = (1.0, 1.0)
"""The same of a part's centre and angle, for it to be right."""


Found = TypeVar("Found", PaperDetection, Detection)
"""What the paper's network finds, or the default."""


@dataclass(frozen=True, eq=False)
class Turned:
    """One scene with one object in it.

    Attributes:
        angle: by which the object is turned, in degrees.
        scene: the picture.
        root: canvas → scene, 3×3.
        parts: of each part its pixels → scene, 3×3; canvas → scene of a group.
    """

    angle: float
    scene: Float[Tensor, "3 H W"]
    root: Matrix
    parts: Mapping[str, Matrix]


def turned(
    template: Template,
    background: Float[Tensor, "3 H W"],
    angle: float,
    turns: Mapping[str, float],
    at: Point | None = None,
) -> Turned:
    """Paint a template, turned by `angle` and its joints by `turns`, centred at `at` or in the middle."""
    height, width = background.shape[-2:]
    root = placed(angle, 1.0, at or ((width - 1) / 2, (height - 1) / 2), template.centre)
    parts = matrices(template.parts, root, turns)
    return Turned(angle, render(background, template, parts), root, parts)


def bent(template: Template, rng: np.random.Generator, most: float) -> dict[str, float]:
    """A random turn for every leaf that has a joint, of `most` degrees and what the joint allows at most.

    As in the paper's scenes, groups stay: so a leaf is turned by no more than `most` against the root.
    """
    limits = {
        name: min(most, part.turn) for name, part in template.parts.items() if part.motif and part.moves
    }
    return {name: float(rng.uniform(-limit, limit)) for name, limit in limits.items()}


def moving(template: Template) -> Template:
    """The tree as the paper has it: without leaves that are fixed to the root, such as the crab's body.

    Where such a leaf is, the root is: to the network it is one more motif to register and no more to know.
    """
    tree = template.parts
    fixed = {
        name for name in tree.leaves if tree[name].parent == tree.root and not tree[name].moves
    }  # of a single picture there is no parent, and nothing to leave out
    kept = Tree({name: part for name, part in tree.items() if name not in fixed})
    order = tuple(name for name in template.paint_order if name not in fixed)
    return Template(template.name, template.canvas, kept, order)


def middle(template: Template, name: str) -> Point:
    """The centre of a part's picture, or of the canvas where it has none."""
    motif = template.parts[name].motif
    return template.centre if motif is None else ((motif.width - 1) / 2, (motif.height - 1) / 2)


def error(one: NDArray[np.float64], other: NDArray[np.float64], point: Point) -> tuple[float, float]:
    """How far apart two poses (2×3 or 3×3) put a point, in pixels, and how they differ in angle."""
    apart = (one[:2] - other[:2]) @ np.array((*point, 1.0))
    turn = math.degrees(math.atan2(one[1, 0], one[0, 0]) - math.atan2(other[1, 0], other[0, 0]))
    return float(np.linalg.norm(apart)), abs((turn + 180) % 360 - 180)


def nearest(found: Sequence[Found], root: Matrix, centre: Point) -> Found | None:
    """Of several finds the one whose root is the closest to the true one."""
    return min(found, key=lambda one: error(one.matrix, root, centre), default=None)


def within(errors: tuple[float, float], limits: tuple[float, float]) -> bool:
    """Whether pixels and degrees are both small enough."""
    return errors[0] <= limits[0] and errors[1] <= limits[1]

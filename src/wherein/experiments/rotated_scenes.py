"""The scenes of Figure 3, a rotated template over a photograph, and the errors of detections."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.paper.instances import PaperDetection, PaperPart
from wherein.detect.placed_part import PartFound
from wherein.detect.result import Detection
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.template.tree import Matrix, Point, Tree

FOUND = (4.0, 5.0)
"""Maximum error of the root, in pixels and degrees, for the object to count as found. A choice: the paper
shows boxes and gives no tolerance."""

RIGHT = (1.0, 1.0)
"""Maximum error of a part's centre and angle, in pixels and degrees, for it to count as right. A choice."""


AnyDetection = TypeVar("AnyDetection", PaperDetection, Detection)
"""A detection of the paper's network or of the default method."""


@dataclass(frozen=True, eq=False)
class RotatedScene:
    """One scene with one object in it.

    Attributes:
        angle: the object's rotation in degrees.
        scene: the picture.
        root: canvas → scene, 3×3.
        parts: for each part, part pixels → scene, 3×3; canvas → scene for a group.
    """

    angle: float
    scene: Float[Tensor, "3 H W"]
    root: Matrix
    parts: Mapping[str, Matrix]


def rotated_scene(
    template: Template,
    background: Float[Tensor, "3 H W"],
    angle: float,
    turns: Mapping[str, float],
    at: Point | None = None,
) -> RotatedScene:
    """Paint a template over a background.

    Arguments:
        template: the object.
        background: the picture below it, which is not changed.
        angle: rotation of the object in degrees.
        turns: turn of each joint from its rest position, in degrees.
        at: position of the centre of the canvas in the scene; None: the centre of the background.
    """
    height, width = background.shape[-2:]
    root = placed(angle, 1.0, at or ((width - 1) / 2, (height - 1) / 2), template.centre)
    parts = matrices(template.parts, root, turns)
    return RotatedScene(angle, render(background, template, parts), root, parts)


def random_turns(template: Template, rng: np.random.Generator, limit: float) -> dict[str, float]:
    """A random turn for every leaf that has a joint, within ± `limit` degrees and the joint's own limit.

    Groups do not turn, as in the paper's scenes. So no leaf turns by more than `limit` relative to the root.
    """
    limits = {
        name: min(limit, part.turn) for name, part in template.parts.items() if part.motif and part.moves
    }
    return {name: float(rng.uniform(-limit, limit)) for name, limit in limits.items()}


def without_fixed_leaves(template: Template) -> Template:
    """The template as in the paper: without leaves that are fixed to the root, such as the crab's body.

    Such a leaf is one more motif to register, without information about the joints.
    """
    tree = template.parts
    fixed = {
        name for name in tree.leaves if tree[name].parent == tree.root and not tree[name].moves
    }  # the only leaf of a single picture is the root itself, and is kept
    kept = Tree({name: part for name, part in tree.items() if name not in fixed})
    order = tuple(name for name in template.paint_order if name not in fixed)
    return Template(template.name, template.canvas, kept, order)


def part_centre(template: Template, name: str) -> Point:
    """The centre of a part's picture, or of the canvas for a group."""
    motif = template.parts[name].motif
    return template.centre if motif is None else ((motif.width - 1) / 2, (motif.height - 1) / 2)


def pose_error(one: NDArray[np.float64], other: NDArray[np.float64], point: Point) -> tuple[float, float]:
    """The distance in pixels between a point at two poses (2×3 or 3×3), and their rotation in degrees."""
    apart = (one[:2] - other[:2]) @ np.array((*point, 1.0))
    turn = math.degrees(math.atan2(one[1, 0], one[0, 0]) - math.atan2(other[1, 0], other[0, 0]))
    return float(np.linalg.norm(apart)), abs((turn + 180) % 360 - 180)


def closest_detection(detections: Sequence[AnyDetection], root: Matrix, centre: Point) -> AnyDetection | None:
    """The detection whose root is closest to the true one; None if there are no detections."""
    return min(detections, key=lambda one: pose_error(one.matrix, root, centre), default=None)


def within(errors: tuple[float, float], limits: tuple[float, float]) -> bool:
    """Whether pixels and degrees are both within their limits."""
    return errors[0] <= limits[0] and errors[1] <= limits[1]


def evaluate(template: Template, shown: RotatedScene, detections: Sequence[AnyDetection]) -> dict[str, Any]:
    """Whether the object was found, and the errors of all parts of the closest detection."""
    best = closest_detection(detections, shown.root, template.centre)
    row: dict[str, Any] = {"angle": shown.angle, "found": False, "perfect": False, "finds": len(detections)}
    if best is None:
        return row
    root = pose_error(best.matrix, shown.root, template.centre)
    parts = {name: _evaluate_part(template, name, part, shown) for name, part in best.parts.items()}
    leaves = [parts[name] for name in template.parts.leaves]
    found = within(root, FOUND)
    return row | {
        "found": found,
        "perfect": found and len(detections) == 1 and all(part["right"] for part in leaves),
        "score": round(best.score, 4),
        "px": round(root[0], 4),
        "degrees": round(root[1], 4),
        "matrix": np.round(best.matrix[:2], 4).tolist(),
        "parts": parts,
    }


def _evaluate_part(
    template: Template, name: str, part: PaperPart | PartFound, shown: RotatedScene
) -> dict[str, Any]:
    error = pose_error(part.matrix, shown.parts[name], part_centre(template, name))
    return {
        "found": part.found,
        "right": within(error, RIGHT),
        "px": round(error[0], 4),
        "degrees": round(error[1], 4),
        "matrix": np.round(part.matrix[:2], 4).tolist(),
    }

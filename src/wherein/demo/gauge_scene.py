"""The second scene of the demonstration: a tilted pressure gauge on a brick wall, with glare and shadows."""

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.detect.calibration import backgrounds
from wherein.images.gaussian import blur
from wherein.images.load import load_picture
from wherein.motion.field import lattice, transform
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed, tilted
from wherein.template.render import render
from wherein.template.tree import Matrix

_WALL = Path(backgrounds.__file__).parent / "photographs" / "brick.jpg"
"""A photograph from the package, so that the scene does not depend on whether scikit-image is installed."""

NEEDLE = "needle"
"""The part of the gauge that has a reading."""

TILT = 30.0
"""Tilt out of the picture plane in degrees."""

_SCALE = (0.75, 0.9)
"""Lowest and highest scale of the gauge. A choice: not 1, and small enough for the picture."""

_DISTANCE = 5.0
"""Distance of the camera from the gauge, in widths of the gauge. A choice: a photograph from about a
metre."""

_GLARE = 0.45
"""Strength of the reflection on the glass; 1 is white. A choice: numbers under it are pale but legible."""

_RADIUS = 97.0
"""Radius of the dial's plate in canvas pixels, as drawn by tools/gauge."""


@dataclass(frozen=True, eq=False)
class GaugeScene:
    """A scene, with the true pose and value of the gauge.

    Attributes:
        pixels: the picture.
        root: the matrix canvas → scene, 3×3.
        value: the value that the needle shows, in the unit of its reading.
    """

    pixels: Float[Tensor, "3 H W"]
    root: Matrix
    value: float


def gauge_scene(
    template: Template,
    seed: int,
    hidden: Collection[str] = (),
    tilt: float = TILT,
    needle_height: float = 0.0,
) -> GaugeScene:
    """Paint the tilted gauge on a wall, then the reflection of a window and a shadow.

    Arguments:
        template: the gauge.
        seed: the seed of pose, value, light and noise. The same seed gives the same scene.
        hidden: parts that are not painted.
        tilt: the tilt out of the picture plane, in degrees.
        needle_height: the height of the needle above the plate, in canvas pixels. Seen at an angle, the
            needle is shifted against the plate (parallax).
    """
    # The second number makes the random numbers differ from those of other scenes with the same seed.
    rng = np.random.default_rng((seed, 0x6A06E))
    wall = _wall()
    height, width = wall.shape[-2:]
    at = width / 2 + rng.uniform(-20, 20), height / 2 + rng.uniform(-15, 15)
    upright = placed(rng.uniform(-12, 12), rng.uniform(*_SCALE), at, template.centre)
    axis = float(rng.uniform(0, 360))
    root = upright @ tilted(tilt, axis, _DISTANCE * template.size[0], template.centre)
    needle, lever = (template.parts[name] for name in (NEEDLE, "lever"))
    assert needle.reading is not None  # the template of the package
    (low, _), (high, _) = needle.reading.at[0], needle.reading.at[-1]
    turn = float(rng.uniform(low, high))
    turns = {NEEDLE: turn, "lever": float(rng.uniform(-lever.turn, lever.turn))}
    poses = matrices(template.parts, root, turns)
    # The shift is along the plate: it is applied on the canvas, between `root` and its inverse.
    poses[NEEDLE] = root @ _parallax(needle_height, tilt, axis) @ np.linalg.inv(root) @ poses[NEEDLE]
    painted = render(_cast(wall, template, root), template, poses, hidden)
    x, y = needle.joint
    # Homogeneous coordinates: the last row divides by _RADIUS, so that the plate becomes the unit circle.
    to_dial = np.array(((1, 0, -x), (0, 1, -y), (0, 0, _RADIUS))) @ np.linalg.inv(root)
    return GaugeScene(_lit(painted, to_dial, rng), root, needle.reading(turn))


def _parallax(height: float, tilt: float, axis: float) -> Matrix:
    """The apparent shift on the plate of a point at `height` above it, seen at the angle `tilt`.

    The line of sight has moved by height · tan(tilt) along the plate when it reaches the plate.
    """
    away, towards = height * math.tan(math.radians(tilt)), math.radians(axis)
    return np.array(((1, 0, away * math.cos(towards)), (0, 1, away * math.sin(towards)), (0, 0, 1.0)))


def _wall() -> Float[Tensor, "3 H W"]:
    """A wall of red bricks: the photograph, which is grey with upright bricks, rotated and tinted."""
    upright = load_picture(_WALL).pixels
    colour = torch.tensor((1.3, 0.95, 0.8))[:, None, None]
    return (torch.rot90(upright, 1, (1, 2))[:, 80:500] * colour).clamp(0, 1).contiguous()


def _cast(wall: Float[Tensor, "3 H W"], template: Template, root: Matrix) -> Float[Tensor, "3 H W"]:
    """The wall with the soft shadow that the gauge casts to the lower right."""
    away = np.array(((1, 0, 14), (0, 1, 18), (0, 0, 1.0))) @ root
    # The gauge is painted over white to learn which pixels it covers.
    black = render(torch.ones_like(wall), template, matrices(template.parts, away, {}))
    covered = (black < 1).any(0, keepdim=True).float().expand_as(wall)
    return wall * (1 - 0.55 * _soft(covered, 7.0))


def _lit(scene: Float[Tensor, "3 H W"], to_dial: Matrix, rng: np.random.Generator) -> Float[Tensor, "3 H W"]:
    """The scene with a soft shadow across the dial, the reflection of a window on it, blur and noise.

    `to_dial` maps scene pixels to the plane of the dial, in which the plate is the unit circle.
    """
    back = torch.from_numpy(to_dial)
    height, width = scene.shape[-2:]
    u, v = transform(back, lattice(height, width, back)).unbind(-1)
    # Edges are sigmoids of the distance from a line or a box: the factor behind is how sharp they are.
    shadow = torch.sigmoid((0.5 * u + 0.85 * v - 0.25) * 6)
    across, down = u + 0.3 * v + 0.5, v + 0.35
    window = torch.sigmoid((0.42 - torch.maximum(across.abs() * 1.6, down.abs())) * 18)
    window = window * (1 - 0.8 * torch.exp(-((across / 0.04) ** 2)))  # the bar between its two panes
    light = scene * (1 - 0.5 * shadow) * 0.9 + _GLARE * window
    noise = torch.from_numpy(rng.normal(0, 0.02, scene.shape))
    return (_soft(light.float(), 0.7) + noise.float()).clamp(0, 1)


def _soft(picture: Float[Tensor, "3 H W"], sigma: float) -> Float[Tensor, "3 H W"]:
    """The blurred picture, normalised at its borders, since `blur` pads with black."""
    return blur(picture[None], sigma)[0] / blur(torch.ones_like(picture)[None], sigma)[0]

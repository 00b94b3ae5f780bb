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
"""A photograph that comes with the package, so that the scene is the same without scikit-image."""

NEEDLE = "needle"
"""The part of the gauge that has a reading."""

TILT = 30.0
"""Degrees out of the picture plane."""

_SCALE = (0.75, 0.9)
"""Lowest and highest size of the gauge. A choice: other than the template's, and it fits into the picture."""

_DISTANCE = 5.0
"""Of the camera from the gauge, in widths of the gauge: a photograph from about a metre."""

_GLARE = 0.45
"""Strength of the reflection on the glass, where 1 is white. Numbers under it are pale but legible."""

_RADIUS = 97.0
"""Of the plate of the dial, in pixels of the canvas, as tools/gauge draws it."""


@dataclass(frozen=True, eq=False)
class GaugeScene:
    """The picture, and what is true of the gauge in it.

    Attributes:
        pixels: of the picture.
        root: canvas → scene, 3×3.
        value: what the needle shows, in the unit of its reading.
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
    """Paint the gauge on a wall, tilted, and then the light of a window and a shadow over both.

    Arguments:
        template: the gauge.
        seed: of pose, value, light and noise. The same seed gives the same scene.
        hidden: parts to leave out.
        tilt: out of the picture plane, in degrees.
        needle_height: of the needle above the plate, in pixels of the canvas. Seen at an angle, it is shifted
            against the plate (parallax).
    """
    rng = np.random.default_rng((seed, 0x6A06E))  # the second number keeps it apart from other uses of a seed
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
    poses[NEEDLE] = root @ _parallax(needle_height, tilt, axis) @ np.linalg.inv(root) @ poses[NEEDLE]
    painted = render(_cast(wall, template, root), template, poses, hidden)
    x, y = needle.joint
    to_dial = np.array(((1, 0, -x), (0, 1, -y), (0, 0, _RADIUS))) @ np.linalg.inv(root)
    return GaugeScene(_lit(painted, to_dial, rng), root, needle.reading(turn))


def _parallax(height: float, tilt: float, axis: float) -> Matrix:
    """The shift, on the plate, of what lies `height` above it, seen at the angle `tilt` from a side."""
    away, towards = height * math.tan(math.radians(tilt)), math.radians(axis)
    return np.array(((1, 0, away * math.cos(towards)), (0, 1, away * math.sin(towards)), (0, 0, 1.0)))


def _wall() -> Float[Tensor, "3 H W"]:
    """The photograph, which is grey and shows the bricks upright, as a wall of red bricks."""
    upright = load_picture(_WALL).pixels
    colour = torch.tensor((1.3, 0.95, 0.8))[:, None, None]
    return (torch.rot90(upright, 1, (1, 2))[:, 80:500] * colour).clamp(0, 1).contiguous()


def _cast(wall: Float[Tensor, "3 H W"], template: Template, root: Matrix) -> Float[Tensor, "3 H W"]:
    """The wall with the soft shadow that the gauge throws to the lower right."""
    away = np.array(((1, 0, 14), (0, 1, 18), (0, 0, 1.0))) @ root
    black = render(torch.ones_like(wall), template, matrices(template.parts, away, {}))
    covered = (black < 1).any(0, keepdim=True).float().expand_as(wall)
    return wall * (1 - 0.55 * _soft(covered, 7.0))


def _lit(scene: Float[Tensor, "3 H W"], to_dial: Matrix, rng: np.random.Generator) -> Float[Tensor, "3 H W"]:
    """The scene with a soft shadow across the dial, the reflection of a window on it, blur and noise.

    `to_dial` maps scene pixels to the plane of the dial, whose plate is the unit circle.
    """
    back = torch.from_numpy(to_dial)
    height, width = scene.shape[-2:]
    u, v = transform(back, lattice(height, width, back)).unbind(-1)
    shadow = torch.sigmoid((0.5 * u + 0.85 * v - 0.25) * 6)
    across, down = u + 0.3 * v + 0.5, v + 0.35
    window = torch.sigmoid((0.42 - torch.maximum(across.abs() * 1.6, down.abs())) * 18)
    window = window * (1 - 0.8 * torch.exp(-((across / 0.04) ** 2)))  # the bar between its two panes
    light = scene * (1 - 0.5 * shadow) * 0.9 + _GLARE * window
    noise = torch.from_numpy(rng.normal(0, 0.02, scene.shape))
    return (_soft(light.float(), 0.7) + noise.float()).clamp(0, 1)


def _soft(picture: Float[Tensor, "3 H W"], sigma: float) -> Float[Tensor, "3 H W"]:
    """The picture, blurred as if it went on beyond its borders: `blur` continues it by black."""
    return blur(picture[None], sigma)[0] / blur(torch.ones_like(picture)[None], sigma)[0]

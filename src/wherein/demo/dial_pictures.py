"""Example pictures: a photograph of a pressure gauge for a template, and others in which it is read."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.demo.gauge_scene import NEEDLE, GaugeScene, gauge_scene
from wherein.detect.calibration import backgrounds
from wherein.images.load import load_picture
from wherein.motion.field import lattice, transform
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

_WALL = Path(backgrounds.__file__).parent / "photographs" / "gravel.jpg"

DIAL = "dial.png"
"""The photograph for the template: it faces the gauge, which shows 4 bar."""

GAUGES = "gauges"
"""The folder of the other photographs."""

_MIDDLE = (215.5, 207.5)
"""The middle of the gauge in that photograph. A choice: the outlines of the how-to lie there."""

_SIZE = (420, 448)
"""Height and width of that photograph."""

_TURN = -27.0
"""The turn of its needle in degrees, for 4 bar."""


def dial_pictures(template: Template) -> dict[str, Float[Tensor, "3 H W"]]:
    """The pictures by path: one that faces the gauge, two in which it is tilted, and one with a white glare.

    Arguments:
        template: the gauge of the package.
    """
    height, width = _SIZE
    wall = load_picture(_WALL).pixels[:, :height, :width] * 0.4
    root = placed(0.0, 1.0, _MIDDLE, template.centre)
    shown = [gauge_scene(template, seed) for seed in range(3)]
    return {
        DIAL: render(wall, template, matrices(template.parts, root, {NEEDLE: _TURN})),
        f"{GAUGES}/a.png": shown[0].pixels,
        f"{GAUGES}/b.png": shown[1].pixels,
        f"{GAUGES}/glare.png": overexposed(shown[0], template),
    }


def overexposed(shown: GaugeScene, template: Template) -> Float[Tensor, "3 H W"]:
    """The scene with a reflection of the sun over the needle: white there, with a halo."""
    needle = template.parts[NEEDLE]
    assert needle.reading is not None
    turns, values = zip(*needle.reading.at, strict=True)
    angle = np.radians(np.interp(shown.value, values, turns))
    x, y = needle.joint
    ahead = np.array((np.sin(angle), -np.cos(angle)))
    middle = np.array((x, y)) + 25 * ahead
    along = np.array(((ahead[0], ahead[1]), (-ahead[1], ahead[0])))
    # The spot is an ellipse along the needle, in the canvas; scene pixels are mapped back to the canvas.
    to_spot = np.eye(3)
    to_spot[:2, :2], to_spot[:2, 2] = along, -along @ middle
    back = torch.from_numpy(to_spot @ np.linalg.inv(shown.root))
    height, width = shown.pixels.shape[-2:]
    u, v = transform(back, lattice(height, width, back)).unbind(-1)
    spot = torch.sigmoid((1.0 - torch.hypot(u / 75, v / 42)) * 9)
    return (shown.pixels + 1.6 * spot.float()).clamp(0, 1)

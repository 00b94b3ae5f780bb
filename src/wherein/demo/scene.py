"""The demonstration's scene: three robots in a photograph, each in its own pose, one of them incomplete."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from wherein.detect.calibration.backgrounds import clutter
from wherein.images.load import load_picture
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.template.tree import Matrix

SCALE = (0.8, 1.2)
"""Lowest and highest scale of a robot."""

_SIZE = (750, 500)
"""Of the background: room for three."""

_PLACES = ((0.19, 0.46, 0.95, 1.05), (0.5, 0.66, 0.8, 0.86), (0.8, 0.42, 1.05, 1.15))
"""Of each robot: where its middle is, as shares of width and height, and the range that its scale is from."""

_HIDES, _HIDEABLE = 1, ("leg_left", "leg_right", "forearm_left", "forearm_right")
"""Which of the robots lacks a part, and which parts it may lack."""


@dataclass(frozen=True, eq=False)
class Truth:
    """Where a robot really is.

    Attributes:
        root: canvas → scene, 3×3.
        parts: of each part its pixels → scene, 3×3.
        hidden: the leaves that are not in the picture.
    """

    root: Matrix
    parts: dict[str, Matrix]
    hidden: frozenset[str]


@dataclass(frozen=True, eq=False)
class Shown:
    """The scene, and the truth about it."""

    pixels: Float[Tensor, "3 H W"]
    truths: tuple[Truth, ...]


def photograph(seed: int) -> tuple[Float[Tensor, "3 H W"], bool]:
    """A cup of coffee, from scikit-image, and True; without it clutter made by rule, and False."""
    try:
        from skimage import data

        cup = Image.fromarray(np.asarray(data.coffee()))  # whose photographer has given up all rights in it
        return load_picture(cup.resize(_SIZE, Image.Resampling.BICUBIC)).pixels, True
    except (ImportError, OSError):  # not installed, or installed without its photographs
        return clutter(*_SIZE, seed=seed), False


def stage(template: Template, background: Float[Tensor, "3 H W"], seed: int) -> Shown:
    """Paint the robots, then change the light and add noise; the same for the same seed."""
    rng = np.random.default_rng((seed, 0x20B07))
    height, width = background.shape[-2:]
    scene, truths = background, []
    for number, (x, y, low, high) in enumerate(_PLACES):
        at = x * width + rng.uniform(-8, 8), y * height + rng.uniform(-8, 8)
        degrees = rng.uniform(-45, 45) if number != _HIDES else rng.uniform(90, 270)
        root = placed(degrees, rng.uniform(low, high), at, template.centre)
        turns = {name: rng.uniform(-p.turn, p.turn) for name, p in template.parts.items() if p.moves}
        hidden = frozenset({str(rng.choice(_HIDEABLE))} if number == _HIDES else ())
        truth = Truth(root, matrices(template.parts, root, turns), hidden)
        scene = render(scene, template, truth.parts, truth.hidden)
        truths.append(truth)
    return Shown(_spoiled(scene, rng), tuple(truths))


def _spoiled(scene: Float[Tensor, "3 H W"], rng: np.random.Generator) -> Float[Tensor, "3 H W"]:
    """Dimmer to one side, and with noise."""
    light = torch.linspace(float(rng.uniform(0.85, 1.0)), float(rng.uniform(0.6, 0.75)), scene.shape[-1])
    noise = torch.from_numpy(rng.normal(0, 0.03, scene.shape)).float()
    return (scene * light + 0.04 + noise).clamp(0, 1)

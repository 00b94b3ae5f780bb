"""The demonstration's scene: three robots in a photograph, in different poses, one with a missing part."""

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
"""Lowest and highest scale of the demonstration's search; it contains the scales of `_PLACES`."""

_SIZE = (750, 500)
"""Width and height of the background in pixels. A choice: room for three robots of up to 1.15 · 260 px."""

_PLACES = ((0.19, 0.46, 0.95, 1.05), (0.5, 0.66, 0.8, 0.86), (0.8, 0.42, 1.05, 1.15))
"""For each robot: its centre as fractions of the width and height, and its lowest and highest scale. A
choice: three sizes, at places where the robots do not overlap."""

_INCOMPLETE = 1
"""Index of the robot with a missing part; it is also upside down."""

_REMOVABLE = ("leg_left", "leg_right", "forearm_left", "forearm_right")
"""The parts of which one is missing. A choice: limbs that are large enough to be missed."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The true pose of one robot.

    Attributes:
        root: the matrix canvas → scene, 3×3.
        parts: for each part, the matrix part pixels → scene, 3×3.
        hidden: the leaves that are not painted.
    """

    root: Matrix
    parts: dict[str, Matrix]
    hidden: frozenset[str]


@dataclass(frozen=True, eq=False)
class DemoScene:
    """The picture, and the true pose of each robot in it."""

    pixels: Float[Tensor, "3 H W"]
    truths: tuple[Truth, ...]


def photograph(seed: int) -> tuple[Float[Tensor, "3 H W"], bool]:
    """A photograph from scikit-image and True; synthetic clutter and False if it is not installed."""
    try:
        from skimage import data

        cup = Image.fromarray(np.asarray(data.coffee()))  # public domain (CC0)
        return load_picture(cup.resize(_SIZE, Image.Resampling.BICUBIC)).pixels, True
    except (ImportError, OSError):  # not installed, or installed without its photographs
        return clutter(*_SIZE, seed=seed), False


def demo_scene(template: Template, background: Float[Tensor, "3 H W"], seed: int) -> DemoScene:
    """Paint three robots over a background, then change the light and add noise.

    Arguments:
        template: the robot.
        background: the scene without robots; it is not changed.
        seed: the seed of poses, light and noise. The same seed gives the same scene.
    """
    # The second number makes the random numbers differ from those of other scenes with the same seed.
    rng = np.random.default_rng((seed, 0x20B07))
    height, width = background.shape[-2:]
    scene, truths = background, []
    for number, (x, y, low, high) in enumerate(_PLACES):
        at = x * width + rng.uniform(-8, 8), y * height + rng.uniform(-8, 8)
        # All random numbers come from one generator in a fixed order: a change here changes the whole scene.
        degrees = rng.uniform(-45, 45) if number != _INCOMPLETE else rng.uniform(90, 270)
        root = placed(degrees, rng.uniform(low, high), at, template.centre)
        turns = {name: rng.uniform(-p.turn, p.turn) for name, p in template.parts.items() if p.moves}
        hidden = frozenset({str(rng.choice(_REMOVABLE))} if number == _INCOMPLETE else ())
        # The hidden part has a true pose too, but is not painted.
        truth = Truth(root, matrices(template.parts, root, turns), hidden)
        scene = render(scene, template, truth.parts, truth.hidden)
        truths.append(truth)
    return DemoScene(_degraded(scene, rng), tuple(truths))


def _degraded(scene: Float[Tensor, "3 H W"], rng: np.random.Generator) -> Float[Tensor, "3 H W"]:
    """The scene with light that decreases to one side, and with noise of 3 % of the range."""
    light = torch.linspace(float(rng.uniform(0.85, 1.0)), float(rng.uniform(0.6, 0.75)), scene.shape[-1])
    noise = torch.from_numpy(rng.normal(0, 0.03, scene.shape)).float()
    return (scene * light + 0.04 + noise).clamp(0, 1)

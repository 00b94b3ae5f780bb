"""A sheet of tin to paint on: several samples a pixel, light from the upper left, wear and tear."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tools.robot.shapes import Field, disc, noise

Colour = tuple[float, float, float]
Paint = NDArray[np.float64]
"""A colour for each sample, (H, W, 3) in [0, 1]."""

SAMPLES = 4
"""Samples a pixel along each axis: what makes edges smooth."""

INK: Colour = (0.10, 0.09, 0.15)
STEEL: Colour = (0.70, 0.73, 0.76)
WHITE: Colour = (1.0, 1.0, 1.0)

_LIGHT = np.array((-0.48, -0.62, 0.62))
_HALFWAY = np.array((-0.267, -0.344, 0.900))  # between the light and the eye: where the gloss is


@dataclass
class Sheet:
    """A window of the canvas whose first pixel is in column `left` and row `top`; `seed` is that of its wear.

    `x` and `y` are the samples' places on the canvas; `colour` is premultiplied by `alpha`.
    """

    left: int
    top: int
    width: int
    height: int
    seed: int
    x: Field = field(init=False)
    y: Field = field(init=False)
    colour: Paint = field(init=False)
    alpha: Field = field(init=False)

    def __post_init__(self) -> None:
        across = (np.arange(self.width * SAMPLES) + 0.5) / SAMPLES - 0.5 + self.left
        down = (np.arange(self.height * SAMPLES) + 0.5) / SAMPLES - 0.5 + self.top
        self.x, self.y = np.meshgrid(across, down)
        self.colour = np.zeros((*self.x.shape, 3))
        self.alpha = np.zeros(self.x.shape)

    def frame(self, x: float, y: float, degrees: float = 0.0) -> tuple[Field, Field]:
        """Coordinates about (x, y), the first of them in the direction `degrees`, from x towards y."""
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        dx, dy = self.x - x, self.y - y
        return c * dx + s * dy, c * dy - s * dx

    def paint(self, shape: Field, paint: Paint | Colour, strength: float = 1.0) -> None:
        """Paint a shape over what is there, flat."""
        cover = covered(shape) * strength
        self.colour = self.colour * (1 - cover[..., None]) + np.asarray(paint) * cover[..., None]
        self.alpha = self.alpha * (1 - cover) + cover

    def tin(self, shape: Field, paint: Paint | Colour, bevel: float, line: float = 1.5) -> None:
        """Paint a pressed sheet of tin: an inked edge, worn paint, and light on edges rounded by `bevel`."""
        self.paint(shape - line / 2, INK)
        inner = shape + line / 2
        self.paint(inner, lit(inner, self._worn(inner, np.asarray(paint)), bevel))

    def rivet(self, x: float, y: float, radius: float = 1.9) -> None:
        """A rivet's head."""
        self.bead(self.x - x, self.y - y, radius, STEEL)

    def bead(self, u: Field, v: Field, radius: float, colour: Colour) -> None:
        """A small shining ball with a shadow around it."""
        self.paint(disc(u, v, radius + 0.8), INK, 0.75)
        shape = disc(u, v, radius)
        self.paint(shape, lit(shape, np.asarray(colour), radius))

    def image(self) -> Image.Image:
        """The sheet at one pixel a pixel, 8 bits, colours no longer premultiplied."""
        layers = np.concatenate((self.colour, self.alpha[..., None]), -1)
        pixels = layers.reshape(self.height, SAMPLES, self.width, SAMPLES, 4).mean((1, 3))
        alpha = np.rint(pixels[..., 3:] * 255)
        colour = np.rint(pixels[..., :3] / np.maximum(pixels[..., 3:], 1e-9) * 255)
        levels = np.concatenate((np.where(alpha > 0, colour, 0), alpha), -1)
        return Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8))

    def _worn(self, shape: Field, paint: Paint) -> Paint:
        """The paint with clouds, grain and scratches, and bare metal where the edges rub."""
        x, y, seed = self.x, self.y, self.seed
        clouds = noise(x / 9, y / 9, seed)
        grain = noise(x / 1.6, y / 1.6, seed + 1)
        mottled = paint * (1 + 0.10 * clouds + 0.09 * grain)[..., None]
        rubbed = noise(x / 2.6, y / 2.6, seed + 2) - 0.72 + 0.5 * np.exp(np.minimum(shape, 0) / 1.3)
        across, along = (x + 0.45 * y) / 1.3, (y - 0.45 * x) / 17
        scratched = noise(across, along, seed + 3) - 0.88
        bare = np.clip(np.maximum(rubbed * 4, scratched * 7), 0, 0.62)[..., None]
        return mottled * (1 - bare) + np.asarray(STEEL) * 1.12 * bare


def covered(shape: Field) -> Field:
    """How much of each sample is inside."""
    return np.clip(0.5 - shape * SAMPLES, 0, 1)


def mixed(base: Paint | Colour, over: Paint | Colour, shape: Field, strength: float = 1.0) -> Paint:
    """The first colour with the second where the shape is."""
    cover = covered(shape)[..., None] * strength
    return np.asarray(base) * (1 - cover) + np.asarray(over) * cover


def lit(shape: Field, paint: Paint, bevel: float) -> Paint:
    """The paint in the light, on a shape whose edges are rounded by `bevel`: shaded, with a gloss."""
    depth = np.clip(-shape / bevel, 0, 1)
    height = bevel * np.sqrt(np.maximum(1 - (1 - depth) ** 2, 0))
    down, across = np.gradient(height, 1 / SAMPLES)
    normal = (
        np.stack((-across, -down, np.ones_like(height)), -1) / np.sqrt(1 + across**2 + down**2)[..., None]
    )
    shade = 0.50 + 0.72 * np.clip(normal @ _LIGHT, 0, 1)
    gloss = 0.55 * np.clip(normal @ _HALFWAY, 0, 1) ** 26
    return np.clip(paint * shade[..., None] + gloss[..., None], 0, 1)

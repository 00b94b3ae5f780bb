"""Backgrounds for calibration: the user's pictures, or photographs and synthetic clutter in turn.

The photographs come with the package. They are few, so clutter stands in for others. Photographs look alike
at every scale, and have edges of objects that cover each other, flat and busy regions, thin lines and
repeated patterns. So clutter is dead leaves (blobs and polygons whose sizes follow a power law, each covering
those before it, each with its own colour, shading and texture), and a few strokes on top. Leaves are
irregular: a disc or a square would be no clutter for a template that is one.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from PIL import Image as Pillow
from torch import Tensor

from wherein.detect.calibration.pages import page

Image = NDArray[np.float32]
"""(H, W) or (H, W, 3)."""

_Field = NDArray[np.floating[Any]]

_LEAVES, _STROKES, _MIN_RADIUS = 350, 60, 6.0
"""Number of leaves, maximum number of strokes, and radius of the smallest leaf in pixels. Choices: in a
scene of 512 × 384 pixels the leaves cover about two thirds."""


def clutter(width: int, height: int, seed: int) -> Float[Tensor, "3 H W"]:
    """A synthetic background; the same for the same seed."""
    rng = np.random.default_rng((seed, 0xC1077E4))
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    canvas = np.broadcast_to(_gradient(rng, x, y), (height, width, 3)).copy()
    palette = rng.uniform(0, 1, (8, 1)) + rng.normal(0, 0.12, (8, 3))  # photographs are nearly grey
    for _ in range(_LEAVES):
        _leaf(canvas, rng, x, y, palette)
    for _ in range(int(rng.integers(_STROKES))):
        _stroke(canvas, rng, x, y)
    # Noise last, as a sensor adds it, from none to a strength at which it is easily visible.
    canvas += rng.normal(0, rng.uniform(0, 0.03), canvas.shape).astype(np.float32)
    return torch.from_numpy(canvas.clip(0, 1)).movedim(-1, 0).contiguous()


def _leaf(canvas: Image, rng: np.random.Generator, x: Image, y: Image, palette: NDArray[np.float64]) -> None:
    """Draw a blob or a polygon with a texture of its own."""
    height, width = x.shape
    # Radii with density ∝ r⁻³: the law under which dead leaves look alike at every scale.
    radius = _MIN_RADIUS / np.sqrt(rng.uniform((2 * _MIN_RADIUS / max(width, height)) ** 2, 1.0))
    cx, cy, angle = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0, np.pi)
    reach = int(2 * radius) + 2
    rows = slice(max(0, int(cy) - reach), int(cy) + reach + 1)
    columns = slice(max(0, int(cx) - reach), int(cx) + reach + 1)
    u, v = x[rows, columns] - cx, y[rows, columns] - cy
    if not u.size:
        return
    along, across = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
    across = across * rng.uniform(1, 2)
    far = (_polygon if rng.random() < 0.5 else _blob)(along, across, rng)
    cover = np.clip(radius - far + 0.5, 0, 1)[..., None]
    colour = palette[rng.integers(len(palette))] + rng.normal(0, 0.06, 3)
    paint = colour.astype(np.float32) + _texture(rng, u, v, radius)[..., None]
    canvas[rows, columns] = canvas[rows, columns] * (1 - cover) + paint * cover


def _polygon(x: _Field, y: _Field, rng: np.random.Generator) -> _Field:
    """The distance from the middle in units in which an irregular polygon with 3 to 7 sides has radius 1."""
    sides = int(rng.integers(3, 8))
    angles = 2 * np.pi * (np.arange(sides) + rng.uniform(-0.3, 0.3, sides)) / sides
    away = rng.uniform(0.55, 1.0, sides)
    sloped = [(x * np.cos(a) + y * np.sin(a)) / d for a, d in zip(angles, away, strict=True)]
    return np.asarray(np.max(sloped, axis=0))


def _blob(x: _Field, y: _Field, rng: np.random.Generator) -> _Field:
    """The same for a round shape with bumps and dents."""
    angle, radius = np.arctan2(y, x), np.ones_like(x)
    for waves in (2, 3, 4):
        radius = radius + rng.uniform(0.06, 0.2) * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
    return np.asarray(np.hypot(x, y) / radius)


def _gradient(rng: np.random.Generator, x: Image, y: Image) -> Image:
    """A smooth ground: a colour that changes linearly across the picture."""
    height, width = x.shape
    ends = (rng.uniform(0, 1, (3, 1)) + rng.normal(0, 0.1, (3, 3))).astype(np.float32)
    return (
        ends[0]
        + (x / width)[..., None] * (ends[1] - ends[0]) / 2
        + (y / height)[..., None] * (ends[2] - ends[0]) / 2
    )


def _texture(rng: np.random.Generator, u: Image, v: Image, radius: float) -> NDArray[np.floating[Any]]:
    """Shading, with stripes, checks, noise or nothing on top."""
    shade = rng.normal(0, 0.15) * u / max(radius, 1) + rng.normal(0, 0.15) * v / max(radius, 1)
    angle, period, strength = rng.uniform(0, np.pi), rng.uniform(3, 20), rng.uniform(0, 0.35)
    along = (u * np.cos(angle) + v * np.sin(angle)) * (2 * np.pi / period)
    across = (v * np.cos(angle) - u * np.sin(angle)) * (2 * np.pi / period)
    kind = rng.integers(5)
    if kind == 0:
        return shade + strength * np.sin(along)
    if kind == 1:
        return shade + strength * np.sign(np.sin(along) * np.sin(across))
    if kind == 2:
        return shade + (strength * rng.normal(0, 1, u.shape)).astype(np.float32)
    return shade


def _stroke(canvas: Image, rng: np.random.Generator, x: Image, y: Image) -> None:
    """Draw a thin arc, dark or light."""
    height, width = x.shape
    size, thick = rng.uniform(5, 60), rng.uniform(0.7, 4)
    cx, cy = rng.uniform(0, width), rng.uniform(0, height)
    reach = int(size + thick) + 2
    rows = slice(max(0, int(cy) - reach), int(cy) + reach + 1)
    columns = slice(max(0, int(cx) - reach), int(cx) + reach + 1)
    u, v = x[rows, columns] - cx, y[rows, columns] - cy
    if not u.size:
        return
    low = rng.uniform(-np.pi, np.pi)
    on_arc = (np.arctan2(v, u) - low) % (2 * np.pi) < rng.uniform(0.3, 3.5)
    cover = (np.clip(thick / 2 - np.abs(np.hypot(u, v) - size) + 0.5, 0, 1) * on_arc)[..., None]
    colour = (rng.uniform(0, 0.25, 3) if rng.random() < 0.7 else rng.uniform(0.75, 1, 3)).astype(np.float32)
    canvas[rows, columns] = canvas[rows, columns] * (1 - cover) + colour * cover


@cache
def photographs() -> tuple[Float[Tensor, "3 H W"], ...]:
    """The photographs that come with the package; photographs/README.md says where they are from."""
    folder = files(__package__).joinpath("photographs")
    found = []
    for name in sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".jpg")):
        with folder.joinpath(name).open("rb") as file:
            pixels = np.asarray(Pillow.open(file).convert("RGB"), dtype=np.float32) / 255
        found.append(torch.from_numpy(pixels).movedim(-1, 0).contiguous())
    return tuple(found)


class Backgrounds:
    """Backgrounds of one size by number: the user's pictures, or photographs and synthetic ones in turn.

    Large pictures are cropped, small ones continued by their mirror images. Each background is made once.

    Arguments:
        pictures: without the template; where there are none, photographs and synthetic ones are used.
        seed: of the crops, and of what is synthetic.
        size: width and height.
        with_pages: whether half of them are pages, as for objects that stay upright or are drawn.
    """

    def __init__(
        self,
        pictures: Sequence[Float[Tensor, "3 H W"]],
        seed: int,
        size: tuple[int, int],
        with_pages: bool = False,
    ) -> None:
        self.pictures, self.seed, self.size = pictures, seed, size
        self._kinds = (
            (self._clutter, self._page, self._photograph, self._page)
            if with_pages
            else (self._clutter, self._photograph)
        )
        self._made: dict[int, Tensor] = {}  # each is used in several measurements

    def __call__(self, index: int) -> Float[Tensor, "3 H W"]:
        """The background with this number."""
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]

    def may_show_object(self, index: int) -> bool:
        """Whether a background may show the object after all: what was made here cannot."""
        return bool(self.pictures) or self._kinds[index % len(self._kinds)] == self._photograph

    def _make(self, index: int) -> Float[Tensor, "3 H W"]:
        if not self.pictures:
            return self._kinds[index % len(self._kinds)](index)
        rng = np.random.default_rng((self.seed, index))
        return self._cropped(self.pictures[index % len(self.pictures)], rng)

    def _clutter(self, index: int) -> Float[Tensor, "3 H W"]:
        return clutter(*self.size, seed=self.seed + index)

    def _page(self, index: int) -> Float[Tensor, "3 H W"]:
        return page(*self.size, seed=self.seed + index)

    def _photograph(self, index: int) -> Float[Tensor, "3 H W"]:
        known, rng = photographs(), np.random.default_rng((self.seed, index))
        # The same photograph comes back: in another orientation it is as good as another one.
        picture = _oriented(known[index // len(self._kinds) % len(known)], int(rng.integers(8)))
        return self._cropped(picture, rng)

    def _cropped(self, picture: Float[Tensor, "3 _ _"], rng: np.random.Generator) -> Float[Tensor, "3 H W"]:
        """A part of a picture, or the picture continued, in the size of the backgrounds."""
        across, down = self.size
        height, width = picture.shape[-2:]
        # A crop and not a reduced picture: textures keep their scale.
        left, top = rng.integers(max(1, width - across + 1)), rng.integers(max(1, height - down + 1))
        cut = picture[:, top : top + down, left : left + across].numpy()
        missing = ((0, 0), (0, down - cut.shape[1]), (0, across - cut.shape[2]))
        return torch.from_numpy(np.pad(cut, missing, "symmetric"))


def _oriented(picture: Float[Tensor, "3 H W"], number: int) -> Float[Tensor, "3 _ _"]:
    """One of the eight orientations of a picture."""
    turned = torch.rot90(picture, number % 4, (-2, -1))
    return turned.flip(-1) if number >= 4 else turned

"""Backgrounds for calibration: the user's pictures, or photographs and synthetic clutter in turn.

The package contains only a few photographs, so synthetic clutter stands in for others. The statistics of
photographs are about the same at every scale, and photographs contain occlusion edges, flat and busy regions,
thin lines and repeated patterns. To resemble them, clutter follows the dead-leaves model: blobs and polygons
whose sizes follow a power law are painted over each other, each with its own colour, shading and texture, and
a few strokes are drawn on top. The shapes are irregular, because a template may be a disc or a square: such a
leaf would be an instance of the object instead of clutter.

What lies behind the subject of a photograph is often out of focus. Blurred heads and lights resemble a smooth
object, such as an apple, more than anything sharp does, so some of the clutter is out of focus.
"""

from collections.abc import Callable, Sequence
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
from wherein.images.gaussian import blur

Image = NDArray[np.float32]
"""(H, W) or (H, W, 3)."""

_Field = NDArray[np.floating[Any]]

_LEAVES, _STROKES, _MIN_RADIUS = 350, 60, 6.0
"""Number of leaves, upper limit of the number of strokes, and radius of the smallest leaf in pixels. Choices:
in a scene of 512 × 384 pixels the leaves cover about two thirds."""

_DEFOCUS = (2.0, 5.0)
"""Range of the standard deviation of the blur of clutter out of focus, in pixels. A choice: as much as discs
of 4 to 10 pixels in radius, which a lens shows of points out of focus."""


def clutter(width: int, height: int, seed: int) -> Float[Tensor, "3 H W"]:
    """A synthetic background; the same for the same seed."""
    # The second number keeps this stream of random numbers apart from the others with the same seed.
    rng = np.random.default_rng((seed, 0xC1077E4))
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    canvas = np.broadcast_to(_gradient(rng, x, y), (height, width, 3)).copy()
    # A random grey level plus a small deviation of each channel: photographs have few saturated colours.
    palette = rng.uniform(0, 1, (8, 1)) + rng.normal(0, 0.12, (8, 3))
    for _ in range(_LEAVES):
        _leaf(canvas, rng, x, y, palette)
    for _ in range(int(rng.integers(_STROKES))):
        _stroke(canvas, rng, x, y)
    # Noise comes last, as in a sensor. Its strength ranges from none to easily visible.
    canvas += rng.normal(0, rng.uniform(0, 0.03), canvas.shape).astype(np.float32)
    return torch.from_numpy(canvas.clip(0, 1)).movedim(-1, 0).contiguous()


def _leaf(canvas: Image, rng: np.random.Generator, x: Image, y: Image, palette: NDArray[np.float64]) -> None:
    """Draw a blob or a polygon with a texture of its own."""
    height, width = x.shape
    # Radii with density p(r) ∝ r⁻³, for which the dead-leaves model is scale-invariant. By inversion of the
    # distribution function: if t is uniform, r = r_min / √t has this density. The lower limit of t bounds r
    # by half of the longer side.
    radius = _MIN_RADIUS / np.sqrt(rng.uniform((2 * _MIN_RADIUS / max(width, height)) ** 2, 1.0))
    cx, cy, angle = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0, np.pi)
    # Only pixels near the leaf are computed: most leaves are small.
    reach = int(2 * radius) + 2
    rows = slice(max(0, int(cy) - reach), int(cy) + reach + 1)
    columns = slice(max(0, int(cx) - reach), int(cx) + reach + 1)
    u, v = x[rows, columns] - cx, y[rows, columns] - cy
    if not u.size:
        return
    along, across = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
    across = across * rng.uniform(1, 2)
    distance = (_polygon if rng.random() < 0.5 else _blob)(along, across, rng)
    # A ramp one pixel wide, centred on the outline, is its anti-aliased edge.
    cover = np.clip(radius - distance + 0.5, 0, 1)[..., None]
    colour = palette[rng.integers(len(palette))] + rng.normal(0, 0.06, 3)
    paint = colour.astype(np.float32) + _texture(rng, u, v, radius)[..., None]
    canvas[rows, columns] = canvas[rows, columns] * (1 - cover) + paint * cover


def _polygon(x: _Field, y: _Field, rng: np.random.Generator) -> _Field:
    """The gauge function of an irregular polygon with 3 to 7 sides: its level set r is its outline, scaled by
    r."""
    sides = int(rng.integers(3, 8))
    # A convex polygon is an intersection of half-planes n·p ≤ d, so its gauge is the maximum of n·p / d.
    angles = 2 * np.pi * (np.arange(sides) + rng.uniform(-0.3, 0.3, sides)) / sides
    distances = rng.uniform(0.55, 1.0, sides)
    planes = [(x * np.cos(a) + y * np.sin(a)) / d for a, d in zip(angles, distances, strict=True)]
    return np.asarray(np.max(planes, axis=0))


def _blob(x: _Field, y: _Field, rng: np.random.Generator) -> _Field:
    """The gauge function of a round shape with bumps and dents, as of `_polygon`."""
    # In polar coordinates the outline is a circle plus a few Fourier modes of random phase.
    angle, radius = np.arctan2(y, x), np.ones_like(x)
    for waves in (2, 3, 4):
        radius = radius + rng.uniform(0.06, 0.2) * np.cos(waves * angle + rng.uniform(0, 2 * np.pi))
    return np.asarray(np.hypot(x, y) / radius)


def _gradient(rng: np.random.Generator, x: Image, y: Image) -> Image:
    """A smooth background: a colour that changes linearly across the picture."""
    height, width = x.shape
    ends = (rng.uniform(0, 1, (3, 1)) + rng.normal(0, 0.1, (3, 3))).astype(np.float32)
    return (
        ends[0]
        + (x / width)[..., None] * (ends[1] - ends[0]) / 2
        + (y / height)[..., None] * (ends[2] - ends[0]) / 2
    )


def _texture(rng: np.random.Generator, u: Image, v: Image, radius: float) -> NDArray[np.floating[Any]]:
    """Linear shading, with stripes, checks, noise or nothing added."""
    shade = rng.normal(0, 0.15) * u / max(radius, 1) + rng.normal(0, 0.15) * v / max(radius, 1)
    angle, period, strength = rng.uniform(0, np.pi), rng.uniform(3, 20), rng.uniform(0, 0.35)
    along = (u * np.cos(angle) + v * np.sin(angle)) * (2 * np.pi / period)
    across = (v * np.cos(angle) - u * np.sin(angle)) * (2 * np.pi / period)
    kind = rng.integers(5)  # two of five leaves are plain
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
    """Numbered backgrounds of one size: the user's pictures, or photographs and synthetic ones in turn.

    Large pictures are cropped, small ones are padded with their mirror images. Each background is made once.

    Arguments:
        pictures: of the user, without the object; if empty, photographs and synthetic pictures are used.
        seed: of the crops and the synthetic pictures.
        size: width and height in pixels.
        with_pages: whether every second background is a page, for objects that stay upright or are drawn.
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
        # Several measurements use the same background. Each depends on its number and the seed alone, so the
        # order in which threads ask for them does not matter.
        self._made: dict[int, Tensor] = {}

    def __call__(self, index: int) -> Float[Tensor, "3 H W"]:
        """The background with this number."""
        if index not in self._made:
            self._made[index] = self._make(index)
        return self._made[index]

    def may_show_object(self, index: int) -> bool:
        """Whether a background may show the object: a photograph may, synthetic pictures cannot."""
        return bool(self.pictures) or self._kind(index) == self._photograph

    def _make(self, index: int) -> Float[Tensor, "3 H W"]:
        if not self.pictures:
            return self._kind(index)(index)
        rng = np.random.default_rng((self.seed, index))
        return self._cropped(self.pictures[index % len(self.pictures)], rng)

    def _kind(self, index: int) -> Callable[[int], Float[Tensor, "3 H W"]]:
        """What makes the background with this number."""
        turn, kind = divmod(index, len(self._kinds))
        # There are fewer photographs than backgrounds. None serves twice, not even in another orientation: if
        # one resembles the object, it is an exception, but counted twice it would be a rule, and the fitted
        # distribution of clutter would have too long a tail.
        used_up = self._kinds[kind] == self._photograph and turn >= len(photographs())
        return self._defocused if used_up else self._kinds[kind]

    def _clutter(self, index: int) -> Float[Tensor, "3 H W"]:
        return clutter(*self.size, seed=self.seed + index)

    def _page(self, index: int) -> Float[Tensor, "3 H W"]:
        return page(*self.size, seed=self.seed + index)

    def _photograph(self, index: int) -> Float[Tensor, "3 H W"]:
        rng = np.random.default_rng((self.seed, index))
        picture = photographs()[index // len(self._kinds)]
        return self._cropped(_oriented(picture, int(rng.integers(8))), rng)

    def _defocused(self, index: int) -> Float[Tensor, "3 H W"]:
        sharp, rng = self._clutter(index), np.random.default_rng((self.seed, index))
        noise = torch.from_numpy(rng.normal(0, rng.uniform(0, 0.02), sharp.shape)).float()
        # The noise of the sensor is not blurred.
        return (blur(sharp[None], float(rng.uniform(*_DEFOCUS)))[0] + noise).clamp(0, 1)

    def _cropped(self, picture: Float[Tensor, "3 _ _"], rng: np.random.Generator) -> Float[Tensor, "3 H W"]:
        """A random crop of a picture, padded with its mirror image, in the size of the backgrounds."""
        across, down = self.size
        height, width = picture.shape[-2:]
        # Cropped instead of resized, so that textures keep their scale and sharpness.
        left, top = rng.integers(max(1, width - across + 1)), rng.integers(max(1, height - down + 1))
        cut = picture[:, top : top + down, left : left + across].numpy()
        missing = ((0, 0), (0, down - cut.shape[1]), (0, across - cut.shape[2]))
        return torch.from_numpy(np.pad(cut, missing, "symmetric"))


def _oriented(picture: Float[Tensor, "3 H W"], number: int) -> Float[Tensor, "3 _ _"]:
    """One of the eight orientations of a picture."""
    turned = torch.rot90(picture, number % 4, (-2, -1))
    return turned.flip(-1) if number >= 4 else turned

"""Synthetic pages with text, tables, buttons, icons and charts, as backgrounds for objects on screens.

Objects that are never rotated, or are drawn by a computer, are often searched for in screenshots, forms,
labels and drawings. Most edges there are horizontal or vertical and form a few shapes, so such scenes
resemble the template far more than photographs do: the outline of a button fits every other button, and every
cell of a table.
"""

import string
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from wherein.images.motif import Motif
from wherein.template.bundle import Template

_Colour = tuple[int, int, int]
_Box = tuple[int, int, int, int]
"""Left, top, right and bottom."""

_MIN_SIDE, _MAX_SIDE = 90, 340
"""Approximate limits of the width and height of the panels that a page is divided into, in pixels. Choices:
several panels fit in a scene of 512 × 384."""

_ICON_SIZES, _TEXT_SIZES, _BUTTON_HEIGHTS = (14, 40), (10, 20), (18, 44)
"""Lowest and highest sizes in pixels. Choices: usual on screens with one to two pixels per point."""

_WORD = (2, 9)
"""Lowest and highest number of letters of a word. A choice."""

_FLAT = 0.4
"""The minimum fraction of the pixels of a drawn picture that have exactly the colours of their neighbours. A
choice: buttons and icons of a screen have more; photographs have almost none, because of noise."""

_Stroke = tuple[str, list[tuple[float, float]]]
"""A stroke of an icon: its kind, and its points in units of the icon's size."""


def is_drawn(template: Template) -> bool:
    """Whether all pictures of a template are drawn by a computer and have no mask, as elements of a page.

    Cut-outs of a single colour do not count, although they are flat: they are found by their outlines, on any
    background.
    """
    motifs = [part.motif for part in template.parts.values() if part.motif is not None]
    return all(bool((motif.mask == 1).all()) and _flat_share(motif) >= _FLAT for motif in motifs)


def _flat_share(motif: Motif) -> float:
    """The fraction of the pixels that have exactly the colours of their right and lower neighbours."""
    here = motif.pixels[:, :-1, :-1]
    flat = ((here == motif.pixels[:, :-1, 1:]) & (here == motif.pixels[:, 1:, :-1])).all(0)
    return float(flat.float().mean()) if flat.numel() else 0.0


def page(width: int, height: int, seed: int) -> Float[Tensor, "3 H W"]:
    """A synthetic page; the same for the same seed."""
    # The second number keeps this stream of random numbers apart from the others with the same seed.
    return _Page(width, height, np.random.default_rng((seed, 0x9A6E))).picture()


class _Page:
    """A page that is drawn at random.

    Arguments:
        width, height: in pixels.
        rng: of all random choices.
    """

    def __init__(self, width: int, height: int, rng: np.random.Generator) -> None:
        self._rng, self._dark = rng, bool(rng.random() < 0.3)
        self._image = Image.new("RGB", (width, height), self._ground())
        self._draw = ImageDraw.Draw(self._image)

    def picture(self) -> Float[Tensor, "3 H W"]:
        """Draw the page and return its pixels."""
        self._divide((0, 0, *self._image.size))
        pixels = np.asarray(self._image, dtype=np.float32) / 255
        return torch.from_numpy(pixels).movedim(-1, 0).contiguous()

    def _divide(self, box: _Box) -> None:
        """Divide a box into panels, and fill each."""
        left, top, right, bottom = box
        across, down = right - left, bottom - top
        # Boxes are split until they are small enough. A box with room for two panels may be split or not, so
        # that panels differ in size.
        if across > _MAX_SIDE or (across > 2 * _MIN_SIDE and self._rng.random() < 0.6):
            cut = left + int(across * self._rng.uniform(0.3, 0.7))
            self._divide((left, top, cut, bottom))
            self._divide((cut, top, right, bottom))
        elif down > _MAX_SIDE or (down > 2 * _MIN_SIDE and self._rng.random() < 0.6):
            cut = top + int(down * self._rng.uniform(0.3, 0.7))
            self._divide((left, top, right, cut))
            self._divide((left, cut, right, bottom))
        else:
            self._panel(box)

    def _panel(self, box: _Box) -> None:
        """Fill a box with elements of one kind, on the page or on a background of its own."""
        if self._rng.random() < 0.5:
            self._draw.rectangle(box, self._ground(), self._ink() if self._rng.random() < 0.5 else None)
        kinds: tuple[Callable[[_Box], None], ...] = (
            self._paragraph, self._table, self._buttons, self._icons, self._chart,
        )  # fmt: skip
        left, top, right, bottom = box
        margin = self._whole((4, 16))
        kinds[self._rng.integers(len(kinds))]((left + margin, top + margin, right - margin, bottom - margin))

    def _paragraph(self, box: _Box) -> None:
        size, ink = self._whole(_TEXT_SIZES), self._ink()
        for y in range(box[1], box[3] - size, round(1.5 * size)):
            self._text((box[0], y), box[2] - box[0], size, ink)

    def _table(self, box: _Box) -> None:
        row, column = self._whole(_BUTTON_HEIGHTS), self._whole((40, 110))
        size, lines, ink = self._whole((10, 14)), self._ink(faint=True), self._ink()
        for y in range(box[1], box[3] - row, row):
            for x in range(box[0], box[2] - column, column):
                self._draw.rectangle((x, y, x + column, y + row), outline=lines)
                self._text((x + 5, y + (row - size) // 2), column - 8, size, ink)

    def _buttons(self, box: _Box) -> None:
        height, corner, filled = self._whole(_BUTTON_HEIGHTS), self._whole((0, 9)), self._rng.random() < 0.5
        ground, ink = self._ground(), self._ink()
        for y in range(box[1], box[3] - height, height + self._whole((4, 16))):
            x = box[0]
            while x + 60 < box[2]:
                width = min(self._whole((36, 120)), box[2] - x)
                around = (x, y, x + width, y + height)
                self._draw.rounded_rectangle(around, corner, ground if filled else None, ink)
                size = min(height - 6, self._whole((10, 16)))
                self._text((x + 8, y + (height - size) // 2 - 1), width - 12, size, ink)
                x += width + self._whole((4, 14))

    def _icons(self, box: _Box) -> None:
        size = self._whole(_ICON_SIZES)
        known = [self._icon_strokes() for _ in range(self._whole((3, 9)))]
        step, ink = size + self._whole((3, 12)), self._ink()
        for y in range(box[1], box[3] - size, step):
            for x in range(box[0], box[2] - size, step):
                self._icon((x, y), size, known[self._rng.integers(len(known))], ink)

    def _chart(self, box: _Box) -> None:
        left, top, right, bottom = box
        lines, ink = self._ink(faint=True), self._ink()
        for y in range(bottom, top, -self._whole((18, 40))):
            self._draw.line((left, y, right, y), lines)
        self._draw.line((left, top, left, bottom, right, bottom), ink)
        xs = np.arange(left, right, self._whole((6, 24)))
        heights = self._rng.uniform(0.05, 0.95, len(xs)) * max(bottom - top, 1)
        points = [(float(x), float(bottom - h)) for x, h in zip(xs, heights, strict=True)]
        if self._rng.random() < 0.5 and len(points) > 1:
            self._draw.line(points, ink, self._whole((1, 3)))
            return
        width = self._whole((3, 12))
        for point in points:
            self._draw.rectangle((*point, point[0] + width, bottom), self._ink())

    def _icon_strokes(self) -> list[_Stroke]:
        """The strokes of a random icon."""
        kinds = ("line", "line", "ellipse", "rectangle", "polygon")
        chosen = [kinds[self._rng.integers(len(kinds))] for _ in range(self._whole((1, 4)))]
        # Points lie on a coarse grid, as designers of icons place them.
        return [
            (kind, [(float(x), float(y)) for x, y in self._rng.integers(0, 7, (self._whole((2, 4)), 2)) / 6])
            for kind in chosen
        ]

    def _icon(
        self,
        at: tuple[int, int],
        size: int,
        strokes: Sequence[_Stroke],
        ink: _Colour,
    ) -> None:
        thick = max(1, size // 10)
        for kind, units in strokes:
            points = [(at[0] + x * size, at[1] + y * size) for x, y in units]
            if kind == "line":
                self._draw.line(points, ink, thick)
            elif kind == "polygon" and len(points) > 2:
                self._draw.polygon(points, ink)
            else:
                # The first two points are opposite corners. Pillow needs the upper left one first.
                (left, right), (top, bottom) = (sorted(ends) for ends in zip(*points[:2], strict=True))
                shape = self._draw.ellipse if kind == "ellipse" else self._draw.rectangle
                shape((left, top, right, bottom), outline=ink, width=thick)

    def _text(self, at: tuple[int, int], width: int, size: int, ink: _Colour) -> None:
        """Draw words or numbers until the width is filled."""
        font, line = ImageFont.load_default(size), ""
        letters = string.digits + ".-" if self._rng.random() < 0.3 else string.ascii_letters
        while True:
            word = "".join(letters[k] for k in self._rng.integers(len(letters), size=self._whole(_WORD)))
            longer = f"{line} {word}".strip()
            if font.getlength(longer) > width:
                break
            line = longer
        self._draw.text(at, line, ink, font)

    def _whole(self, limits: tuple[int, int]) -> int:
        """A random integer within the limits, both included."""
        return int(self._rng.integers(limits[0], limits[1] + 1))

    def _ground(self) -> _Colour:
        """A background colour: light, or dark on a dark page; one in five may be strongly coloured."""
        level = self._rng.uniform(0.0, 0.3) if self._dark else self._rng.uniform(0.8, 1.0)
        spread = 0.25 if self._rng.random() < 0.2 else 0.03
        return self._colour(level + self._rng.normal(0, spread, 3))

    def _ink(self, faint: bool = False) -> _Colour:
        """A foreground colour that contrasts with the background; `faint`: less."""
        away = self._rng.uniform(0.1, 0.3) if faint else self._rng.uniform(0.45, 1.0)
        level = 0.15 + away if self._dark else 0.9 - away
        return self._colour(level + self._rng.normal(0, 0.1, 3))

    @staticmethod
    def _colour(levels: np.ndarray) -> _Colour:
        red, green, blue = (int(level) for level in (255 * levels.clip(0, 1)).round())
        return red, green, blue

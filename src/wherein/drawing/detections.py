"""Detections drawn on their scene, with a legend below: names on the parts would hide them."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from wherein.drawing.legend import INK, PAPER, Font, with_legend
from wherein.drawing.palette import Color, colors
from wherein.images.eight_bit import to_image
from wherein.images.load import Picture

if TYPE_CHECKING:
    from wherein.detect.result import Detection

_MISSING: Color = (240, 240, 240)
_SMALL, _MOST, _LARGE = 900, 8, 2600
"""Pixels of the longer side below which a picture is enlarged, how many times at most, and from which on its
lines are not smoothed."""

_MARGIN = 4
"""Pixels around an object that its lines may take."""

Corner = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def draw_detections(scene: Picture, items: Sequence["Detection"]) -> Image.Image:
    """The scene with the outline of every part that has a picture, a number and score for each object, and a
    legend.

    A part that was found has a full line in its colour, one that was not a grey dashed one where it would be.
    """
    zoom = min(_MOST, -(-_SMALL // max(scene.pixels.shape[-2:])))
    palette = _palette(items)
    image = _outlined(scene, items, palette, zoom)
    font = ImageFont.load_default(max(13, min(24, image.width // 80)))
    _numbers(image, items, range(1, len(items) + 1), zoom, font)
    return with_legend(image, items, palette, font)


def draw_frame(scene: Picture, items: Sequence["Detection"], numbers: Sequence[int]) -> Image.Image:
    """The same as a frame of a video: of the scene's size, without a legend.

    Arguments:
        scene: the frame.
        items: what was found in it.
        numbers: of each one's track.
    """
    image = _outlined(scene, items, _palette(items), 1)
    _numbers(image, items, numbers, 1, ImageFont.load_default(max(11, min(24, image.width // 60))))
    return image


def _palette(items: Sequence["Detection"]) -> dict[str, Color]:
    return colors(dict.fromkeys(name for item in items for name, part in item.parts.items() if part.leaf))


def _outlined(
    scene: Picture, items: Sequence["Detection"], palette: dict[str, Color], zoom: int
) -> Image.Image:
    """The scene, enlarged, with the outlines; drawn at twice the size, so that lines are smooth."""
    image = to_image(scene.pixels)
    fine = 2 if zoom * max(image.size) < _LARGE else 1
    if zoom > 1:
        image = image.resize((image.width * zoom, image.height * zoom), Image.Resampling.BICUBIC)
    for item in items:
        outlines = {name: _scaled(part.polygon, zoom) for name, part in item.parts.items() if part.leaf}
        box = _around(outlines.values(), image.size)
        if box is not None:
            near = image.crop(box)
            # Each pixel as four: reduced again they are what they were, but for the lines.
            large = near.resize((near.width * fine, near.height * fine), Image.Resampling.NEAREST)
            corners = {name: (corners - box[:2] + 0.5) * fine - 0.5 for name, corners in outlines.items()}
            _outlines(ImageDraw.Draw(large), item, corners, palette, fine)
            image.paste(large.reduce(fine), box)
    return image


def _around(
    polygons: Iterable[NDArray[np.float64]], size: tuple[int, int]
) -> tuple[int, int, int, int] | None:
    """The box of whole pixels around an object and its lines, within the picture; None: it lies outside."""
    corners = np.concatenate(list(polygons))
    left, top = np.maximum(np.floor(corners.min(0)) - _MARGIN, 0).astype(int).tolist()
    right, bottom = np.minimum(np.ceil(corners.max(0)) + _MARGIN, size).astype(int).tolist()
    return (left, top, right, bottom) if left < right and top < bottom else None


def _outlines(
    pen: ImageDraw.ImageDraw,
    item: "Detection",
    outlines: Mapping[str, NDArray[np.float64]],
    palette: Mapping[str, Color],
    fine: int,
) -> None:
    """First what was not found, so that it hides nothing; each line on a dark one, to be seen on anything."""
    for name in sorted(outlines, key=lambda name: item.parts[name].found):
        corners = _corners(outlines[name])
        closed = [*corners, *corners[:2]]
        if item.parts[name].found:
            pen.line(closed, fill=INK, width=5 * fine, joint="curve")
            pen.line(closed, fill=palette[name], width=3 * fine, joint="curve")
            continue
        for dash in dashes(closed[:-1], 6.0 * fine):
            pen.line(dash, fill=INK, width=4 * fine)
            pen.line(dash, fill=_MISSING, width=2 * fine)


def dashes(corners: Sequence[Corner], length: float) -> Iterator[tuple[Corner, Corner]]:
    """Every second piece of a line, pieces being no longer than `length`."""
    for (x0, y0), (x1, y1) in pairwise(corners):
        pieces = max(1, round(math.dist((x0, y0), (x1, y1)) / length))
        for k in range(0, pieces, 2):
            a, b = k / pieces, (k + 1) / pieces
            yield (x0 + a * (x1 - x0), y0 + a * (y1 - y0)), (x0 + b * (x1 - x0), y0 + b * (y1 - y0))


def _numbers(
    image: Image.Image, items: Sequence["Detection"], numbers: Sequence[int], zoom: int, font: Font
) -> None:
    """Above each object its number and score, on paper of its own; within the frame and not on another's."""
    pen = ImageDraw.Draw(image)
    taken: list[Box] = []
    for number, item in zip(numbers, items, strict=True):
        polygons = [part.polygon for part in item.parts.values() if part.leaf]
        corners = _scaled(np.concatenate(polygons), zoom)
        text = f"{number}: {item.score:.2f}"
        left, top, right, bottom = pen.textbbox((0, 0), text, font=font)
        width, height = right - left + 12, bottom - top + 10
        x = np.clip((corners[:, 0].min() + corners[:, 0].max() - width) / 2, 2, image.width - width - 2)
        y = np.clip(corners[:, 1].min() - height - 4, 2, image.height - height - 2)
        box = _free((float(x), float(y), float(x + width), float(y + height)), taken, image.height)
        taken.append(box)
        pen.rounded_rectangle(box, 5, fill=PAPER, outline=INK)
        pen.text((box[0] + 6 - left, box[1] + 5 - top), text, fill=INK, font=font)


def _free(box: Box, taken: Sequence[Box], height: int) -> Box:
    """The box, moved down until it lies on no other, as far as there is room."""
    x0, y0, x1, y1 = box
    step = y1 - y0 + 2
    while y1 + step < height and any(
        x0 < right and left < x1 and y0 < bottom and top < y1 for left, top, right, bottom in taken
    ):
        y0, y1 = y0 + step, y1 + step
    return x0, y0, x1, y1


def _scaled(polygon: NDArray[np.float64], zoom: int) -> NDArray[np.float64]:
    """On the enlarged picture, whose pixel centres lie between those of the scene."""
    return polygon * zoom + (zoom - 1) / 2


def _corners(polygon: NDArray[np.float64]) -> list[Corner]:
    return [(float(x), float(y)) for x, y in polygon]

"""Detections drawn on their scene at its size, so that coordinates in the drawing are those of the results.

The legend is below the scene, since names on the parts would hide them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from wherein.drawing.labels import draw_labels, font_of
from wherein.drawing.legend import with_legend
from wherein.drawing.palette import INK, Color, colors
from wherein.images.eight_bit import to_image
from wherein.images.picture import Picture
from wherein.images.polygons import Polygon, Rings, outer

if TYPE_CHECKING:
    from wherein.detect.result import Detection

_MISSING: Color = (240, 240, 240)

_LARGE = 2600
"""Longer side in pixels from which lines are not smoothed. A choice: smoothing takes time."""

_THIN = 800
"""Longer side in pixels below which lines are two pixels wide instead of three. A choice: on a small picture,
wide lines would hide the object."""

_MARGIN = 4
"""Margin in pixels around an object for its lines: half the width of the widest line, and the smoothing."""

Corner = tuple[float, float]


def draw_detections(
    scene: Picture, items: Sequence["Detection"], legend: bool = False, named: bool = False
) -> Image.Image:
    """The scene with the outlines of all parts, and a number and a score for each detection.

    A part that was found has a solid outline in the part's colour. A part that was not found has a dashed
    grey outline where it would be. Holes are not outlined: the hole in a dial from which the needle was cut
    out would look like a needle.

    Arguments:
        scene: the picture that was searched, or a reduced overview of it.
        items: the detections in the scene.
        legend: whether a legend is added below, with the colours of parts and a line for each detection.
        named: whether labels contain the name of the template, if there are several templates.
    """
    # Poses are relative to the full scene; the overview of a large scene is smaller.
    items = [item.on(scene) for item in items]
    image = draw_frame(to_image(scene.pixels), items, range(1, len(items) + 1), named)
    if not legend:
        return image
    font = font_of(max(13, min(24, image.width // 80)))
    return with_legend(image, items, _palette(items), font, named)


def draw_frame(
    frame: Image.Image, items: Sequence["Detection"], numbers: Sequence[int], named: bool = False
) -> Image.Image:
    """A frame of a video with its detections, without a legend.

    Arguments:
        frame: RGB; changed in place.
        items: the detections in the frame.
        numbers: the track number of each detection.
        named: as in `draw_detections`.
    """
    image = _outlined(frame, items, _palette(items))
    draw_labels(image, items, numbers, max(11, min(24, image.width // 60)), named)
    return image


def _palette(items: Sequence["Detection"]) -> dict[str, Color]:
    return colors(dict.fromkeys(name for item in items for name, part in item.parts.items() if part.leaf))


def _outlined(image: Image.Image, items: Sequence["Detection"], palette: Mapping[str, Color]) -> Image.Image:
    """The picture with outlines. They are drawn at twice the size and reduced, which smooths them."""
    fine = 2 if max(image.size) < _LARGE else 1
    for item in items:
        outlines = {name: outer(part.rings) for name, part in item.parts.items() if part.leaf}
        box = _pixel_box([ring for rings in outlines.values() for ring in rings], image.size)
        if box is not None:  # only the box of the object is enlarged: a whole large picture would take long
            near = image.crop(box)
            # Each pixel becomes four equal pixels. Averaging them restores it exactly, except under lines.
            large = near.resize((near.width * fine, near.height * fine), Image.Resampling.NEAREST)
            # The corner of the first pixel is at −0.5 in both pictures: shift by 0.5, scale, shift back.
            corners = {
                name: [(ring - box[:2] + 0.5) * fine - 0.5 for ring in rings]
                for name, rings in outlines.items()
            }
            pen = _Pen(ImageDraw.Draw(large), fine, 2 if max(image.size) < _THIN else 3)
            _draw_outlines(pen, item, corners, palette)
            image.paste(large.reduce(fine), box)
    return image


def _pixel_box(polygons: Iterable[Polygon], size: tuple[int, int]) -> tuple[int, int, int, int] | None:
    """The box of whole pixels of an object and its lines, clipped to the picture; None if it lies outside."""
    corners = np.concatenate(list(polygons))
    left, top = np.maximum(np.floor(corners.min(0)) - _MARGIN, 0).astype(int).tolist()
    right, bottom = np.minimum(np.ceil(corners.max(0)) + _MARGIN, size).astype(int).tolist()
    return (left, top, right, bottom) if left < right and top < bottom else None


@dataclass(frozen=True)
class _Pen:
    """A drawing target, its scale relative to the scene, and the width of lines in scene pixels."""

    draw: ImageDraw.ImageDraw
    fine: int
    width: int


def _draw_outlines(
    pen: _Pen, item: "Detection", outlines: Mapping[str, Rings], palette: Mapping[str, Color]
) -> None:
    """Draw the outlines of one object, parts that were not found first, so that they hide nothing.

    Each line is drawn over a wider dark line, so that it is visible on any background.
    """
    for name in sorted(outlines, key=lambda name: name not in item.missing):
        for ring in outlines[name]:
            _draw_ring(pen, ring, None if name in item.missing else palette[name])


def _draw_ring(pen: _Pen, ring: Polygon, color: Color | None) -> None:
    """Draw a solid line in a colour or, without one, a dashed grey line."""
    corners: list[Corner] = [(float(x), float(y)) for x, y in ring]
    # One corner more than needed to close the ring: Pillow rounds the corners inside a line, not its ends.
    closed = [*corners, *corners[:2]]
    fine, width = pen.fine, pen.width
    if color is not None:
        pen.draw.line(closed, fill=INK, width=(width + 2) * fine, joint="curve")
        pen.draw.line(closed, fill=color, width=width * fine, joint="curve")
        return
    for dash in dashes(closed[:-1], 2.0 * (width + 1) * fine):
        pen.draw.line(dash, fill=INK, width=(width + 1) * fine)
        pen.draw.line(dash, fill=_MISSING, width=max(1, width - 1) * fine)


def dashes(corners: Sequence[Corner], length: float) -> Iterator[tuple[Corner, Corner]]:
    """The dashes of a dashed line. Dashes and gaps have the same `length`, and continue around corners.

    Example:
        >>> list(dashes([(0.0, 0.0), (3.0, 0.0), (3.0, 5.0)], 2.0))
        [((0.0, 0.0), (2.0, 0.0)), ((3.0, 1.0), (3.0, 3.0))]
    """
    drawn, left = True, length
    for (x0, y0), (x1, y1) in pairwise(corners):
        total, done = math.dist((x0, y0), (x1, y1)), 0.0
        while done < total:
            step = min(left, total - done)
            if drawn:
                a, b = done / total, (done + step) / total
                yield (x0 + a * (x1 - x0), y0 + a * (y1 - y0)), (x0 + b * (x1 - x0), y0 + b * (y1 - y0))
            done, left = done + step, left - step
            if left <= 0:
                drawn, left = not drawn, length

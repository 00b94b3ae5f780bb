"""Labels of detections: a number and a score beside each object, where they hide no other object."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from wherein.drawing.palette import INK, PAPER
from wherein.drawing.text import Font, legible

if TYPE_CHECKING:
    from wherein.detect.result import Detection

Rectangle = tuple[float, float, float, float]
"""Left, top, right and bottom."""

_BESIDE, _ACROSS, _DOWN = 4, 6, 5
"""Gap between a label and its object, and the label's padding beside and above its text, in pixels.
Choices."""

_SMALL_TEXT = 10
"""Maximum font size in pixels of a label with a number only. A choice: smaller letters are hard to read."""


@cache
def font_of(size: int) -> Font:
    """The font of labels and legends at a size in pixels."""
    # Cached: reading the font takes as long as drawing a frame.
    return ImageFont.load_default(size)


def draw_labels(
    image: Image.Image, items: Sequence["Detection"], numbers: Sequence[int], size: int, named: bool
) -> None:
    """Write the number and the score beside each object, or the number alone if the label would hide others.

    Arguments:
        image: the picture; changed in place.
        items: the detections.
        numbers: the number of each detection.
        size: the font size in pixels.
        named: whether labels contain the name of the template.
    """
    pen, boxes = ImageDraw.Draw(image), [_box(item) for item in items]
    taken: list[Rectangle] = []
    for index, (number, item) in enumerate(zip(numbers, items, strict=True)):
        others = [*boxes[:index], *boxes[index + 1 :]]
        full = f"{number}: {f'{legible(item.template)} ' if named else ''}{item.score:.2f}"
        # First the full label at all places, then the number alone, which fits into smaller gaps.
        tried = [(full, font_of(size)), (str(number), font_of(min(size, _SMALL_TEXT)))]
        free = (
            (text, font, place)
            for text, font in tried
            for place in _places(boxes[index], _label_size(pen, text, font), image.size)
            if not any(_overlap(place, one) for one in (*others, *taken))
        )
        # In a dense crowd there may be no free place. Then the label may hide another object, but not another
        # label.
        text, font = tried[0] if len(items) == 1 else tried[1]
        first = next(_places(boxes[index], _label_size(pen, text, font), image.size))
        text, font, place = next(free, (text, font, _moved_down(first, taken, image.height)))
        taken.append(place)
        _draw_label(pen, text, font, place)


def _box(item: "Detection") -> Rectangle:
    """The bounding box of all outlines of a detection."""
    corners = np.concatenate([ring for part in item.parts.values() if part.leaf for ring in part.rings])
    (left, top), (right, bottom) = corners.min(0).tolist(), corners.max(0).tolist()
    return left, top, right, bottom


def _label_size(pen: ImageDraw.ImageDraw, text: str, font: Font) -> tuple[float, float]:
    left, top, right, bottom = pen.textbbox((0, 0), text, font=font)
    return right - left + 2 * _ACROSS, bottom - top + 2 * _DOWN


def _places(box: Rectangle, size: tuple[float, float], within: tuple[int, int]) -> Iterator[Rectangle]:
    """Possible places of a label, within the picture: above its object, below, to the right, to the left."""
    (left, top, right, bottom), (width, height) = box, size
    middle, level = (left + right - width) / 2, (top + bottom - height) / 2
    above, below = (middle, top - height - _BESIDE), (middle, bottom + _BESIDE)
    for x, y in (above, below, (right + _BESIDE, level), (left - width - _BESIDE, level)):
        begin = float(np.clip(x, 2, within[0] - width - 2)), float(np.clip(y, 2, within[1] - height - 2))
        yield *begin, begin[0] + width, begin[1] + height


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _moved_down(label: Rectangle, taken: Sequence[Rectangle], height: int) -> Rectangle:
    """The label, moved down until it overlaps no other label or reaches the bottom of the picture."""
    x0, y0, x1, y1 = label
    step = y1 - y0 + 2
    while y1 + step < height and any(_overlap((x0, y0, x1, y1), one) for one in taken):
        y0, y1 = y0 + step, y1 + step
    return x0, y0, x1, y1


def _draw_label(pen: ImageDraw.ImageDraw, text: str, font: Font, place: Rectangle) -> None:
    left, top, _, _ = pen.textbbox((0, 0), text, font=font)  # letters do not begin at the text's origin
    pen.rounded_rectangle(place, 5, fill=PAPER, outline=INK)
    pen.text((place[0] + _ACROSS - left, place[1] + _DOWN - top), text, fill=INK, font=font)

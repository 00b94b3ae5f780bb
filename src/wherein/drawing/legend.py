"""The legend below a drawing: the colour of each part, and a line for each detection."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw

from wherein.drawing.palette import INK, PAPER, Color
from wherein.drawing.text import Font, legible

if TYPE_CHECKING:
    from wherein.detect.result import Detection

_MAX_LINES = 12
"""Maximum number of detections in the legend; a last line gives the number of the others. A choice."""


def with_legend(
    image: Image.Image,
    items: Sequence["Detection"],
    palette: Mapping[str, Color],
    font: Font,
    named: bool = False,
) -> Image.Image:
    """The picture with the legend below it.

    Arguments:
        image: the drawing.
        items: the detections on it.
        palette: the colour of each part.
        font: the font of the legend.
        named: whether lines contain the name of the template.
    """
    # The font has Latin letters only.
    lines = [legible(text) for text in summaries(items, named)]
    line = int(1.5 * _extent("Ág", font)[1])  # line height, from a text with ascender, accent and descender
    columns, spacing = _columns(palette, image.width, font, line)
    rows = -(-len(palette) // columns)  # rounded up
    width = max(image.width, *(_extent(text, font)[0] + line for text in lines))
    page = Image.new("RGB", (width, image.height + int(line * (rows + len(lines) + 1.3))), PAPER)
    page.paste(image, (0, 0))
    pen, top = ImageDraw.Draw(page), image.height + line // 2
    for number, (name, color) in enumerate(palette.items()):
        x, y = line // 2 + number % columns * spacing, top + number // columns * line
        pen.rounded_rectangle((x, y + line * 0.2, x + line * 0.9, y + line * 0.8), 4, fill=color, outline=INK)
        pen.text((x + line * 1.2, y + line / 2), legible(name), fill=INK, font=font, anchor="lm")
    for number, text in enumerate(lines):
        pen.text((line // 2, top + (rows + number + 0.8) * line), text, fill=INK, font=font, anchor="lm")
    return page


def summaries(items: Sequence["Detection"], named: bool = False) -> list[str]:
    """One line for each detection: its score, its pose, its readings, and the parts that were not found."""
    if not items:
        return ["nothing found"]
    lines = []
    for number, item in enumerate(items[:_MAX_LINES], 1):
        leaves, missing = sum(part.leaf for part in item.parts.values()), item.missing
        of = f"{item.template}, " if named else ""
        angle = round(item.angle, 1) + 0.0  # + 0.0 turns −0 into 0
        tilt = f", tilt {item.tilt:.1f}°" if len(item.matrix) == 3 else ""
        values = {name: part.value_text for name, part in item.parts.items()}
        counted = f", {leaves - len(missing)} of {leaves} parts found" if leaves > 1 else ""
        lines.append(
            f"{number}: {of}score {item.score:.2f}, angle {angle:.1f}°, scale {item.scale:.3f}{tilt}{counted}"
            + (f", missing: {', '.join(missing)}" if 0 < len(missing) < 4 else "")
            + "".join(f", {name}: {value}" for name, value in values.items() if value is not None)
        )
    return lines + ([f"and {len(items) - _MAX_LINES} more"] if len(items) > _MAX_LINES else [])


def _columns(names: Mapping[str, Color], width: int, font: Font, line: int) -> tuple[int, int]:
    """The number of columns for the names of parts, and their distance in pixels."""
    spacing = max((_extent(legible(name), font)[0] for name in names), default=0) + 2 * line
    columns = max(1, min(len(names), (width - line) // spacing))
    return columns, spacing


def _extent(text: str, font: Font) -> tuple[int, int]:
    left, top, right, bottom = font.getbbox(text)
    return int(right - left), int(bottom - top)

"""A template on one sheet: its canvas with masks and joints, its tree, and the findings about it."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

from wherein.drawing.palette import INK, PAPER, Color, colors
from wherein.drawing.text import Font, legible
from wherein.images.eight_bit import to_image
from wherein.making.checks import Finding, Severity
from wherein.making.measures import part_pixels
from wherein.template.bundle import Template
from wherein.template.tree import Tree

_MARGIN, _ROW, _INDENT, _THUMBNAIL, _TREE_WIDTH, _LINE = 24, 60, 26, 52, 470, 24
"""Lengths in pixels: the margin of the sheet, the height of a row of the tree, the indentation per level, the
height of a part's thumbnail, the width of the tree, and the height of a line of text."""

_GREY: Color = (110, 110, 110)
_SEVERITY_COLORS: Mapping[Severity, Color] = {
    Severity.PROBLEM: (200, 40, 40),
    Severity.WARNING: (215, 140, 20),
    Severity.NOTE: (70, 110, 170),
}
_CHECKERBOARD: tuple[Color, Color] = ((236, 236, 236), (208, 208, 208))
"""The two greys behind transparent pixels."""

_CANVAS_SIDE, _MAX_ZOOM = 760, 12.0
"""Longer side of the canvas on the sheet in pixels, and its maximum magnification."""

_FINE = 2
"""Factor by which the canvas is drawn larger and then reduced, which smooths lines."""

_TINT = 45
"""Opacity of a part's colour over the part, of 255."""


def sheet(template: Template, found: Sequence[Finding]) -> Image.Image:
    """The sheet of a template.

    Arguments:
        template: the template.
        found: the findings about it, `findings(template)`.
    """
    palette = colors(template.parts.leaves)
    canvas = draw_canvas(template, palette)
    tree = list(_rows(template.parts, template.parts.root, 0))
    # Texts are laid out first, because the height of the page depends on the number of lines.
    width = 3 * _MARGIN + canvas.width + _TREE_WIDTH
    font = ImageFont.load_default(16)
    lines = list(_finding_lines(found, width - 2 * _MARGIN - 90, font))
    top = 2 * _MARGIN + _LINE
    below = top + max(canvas.height, _ROW * len(tree)) + _MARGIN
    page = Image.new("RGB", (width, below + _LINE * max(1, len(lines)) + _MARGIN), PAPER)
    pen = ImageDraw.Draw(page)
    pen.text((_MARGIN, _MARGIN), _title(template), fill=INK, font=ImageFont.load_default(20))
    page.paste(canvas, (_MARGIN, top))
    _draw_tree(page, template, tree, (2 * _MARGIN + canvas.width, top), palette, font)
    _draw_findings(pen, lines, below, font)
    return page


def draw_canvas(template: Template, palette: Mapping[str, Color]) -> Image.Image:
    """The canvas, enlarged, with the mask of every part in its colour, its joint and its range of turns."""
    zoom = _FINE * min(_MAX_ZOOM, _CANVAS_SIDE / max(template.size))
    size = (max(1, round(template.size[0] * zoom)), max(1, round(template.size[1] * zoom)))
    canvas = to_image(template.canvas.pixels, template.canvas.mask).convert("RGBA")
    image = _on_checkerboard(canvas.resize(size, Image.Resampling.BICUBIC), 12 * _FINE)
    for name in template.paint_order:
        _draw_mask(image, template, name, palette[name], zoom)
    for name, part in template.parts.items():
        if part.moves:
            _draw_joint(ImageDraw.Draw(image), template, name, palette.get(name, PAPER), zoom)
    return image.reduce(_FINE)


def _on_checkerboard(image: Image.Image, side: int) -> Image.Image:
    """A picture with alpha over a checkerboard; `side` is the side of its squares in pixels."""
    y, x = np.indices((image.height, image.width)) // side
    page = Image.fromarray(np.array(_CHECKERBOARD, dtype=np.uint8)[(x + y) % 2])
    page.paste(image, (0, 0), image)
    return page


def _draw_mask(image: Image.Image, template: Template, name: str, color: Color, zoom: float) -> None:
    """Draw a tint over the part, a line inside its edge, and a dark line outside it."""
    part = template.parts[name]
    assert part.motif is not None, "a leaf"
    alpha = to_image(part.motif.pixels, part.motif.mask).getchannel("A")
    width, height = max(1, round(alpha.width * zoom)), max(1, round(alpha.height * zoom))
    room = 4 * _FINE  # for lines outside of the part
    inside = Image.new("L", (width + 2 * room, height + 2 * room))
    inside.paste(alpha.resize((width, height), Image.Resampling.BILINEAR), (room, room))
    inside = inside.point(lambda level: 255 * (level > 127))
    at = round(part.at[0] * zoom) - room, round(part.at[1] * zoom) - room
    # The mask minus its erosion is a line inside the edge, its dilation minus the mask one outside.
    edge = ImageChops.subtract(inside, inside.filter(ImageFilter.MinFilter(2 * _FINE + 1)))
    dark = ImageChops.subtract(inside.filter(ImageFilter.MaxFilter(2 * _FINE - 1)), inside)
    image.paste(color, at, inside.point(lambda level: _TINT * (level > 0)))
    image.paste(INK, at, dark)
    image.paste(color, at, edge)


def _draw_joint(pen: ImageDraw.ImageDraw, template: Template, name: str, color: Color, zoom: float) -> None:
    """Draw a dot on the joint, and the sector that the middle of the part can reach."""
    part = template.parts[name]
    x, y = ((coordinate + 0.5) * zoom for coordinate in part.joint)
    # The sector points from the joint to the centre of the part, at least 26 pixels long, so that it is
    # visible.
    middle = part_pixels(template, name).double().mean(0)
    towards = float(middle[0]) - part.joint[0], float(middle[1]) - part.joint[1]
    radius = max(26.0 * _FINE, min(1.3 * zoom * math.hypot(*towards), 120.0 * _FINE))
    heading = math.atan2(towards[1], towards[0])
    turns = np.linspace(-part.turn, part.turn, 2 + int(part.turn / 3))
    angles = [heading + math.radians(turn) for turn in turns]
    arc = [(x + radius * math.cos(angle), y + radius * math.sin(angle)) for angle in angles]
    sector = [(x, y), *arc, (x, y)] if part.turn < 180 else arc  # ±180° is a full circle
    for ink, width in ((INK, 4 * _FINE), (color, 2 * _FINE)):
        pen.line(sector, fill=ink, width=width, joint="curve")
    for ink, size in ((INK, 7 * _FINE), (PAPER, 5 * _FINE), (INK, 2 * _FINE)):
        pen.ellipse((x - size, y - size, x + size, y + size), fill=ink)


def _title(template: Template) -> str:
    width, height = template.size
    return legible(f"{template.name}, {width} × {height} pixels")


def _rows(tree: Tree, name: str, depth: int) -> Iterator[tuple[str, int]]:
    """Every part and its depth, in depth-first order."""
    yield name, depth
    for child in tree.children(name):
        yield from _rows(tree, child, depth + 1)


def _draw_tree(
    page: Image.Image,
    template: Template,
    rows: Sequence[tuple[str, int]],
    corner: tuple[int, int],
    palette: Mapping[str, Color],
    font: Font,
) -> None:
    """Draw the rows of the tree, with a line from each part to its parent."""
    pen = ImageDraw.Draw(page)
    last: dict[int, int] = {}  # by depth, the y of the last row: at depth − 1 it is that of the parent
    for number, (name, depth) in enumerate(rows):
        x, y = corner[0] + depth * _INDENT, corner[1] + number * _ROW + _ROW // 2
        if depth:
            trunk = x - _INDENT + 10
            pen.line((trunk, last[depth - 1] + 12, trunk, y), fill=_GREY, width=2)
            pen.line((trunk, y, x, y), fill=_GREY, width=2)
        last[depth] = y
        left = _draw_thumbnail(page, template, name, (x, y), palette)
        pen.text((left, y - 10), legible(name), fill=INK, font=font, anchor="lm")
        small = ImageFont.load_default(13)
        pen.text((left, y + 11), _facts(template, name), fill=_GREY, font=small, anchor="lm")


def _draw_thumbnail(
    page: Image.Image, template: Template, name: str, at: tuple[int, int], palette: Mapping[str, Color]
) -> int:
    """Draw the picture of a part, or a circle for a group; returns the x at which its text begins."""
    pen, motif, (x, y) = ImageDraw.Draw(page), template.parts[name].motif, at
    if motif is None:
        pen.ellipse((x + 3, y - 7, x + 17, y + 7), fill=PAPER, outline=_GREY, width=2)
        return x + 28
    picture = to_image(motif.pixels, motif.mask)
    picture.thumbnail((2 * _THUMBNAIL, _THUMBNAIL), Image.Resampling.LANCZOS)
    width, height = picture.size
    page.paste(_on_checkerboard(picture, 6), (x + 6, y - height // 2))
    frame = (x + 4, y - height // 2 - 2, x + 7 + width, y + (height + 1) // 2 + 1)
    pen.rectangle(frame, outline=palette[name], width=2)
    return x + 18 + width


def _facts(template: Template, name: str) -> str:
    part = template.parts[name]
    facts = ["group"] if part.motif is None else [f"{part.motif.width} × {part.motif.height}"]
    if part.parent is not None:
        facts.append(f"turns ±{part.turn:g}°" if part.moves else "fixed")
    return legible(", ".join(facts))


def _finding_lines(found: Sequence[Finding], width: int, font: Font) -> Iterator[tuple[Severity | None, str]]:
    """The findings as lines of text; the first line of each has its severity."""
    for finding in found:
        severity: Severity | None = finding.severity
        text = legible(str(finding).removeprefix(f"{finding.severity}: "))
        for line in _wrapped(text, width, font):
            yield severity, line
            severity = None


def _wrapped(text: str, width: int, font: Font) -> Iterator[str]:
    """The text in lines of a maximum width in pixels, broken between words; a longer word is not broken."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and font.getlength(longer) > width:
            yield line
            longer = word
        line = longer
    yield line


def _draw_findings(
    pen: ImageDraw.ImageDraw, lines: Sequence[tuple[Severity | None, str]], top: int, font: Font
) -> None:
    if not lines:
        pen.text((_MARGIN, top), "no problems found", INK, font)
    for number, (severity, text) in enumerate(lines):
        y = top + number * _LINE
        if severity is not None:
            small = ImageFont.load_default(13)
            pen.rounded_rectangle((_MARGIN, y, _MARGIN + 80, y + 20), 5, fill=_SEVERITY_COLORS[severity])
            pen.text((_MARGIN + 40, y + 10), severity, fill=PAPER, font=small, anchor="mm")
        pen.text((_MARGIN + 90, y + 10), text, fill=INK, font=font, anchor="lm")

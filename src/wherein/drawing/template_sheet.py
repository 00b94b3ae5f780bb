"""A template on a sheet: the canvas with masks and joints, the tree, and what will make it hard to find."""

from collections.abc import Iterator, Mapping, Sequence

from PIL import Image, ImageDraw, ImageFont

from wherein.drawing.palette import Color, colors
from wherein.drawing.template_canvas import INK, PAPER, cutout, on_squares, plate
from wherein.drawing.text import legible
from wherein.making.checks import Finding, Severity
from wherein.template import Template, Tree

Font = ImageFont.ImageFont | ImageFont.FreeTypeFont

_MARGIN, _ROW, _INDENT, _THUMB, _TREE, _LINE = 24, 60, 26, 52, 470, 24
"""Pixels: around everything, of a row of the tree, of a step in it, of a part's picture, of the whole tree,
and of a line of text."""

_GREY: Color = (110, 110, 110)
_SIGNS: Mapping[Severity, Color] = {
    Severity.PROBLEM: (200, 40, 40),
    Severity.WARNING: (215, 140, 20),
    Severity.NOTE: (70, 110, 170),
}


def sheet(template: Template, found: Sequence[Finding]) -> Image.Image:
    """Everything about a template on one picture.

    Arguments:
        template: what is drawn.
        found: `findings(template)`.
    """
    palette = colors(template.parts.leaves)
    canvas = plate(template, palette)
    tree = list(_rows(template.parts, template.parts.root, 0))
    width = 3 * _MARGIN + canvas.width + _TREE
    font = ImageFont.load_default(16)
    lines = list(_findings(found, width - 2 * _MARGIN - 90, font))
    top = 2 * _MARGIN + _LINE
    below = top + max(canvas.height, _ROW * len(tree)) + _MARGIN
    page = Image.new("RGB", (width, below + _LINE * max(1, len(lines)) + _MARGIN), PAPER)
    pen = ImageDraw.Draw(page)
    pen.text((_MARGIN, _MARGIN), _title(template), fill=INK, font=ImageFont.load_default(20))
    page.paste(canvas, (_MARGIN, top))
    _draw_tree(page, template, tree, (2 * _MARGIN + canvas.width, top), palette, font)
    _draw_findings(pen, lines, below, font)
    return page


def _title(template: Template) -> str:
    width, height = template.size
    return legible(f"{template.name}, {width} × {height} pixels")


def _rows(tree: Tree, name: str, depth: int) -> Iterator[tuple[str, int]]:
    """Every part and its depth, as one reads a tree."""
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
    pen = ImageDraw.Draw(page)
    last: dict[int, int] = {}
    for number, (name, depth) in enumerate(rows):
        x, y = corner[0] + depth * _INDENT, corner[1] + number * _ROW + _ROW // 2
        if depth:
            trunk = x - _INDENT + 10
            pen.line((trunk, last[depth - 1] + 12, trunk, y), fill=_GREY, width=2)
            pen.line((trunk, y, x, y), fill=_GREY, width=2)
        last[depth] = y
        part = template.parts[name]
        if part.motif is None:
            pen.ellipse((x + 3, y - 7, x + 17, y + 7), fill=PAPER, outline=_GREY, width=2)
            left = x + 28
        else:
            thumb = cutout(part.motif)
            thumb.thumbnail((2 * _THUMB, _THUMB), Image.Resampling.LANCZOS)
            page.paste(on_squares(thumb, 6), (x + 6, y - thumb.height // 2))
            frame = (x + 4, y - thumb.height // 2 - 2, x + 7 + thumb.width, y + (thumb.height + 1) // 2 + 1)
            pen.rectangle(frame, outline=palette[name], width=2)
            left = x + 18 + thumb.width
        pen.text((left, y - 10), legible(name), fill=INK, font=font, anchor="lm")
        pen.text(
            (left, y + 11), _facts(template, name), fill=_GREY, font=ImageFont.load_default(13), anchor="lm"
        )


def _facts(template: Template, name: str) -> str:
    part = template.parts[name]
    facts = ["group"] if part.motif is None else [f"{part.motif.width} × {part.motif.height}"]
    if part.parent is not None:
        facts.append(f"turns ±{part.turn:g}°" if part.moves else "fixed")
    return legible(", ".join(facts))


def _findings(found: Sequence[Finding], width: int, font: Font) -> Iterator[tuple[Severity | None, str]]:
    """Lines of text, the first of each finding with its severity."""
    for finding in found:
        severity: Severity | None = finding.severity
        text = legible(str(finding).removeprefix(f"{finding.severity}: "))
        for line in _wrapped(text, width, font):
            yield severity, line
            severity = None


def _wrapped(text: str, width: int, font: Font) -> Iterator[str]:
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
        pen.text((_MARGIN, top), "nothing that was measured stands in the way of finding it", INK, font)
    for number, (severity, text) in enumerate(lines):
        y = top + number * _LINE
        if severity is not None:
            pen.rounded_rectangle((_MARGIN, y, _MARGIN + 80, y + 20), 5, fill=_SIGNS[severity])
            pen.text(
                (_MARGIN + 40, y + 10), severity, fill=PAPER, font=ImageFont.load_default(13), anchor="mm"
            )
        pen.text((_MARGIN + 90, y + 10), text, fill=INK, font=font, anchor="lm")

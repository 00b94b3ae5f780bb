"""What `wherein template` does, between its arguments and its words."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherein.cli.places import check_file, writing
from wherein.cli.work import UnreadableError, save
from wherein.errors import ArgumentError, PictureError, TemplateError, require
from wherein.formats import annotation
from wherein.formats.annotation import Annotation
from wherein.formats.part_outline import Outline
from wherein.images.load import Picture, load_picture
from wherein.making.checks import Finding
from wherein.making.cutout import cut
from wherein.template.bundle import Template
from wherein.template.tree import Tree


@dataclass(frozen=True)
class Wish:
    """What a template is to be made of.

    Attributes:
        source: a picture, or an annotation.
        name: of the template.
        box: left, top, width and height of the motif.
        polygon: its corners, as "x,y x,y …", as JSON, or a file with JSON.
        image: the annotation's picture, or which of them.
        thing: which of its objects.
        paint_order: names of parts, the lowest first.
        keep_covered: parts keep what others cover.
    """

    source: Path
    name: str
    box: tuple[int, int, int, int] | None = None
    polygon: str | None = None
    image: str | None = None
    thing: str | None = None
    paint_order: tuple[str, ...] = ()
    keep_covered: bool = False

    @property
    def annotation(self) -> bool:
        """Whether the source is one."""
        return self.source.suffix.lower() == ".json"

    def check(self) -> None:
        """Options that do not go together, before anything is read."""
        outlines = [option for option, value in (("--box", self.box), ("--polygon", self.polygon)) if value]
        require(len(outlines) < 2, "--box and --polygon are two outlines: give one of them")
        if self.annotation:
            require(
                not outlines, f"{self.source} has outlines of its own: {''.join(outlines)} is for a picture"
            )
        else:
            require(self.image is None and self.thing is None, "--image and --object choose from annotations")


def made(wish: Wish) -> tuple[Template, Sequence[str]]:
    """The template, and what is to be said about how it was made.

    Raises:
        UnreadableError: the picture or the annotation cannot be read, or makes no template.
        ArgumentError, TemplateError: what was asked for is wrong.
    """
    wish.check()
    read = _read(wish)
    order = wish.paint_order or None
    try:
        template = cut(read.picture, read.outlines, wish.name, order, keep_covered=wish.keep_covered)
    except TemplateError as error:
        if wish.annotation:
            raise UnreadableError("annotation", wish.source, f"{wish.source}: {error}") from error
        raise
    return template, read.notes


def _read(wish: Wish) -> Annotation:
    try:
        if wish.annotation:
            return annotation.read(wish.source, wish.image, wish.thing)
        picture = load_picture(wish.source, role="picture")
    except (PictureError, TemplateError) as error:
        raise UnreadableError("picture", wish.source, error) from error
    return _outlined(wish, picture)


def _outlined(wish: Wish, picture: Picture) -> Annotation:
    """A picture with one outline: the one that was given, its alpha, or all of it."""
    height, width = picture.pixels.shape[-2:]
    notes: tuple[str, ...] = ()
    if wish.box is not None:
        require(
            min(wish.box[2:]) > 0, f"--box has the size {wish.box[2]} × {wish.box[3]}: give at least 1 × 1"
        )
        left, top, across, down = wish.box
        inside = min(left, top) >= 0 and left + across <= width and top + down <= height
        require(
            inside,
            f"--box {left} {top} {across} {down} reaches beyond the picture, which has {width} × {height} "
            "pixels: give left, top, width and height within it",
        )
        outline = Outline.box(wish.name, *wish.box)
    elif wish.polygon is not None:
        outline = Outline(wish.name, corners(wish.polygon))
    else:
        outline = Outline.box(wish.name, 0, 0, width, height)
        if picture.mask is None:
            notes = ("no outline was given, and the picture has no alpha: all of it is the motif",)
    return Annotation(picture, (outline,), notes)


def corners(text: str) -> list[tuple[float, float]]:
    """The corners in "x,y x,y …", in JSON, or in a file with JSON.

    Raises:
        ArgumentError: there are none.
    """
    wrong = f'--polygon {text} is not a polygon: give "x,y x,y x,y …", or a file with [[x, y], …]'
    try:
        if text.lower().endswith(".json"):
            text = Path(text).read_text(encoding="utf-8-sig")
        pairs = json.loads(text) if text.lstrip().startswith("[") else [p.split(",") for p in text.split()]
        return [(float(x), float(y)) for x, y in pairs]
    except OSError as error:
        raise ArgumentError(f"{wrong} ({error.strerror or error})") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(wrong) from error


def written(template: Template, out: Path, overwrite: bool) -> None:
    """Save a template whole or not at all."""
    with writing(out):
        template.save(out, overwrite)


def check_target(out: Path, overwrite: bool) -> None:
    """Before any work: can a template go there?

    Raises:
        ArgumentError, UnwritableError: it cannot, and why.
    """
    require(overwrite or not out.exists(), f"{out} exists; give another name or --overwrite")
    check_file(out)  # a folder is put in its place whole too, from beside it


def headline(template: Template) -> str:
    """What a template is, on a line."""
    tree, (width, height) = template.parts, template.size
    joints = sum(part.moves for part in tree.values())
    parts = f"{len(tree.leaves)} parts" if len(tree.leaves) > 1 else "one motif"
    return f"{template.name}: {parts}, {joints} joint{'s' * (joints != 1)}, {width} × {height} pixels"


def branches(tree: Tree, name: str | None = None, before: str = "") -> Iterator[str]:
    """The tree, a line a part."""
    if name is None:
        yield _one(tree, tree.root)
        name = tree.root
    children = tree.children(name)
    for child in children:
        last = child == children[-1]
        yield f"{before}{'└─ ' if last else '├─ '}{_one(tree, child)}"
        yield from branches(tree, child, before + ("   " if last else "│  "))


def _one(tree: Tree, name: str) -> str:
    part = tree[name]
    facts = [] if part.motif is None else [f"{part.motif.width} × {part.motif.height}"]
    if part.moves:
        facts.append(f"turns ±{part.turn:g}° about ({part.joint[0]:g}, {part.joint[1]:g})")
    return f"{name}  {', '.join(facts)}".rstrip()


def record(template: Template, found: Sequence[Finding]) -> dict[str, Any]:
    """The same as JSON has it."""
    width, height = template.size
    parts = {
        name: {
            "parent": part.parent,
            "size": None if part.motif is None else [part.motif.width, part.motif.height],
            "joint": list(part.joint) if part.moves else None,
            "turn": part.turn if part.moves else 0.0,
        }
        for name, part in template.parts.items()
    }
    listed = [finding.to_dict() for finding in found]
    return {"template": template.name, "width": width, "height": height, "parts": parts, "findings": listed}


def drawn(template: Template, found: Sequence[Finding], path: Path) -> None:
    """Write the sheet."""
    from wherein.drawing.template_sheet import sheet

    save(sheet(template, found), path)

"""The work of `wherein template`: make a template from a picture or annotations; describe and draw it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherein.cli.console import Console, UnreadableError
from wherein.cli.output_files import check_drawing, is_file_name
from wherein.errors import ArgumentError, PictureError, TemplateError, require
from wherein.files import save, write_errors
from wherein.formats import annotation
from wherein.formats.annotation import Annotation
from wherein.formats.part_outline import Outline
from wherein.images.load import load_picture
from wherein.images.picture import Picture
from wherein.making.checks import Finding, Severity
from wherein.making.cutout import cut
from wherein.template.bundle import Template
from wherein.template.template_library import Library
from wherein.template.tree import Tree


@dataclass(frozen=True)
class TemplateSource:
    """The source of a template: the arguments of `wherein template new`.

    Attributes:
        path: a picture, or a file of annotations.
        name: the name of the template.
        box: left, top, width and height of the motif.
        polygon: the corners of the motif: "x,y x,y …", JSON, or a file with JSON.
        image: the file of the annotated picture, or the name or id of one of the annotated pictures.
        chosen_object: the id of the object in the annotations.
        paint_order: names of parts, the lowest first.
        keep_covered: whether parts keep pixels that other parts cover.
    """

    path: Path
    name: str
    box: tuple[int, int, int, int] | None = None
    polygon: str | None = None
    image: str | None = None
    chosen_object: str | None = None
    paint_order: tuple[str, ...] = ()
    keep_covered: bool = False

    @property
    def is_annotation(self) -> bool:
        """Whether the path is a file of annotations, judged by its extension."""
        return self.path.suffix.lower() == ".json"

    def check(self) -> None:
        """Raise `ArgumentError` if options exclude each other; nothing is read for this."""
        outlines = [option for option, value in (("--box", self.box), ("--polygon", self.polygon)) if value]
        require(len(outlines) < 2, "--box and --polygon cannot be combined: use one of them")
        if self.is_annotation:
            message = f"{''.join(outlines)} is for pictures only: {self.path} has its own outlines"
            require(not outlines, message)
        else:
            unused = self.image is None and self.chosen_object is None
            require(unused, "--image and --object are for annotations (.json) only")


def make_template(source: TemplateSource) -> tuple[Template, Sequence[str]]:
    """The template, and notes about how it was made.

    Raises:
        UnreadableError: the picture or the annotations cannot be read, or no template can be made from them.
        ArgumentError, TemplateError: an option is wrong.
    """
    source.check()
    read = _read(source)
    order = source.paint_order or None
    try:
        template = cut(read.picture, read.outlines, source.name, order, keep_covered=source.keep_covered)
    except TemplateError as error:
        if source.is_annotation:  # the outlines come from the file, not from an option
            raise UnreadableError("annotation", source.path, f"{source.path}: {error}") from error
        raise
    return template, read.notes


def _read(source: TemplateSource) -> Annotation:
    try:
        if source.is_annotation:
            return annotation.read(source.path, source.image, source.chosen_object)
        picture = load_picture(source.path, role="picture")
    except (PictureError, TemplateError) as error:
        raise UnreadableError("picture", source.path, error) from error
    return _outline(source, picture)


def _outline(source: TemplateSource, picture: Picture) -> Annotation:
    """The picture with one outline: --box, --polygon, or the whole picture, with its alpha as the mask."""
    height, width = picture.samples.shape[-2:]
    notes: tuple[str, ...] = ()
    if source.box is not None:
        outline = _box(source.name, source.box, (width, height))
    elif source.polygon is not None:
        outline = Outline(source.name, parse_polygon(source.polygon))
    else:
        outline = Outline.box(source.name, 0, 0, width, height)
        if picture.mask is None:
            notes = ("no outline and no alpha channel: the whole picture is used",)
    return Annotation(picture, (outline,), notes)


def _box(name: str, box: tuple[int, int, int, int], size: tuple[int, int]) -> Outline:
    left, top, width, height = box
    given = f"--box {left} {top} {width} {height}"
    require(min(width, height) > 0, f"{given} is {width} × {height} pixels: it must be at least 1 × 1")
    # Refused and not clipped: a wrong order of the numbers is the usual reason.
    inside = min(left, top) >= 0 and left + width <= size[0] and top + height <= size[1]
    message = f"{given} is not inside the picture, which is {size[0]} × {size[1]} pixels"
    require(inside, f"{message}: use LEFT TOP WIDTH HEIGHT")
    return Outline.box(name, left, top, width, height)


def parse_polygon(text: str) -> list[tuple[float, float]]:
    """The corners of a polygon from "x,y x,y …", from JSON, or from a file with JSON.

    Raises:
        ArgumentError: the text is none of these.
    """
    message = f'--polygon {text} is not a polygon: use "x,y x,y x,y …" or a .json file with [[x, y], …]'
    try:
        # "-sig": editors on Windows begin a file with a byte order mark.
        if text.lower().endswith(".json"):
            text = Path(text).read_text(encoding="utf-8-sig")
        pairs = json.loads(text) if text.lstrip().startswith("[") else [p.split(",") for p in text.split()]
        return [(float(x), float(y)) for x, y in pairs]
    except OSError as error:
        raise ArgumentError(f"{message} ({error.strerror or error})") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(message) from error


def save_template(template: Template, out: Path, overwrite: bool) -> None:
    """Write a template atomically; raises `UnwritableError`."""
    with write_errors(out):
        template.save(out, overwrite)


def predictions(
    template: Template, rotation: float, scale: tuple[float, float], tilt: float, console: Console
) -> list[Finding]:
    """Findings about how well a template will be found; it is calibrated if no calibration is stored.

    Arguments:
        template: the template.
        rotation, scale, tilt: the poses that will be searched.
        console: shows the progress.
    """
    from wherein.detect.detector import Detector
    from wherein.making.forecast import forecast

    with console.progress("Calibrating (first use)") as progress:
        detector = Detector(template, rotation=rotation, scale=scale, tilt=tilt, progress=progress)
    with console.progress("Predicting") as progress:
        return forecast(detector, progress)


def summary(template: Template) -> str:
    """A line about a template: its name, parts, joints and size."""
    tree, (width, height) = template.parts, template.size
    joints = sum(part.moves for part in tree.values())
    parts = f"{len(tree.leaves)} parts" if len(tree.leaves) > 1 else "one motif"
    moving = f", {joints} joint{'s' * (joints != 1)}" if joints or len(tree.leaves) > 1 else ""
    return f"{template.name}: {parts}{moving}, {width} × {height} pixels"


def check_lines(template: Template, found: Sequence[Finding], quiet: bool) -> Iterator[str]:
    """Yield what was found out about a template as text, line by line."""
    yield summary(template)
    if len(template.parts) > 1:  # the summary says it all of one motif
        yield from tree_lines(template.parts)
    yield from map(str, found)
    if not quiet and all(finding.severity is Severity.NOTE for finding in found):
        yield "no problems found"


def sheets(library: Library, draw: Path | None, stem: str, overwrite: bool) -> dict[str, Path | None]:
    """The picture to draw of each template, by its name; arguments as of `check_drawing`."""
    if not library.several:
        return {library.only.name: check_drawing(draw, stem, overwrite)}
    one_file = draw is not None and is_file_name(draw)
    several = f"--draw {draw} is one picture, and {stem} has {len(library)} templates: use a folder"
    require(not one_file, several)
    stems = {one.name: Path(one.source).stem if one.source else one.name for one in library.templates}
    return {name: check_drawing(draw, own, overwrite) for name, own in stems.items()}


def tree_lines(tree: Tree, name: str | None = None, indent: str = "") -> Iterator[str]:
    """The tree of parts as lines of text, one per part."""
    if name is None:
        yield _part_line(tree, tree.root)
        name = tree.root
    children = tree.children(name)
    for child in children:
        last = child == children[-1]
        yield f"{indent}{'└─ ' if last else '├─ '}{_part_line(tree, child)}"
        yield from tree_lines(tree, child, indent + ("   " if last else "│  "))


def _part_line(tree: Tree, name: str) -> str:
    part = tree[name]
    facts = [] if part.motif is None else [f"{part.motif.width} × {part.motif.height}"]
    if part.moves:
        facts.append(f"turns ±{part.turn:g}° about ({part.joint[0]:g}, {part.joint[1]:g})")
    return f"{name}  {', '.join(facts)}".rstrip()


def to_record(template: Template, found: Sequence[Finding]) -> dict[str, Any]:
    """The template's parts and findings as a dictionary for JSON."""
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


def draw_sheet(template: Template, found: Sequence[Finding], path: Path) -> None:
    """Draw the parts, joints, masks and findings of a template to a file."""
    from wherein.drawing.template_sheet import sheet

    save(sheet(template, found), path)

"""Drafts: objects as they are outlined in the page. A draft is compiled to a template, or made from one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator
from torch import Tensor

from wherein.errors import TemplateError
from wherein.formats.part_outline import Outline
from wherein.images.load import load_picture
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.images.polygons import Polygon
from wherein.making.cutout import cut
from wherein.making.picture_turns import picture_turn
from wherein.studio.bounds import Bounds
from wherein.studio.id_map import IdMap
from wherein.studio.mask_outlines import editable_outline
from wherein.template.bundle import Template
from wherein.template.part_limits import DEFAULT_TURN, MAX_NAME, MAX_PARTS
from wherein.template.reading import MAX_POINTS, MAX_UNIT, Reading
from wherein.template.tree import Part, Point, Tree

_MAX_CORNERS = 20_000
"""Maximum number of corners of a part. A choice: far more than a person draws."""

_GROUP = "_group"
"""Suffix that `cut` gives to the group of a part that has both an outline and child parts."""

Place = tuple[FiniteFloat, FiniteFloat]
"""(x, y) in pixels of the picture; pixel centres are at whole numbers."""

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]


class _DraftModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DraftReading(_DraftModel):
    """The reading of a part: its unit, and points (turn, value), as in template.json."""

    unit: Annotated[str, Field(max_length=MAX_UNIT)] = ""
    at: Annotated[tuple[Place, ...], Field(max_length=MAX_POINTS)]


class DraftPart(_DraftModel):
    """An outlined part, or a group.

    Attributes:
        name, parent, pivot, turn, static, reading: as in `wherein.making.Outline`.
        points: the corners of its outline; None for a group.
        pixels_from: the part of the opened template whose pixels it keeps until the outline is edited; None:
            it is cut out of the picture.
    """

    name: Name
    parent: Name | None = None
    points: Annotated[tuple[Place, ...], Field(max_length=_MAX_CORNERS)] | None = None
    pixels_from: Name | None = None
    pivot: Place | None = None
    turn: Annotated[FiniteFloat, Field(ge=0, le=180)] = DEFAULT_TURN
    static: bool = False
    reading: DraftReading | None = None

    def outline(self) -> Outline:
        """The outline to cut along."""
        reading = None if self.reading is None else self.reading.model_dump()
        return Outline(
            self.name, self.points, self.parent, self.pivot, self.turn, self.static, reading=reading
        )


class Draft(_DraftModel):
    """An outlined object.

    Attributes:
        name: the name of the template.
        picture: the id of the picture.
        parts: the parts and groups, in any order.
        paint_order: names of the parts that have an outline, the lowest first.
    """

    name: Name
    picture: str
    parts: Annotated[tuple[DraftPart, ...], Field(max_length=MAX_PARTS)]
    paint_order: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _has_an_outline(self) -> "Draft":
        if not any(part.points is not None for part in self.parts):
            raise ValueError("Nothing is outlined yet. Draw an outline around the object.")
        return self


@dataclass(frozen=True, eq=False)
class DraftPicture:
    """A picture on which parts are outlined.

    Attributes:
        name: its label.
        picture: the pixels.
        template: the opened template, if the picture is the canvas of one.
        draft: the opened template as a draft, without the id of the picture.
    """

    name: str
    picture: Picture
    template: Template | None = None
    draft: Draft | None = None


class DraftPictures:
    """The pictures of a session on which parts are outlined, by id.

    Arguments:
        bounds: on what is kept.

    Attributes:
        latest: the draft that was compiled last, in whichever browser; None: there was none yet.
    """

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.latest: Draft | None = None
        self._pictures = IdMap[DraftPicture](
            "picture", bounds.pictures, lambda one: one.picture.samples[0].numel(), bounds.total_pixels
        )

    def __getitem__(self, key: str) -> DraftPicture:
        return self._pictures[key]

    def add_file(self, path: Path, name: str) -> str:
        """Load and keep a picture; returns its id."""
        return self._pictures.add(DraftPicture(name, load_picture(path, max_pixels=self.bounds.pixels)))

    def open(self, template: Template, name: str) -> Draft:
        """Keep the canvas of a template; returns the template as a draft."""
        draft = draft_from(template)
        key = self._pictures.add(DraftPicture(name, opaque_canvas(template), template, draft))
        return draft.model_copy(update={"picture": key})

    def open_file(self, path: Path, name: str) -> Draft:
        """Open a template's .zip; returns the template as a draft."""
        # The uploaded file is temporary. Without a source, no calibration is written beside it.
        return self.open(replace(Template.load(path, self.bounds.total_pixels), source=None), name)

    def compile(self, draft: Draft) -> Template:
        """The template of a draft.

        Raises:
            ExpiredIdError: its picture is no longer kept.
            TemplateError: it cannot be cut out; the message names the part.
        """
        picture, self.latest = self[draft.picture], draft
        # `compile_draft` compares drafts. That of an opened template was made before its picture had an id.
        return compile_draft(draft.model_copy(update={"picture": ""}), picture)


def compile_draft(draft: Draft, source: DraftPicture) -> Template:
    """Cut a template out of a picture along the outlines of a draft.

    In an opened template, parts whose outline was not edited keep their pixels. They cannot be cut out of the
    canvas again, where other parts may cover them.

    Raises:
        TemplateError: it cannot be cut out; the message names the part.
    """
    base = source.template
    if base is None:
        return cut(source.picture, [part.outline() for part in draft.parts], draft.name, draft.paint_order)
    if source.draft is not None and draft.model_copy(update={"name": source.draft.name}) == source.draft:
        return replace(base, name=draft.name)  # unchanged: its calibration remains valid
    # All parts are cut along their outlines first, which determines the tree, the joints and the canvas. Then
    # kept parts get their original pixels back.
    kept = {
        part.name: _kept_part(part, base)
        for part in draft.parts
        if part.pixels_from is not None and part.points is not None
    }
    outlines = [_outline(part, kept.get(part.name), base.size) for part in draft.parts]
    drawn = [part.name for part in draft.parts if part.points is not None and part.name not in kept]
    plane = base.parts.plane
    made = cut(source.picture, outlines, draft.name, draft.paint_order, keep_covered=not drawn, plane=plane)
    corner, parts = _canvas_corner(made, outlines), dict(made.parts)
    for name, part in kept.items():
        # Kept parts keep the pixels that other kept parts cover: only newly drawn parts are cut out of them.
        above = made.paint_order[made.paint_order.index(name) + 1 :]
        covered = _coverage(made, [other for other in above if other in drawn])
        parts[name] = _with_pixels(made.parts[name], part, corner, covered)
    return replace(made, parts=Tree(parts, made.parts.plane))


def _kept_part(part: DraftPart, base: Template) -> Part:
    """The part of the opened template whose pixels are kept; it may have been renamed in the draft."""
    kept = base.parts.get(part.pixels_from or "")
    if kept is None or kept.motif is None:
        raise TemplateError(f'The opened template has no picture for "{part.name}". Redraw its outline.')
    return kept


def _outline(part: DraftPart, kept: Part | None, size: tuple[int, int]) -> Outline:
    """The outline to cut along; every leaf gets a pivot, because `_canvas_corner` needs one."""
    outline = part.outline()
    if not part.points:  # `cut` says what is wrong with an outline without corners
        return outline
    x, y = outline.pivot or np.mean(part.points, axis=0)
    outline = replace(outline, pivot=(float(x), float(y)))
    return outline if kept is None else replace(outline, polygon=None, mask=mask_on_canvas(kept, size))


def _canvas_corner(made: Template, outlines: Sequence[Outline]) -> Point:
    """The position in the picture of the new canvas's top-left pixel.

    `cut` crops the canvas to the outlines. A part without children keeps its joint. Hence the corner is the
    position of the joint in the picture minus its position on the canvas.
    """
    parents = {outline.parent for outline in outlines}
    end = next(outline for outline in outlines if outline.name not in parents)
    assert end.pivot is not None, "every leaf has one, and a part without children is a leaf"
    x, y = made.parts[end.name].joint
    return end.pivot[0] - x, end.pivot[1] - y


def _coverage(made: Template, names: Sequence[str]) -> Float[Tensor, "H W"]:
    """The fraction of each canvas pixel that the named parts cover."""
    planes = [torch.from_numpy(mask_on_canvas(made.parts[name], made.size)) for name in names]
    return torch.stack([torch.zeros(made.size[::-1]), *planes]).sum(0).clamp_max(1)


def _with_pixels(part: Part, kept: Part, corner: Point, covered: Float[Tensor, "H W"]) -> Part:
    """A new part with the picture of a kept one, except where newly drawn parts cover it."""
    assert kept.motif is not None, "a leaf"
    height, width = kept.motif.mask.shape
    at = kept.at[0] - corner[0], kept.at[1] - corner[1]
    # The part may reach beyond the canvas. Padding by its size makes the slice valid wherever it lies.
    left, top = round(at[0]) + width, round(at[1]) + height
    taken = F.pad(covered, (width, width, height, height))[top : top + height, left : left + width]
    motif = Motif(kept.motif.pixels, (kept.motif.mask * (1 - taken) * 255).round() / 255)
    # The joint stays where it is on the canvas; `pivot` is relative to the new picture.
    x, y = part.joint
    return replace(part, motif=motif, at=at, pivot=(x - at[0], y - at[1]))


def draft_from(template: Template, picture: str = "") -> Draft:
    """A template as a draft: masks are converted to outlines, and implicit groups are removed.

    Compiling the draft restores the template.

    Arguments:
        template: the template.
        picture: the id of its canvas.
    """
    tree = template.parts
    implicit = _implicit_groups(tree)
    # A root that is a group is removed too: parts below it have no parent in a draft.
    shown = [
        part
        for part in tree.values()
        if part.name not in implicit and (part.parent is not None or part.motif is not None)
    ]
    return Draft(
        name=template.name,
        picture=picture,
        parts=tuple(_draft_part(part, template, implicit) for part in shown),
        paint_order=template.paint_order,
    )


def _implicit_groups(tree: Tree) -> dict[str, str]:
    """The part of each group that `cut` made for a part with children; in a draft, the part has the joint."""
    found = {}
    for name in tree:
        leaf = name.removesuffix(_GROUP)
        if leaf != name and leaf in tree.children(name) and tree[leaf].static:
            found[name] = leaf
    body = [name for name in tree.children(tree.root) if tree[name].motif is not None and tree[name].static]
    if len(body) == 1:  # all other parts are attached to it
        found[tree.root] = body[0]
    return found


def _draft_part(part: Part, template: Template, implicit: dict[str, str]) -> DraftPart:
    tree, above = template.parts, part.parent
    # The leaf of an implicit group has the joint, the reading and the parent of the group.
    jointed = tree[above] if above is not None and implicit.get(above) == part.name else part
    parent = implicit.get(jointed.parent or "", jointed.parent)
    is_root = jointed.parent is None
    polygon = None
    if part.motif is not None:
        # The outline has few corners, to be edited. Until it is edited, the pixels and the mask are those of
        # the template.
        polygon = _checked(editable_outline(part.motif.mask.numpy() > 0.5), part.name) + np.array(part.at)
    return DraftPart(
        name=part.name,
        parent=None if parent == tree.root else parent,
        points=None if polygon is None else tuple((x, y) for x, y in polygon.tolist()),
        pixels_from=None if part.motif is None else part.name,
        pivot=None if is_root else jointed.joint,
        turn=jointed.turn,
        static=jointed.static or is_root,
        reading=None if jointed.reading is None else _draft_reading(jointed.reading, jointed.name, template),
    )


def _draft_reading(reading: Reading, name: str, template: Template) -> DraftReading:
    """A reading with the turns that one sees on the canvas."""
    at = tuple((picture_turn(template, name, turn), value) for turn, value in reading.at)
    return DraftReading(**Reading(reading.unit, at).to_dict())


def _checked(polygon: Polygon, name: str) -> Polygon:
    if len(polygon) > _MAX_CORNERS:
        raise TemplateError(
            f'The outline of "{name}" has {len(polygon)} corners. The studio edits outlines of up to '
            f"{_MAX_CORNERS:,}."
        )
    return polygon


def opaque_canvas(template: Template) -> Picture:
    """The canvas as a picture to outline. Transparent pixels become white, since parts may be added there."""
    pixels, mask = template.canvas.pixels, template.canvas.mask
    if mask is None:
        return template.canvas
    return Picture(torch.where(mask > 0, pixels, torch.ones_like(pixels)), None)


def mask_on_canvas(part: Part, size: tuple[int, int]) -> NDArray[np.float32]:
    """The mask of a leaf on the canvas, (H, W), at a position rounded to whole pixels."""
    assert part.motif is not None, "a leaf"
    levels = np.zeros((size[1], size[0]), dtype=np.float32)
    left, top = round(part.at[0]), round(part.at[1])
    rows, columns = slice(max(top, 0), top + part.motif.height), slice(max(left, 0), left + part.motif.width)
    window = levels[rows, columns]
    mask = part.motif.mask.numpy()[max(-top, 0) :, max(-left, 0) :]
    window[:] = mask[: window.shape[0], : window.shape[1]]
    return levels

"""labelme's JSON: a shape a part, by its label; the group tells the object.

- A polygon, rectangle, circle or mask is a part, called as its label; several of one label are one part.
- A point labelled `claw.pivot` (or `claw.joint`, or `claw` alone) is the joint of the part `claw`, which may
  then turn by ±30°. A part without a joint is fixed to what it hangs on.
- The description or the flags of a shape, or of its point, may say more: `turn=40`, `static`, `parent=arm`,
  `pivot=120,84`. A parent that has no shape is a group; `arm.pivot` is its joint.
"""

import base64
import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated as With
from typing import Any

import numpy as np
from pydantic import BeforeValidator, FiniteFloat

from wherein.errors import ArgumentError, PictureError, TemplateError
from wherein.formats.annotated import (
    Annotated,
    AnyPath,
    Record,
    Shape,
    beside,
    checked,
    loaded,
    outlined,
    parsed,
)
from wherein.formats.part_notes import HALF, Told, add_groups, from_text
from wherein.images.load import Picture, Source, load_bytes, load_mask

_JOINT = re.compile(r"^(?P<part>.*?)[\s._:/-]*(?:pivot|joint)$", re.IGNORECASE)
_CORNERS = 64
"""Of the polygon that stands for a circle."""

_NONE = "none"
"""What the object of shapes without a group is called."""


class _Shape(Record):
    label: With[str, BeforeValidator(str)]
    points: list[tuple[FiniteFloat, FiniteFloat]]
    shape_type: str = "polygon"
    group_id: int | str | None = None
    flags: dict[str, Any] | None = None
    description: str | None = None
    mask: str | None = None

    @property
    def thing(self) -> str:
        """The object that it belongs to."""
        return _NONE if self.group_id is None else str(self.group_id)

    @property
    def told(self) -> Told:
        """What flags and description say."""
        flags = (name for name, on in (self.flags or {}).items() if on)
        return from_text(" ; ".join((*flags, self.description or "")), f'the shape "{self.label}"')


class _File(Record):
    shapes: list[_Shape]
    imagePath: str | None = None  # noqa: N815, as labelme calls it
    imageData: str | None = None  # noqa: N815
    imageWidth: int | None = None  # noqa: N815
    imageHeight: int | None = None  # noqa: N815


def read(path: AnyPath, picture: Source | None = None, thing: str | None = None) -> Annotated:
    """The picture and the parts of one object out of a labelme file.

    Arguments:
        path: of the .json file.
        picture: in place of the one that is in the file, or beside it.
        thing: the group of the object, "none" for shapes without one; needed where there are several.

    Raises:
        TemplateError: the file is not as it must be; the message names the shape.
        ArgumentError: there are several objects and none was chosen, or one that is not there.
        PictureError: its picture cannot be read, or has another size.
    """
    return understood(parsed(path), path, picture, thing)


def understood(
    record: Mapping[str, Any], path: AnyPath, picture: Source | None, thing: str | None
) -> Annotated:
    """As `read`, of JSON that is parsed already; `path` is where it came from."""
    file = checked(_File, record, path)
    image = loaded(
        _source(file, path) if picture is None else picture, path, file.imageWidth, file.imageHeight
    )
    shapes = _of_thing(file.shapes, thing, path)
    areas: dict[str, list[_Shape]] = {}
    notes = []
    for shape in shapes:
        if shape.shape_type in _DRAWN:
            areas.setdefault(shape.label, []).append(shape)
        elif shape.shape_type != "point":
            notes.append(f'left out "{shape.label}": a {shape.shape_type} has no inside')
    if not areas:
        raise TemplateError(f"{path} has no polygon, rectangle, circle or mask: outline at least one part")
    told = {label: _told(pieces) for label, pieces in areas.items()}
    notes += _add_joints(told, [shape for shape in shapes if shape.shape_type == "point"])
    outlines = []
    for label, said in told.items():
        drawn = [_DRAWN[piece.shape_type](piece, image) for piece in areas.get(label, ())]
        outlines.append(outlined(label, drawn, said, image))
    return Annotated(image, tuple(outlines), tuple(notes))


def _source(file: _File, path: AnyPath) -> Source:
    """The picture in the file, or the one beside it."""
    if file.imageData:
        return _embedded(file.imageData, f"{path}: its imageData")
    if not file.imagePath:
        raise TemplateError(f"{path} has neither imageData nor imagePath: give the picture itself")
    return beside(path, file.imagePath)


def _embedded(data: str, what: str) -> Picture:
    try:
        contents = base64.b64decode(data)
    except ValueError as error:
        raise PictureError(f"{what} is not a picture: {error}") from error
    return load_bytes(contents, role=what)


def _of_thing(shapes: Sequence[_Shape], thing: str | None, path: AnyPath) -> list[_Shape]:
    """The shapes of one object; points without a group may belong to any."""
    things = list(dict.fromkeys(shape.thing for shape in shapes if shape.shape_type != "point"))
    if thing is None and len(things) > 1:
        raise ArgumentError(f"{path} has several objects, the groups {', '.join(things)}: choose an object")
    if thing is not None and thing not in things:
        raise ArgumentError(f"{path} has no object {thing!r}: its groups are {', '.join(things) or 'none'}")
    wanted = thing if thing is not None else (things or [_NONE])[0]
    return [s for s in shapes if s.thing == wanted or (s.shape_type == "point" and s.thing == _NONE)]


def _told(pieces: Sequence[_Shape]) -> Told:
    said = Told()
    for piece in pieces:
        said = said.over(piece.told)
    return said


def _add_joints(told: dict[str, Told], points: Sequence[_Shape]) -> list[str]:
    """Give points to the parts and groups that they name; returns what is to be said about the others."""
    named: dict[str, Told] = {}
    for point in points:
        match = _JOINT.match(point.label)
        part = match["part"] if match and match["part"] and point.label not in told else point.label
        if len(point.points) != 1:
            raise TemplateError(f'the point "{point.label}" has {len(point.points)} places: it needs one')
        x, y = point.points[0]
        named[part] = point.told.over(Told(pivot=(x - HALF, y - HALF)))
    for part in named.keys() & told.keys():
        told[part] = told[part].over(named[part])
    add_groups(told, named)
    return [f'left out the point "{part}": no part is called so' for part in named if part not in told]


def _polygon(shape: _Shape, picture: Picture) -> Shape:
    return Shape(np.array(shape.points, dtype=np.float64).reshape(-1, 2) - HALF)


def _rectangle(shape: _Shape, picture: Picture) -> Shape:
    if len(shape.points) > 2:  # as some tools write it: all its corners
        return _polygon(shape, picture)
    (x0, y0), (x1, y1) = _two(shape)
    return Shape(np.array(((x0, y0), (x1, y0), (x1, y1), (x0, y1))) - HALF)


def _circle(shape: _Shape, picture: Picture) -> Shape:
    (x, y), edge = _two(shape)
    turns = np.arange(_CORNERS) * (2 * math.pi / _CORNERS)
    around = np.stack((np.cos(turns), np.sin(turns)), 1)
    return Shape(np.array((x, y)) - HALF + math.dist((x, y), edge) * around)


def _mask(shape: _Shape, picture: Picture) -> Shape:
    """A picture of its own, whose first and last pixel the points name."""
    (x0, y0), _ = _two(shape)
    levels = load_mask(_embedded(shape.mask or "", f'the mask "{shape.label}"'))
    whole = np.zeros(picture.pixels.shape[-2:], dtype=np.float32)
    left, top = round(x0), round(y0)
    room = whole[max(0, top) : top + levels.shape[0], max(0, left) : left + levels.shape[1]]
    room[:] = levels.numpy()[max(0, -top) :, max(0, -left) :][: room.shape[0], : room.shape[1]]
    return Shape(mask=whole)


def _two(shape: _Shape) -> list[tuple[float, float]]:
    if len(shape.points) != 2:
        raise TemplateError(
            f'the {shape.shape_type} "{shape.label}" has {len(shape.points)} points: it needs two'
        )
    return shape.points


_DRAWN = {"polygon": _polygon, "rectangle": _rectangle, "circle": _circle, "mask": _mask}

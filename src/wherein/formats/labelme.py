"""labelme: detections written as its JSON, one file per scene, and annotations read from one file.

Writing: each part that was found is a polygon, and each object is a group. A shape of labelme is one polygon,
so a hole is joined to the outline around it by a line there and back.

Reading: shapes are parts, named by their labels; the group of a shape is the object that it belongs to.

- A polygon, rectangle, circle or mask is a part; several with one label are one part.
- A point labelled `claw.pivot` (or `claw.joint`, or just `claw`) is the joint of the part `claw`, which may
  then turn by `DEFAULT_TURN`. A part without a joint is fixed to its parent.
- The description and the flags of a shape, or of a point, may contain settings: `turn=40`, `static`,
  `parent=arm`, `pivot=120,84`. A parent without a shape is a group; `arm.pivot` is its joint.
"""

import base64
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BeforeValidator, FiniteFloat

from wherein.errors import ArgumentError, PictureError, TemplateError
from wherein.formats.annotation import (
    Annotation,
    AnyPath,
    Id,
    Name,
    Record,
    Shape,
    annotated_picture,
    outline_of_shapes,
    picture_path,
    validated,
)
from wherein.formats.detection_outlines import DetectionOutline, detection_outlines, leaves
from wherein.formats.export_target import AddScene, ExportTarget, json_text, text_file
from wherein.formats.joint_spec import JointSpec, add_groups, from_text
from wherein.images.load import Source, load_bytes, load_mask
from wherein.images.picture import Picture
from wherein.images.polygons import CORNER_OFFSET, Polygon, components, joined

if TYPE_CHECKING:
    from wherein.detect.result import Detections
    from wherein.template.template_library import Library

_VERSION = "5.5.0"
"""The release of labelme that defines these fields; other releases read them too."""

_JOINT_LABEL = re.compile(r"^(?P<part>.*?)[\s._:/-]*(?:pivot|joint)$", re.IGNORECASE)

_CIRCLE_CORNERS = 64
"""Corners of the polygon that replaces a circle. A choice: for a radius of 100 pixels its error is 0.12."""

_NO_GROUP = "none"
"""The id of the object to which shapes without a group belong."""


@contextmanager
def export(target: ExportTarget, library: "Library") -> Iterator[AddScene]:
    """Export each scene to its own file, which names the picture relative to itself, as labelme requires."""

    def add(scene: Path, found: "Detections") -> None:
        path = target.scene_files[scene]
        name = Path(os.path.relpath(scene, path.parent)).as_posix()
        with text_file(path) as file:
            file.write(json_text(labelme(found, name)) + "\n")

    yield add


def labelme(found: "Detections", name: str) -> dict[str, Any]:
    """Detections in the JSON of labelme, without the parts that were not found.

    Arguments:
        found: the detections in a scene.
        name: the path of its picture, relative to the folder of the JSON file.

    Raises:
        ArgumentError: the scene could not be searched.
    """
    found.check_searched()
    width, height = found.size
    return {
        "version": _VERSION,
        "flags": {},
        "shapes": _written_shapes(found),
        "imagePath": name,
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
    }


def _written_shapes(found: "Detections") -> list[dict[str, Any]]:
    """The shapes of all detections.

    A shape is one polygon, so an object of several parts is a group and has no shape of its own. A part of
    several components has one shape for each.
    """
    shapes = []
    for outline in detection_outlines(found):
        names = leaves(found[outline.instance - 1]) if outline.part is None else [outline.part]
        if len(names) == 1:
            # In a library, parts of two templates may have the same name.
            several = bool(found.templates) and outline.part is not None
            label = f"{outline.template}: {names[0]}" if several else names[0]
            each = components(outline.shapes[0])
            shapes += [_written_shape(label, outline, joined(rings)) for rings in each]
    return shapes


def _written_shape(label: str, outline: DetectionOutline, polygon: Polygon) -> dict[str, Any]:
    return {
        "label": label,
        "points": (polygon + CORNER_OFFSET).round(2).tolist(),
        "group_id": outline.instance,
        "description": "",
        "shape_type": "polygon",
        "flags": {},
        "mask": None,
    }


class _Shape(Record):
    label: Annotated[Name, BeforeValidator(str)]
    points: list[tuple[FiniteFloat, FiniteFloat]]
    shape_type: Name = "polygon"
    group_id: Id | None = None
    flags: dict[str, Any] | None = None
    description: str | None = None
    mask: str | None = None

    @property
    def object_id(self) -> str:
        """The id of the object that the shape belongs to."""
        return _NO_GROUP if self.group_id is None else str(self.group_id)

    @property
    def joint(self) -> JointSpec:
        """The joint's settings in the flags and in the description, which has priority."""
        # A flag of labelme is a checkbox, whose label may be "static".
        flags = (name for name, on in (self.flags or {}).items() if on)
        return from_text(" ; ".join((*flags, self.description or "")), f'the shape "{self.label}"')


class _File(Record):
    shapes: list[_Shape]
    imagePath: str | None = None  # noqa: N815, as labelme calls it
    imageData: str | None = None  # noqa: N815
    imageWidth: int | None = None  # noqa: N815
    imageHeight: int | None = None  # noqa: N815


def parse(record: Mapping[str, Any], path: AnyPath, image: str | None, object_id: str | None) -> Annotation:
    """One object of a labelme file; arguments and errors as in `annotation.read`."""
    file = validated(_File, record, path)
    source = _source(file, path) if image is None else Path(image)
    picture = annotated_picture(source, path, file.imageWidth, file.imageHeight)
    shapes = _choose_object(file.shapes, object_id, path)
    pieces = _by_part(shapes, path)
    joints = {part: _joint(own) for part, own in pieces.items()}
    notes = [
        *(f'ignored "{s.label}": a {s.shape_type} has no area' for s in shapes if s.shape_type not in _KNOWN),
        *_add_points(joints, [shape for shape in shapes if shape.shape_type == "point"]),
    ]
    regions = {part: [_REGIONS[s.shape_type](s, picture) for s in own] for part, own in pieces.items()}
    outlines = [
        outline_of_shapes(part, regions.get(part, ()), joint, picture) for part, joint in joints.items()
    ]
    return Annotation(picture, tuple(outlines), tuple(notes))


def _source(file: _File, path: AnyPath) -> Source:
    """The picture embedded in the file, or the path of the picture that it names."""
    if file.imageData:
        return _embedded(file.imageData, f"{path}: imageData")
    if not file.imagePath:
        raise TemplateError(
            f"{path} has neither imageData nor imagePath: choose the picture with image= or --image"
        )
    return picture_path(path, file.imagePath)


def _embedded(data: str, what: str) -> Picture:
    try:
        contents = base64.b64decode(data)
    except ValueError as error:
        raise PictureError(f"{what} is not a picture: {error}") from error
    return load_bytes(contents, role=what)


def _choose_object(shapes: Sequence[_Shape], object_id: str | None, path: AnyPath) -> list[_Shape]:
    """The shapes of one object; points without a group are included, since they may belong to any object."""
    known = list(dict.fromkeys(shape.object_id for shape in shapes if shape.shape_type != "point"))
    if object_id is None and len(known) > 1:
        raise ArgumentError(
            f"{path} has several objects: choose one with object_id= or --object ({', '.join(known)})"
        )
    if object_id is not None and object_id not in known:
        raise ArgumentError(
            f"{path} has no object {object_id!r}: its groups are {', '.join(known) or 'none'}"
        )
    chosen = object_id if object_id is not None else (known or [_NO_GROUP])[0]
    return [
        shape
        for shape in shapes
        if shape.object_id == chosen or (shape.shape_type == "point" and shape.object_id == _NO_GROUP)
    ]


def _by_part(shapes: Sequence[_Shape], path: AnyPath) -> dict[str, list[_Shape]]:
    """The shapes that have an area, by the part that is their label."""
    pieces: dict[str, list[_Shape]] = {}
    for shape in shapes:
        if shape.shape_type in _REGIONS:
            pieces.setdefault(shape.label, []).append(shape)
    if not pieces:
        raise TemplateError(f"{path} has no polygon, rectangle, circle or mask: outline at least one part")
    return pieces


def _joint(pieces: Sequence[_Shape]) -> JointSpec:
    """The joint of a part: of each setting, the first value that its shapes give."""
    joint = JointSpec()
    for piece in pieces:
        joint = joint.or_else(piece.joint)
    return joint


def _add_points(joints: dict[str, JointSpec], points: Sequence[_Shape]) -> list[str]:
    """Add the points as pivots of the parts and groups that they name; returns notes about the others."""
    named: dict[str, JointSpec] = {}
    for point in points:
        match = _JOINT_LABEL.match(point.label)
        # A part may really be called "elbow joint": the whole label takes precedence.
        part = match["part"] if match and match["part"] and point.label not in joints else point.label
        if len(point.points) != 1:
            raise TemplateError(
                f'the point "{point.label}" has {len(point.points)} positions: it must have one'
            )
        x, y = point.points[0]
        named[part] = point.joint.or_else(JointSpec(pivot=(x - CORNER_OFFSET, y - CORNER_OFFSET)))
    for part in named.keys() & joints.keys():
        joints[part] = joints[part].or_else(named[part])
    add_groups(joints, named)
    return [f'ignored the point "{part}": there is no part "{part}"' for part in named if part not in joints]


def _polygon(shape: _Shape, picture: Picture) -> Shape:
    return Shape(np.array(shape.points, dtype=np.float64).reshape(-1, 2) - CORNER_OFFSET)


def _rectangle(shape: _Shape, picture: Picture) -> Shape:
    if len(shape.points) > 2:  # some tools write all corners, and not two opposite ones
        return _polygon(shape, picture)
    (x0, y0), (x1, y1) = _two_points(shape)
    return Shape(np.array(((x0, y0), (x1, y0), (x1, y1), (x0, y1))) - CORNER_OFFSET)


def _circle(shape: _Shape, picture: Picture) -> Shape:
    """The region of a circle, which is given by its centre and a point on it."""
    (x, y), edge = _two_points(shape)
    angles = np.arange(_CIRCLE_CORNERS) * (2 * math.pi / _CIRCLE_CORNERS)
    unit = np.stack((np.cos(angles), np.sin(angles)), 1)
    return Shape(np.array((x, y)) - CORNER_OFFSET + math.dist((x, y), edge) * unit)


def _mask(shape: _Shape, picture: Picture) -> Shape:
    """The region of a mask: an embedded picture, placed by its first pixel; it may reach beyond the scene."""
    (x0, y0), _ = _two_points(shape)
    levels = load_mask(_embedded(shape.mask or "", f'the mask "{shape.label}"'))
    mask = np.zeros(picture.samples.shape[-2:], dtype=np.float32)
    left, top = round(x0), round(y0)
    # At least 0: a negative end of a slice counts from the other side.
    bottom, right = max(0, top + levels.shape[0]), max(0, left + levels.shape[1])
    inside = mask[max(0, top) : bottom, max(0, left) : right]
    inside[:] = levels.numpy()[max(0, -top) :, max(0, -left) :][: inside.shape[0], : inside.shape[1]]
    return Shape(mask=mask)


def _two_points(shape: _Shape) -> list[tuple[float, float]]:
    if len(shape.points) != 2:
        raise TemplateError(
            f'the {shape.shape_type} "{shape.label}" has {len(shape.points)} points: it must have two'
        )
    return shape.points


_REGIONS = {"polygon": _polygon, "rectangle": _rectangle, "circle": _circle, "mask": _mask}
"""The types of shapes that have an area, and the functions that convert them to regions."""

_KNOWN = (*_REGIONS, "point")

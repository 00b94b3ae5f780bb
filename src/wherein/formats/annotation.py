"""Annotation files: a picture and the outlines of the parts of one object, drawn in another program.

`read` takes any format that is known. The rest is what the formats share: JSON and its checks, the picture
that a file is about, and shapes that make up a part.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from wherein.errors import PictureError, TemplateError
from wherein.files import inside
from wherein.formats.joint_spec import JointSpec
from wherein.formats.part_outline import Outline
from wherein.formats.registry import FORMATS
from wherein.images.load import Source, load_picture
from wherein.images.picture import Picture
from wherein.images.polygons import Polygon, coverage
from wherein.template.part_limits import DEFAULT_TURN, MAX_NAME

_MAX_BYTES = 256 * 2**20
"""A choice: COCO's own largest file has 450 MB for 118,000 pictures; a template is made from a few."""

AnyPath = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Annotation:
    """What was read from an annotation file.

    Attributes:
        picture: that it is about.
        outlines: the parts of one object, for `making.cut`.
        notes: what was ignored or replaced, a sentence each.
    """

    picture: Picture
    outlines: tuple[Outline, ...]
    notes: tuple[str, ...]


def read(path: AnyPath, image: str | None = None, object_id: str | None = None) -> Annotation:
    """The picture and the outlines of one object from an annotation file, by labelme or in COCO's format.

    Arguments:
        path: of the .json file.
        image: the file of the picture, instead of the one that the annotation names; or, where it is about
            several pictures, the name or id of one of them.
        object_id: which object, where there are several: a group, or in COCO the id of an annotation.

    Raises:
        TemplateError: the file has an unknown format, or something in it is wrong.
        ArgumentError: there are several pictures or objects and none was chosen, or that one does not exist.
        PictureError: the picture cannot be read, or has another size than annotated.
    """
    record = _load_json(path)
    readable = [entry for entry in FORMATS.values() if entry.keys]
    for entry in readable:
        if all(key in record for key in entry.keys):
            return entry.parse(record, path, image, object_id)
    known = " or ".join(f"{entry.name} (with the keys {', '.join(entry.keys)})" for entry in readable)
    raise TemplateError(f"{path} has an unknown format: use an annotation file of {known}")


def _load_json(path: AnyPath) -> dict[str, Any]:
    file = Path(path)
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise TemplateError(
                f"{path} is larger than {_MAX_BYTES // 2**20} MB, the maximum for annotation files"
            )
        # "-sig": editors on Windows begin a file with a byte order mark.
        record = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise TemplateError(f"{path} cannot be read: {error.strerror or error}") from error
    except RecursionError:
        raise TemplateError(f"{path} cannot be read: its JSON is nested too deeply") from None
    except ValueError as error:  # invalid JSON, invalid UTF-8, or a number of too many digits
        raise TemplateError(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise TemplateError(f"{path} contains a {type(record).__name__}, but must contain a JSON object")
    return record


class Record(BaseModel):
    """Part of an annotation file. Fields that are not declared may be anything: tools add their own."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Name = Annotated[str, Field(max_length=MAX_NAME)]
"""Of a part, and whatever else messages repeat."""

Id = int | Name
"""Of a picture, an annotation, a category or an object."""

Model = TypeVar("Model", bound=Record)


def validated(model: type[Model], record: object, path: AnyPath) -> Model:
    """JSON as a model.

    Raises:
        TemplateError: a field is missing or wrong; the message names it.
    """
    try:
        return model.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise TemplateError(f'{path}: "{place}": {first["msg"]}') from error


def picture_path(path: AnyPath, name: str) -> Path:
    """The file of a picture that an annotation file names, in its own folder or below.

    Raises:
        TemplateError: the name leads elsewhere. Annotation files come from others, and must not make us open
            just any file.
    """
    found = inside(Path(path).parent, name.replace("\\", "/"))
    if found is None:
        raise TemplateError(
            f"{path} refers to the picture {name!r:.200} outside its folder: choose the picture with image= "
            "or --image"
        )
    return found


def annotated_picture(source: Source, path: AnyPath, width: int | None, height: int | None) -> Picture:
    """The picture of an annotation file, which must have the size that the file says.

    Raises:
        PictureError: it cannot be read, or has another size.
    """
    picture = load_picture(source, role=f"{path}: picture")
    size = (picture.samples.shape[-1], picture.samples.shape[-2])
    expected = (width or size[0], height or size[1])
    if expected != size:
        turned = " (rotated by its EXIF orientation)" if expected == size[::-1] else ""
        raise PictureError(
            f"{path} was made for a picture of {expected[0]} × {expected[1]} pixels, but the picture has "
            f"{size[0]} × {size[1]}{turned}: use the picture that was annotated"
        )
    return picture


@dataclass(frozen=True, eq=False)
class Shape:
    """A region of a part: a polygon, or a mask (H, W) of the picture's size; neither for a group."""

    polygon: Polygon | None = None
    mask: NDArray[np.float32] | None = None

    def on(self, picture: Picture) -> NDArray[np.float32]:
        """Its mask on a picture."""
        if self.polygon is None:
            assert self.mask is not None, "one of the two"
            return self.mask
        height, width = picture.samples.shape[-2:]
        return coverage(self.polygon, width, height)


def united(shapes: Sequence[Shape], picture: Picture) -> Shape:
    """One shape as it is, several as one mask: parts may show in more than one place."""
    if len(shapes) == 1:
        return shapes[0]
    return Shape(mask=np.minimum(np.sum([shape.on(picture) for shape in shapes], 0, dtype=np.float32), 1))


def outline_of_shapes(name: str, shapes: Sequence[Shape], joint: JointSpec, picture: Picture) -> Outline:
    """The outline of a part with these shapes; a group where there are none."""
    shape = united(shapes, picture) if shapes else Shape()
    # Unlike `Outline`, where only a pivot makes a part move: who writes turn=40 expects that it turns.
    static = joint.pivot is None and joint.turn is None if joint.static is None else joint.static
    turn = DEFAULT_TURN if joint.turn is None else joint.turn
    return Outline(name, shape.polygon, joint.parent, joint.pivot, turn, static, shape.mask)

"""Annotation files: a picture and the outlines of the parts of one object, drawn in another program.

`read` detects the format. The rest of this module is shared by the formats: reading and checking JSON,
loading the annotated picture, and uniting the shapes of a part.
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
"""Maximum size of an annotation file. A choice: COCO's own largest file has 450 MB for 118,000 pictures; a
template is made from a few."""

AnyPath = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Annotation:
    """The contents of an annotation file.

    Attributes:
        picture: the annotated picture.
        outlines: the parts of one object, for `making.cut`.
        notes: what was ignored or replaced, one sentence each.
    """

    picture: Picture
    outlines: tuple[Outline, ...]
    notes: tuple[str, ...]


def read(path: AnyPath, image: str | None = None, object_id: str | None = None) -> Annotation:
    """The picture and the outlines of one object from an annotation file in the format of labelme or COCO.

    Arguments:
        path: the .json file.
        image: the file of the picture, instead of the one that the annotation names; or the name or id of one
            picture, if the annotation file has several.
        object_id: the object, if there are several: the id of a group or, in COCO, of an annotation.

    Raises:
        TemplateError: the file has an unknown format, or invalid contents.
        ArgumentError: there are several pictures or objects and none was chosen, or the chosen one does not
            exist.
        PictureError: the picture cannot be read, or its size differs from the annotated size.
    """
    record = _load_json(path)
    readable = [entry for entry in FORMATS.values() if entry.keys]
    # By the keys of the content, since all readable formats have the extension .json.
    for entry in readable:
        if all(key in record for key in entry.keys):
            return entry.parse(record, path, image, object_id)
    known = " or ".join(f"{entry.name} (with the keys {', '.join(entry.keys)})" for entry in readable)
    raise TemplateError(f"{path} has an unknown format: use an annotation file of {known}")


def _load_json(path: AnyPath) -> dict[str, Any]:
    """The JSON object in a file, which may come from an untrusted source: any damage is a TemplateError."""
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
    """Base of the records in an annotation file. Other fields are ignored: tools add fields of their own."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Name = Annotated[str, Field(max_length=MAX_NAME)]
"""The name of a part, or another text that messages repeat; its length is limited for that reason."""

Id = int | Name
"""The id of a picture, an annotation, a category or an object."""

Model = TypeVar("Model", bound=Record)


def validated(model: type[Model], record: object, path: AnyPath) -> Model:
    """A JSON value as an instance of a model.

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
    """The path of a picture that an annotation file names, in the folder of that file or below.

    Raises:
        TemplateError: the path lies outside the folder. Annotation files may come from untrusted sources, and
            must not make the program open other files.
    """
    # Backslashes separate folders in files that were written on Windows.
    found = inside(Path(path).parent, name.replace("\\", "/"))
    if found is None:
        raise TemplateError(
            f"{path} refers to the picture {name!r:.200} outside its folder: choose the picture with image= "
            "or --image"
        )
    return found


def annotated_picture(source: Source, path: AnyPath, width: int | None, height: int | None) -> Picture:
    """The annotated picture; `width` and `height` are the annotated size, if the file has one.

    Raises:
        PictureError: it cannot be read, or its size differs from the annotated size.
    """
    picture = load_picture(source, role=f"{path}: picture")
    size = (picture.samples.shape[-1], picture.samples.shape[-2])
    expected = (width or size[0], height or size[1])
    if expected != size:
        # Pictures are loaded upright. Some tools ignore the EXIF orientation, and annotate the raw pixels.
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
        """The mask of the shape, with the size of a picture."""
        if self.polygon is None:
            assert self.mask is not None, "one of the two"
            return self.mask
        height, width = picture.samples.shape[-2:]
        return coverage(self.polygon, width, height)


def united(shapes: Sequence[Shape], picture: Picture) -> Shape:
    """A single shape unchanged, several united to one mask: a part may be visible in several places."""
    if len(shapes) == 1:
        return shapes[0]
    return Shape(mask=np.minimum(np.sum([shape.on(picture) for shape in shapes], 0, dtype=np.float32), 1))


def outline_of_shapes(name: str, shapes: Sequence[Shape], joint: JointSpec, picture: Picture) -> Outline:
    """The outline of a part from its shapes; a group if there are none."""
    # A part may have an outline, or be named as a parent only: then it is a group.
    shape = united(shapes, picture) if shapes else Shape()
    # By default an `Outline` moves only if it has a pivot. Here `turn` suffices: a person who writes turn=40
    # expects the part to turn, about its centre if no pivot is given.
    static = joint.pivot is None and joint.turn is None if joint.static is None else joint.static
    turn = DEFAULT_TURN if joint.turn is None else joint.turn
    return Outline(name, shape.polygon, joint.parent, joint.pivot, turn, static, shape.mask)

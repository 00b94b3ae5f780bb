"""What readers of annotations share: JSON, the picture it is about, and shapes that make up a part.

Annotation tools put (0, 0) on the upper left *corner* of a picture; here it is the *centre* of its first
pixel. So half a pixel is taken off all their places.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from wherein.errors import PictureError, TemplateError
from wherein.formats.part_notes import Told
from wherein.formats.part_outline import Outline
from wherein.images.load import Picture, Source, load_picture
from wherein.images.polygons import coverage
from wherein.template.tree import DEFAULT_TURN

LARGEST = 256 * 2**20
"""Bytes of an annotation file that are read."""

AnyPath = str | PathLike[str]


@dataclass(frozen=True, eq=False)
class Annotated:
    """What was read.

    Attributes:
        picture: what the annotation is about.
        outlines: of the parts of one object, for `cut`.
        notes: what was left out, or taken to mean something, in words.
    """

    picture: Picture
    outlines: tuple[Outline, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Shape:
    """A piece of a part: a polygon's corners (N, 2), or a mask of the picture's size (H, W)."""

    polygon: NDArray[np.float64] | None = None
    mask: NDArray[np.float32] | None = None

    def over(self, picture: Picture) -> NDArray[np.float32]:
        """Its mask on a picture."""
        if self.polygon is None:
            assert self.mask is not None, "one of the two"
            return self.mask
        height, width = picture.pixels.shape[-2:]
        return coverage(self.polygon, width, height)


class Record(BaseModel):
    """Part of an annotation; what is not asked for may be anything."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Model = TypeVar("Model", bound=Record)


def parsed(path: AnyPath) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        TemplateError: there is none that can be read.
    """
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST:
            raise TemplateError(f"{path} is larger than {LARGEST // 2**20} MB: this is no annotation to read")
        # "-sig": editors on Windows begin a file with a byte order mark.
        record = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise TemplateError(f"{path} cannot be read: {error.strerror or error}") from error
    except RecursionError:
        raise TemplateError(f"{path} is not JSON: it is nested too deeply") from None
    except ValueError as error:  # of JSON, of UTF-8, and of numbers with too many digits
        raise TemplateError(f"{path} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise TemplateError(f"{path} holds a {type(record).__name__}: an annotation is an object")
    return record


def checked(model: type[Model], record: object, path: AnyPath) -> Model:
    """The record as the model has it.

    Raises:
        TemplateError: it is not as it must be; the message names the place.
    """
    try:
        return model.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise TemplateError(f'{path}: "{place}": {first["msg"]}') from error


def beside(path: AnyPath, name: str) -> Path:
    """The picture that an annotation names, in the annotation's folder or below.

    Raises:
        TemplateError: the name leads elsewhere, which a file that came from others should not.
    """
    wanted = PurePosixPath(name.replace("\\", "/"))
    if wanted.is_absolute() or ".." in wanted.parts or (wanted.parts and wanted.parts[0].endswith(":")):
        raise TemplateError(
            f"{path} names the picture {name!r}, outside of its folder: give that picture itself"
        )
    return Path(path).parent / wanted


def loaded(source: Source, path: AnyPath, width: int | None, height: int | None) -> Picture:
    """The picture, of the size that the annotation says.

    Raises:
        PictureError: it cannot be read, or has another size.
    """
    picture = load_picture(source, role=f"{path}: its picture")
    size = (picture.pixels.shape[-1], picture.pixels.shape[-2])
    said = (width or size[0], height or size[1])
    if said != size:
        turned = " (the picture is turned by its EXIF orientation)" if said == size[::-1] else ""
        raise PictureError(
            f"{path} is about a picture of {said[0]} × {said[1]}, but the picture is {size[0]} × {size[1]}"
            f"{turned}: give the one that was annotated"
        )
    return picture


def united(shapes: Sequence[Shape], picture: Picture) -> Shape:
    """One shape as it is, several as one mask."""
    if len(shapes) == 1:
        return shapes[0]
    return Shape(mask=np.minimum(np.sum([shape.over(picture) for shape in shapes], 0, dtype=np.float32), 1))


def outlined(name: str, shapes: Sequence[Shape], told: Told, picture: Picture) -> Outline:
    """The part of these shapes; a group where there are none."""
    shape = united(shapes, picture) if shapes else Shape()
    # A part moves where a pivot or a turn was told.
    static = told.pivot is None and told.turn is None if told.static is None else told.static
    turn = DEFAULT_TURN if told.turn is None else told.turn
    return Outline(name, shape.polygon, told.parent, told.pivot, turn, static, shape.mask)

"""COCO's JSON: an annotation a part, by its category; one image, and of it one object.

- Segmentations are polygons or run lengths, plain or compressed; where there is none, the box counts.
- Where annotations have a `group_id` (or `attributes` with one), it tells the object; so does an annotation's
  own `id`, where one annotation is the whole object.
- An annotation, or its `attributes`, may say more: `parent`, `pivot` ([x, y]), `turn`, `static`.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from pydantic import Field, FiniteFloat

from wherein.errors import ArgumentError, TemplateError
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
from wherein.formats.part_notes import HALF, add_groups, from_values
from wherein.formats.rle import decoded
from wherein.images.load import Picture, Source

_SHOWN = 12
"""Names that an error lists."""


class _Image(Record):
    id: int | str
    file_name: str
    width: int | None = None
    height: int | None = None


class _Runs(Record):
    counts: str | list[int]
    size: tuple[int, int]


class _Annotation(Record):
    id: int | str | None = None
    image_id: int | str
    category_id: int | str
    segmentation: list[list[FiniteFloat]] | _Runs | None = None
    bbox: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat] | None = None
    group_id: int | str | None = None
    parent: str | None = None
    pivot: tuple[FiniteFloat, FiniteFloat] | None = None
    turn: float | None = None
    static: bool | None = None
    attributes: dict[str, Any] | None = None

    @property
    def things(self) -> set[str]:
        """What the object that it is of may be called."""
        return {str(name) for name in (self.group, self.id) if name is not None}

    @property
    def said(self) -> dict[str, Any]:
        """About its joint."""
        own = {"parent": self.parent, "pivot": self.pivot, "turn": self.turn, "static": self.static}
        return {key: (self.attributes or {}).get(key, value) for key, value in own.items()}

    @property
    def group(self) -> Any:
        """The object that it says to be of."""
        return (self.attributes or {}).get("group_id", self.group_id)


class _Category(Record):
    id: int | str
    name: str


class _File(Record):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category] = Field(default_factory=list)


def read(
    path: AnyPath, image: str | None = None, picture: Source | None = None, thing: str | None = None
) -> Annotated:
    """The picture and the parts of one object out of a COCO file.

    Arguments:
        path: of the .json file.
        image: which of its images, by id or file name; needed where there are several.
        picture: in place of the file that the image names.
        thing: which object of the image, by its group or its annotation's id; needed where several parts have
            one category.

    Raises:
        TemplateError: the file is not as it must be.
        ArgumentError: there are several images or objects and none was chosen, or one that is not there.
        PictureError: the picture cannot be read, or has another size.
    """
    return understood(parsed(path), path, image, picture, thing)


def understood(
    record: Mapping[str, Any], path: AnyPath, image: str | None, picture: Source | None, thing: str | None
) -> Annotated:
    """As `read`, of JSON that is parsed already; `path` is where it came from."""
    file = checked(_File, record, path)
    entry = _image(file.images, image, path)
    names = {category.id: category.name for category in file.categories}
    of_image = [annotation for annotation in file.annotations if annotation.image_id == entry.id]
    parts = _of_thing(of_image, names, thing, path)
    source = beside(path, entry.file_name) if picture is None else picture
    shown = loaded(source, path, entry.width, entry.height)
    told = {name: from_values(part.said, f'{path}: the part "{name}"') for name, part in parts.items()}
    add_groups(told, {})
    shapes = {name: _shapes(part, shown, f'{path}: the part "{name}"') for name, part in parts.items()}
    outlines = [outlined(name, shapes.get(name, ()), said, shown) for name, said in told.items()]
    boxes = [name for name, part in parts.items() if not part.segmentation]
    return Annotated(shown, tuple(outlines), tuple(f'"{name}" has no outline but its box' for name in boxes))


def _image(images: Sequence[_Image], wanted: str | None, path: AnyPath) -> _Image:
    known = ", ".join(image.file_name for image in images[:_SHOWN]) + (", …" if len(images) > _SHOWN else "")
    if wanted is None:
        if len(images) != 1:
            raise ArgumentError(f"{path} has {len(images)} images: choose an image of {known}")
        return images[0]
    for image in images:
        if wanted in (str(image.id), image.file_name, PurePosixPath(image.file_name).name):
            return image
    raise ArgumentError(f"{path} has no image {wanted!r}: it has {known}")


def _of_thing(
    annotations: Sequence[_Annotation], names: dict[Any, str], thing: str | None, path: AnyPath
) -> dict[str, _Annotation]:
    """The parts of one object by name."""
    if thing is not None:
        annotations = [a for a in annotations if thing in a.things]
    if not annotations:
        which = "annotation" if thing is None else f"object {thing!r}"
        raise ArgumentError(f"{path}: the image has no {which}: choose another image or object")
    parts: dict[str, _Annotation] = {}
    for annotation in annotations:
        name = names.get(annotation.category_id, str(annotation.category_id))
        if name in parts:
            choice = ", ".join(str(a.id if a.group is None else a.group) for a in annotations[:_SHOWN])
            raise ArgumentError(
                f'{path} has several parts "{name}" in this image: choose an object of {choice}'
            )
        parts[name] = annotation
    return parts


def _shapes(annotation: _Annotation, picture: Picture, whose: str) -> list[Shape]:
    segmentation = annotation.segmentation
    if isinstance(segmentation, _Runs):
        height, width = segmentation.size
        if (height, width) != tuple(picture.pixels.shape[-2:]):
            raise TemplateError(
                f"{whose} has run lengths of a picture of {width} × {height}: this is another"
            )
        return [Shape(mask=decoded(segmentation.counts, width, height, whose))]
    if segmentation:
        if any(len(polygon) % 2 for polygon in segmentation):
            raise TemplateError(
                f"{whose} has a polygon with an odd number of numbers: they are x, y, x, y, …"
            )
        return [Shape(np.array(corners).reshape(-1, 2) - HALF) for corners in segmentation]
    if annotation.bbox is None:
        raise TemplateError(f"{whose} has neither a segmentation nor a box")
    x, y, across, down = annotation.bbox
    return [Shape(np.array(((x, y), (x + across, y), (x + across, y + down), (x, y + down))) - HALF)]

"""COCO: detections written as a dataset, and annotations read from one.

Writing: the object and each part have a category. Annotations of one object in one image have the same
`instance`. A segmentation is a list of polygons or, if there is a hole, compressed run lengths. The joints of
an object are its keypoints.

Reading: each annotation of an image is a part, named by its category.

- A segmentation is polygons, or plain or compressed run lengths; without one, the bounding box is used.
- `group_id` is the object that an annotation belongs to. An object of one annotation can also be chosen by
  the `id` of the annotation.
- `parent`, `pivot` ([x, y]), `turn` and `static` describe its joint.
- `group_id` and the joint may also be in `attributes`, where CVAT writes them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field, FiniteFloat

from wherein.errors import ArgumentError, TemplateError
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
from wherein.formats.detection_outlines import (
    DetectionOutline,
    detection_outlines,
    keypoint_names,
    keypoints,
    leaves,
)
from wherein.formats.export_target import AddScene, ExportTarget, json_text, text_file
from wherein.formats.joint_spec import add_groups, from_values
from wherein.images.picture import Picture
from wherein.images.polygons import CORNER_OFFSET
from wherein.images.run_lengths import decode_run_lengths, encode_run_lengths

if TYPE_CHECKING:
    from wherein.detect.result import Detections
    from wherein.template.template_library import Library

_LISTED = 12
"""Maximum number of names in an error message. A choice: a line or two."""


@contextmanager
def export(target: ExportTarget, library: "Library") -> Iterator[AddScene]:
    """Export all scenes to one file; `AddScene` writes the annotations of a scene at once, to save memory.

    Images and categories are written last, because they are only known when all scenes are done.
    """
    # JSON allows no trailing comma: a comma is written before each annotation but the first.
    dataset, separators = Coco(), chain([""], repeat(","))
    for template in library.templates:
        joints = [name for name, part in template.parts.items() if part.moves]
        dataset.add_template(template.name, template.parts.leaves, joints)
    with text_file(target.path) as file:
        file.write('{"annotations": [')

        def add(scene: Path, found: "Detections") -> None:
            for annotation in dataset.add(str(scene), found):
                file.write(f"{next(separators)}\n{json_text(annotation)}")

        yield add
        images, categories = json_text(dataset.images), json_text(dataset.categories)
        file.write(f'\n], "images": {images}, "categories": {categories}}}\n')


def coco(
    scenes: Iterable[tuple[str, "Detections"]],
    template: str | Sequence[str],
    parts: Sequence[str] = (),
    joints: Sequence[str] = (),
) -> dict[str, Any]:
    """The detections of several scenes as one COCO dataset, without those that could not be searched.

    Arguments:
        scenes: the file name of each scene, and its detections.
        template: the name of the template, or the names of several.
        parts, joints: as in `Coco.add_template`.
    """
    dataset, annotations = Coco(), list[dict[str, Any]]()
    for one in (template,) if isinstance(template, str) else template:
        dataset.add_template(one, parts, joints)
    for name, found in scenes:
        if found.error is None:
            annotations += dataset.add(name, found)
    return {"images": dataset.images, "annotations": annotations, "categories": dataset.categories}


class Coco:
    """A dataset to which scenes are added; images and annotations are numbered from 1 in the order of adding.

    Arguments:
        template, parts: as in `add_template`; None: templates are added later.
    """

    def __init__(self, template: str | None = None, parts: Sequence[str] = ()) -> None:
        self.images: list[dict[str, Any]] = []
        self._categories: dict[tuple[str, str | None], int] = {}
        self._annotations = 0
        self._keypoints: dict[str, list[str]] = {}
        if template is not None:
            self.add_template(template, parts)

    def add_template(self, template: str, parts: Sequence[str] = (), joints: Sequence[str] = ()) -> None:
        """Add the categories of a template that do not exist yet.

        Arguments:
            template: the name of the object, which is a category.
            parts: the parts with a picture (`template.parts.leaves`). With them, ids of categories do not
                depend on what is found. Without them, parts are numbered when they are first found.
            joints: the parts that turn, whose joints are the keypoints. If they are not given, they are taken
                from the first detection.
        """
        if joints:
            self._keypoints[template] = list(joints)
        self._category(template, None)
        # A single part is the object itself, and gets no category of its own.
        for part in parts if len(parts) > 1 else ():
            self._category(template, part)

    def add(self, name: str, found: "Detections") -> list[dict[str, Any]]:
        """Add a scene; returns its annotations.

        Arguments:
            name: the name of its file.
            found: the detections in it.
        """
        width, height = found.size
        self.images.append({"id": len(self.images) + 1, "file_name": name, "width": width, "height": height})
        for item in found:
            self.add_template(found.template_of(item), leaves(item), keypoint_names(item))
        return [
            self._annotation(outline) | self._pose(outline, found) for outline in detection_outlines(found)
        ]

    def _pose(self, outline: DetectionOutline, found: "Detections") -> dict[str, Any]:
        """The joints of an object as keypoints, if it has any; a part has none of its own."""
        if outline.part is not None or not self._keypoints.get(outline.template):
            return {}
        points = keypoints(found[outline.instance - 1], outline.size)
        shown = points[:, 2:] > 0  # COCO wants (0, 0, 0) for a keypoint that is not labelled
        points[:, :2] = np.where(shown, points[:, :2] + CORNER_OFFSET, 0.0).round(2)
        return {"keypoints": points.ravel().tolist(), "num_keypoints": int(shown.sum())}

    @property
    def categories(self) -> list[dict[str, Any]]:
        """The categories added so far."""
        names = Counter(part or template for template, part in self._categories)
        return [
            {
                "id": number,
                "name": _category_name(template, part, names),
                "supercategory": template,
                **self._joints(template, part),
            }
            for (template, part), number in self._categories.items()
        ]

    def _joints(self, template: str, part: str | None) -> dict[str, Any]:
        names = self._keypoints.get(template) if part is None else None
        return {"keypoints": names, "skeleton": []} if names else {}

    def _annotation(self, outline: DetectionOutline) -> dict[str, Any]:
        self._annotations += 1
        left, top, right, bottom = outline.box
        corner = left + CORNER_OFFSET, top + CORNER_OFFSET
        return {
            "id": self._annotations,
            "image_id": len(self.images),
            "category_id": self._category(outline.template, outline.part),
            "instance": outline.instance,
            "segmentation": _segmentation(outline),
            "bbox": [round(value, 2) for value in (*corner, right - left, bottom - top)],
            "area": round(outline.area, 2),
            "iscrowd": 0,
            "score": round(outline.score, 4),
        }

    def _category(self, template: str, part: str | None) -> int:
        return self._categories.setdefault((template, part), len(self._categories) + 1)


def _segmentation(outline: DetectionOutline) -> list[list[float]] | dict[str, Any]:
    """The polygons of all components, which may overlap; run lengths if there is a hole.

    COCO fills every polygon of a segmentation, so that polygons cannot describe a hole.
    """
    if outline.has_holes:
        width, height = outline.size
        return {"size": [height, width], "counts": encode_run_lengths(outline.mask)}
    return [(ring + CORNER_OFFSET).round(2).ravel().tolist() for ring in outline.rings]


def _category_name(template: str, part: str | None, names: Counter[str]) -> str:
    """A unique name: programs that look up categories by name would merge two of the same name."""
    if part is None:
        return template
    return part if names[part] == 1 else f"{part} (part)" if part == template else f"{part} ({template})"


class _Image(Record):
    id: Id
    file_name: str
    width: int | None = None
    height: int | None = None


class _RunLengths(Record):
    counts: str | list[int]
    size: tuple[int, int]


class _Annotation(Record):
    id: Id | None = None
    image_id: Id
    category_id: Id
    segmentation: list[list[FiniteFloat]] | _RunLengths | None = None
    bbox: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat] | None = None
    group_id: Id | None = None
    parent: Name | None = None
    pivot: tuple[FiniteFloat, FiniteFloat] | None = None
    turn: float | None = None
    static: bool | None = None
    attributes: dict[str, Any] | None = None

    @property
    def group(self) -> Any:
        """The id of the object that the annotation belongs to, if it has one."""
        return (self.attributes or {}).get("group_id", self.group_id)

    @property
    def object_ids(self) -> set[str]:
        """The ids by which the object of the annotation can be chosen."""
        return {str(name) for name in (self.group, self.id) if name is not None}

    @property
    def joint(self) -> dict[str, Any]:
        own = {"parent": self.parent, "pivot": self.pivot, "turn": self.turn, "static": self.static}
        return {key: (self.attributes or {}).get(key, value) for key, value in own.items()}


class _Category(Record):
    id: Id
    name: Name


class _Dataset(Record):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category] = Field(default_factory=list)


def parse(record: Mapping[str, Any], path: AnyPath, image: str | None, object_id: str | None) -> Annotation:
    """One object of a dataset; arguments and errors as in `annotation.read`."""
    dataset = validated(_Dataset, record, path)
    given = Path(image) if image is not None and Path(image).is_file() else None
    if given is not None:  # a file replaces the image of the same name, or the only image of the dataset
        image = given.name if len(dataset.images) > 1 else None
    entry = _choose_image(dataset.images, image, path)
    names = {category.id: category.name for category in dataset.categories}
    annotations = [annotation for annotation in dataset.annotations if annotation.image_id == entry.id]
    parts = _parts(annotations, names, object_id, path)
    picture = annotated_picture(given or picture_path(path, entry.file_name), path, entry.width, entry.height)
    joints = {name: from_values(part.joint, f'{path}: the part "{name}"') for name, part in parts.items()}
    add_groups(joints, {})
    shapes = {name: _shapes(part, picture, f'{path}: the part "{name}"') for name, part in parts.items()}
    outlines = [
        outline_of_shapes(name, shapes.get(name, ()), joint, picture) for name, joint in joints.items()
    ]
    boxes = [name for name, part in parts.items() if not part.segmentation]
    notes = (f'"{name}" has no segmentation: its bounding box is used' for name in boxes)
    return Annotation(picture, tuple(outlines), tuple(notes))


def _choose_image(images: Sequence[_Image], wanted: str | None, path: AnyPath) -> _Image:
    known = _listed([image.file_name for image in images])
    if wanted is None:
        if len(images) != 1:
            raise ArgumentError(
                f"{path} has {len(images)} images: choose one with image= or --image ({known})"
            )
        return images[0]
    for image in images:
        if wanted in (str(image.id), image.file_name, PurePosixPath(image.file_name).name):
            return image
    raise ArgumentError(f"{path} has no image {wanted!r}: choose one of {known}")


def _parts(
    annotations: Sequence[_Annotation], names: Mapping[Any, str], object_id: str | None, path: AnyPath
) -> dict[str, _Annotation]:
    """The annotations of one object, by the name of the part."""
    if object_id is not None:
        annotations = [annotation for annotation in annotations if object_id in annotation.object_ids]
    if not annotations:
        missing = "annotation" if object_id is None else f"object {object_id!r}"
        raise ArgumentError(f"{path}: the image has no {missing}: choose another image or object")
    parts: dict[str, _Annotation] = {}
    for annotation in annotations:
        name = names.get(annotation.category_id, str(annotation.category_id))
        if name in parts:
            known = _listed([str(a.id if a.group is None else a.group) for a in annotations])
            raise ArgumentError(
                f'{path} has several parts "{name}" in this image: choose an object with object_id= or '
                f"--object ({known})"
            )
        parts[name] = annotation
    return parts


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")


def _shapes(annotation: _Annotation, picture: Picture, what: str) -> list[Shape]:
    segmentation = annotation.segmentation
    if isinstance(segmentation, _RunLengths):
        height, width = segmentation.size
        if (height, width) != tuple(picture.samples.shape[-2:]):
            raise TemplateError(
                f"{what} has a run-length mask of {width} × {height} pixels, but the picture has another size"
            )
        return [Shape(mask=decode_run_lengths(segmentation.counts, width, height, what))]
    if segmentation:
        if any(len(polygon) % 2 for polygon in segmentation):
            raise TemplateError(
                f"{what} has a polygon with an odd number of values: it must be x, y, x, y, …"
            )
        return [Shape(np.array(corners).reshape(-1, 2) - CORNER_OFFSET) for corners in segmentation]
    if annotation.bbox is None:
        raise TemplateError(f"{what} has neither a segmentation nor a bounding box")
    x, y, across, down = annotation.bbox
    rectangle = np.array(((x, y), (x + across, y), (x + across, y + down), (x, y + down)))
    return [Shape(rectangle - CORNER_OFFSET)]

"""COCO: images, annotations and categories, for one scene or gathered over many.

A category stands for the whole object, another for each part. What belongs to one object has the same
`instance` in the same image. Whole numbers are the corners of pixels there, not their centres.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from wherein.formats.found_outlines import Outline, leaves, outlines
from wherein.images.polygons import CORNER_OFFSET, box

if TYPE_CHECKING:
    from wherein.detect.result import Detections


class Coco:
    """Scenes of one file, numbered from 1 in the order in which they come.

    Arguments:
        template: of the objects, whose category is the first.
        parts: the parts with a picture (`template.parts.leaves`): their categories have the same ids in every
            file then, whatever is found. By default they are numbered as they are first found.
    """

    def __init__(self, template: str, parts: Sequence[str] = ()) -> None:
        self.images: list[dict[str, Any]] = []
        self._categories: dict[tuple[str, str | None], int] = {}
        self._annotations = 0
        self._category(template, None)
        self._categorise(template, parts)

    def add(self, name: str, found: "Detections") -> list[dict[str, Any]]:
        """The annotations of one more scene.

        Arguments:
            name: of its file.
            found: what was found in it.
        """
        width, height = found.size
        self.images.append({"id": len(self.images) + 1, "file_name": name, "width": width, "height": height})
        self._category(found.template, None)
        for item in found:
            self._categorise(found.template, leaves(item))
        return [self._annotation(found.template, outline) for outline in outlines(found)]

    @property
    def categories(self) -> list[dict[str, Any]]:
        """All that have been named so far."""
        return [
            {"id": number, "name": _name(template, part), "supercategory": template}
            for (template, part), number in self._categories.items()
        ]

    def _annotation(self, template: str, outline: Outline) -> dict[str, Any]:
        self._annotations += 1
        left, top, right, bottom = box(outline.polygons)
        return {
            "id": self._annotations,
            "image_id": len(self.images),
            "category_id": self._category(template, outline.part),
            "instance": outline.instance,
            "segmentation": [
                (polygon + CORNER_OFFSET).round(2).ravel().tolist() for polygon in outline.polygons
            ],
            "bbox": [
                round(v, 2) for v in (left + CORNER_OFFSET, top + CORNER_OFFSET, right - left, bottom - top)
            ],
            "area": round(outline.area, 2),
            "iscrowd": 0,
            "score": round(outline.score, 4),
        }

    def _categorise(self, template: str, parts: Sequence[str]) -> None:
        """Name the parts; one that is alone is the whole object."""
        for part in parts if len(parts) > 1 else ():
            self._category(template, part)

    def _category(self, template: str, part: str | None) -> int:
        return self._categories.setdefault((template, part), len(self._categories) + 1)


def _name(template: str, part: str | None) -> str:
    """Of a category: names must differ, or readers by name take two for one."""
    if part is None:
        return template
    return f"{part} (part)" if part == template else part


def coco(
    scenes: Iterable[tuple[str, "Detections"]], template: str, parts: Sequence[str] = ()
) -> dict[str, Any]:
    """What was found in some scenes as one COCO dataset.

    Arguments:
        scenes: of each the name of its file, and what was found in it.
        template, parts: as of `Coco`.
    """
    made, annotations = Coco(template, parts), []
    for name, found in scenes:
        annotations += made.add(name, found)
    return {"images": made.images, "annotations": annotations, "categories": made.categories}

"""The outlines of detections, as formats with polygons need them: each object, and each of its parts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wherein.images.polygons import Polygon, area, box, clipped, filled

if TYPE_CHECKING:
    from wherein.detect.result import Detection, Detections


@dataclass(frozen=True, eq=False)
class DetectionOutline:
    """The outline of an object, or of one of its parts.

    Attributes:
        template: the name of the object's template.
        instance: the number of the object in its scene, from 1, by falling score, as in drawings.
        part: the name of the part; None for the object.
        score: of the part or the object.
        polygons: one for a part, clipped to the scene; for an object those of all its parts.
    """

    template: str
    instance: int
    part: str | None
    score: float
    polygons: list[Polygon]

    @property
    def area(self) -> float:
        """The area in square pixels. Several polygons may overlap, so there it counts pixels."""
        if len(self.polygons) == 1:
            return area(self.polygons[0])
        left, top, right, bottom = box(self.polygons)
        corner = np.floor((left, top))
        width, height = (int(n) for n in np.ceil((right, bottom)) - corner + 1)
        return float(filled([polygon - corner for polygon in self.polygons], width, height).sum())


def detection_outlines(found: "Detections") -> Iterator[DetectionOutline]:
    """The outline of each object, followed by those of its parts that were found.

    Groups have none: their pixels are those of their parts. Nor does the part of an object with one part
    only, which would repeat the object.
    """
    for instance, item in enumerate(found, 1):
        parts, template = _visible_polygons(item, *found.size), found.template_of(item)
        if parts:
            yield DetectionOutline(template, instance, None, item.score, list(parts.values()))
        if len(leaves(item)) > 1:
            for name, polygon in parts.items():
                yield DetectionOutline(template, instance, name, item.parts[name].score, [polygon])


def leaves(item: "Detection") -> list[str]:
    """The parts that have a picture of their own."""
    return [name for name, part in item.parts.items() if part.leaf]


def _visible_polygons(item: "Detection", width: int, height: int) -> dict[str, Polygon]:
    """The polygons of the parts that were found, clipped to the scene; without those of no area."""
    inside = {
        name: clipped(item.parts[name].polygon, width, height)
        for name in leaves(item)
        if item.parts[name].found
    }
    return {name: polygon for name, polygon in inside.items() if len(polygon) > 2 and area(polygon) > 0}

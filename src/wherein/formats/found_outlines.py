"""What the formats of outlines have in common: the whole object, and each of its parts that was found."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wherein.images.polygons import Polygon, area, box, clipped, filled

if TYPE_CHECKING:
    from wherein.detect.result import Detection, Detections


@dataclass(frozen=True, eq=False)
class Outline:
    """An object, or a part of one.

    Attributes:
        instance: the number of the object in its scene, from 1, the surest first, as in drawings.
        part: the part's name; None for the whole object.
        score: of the part or the object.
        polygons: what can be seen of it in the frame; of an object, those of its parts.
    """

    instance: int
    part: str | None
    score: float
    polygons: list[Polygon]

    @property
    def area(self) -> float:
        """In square pixels; where several polygons may overlap, by counting the pixels that they cover."""
        if len(self.polygons) == 1:
            return area(self.polygons[0])
        left, top, right, bottom = box(self.polygons)
        corner = np.floor((left, top))
        width, height = (int(n) for n in np.ceil((right, bottom)) - corner + 1)
        return float(filled([polygon - corner for polygon in self.polygons], width, height).sum())


def outlines(found: "Detections") -> Iterator[Outline]:
    """Of every object first the whole, then the parts that have a picture and were found.

    Groups are left out, for they have no pixels but those of their parts. An object of one part is told once.
    """
    for instance, item in enumerate(found, 1):
        parts = _parts(item, *found.size)
        if parts:
            yield Outline(instance, None, item.score, list(parts.values()))
        if len(leaves(item)) > 1:
            for name, polygon in parts.items():
                yield Outline(instance, name, item.parts[name].score, [polygon])


def leaves(item: "Detection") -> list[str]:
    """The parts that have a picture."""
    return [name for name, part in item.parts.items() if part.leaf]


def _parts(item: "Detection", width: int, height: int) -> dict[str, Polygon]:
    """Of the parts that were found what lies in the frame, where that has an inside."""
    inside = {
        name: clipped(item.parts[name].polygon, width, height)
        for name in leaves(item)
        if item.parts[name].found
    }
    return {name: polygon for name, polygon in inside.items() if len(polygon) > 2 and area(polygon) > 0}

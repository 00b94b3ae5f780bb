"""The outlines of detections, as formats with polygons need them: each object, and each of its parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wherein.images.polygons import Polygon, area, box, clipped, filled, has_holes

if TYPE_CHECKING:
    from wherein.detect.result import Detection, Detections
    from wherein.template.bundle import Template


@dataclass(frozen=True, eq=False)
class DetectionOutline:
    """The outline of an object, or of one of its parts.

    Attributes:
        template: the name of the object's template.
        instance: the number of the object in its scene, from 1, by falling score, as in drawings.
        part: the name of the part; None for the object.
        score: of the part or the object.
        shapes: the rings of the part, clipped to the scene; for an object those of each of its parts.
        size: width and height of the scene.
    """

    template: str
    instance: int
    part: str | None
    score: float
    shapes: list[list[Polygon]]
    size: tuple[int, int]

    @property
    def rings(self) -> list[Polygon]:
        """Those of all shapes."""
        return [ring for rings in self.shapes for ring in rings]

    @property
    def has_holes(self) -> bool:
        """Whether any of the shapes has a hole."""
        return has_holes(self.rings)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The bounding box: left, top, right and bottom."""
        return box(self.rings)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Its pixels (H, W) in the scene."""
        return filled(self.shapes, *self.size)

    @property
    def area(self) -> float:
        """The area in square pixels. Several shapes may overlap, so there it counts pixels."""
        return area(self.shapes[0]) if len(self.shapes) == 1 else float(self.mask.sum())


def detection_outlines(found: "Detections") -> Iterator[DetectionOutline]:
    """The outline of each object, followed by those of its parts that were found.

    Groups have none: their pixels are those of their parts. Nor does the part of an object with one part
    only, which would repeat the object.
    """
    for instance, item in enumerate(found, 1):
        parts, template = _visible_rings(item, *found.size), found.template_of(item)
        if parts:
            yield DetectionOutline(template, instance, None, item.score, list(parts.values()), found.size)
        if len(leaves(item)) > 1:
            for name, rings in parts.items():
                yield DetectionOutline(template, instance, name, item.parts[name].score, [rings], found.size)


def leaves(item: "Detection") -> list[str]:
    """The parts that have a picture of their own."""
    return [name for name, part in item.parts.items() if part.leaf]


def _visible_rings(item: "Detection", width: int, height: int) -> dict[str, list[Polygon]]:
    """The rings of the parts that were found, clipped to the scene; without those of no area."""
    found = {}
    for name in leaves(item):
        inside = [clipped(ring, width, height) for ring in item.parts[name].rings if item.parts[name].found]
        rings = [ring for ring in inside if len(ring) > 2 and area([ring]) > 0]
        if rings:
            found[name] = rings
    return found


def keypoint_names(item: "Detection") -> list[str]:
    """The parts that turn: their joints are the keypoints of an object."""
    return [name for name, part in item.parts.items() if part.joint is not None]


def keypoints(item: "Detection", size: tuple[int, int]) -> NDArray[np.float64]:
    """The joints of a detection, (K, 3): x, y in the scene, and how visible it is, 2, 1 or 0."""
    rows = []
    for name in keypoint_names(item):
        part = item.parts[name]
        assert part.joint is not None, "it turns"
        x, y = part.joint
        inside = -0.5 <= x <= size[0] - 0.5 and -0.5 <= y <= size[1] - 0.5
        rows.append((x, y, (2.0 if part.found else 1.0) if inside else 0.0))
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


class Classes:
    """Numbers of objects and parts from 0, the same in every scene whatever is found.

    Arguments:
        templates: what is searched for. The object of each is a class, followed by its parts.
        parts: whether parts are classes too.
    """

    def __init__(self, templates: Sequence["Template"], parts: bool = True) -> None:
        self._known: list[tuple[str, str | None]] = []
        for template in templates:
            own = template.parts.leaves if parts and len(template.parts.leaves) > 1 else ()
            self._known += [(template.name, None), *((template.name, part) for part in own)]

    def number(self, template: str, part: str | None) -> int:
        """Of an object, or of one of its parts."""
        return self._known.index((template, part))

    @property
    def names(self) -> list[str]:
        """The name of each class; that of a part has its template's before it where two would be equal."""
        plain = [part or template for template, part in self._known]
        return [
            name if plain.count(name) == 1 or part is None else f"{template} {part}"
            for name, (template, part) in zip(plain, self._known, strict=True)
        ]

"""The outlines of detected objects and of their parts, for formats with polygons."""

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
        instance: the number of the object in its scene, from 1, by descending score, as in drawings.
        part: the name of the part; None for the object.
        score: the score of the part or of the object.
        shapes: for a part, one list of its rings (outlines and holes), clipped to the scene; for an object,
            the rings of each of its parts.
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
        """The rings of all shapes."""
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
        """The pixels (H, W) inside the outline, in the scene."""
        return filled(self.shapes, *self.size)

    @property
    def area(self) -> float:
        """The area in square pixels; for several shapes, which may overlap, the pixel count of the mask."""
        return area(self.shapes[0]) if len(self.shapes) == 1 else float(self.mask.sum())


def detection_outlines(found: "Detections") -> Iterator[DetectionOutline]:
    """The outline of each object, followed by the outlines of its parts that were found.

    Groups have no outline, since their pixels belong to their parts. If an object has a single part, the part
    is omitted, since it would repeat the object.
    """
    for instance, item in enumerate(found, 1):
        # An object without visible parts has no outline, but keeps its number.
        parts, template = _visible_rings(item, *found.size), found.template_of(item)
        if parts:
            yield DetectionOutline(template, instance, None, item.score, list(parts.values()), found.size)
        if len(leaves(item)) > 1:
            for name, rings in parts.items():
                yield DetectionOutline(template, instance, name, item.parts[name].score, [rings], found.size)


def leaves(item: "Detection") -> list[str]:
    """The names of the parts of a detection that have a picture."""
    return [name for name, part in item.parts.items() if part.leaf]


def _visible_rings(item: "Detection", width: int, height: int) -> dict[str, list[Polygon]]:
    """The rings of the parts that were found, clipped to the scene; rings without area are omitted."""
    found = {}
    for name in leaves(item):
        # Formats require coordinates inside the scene. Clipping may leave a line or a point, which has no
        # area.
        inside = [clipped(ring, width, height) for ring in item.parts[name].rings if item.parts[name].found]
        rings = [ring for ring in inside if len(ring) > 2 and area([ring]) > 0]
        if rings:
            found[name] = rings
    return found


def keypoint_names(item: "Detection") -> list[str]:
    """The names of the parts that turn: their joints are the keypoints of an object."""
    return [name for name, part in item.parts.items() if part.joint is not None]


def keypoints(item: "Detection", size: tuple[int, int]) -> NDArray[np.float64]:
    """The joints of a detection, (K, 3): x, y in the scene, and COCO's visibility.

    The visibility is 2 if the part was found, 1 if it was not found, and 0 if the joint is outside the scene.
    """
    rows = []
    for name in keypoint_names(item):
        part = item.parts[name]
        assert part.joint is not None, "it turns"
        x, y = part.joint
        # The scene extends from −0.5 to size − 0.5.
        inside = -0.5 <= x <= size[0] - 0.5 and -0.5 <= y <= size[1] - 0.5
        rows.append((x, y, (2.0 if part.found else 1.0) if inside else 0.0))
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


class Classes:
    """Class numbers of objects and parts, from 0; they do not depend on what is found.

    Arguments:
        templates: the templates that are searched for. The object of each is a class, followed by its parts.
        parts: whether parts are classes too.
    """

    def __init__(self, templates: Sequence["Template"], parts: bool = True) -> None:
        self._known: list[tuple[str, str | None]] = []
        for template in templates:
            # A single part is the object itself, as in `detection_outlines`.
            own = template.parts.leaves if parts and len(template.parts.leaves) > 1 else ()
            self._known += [(template.name, None), *((template.name, part) for part in own)]

    def number(self, template: str, part: str | None) -> int:
        """The number of an object (part=None), or of one of its parts."""
        return self._known.index((template, part))

    @property
    def names(self) -> list[str]:
        """The name of each class; the name of a part follows its template's name if it were not unique."""
        plain = [part or template for template, part in self._known]
        return [
            name if plain.count(name) == 1 or part is None else f"{template} {part}"
            for name, (template, part) in zip(plain, self._known, strict=True)
        ]

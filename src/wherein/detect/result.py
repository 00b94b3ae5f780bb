"""The detections in a scene: as numbers, as JSON, in other formats, and drawn."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from PIL import Image

from wherein.images.load import Picture
from wherein.images.polygons import Polygon, Rings, box
from wherein.motion.homography import Matrix, angle_at, mapped, rounded, scale_at, shift, square, tilt_at
from wherein.template.reading import Reading, rounded_value
from wherein.template.tree import Point

SCENE = "scene.png"
"""The file name of a scene that was given as an array, for formats that need one."""


class Placed:
    """The pose of an object or of a part, as numbers.

    Attributes:
        matrix: its pixels → scene pixels, 2×3; 3×3 if the search allowed perspective.
        middle: of its picture, where rotation, size and tilt are taken if there is perspective.
    """

    matrix: Matrix
    middle: Point

    @property
    def angle(self) -> float:
        """Its rotation in the scene in degrees, positive from x towards y."""
        return angle_at(self.matrix, self.middle)

    @property
    def scale(self) -> float:
        """Its size in the scene relative to its picture; tilted, it is foreshortened and so smaller."""
        return scale_at(self.matrix, self.middle)

    @property
    def tilt(self) -> float:
        """How far it is tilted out of the picture plane, in degrees; 0 for a 2×3 matrix."""
        return tilt_at(self.matrix, self.middle)

    @property
    def center(self) -> Point:
        """The middle of its picture in the scene, (x, y)."""
        x, y = mapped(self.matrix, self.middle).tolist()
        return x, y


@dataclass(frozen=True, eq=False)
class PartFound(Placed):
    """One part of a detection.

    Attributes:
        matrix: its pixels → scene pixels, 2×3 or 3×3; canvas → scene for a group. If it was not found: where
            it fits best about its joint, or its rest position.
        score: ZNCC with the scene, at most 0.98 (`detect.score.MAX_ZNCC`): a better fit is no more
            evidence. For a part that is partly occluded, the ZNCC that carries as much information as its
            visible pixels; for a group, the mean over its leaves.
        found: whether it is visible there.
        rings: its outlines in the scene, (N, 2) each, a row (x, y): of its largest component, of the others,
            and of holes, which go round the other way. For a group, the convex hull of its parts.
        leaf: whether it has a picture of its own; a group has not.
        middle: of its picture, or of the canvas for a group, (x, y) in its pixels.
        turn: how far it is turned from its rest position, in degrees in the plane of the object.
        turn_spread: ± degrees within which other turns explain the picture nearly as well; None: unknown.
        reading: what its turn means, from the template; None: nothing.
    """

    matrix: Matrix
    score: float
    found: bool
    rings: tuple[Polygon, ...]
    leaf: bool = True
    middle: Point = (0.0, 0.0)
    turn: float = 0.0
    turn_spread: float | None = None
    reading: Reading | None = None

    @property
    def polygon(self) -> Polygon:
        """Its true outline in the scene, (N, 2), each row (x, y): that of its largest component."""
        return self.rings[0]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box around its outline: x, y, width and height."""
        return _box(self.rings)

    @property
    def value(self) -> float | None:
        """What it reads at its turn; None if the template has no reading for it, or it was not found."""
        # Where a part was not found its turn is a guess, and a guess must not pass for a measurement.
        # Rounded far below what can be known of it: else 0 would be written as 7e-15.
        return self.reading(round(self.turn, 6)) if self.reading is not None and self.found else None

    @property
    def unit(self) -> str | None:
        """The unit of the value; None without a reading."""
        return None if self.reading is None else self.reading.unit

    @property
    def value_text(self) -> str | None:
        """The value and its unit to read, such as "70.1 °C"; None where there is no value."""
        value = self.value
        # Four digits: a turn is known to a fraction of a degree, of a scale of some hundred.
        return None if value is None else f"{float(f'{value:.4g}') + 0.0:.12g} {self.unit}".strip()

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON; `value` (null if it was not found) and `unit` with a reading only."""
        record = {
            "found": self.found,
            "score": round(self.score, 4),
            "matrix": rounded(self.matrix).tolist(),
            "angle": round(self.angle, 4),
            "polygon": np.round(self.polygon, 2).tolist(),
            "turn": round(self.turn, 4) + 0.0,  # never −0
        }
        if self.turn_spread is not None:
            record["turn_spread"] = round(self.turn_spread, 2)
        if self.reading is not None:
            record |= {"value": rounded_value(self.value), "unit": self.unit}
        return record


def _box(polygons: Rings) -> tuple[float, float, float, float]:
    left, top, right, bottom = box(polygons)
    return left, top, right - left, bottom - top


@dataclass(frozen=True, eq=False)
class Detection(Placed):
    """One instance of the template.

    Attributes:
        score: the ZNCC that all parts would need for the same evidence, at most 0.98
            (`wherein.detect.score`); with the method "paper", the height of the occurrence map, at most 1.
        matrix: canvas → scene of the root, 2×3 or 3×3.
        parts: every part below the root, by name (the root itself if it is a leaf).
        middle: of the canvas, (x, y).
        template: the name of the template.
    """

    score: float
    matrix: Matrix
    parts: dict[str, PartFound]
    middle: Point = (0.0, 0.0)
    template: str = ""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box around the outlines of all its parts, found or not: x, y, width and height."""
        return _box([ring for part in self.parts.values() if part.leaf for ring in part.rings])

    def to_candidate(self) -> dict[str, Any]:
        """Score and matrix for JSON: what is printed of a candidate."""
        return {"score": round(self.score, 4), "matrix": rounded(self.matrix).tolist()}

    def moved(self, x: float, y: float) -> "Detection":
        """The same in a scene that begins (x, y) pixels earlier."""
        parts = {
            name: replace(
                part,
                matrix=_shifted(part.matrix, x, y),
                rings=tuple(ring + np.array((x, y)) for ring in part.rings),
            )
            for name, part in self.parts.items()
        }
        return replace(self, matrix=_shifted(self.matrix, x, y), parts=parts)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON, as `wherein detect` prints them."""
        return {
            **self.to_candidate(),
            "angle": round(self.angle, 4),
            "scale": round(self.scale, 6),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }


def _shifted(matrix: Matrix, x: float, y: float) -> Matrix:
    return np.asarray(shift(x, y)[: len(matrix)] @ square(matrix))


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What a search method found in a scene.

    Attributes:
        items: the detections, the highest score first.
        candidates: hypotheses below the threshold but close to it, the highest score first.
    """

    items: tuple[Detection, ...]
    candidates: tuple[Detection, ...] = ()

    def __len__(self) -> int:
        return len(self.items) + len(self.candidates)

    def moved(self, x: float, y: float) -> "MethodResult":
        """The same in a scene that begins (x, y) pixels earlier."""
        return MethodResult(
            tuple(item.moved(x, y) for item in self.items),
            tuple(item.moved(x, y) for item in self.candidates),
        )


@dataclass(frozen=True, eq=False)
class Detections(Sequence[Detection]):
    """All detections in a scene, the highest score first.

    The matrices of all of them are alike: 2×3, or 3×3 if the search allowed perspective.

    Attributes:
        items: the detections.
        template: the template's name.
        scene: the picture that was searched.
        seconds: how long the search took.
        name: of the scene's file, as it was given; for exports.
        candidates: below the threshold but close to it, the highest score first; also where others were
            found.
    """

    items: tuple[Detection, ...]
    template: str
    scene: Picture
    seconds: float
    name: str = SCENE
    candidates: tuple[Detection, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Detection: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Detection, ...]: ...

    def __getitem__(self, index: int | slice) -> Detection | tuple[Detection, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Detection]:
        return iter(self.items)

    def __repr__(self) -> str:
        scores = ", ".join(f"{item.score:.2f}" for item in self.items)
        return f"Detections({len(self)} × {self.template}{f': {scores}' if scores else ''})"

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the scene."""
        height, width = self.scene.pixels.shape[-2:]
        return width, height

    def template_of(self, item: Detection) -> str:
        """The name of the template of a detection, which differ if a library was searched for."""
        return item.template or self.template

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON, as `wherein detect` prints them, without the scene's name."""
        width, height = self.size
        return {
            "width": width,
            "height": height,
            "template": self.template,
            "seconds": round(self.seconds, 4),
            "detections": [self._named(item) | item.to_dict() for item in self.items],
            "candidates": [self._named(item) | item.to_candidate() for item in self.candidates],
        }

    def _named(self, item: Detection) -> dict[str, Any]:
        """The template of a detection, where that is not the one of the scene's record."""
        name = self.template_of(item)
        return {} if name == self.template else {"template": name}

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)

    def to_coco(self, name: str | None = None) -> dict[str, Any]:
        """A COCO dataset of this scene, with a category for the whole object and one for each part.

        For several scenes in one dataset use `wherein.formats.coco.coco`.

        Arguments:
            name: of the scene's file; None: `self.name`.
        """
        from wherein.formats.coco import coco

        return coco([(self.name if name is None else name, self)], self.template)

    def to_labelme(self, name: str | None = None) -> dict[str, Any]:
        """A labelme annotation: a polygon for each part that was found, a group for each object.

        Arguments:
            name: of the scene's file, relative to the folder of the JSON file; None: `self.name`.
        """
        from wherein.formats.labelme import labelme

        return labelme(self, self.name if name is None else name)

    def to_csv(self, name: str | None = None) -> str:
        """CSV text: a header, and a row for each part of each object.

        Arguments:
            name: of the scene; None: `self.name`.
        """
        from wherein.formats.csv_table import COLUMNS, csv_text, rows

        return csv_text([COLUMNS, *rows(self, self.name if name is None else name)])

    def to_dataframe(self, name: str | None = None) -> Any:
        """The rows of `to_csv` as a `pandas.DataFrame`.

        Raises:
            MissingError: pandas is not installed.
        """
        from wherein.formats.csv_table import dataframe

        return dataframe(self, self.name if name is None else name)

    def to_supervision(self) -> Any:
        """A `supervision.Detections` with masks; `class_id` 0 is the whole object, the parts follow.

        Raises:
            MissingError: supervision is not installed.
        """
        from wherein.formats.supervision import supervision

        return supervision(self)

    def draw(self, legend: bool = False) -> Image.Image:
        """The scene with the outline of every part, in the size of the scene.

        Arguments:
            legend: whether the names of parts and a line for each detection follow below.
        """
        from wherein.drawing.detections import draw_detections

        return draw_detections(self.scene, self.items, legend)

    def show(self) -> None:
        """Show the drawing in the picture viewer of the system, or in a notebook below its cell."""
        self.draw().show("wherein")

"""The detections in a scene: as numbers, as JSON, in other formats, and drawn."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from wherein.images.load import Picture

Matrix = NDArray[np.float64]
"""2×3; pixels of a part or of the canvas → scene pixels."""

SCENE = "scene.png"
"""The file name of a scene that was given as an array, for formats that need one."""


@dataclass(frozen=True, eq=False)
class PartFound:
    """One part of a detection.

    Attributes:
        matrix: its pixels → scene pixels, 2×3; canvas → scene for a group. If it was not found: where it
            fits best about its joint, or its rest position.
        score: ZNCC with the scene, at most 0.98 (`detect.score.MAX_ZNCC`): a better fit is no more
            evidence. For a part that is partly occluded, the ZNCC that carries as much information as its
            visible pixels; for a group, the mean over its leaves.
        found: whether it is visible there.
        polygon: its outline in the scene, (N, 2), each row (x, y).
        leaf: whether it has a picture of its own; a group has not.
    """

    matrix: Matrix
    score: float
    found: bool
    polygon: NDArray[np.float64]
    leaf: bool = True

    @property
    def angle(self) -> float:
        """Its rotation in the scene in degrees, positive from x towards y."""
        return math.degrees(math.atan2(self.matrix[1, 0], self.matrix[0, 0]))

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON."""
        return {
            "found": self.found,
            "score": round(self.score, 4),
            "matrix": np.round(self.matrix, 6).tolist(),
            "angle": round(self.angle, 4),
            "polygon": np.round(self.polygon, 2).tolist(),
        }


@dataclass(frozen=True, eq=False)
class Detection:
    """One instance of the template.

    Attributes:
        score: the ZNCC that all parts would need for the same evidence, at most 0.98
            (`wherein.detect.score`); with the method "paper", the height of the occurrence map, at most 1.
        matrix: canvas → scene of the root, 2×3.
        parts: every part below the root, by name (the root itself if it is a leaf).
    """

    score: float
    matrix: Matrix
    parts: dict[str, PartFound]

    @property
    def angle(self) -> float:
        """Its rotation in degrees, positive from x towards y."""
        return math.degrees(math.atan2(self.matrix[1, 0], self.matrix[0, 0]))

    @property
    def scale(self) -> float:
        """Its size in the scene relative to the canvas."""
        return float(abs(np.linalg.det(self.matrix[:, :2])) ** 0.5)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON, as `wherein detect` prints them."""
        return {
            "score": round(self.score, 4),
            "matrix": np.round(self.matrix, 6).tolist(),
            "angle": round(self.angle, 4),
            "scale": round(self.scale, 6),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What a search method found in a scene.

    Attributes:
        items: the detections, the highest score first.
        best_candidate: if there are none, the best hypothesis, provided its score is close to the threshold.
    """

    items: tuple[Detection, ...]
    best_candidate: Detection | None = None


@dataclass(frozen=True, eq=False)
class Detections(Sequence[Detection]):
    """All detections in a scene, the highest score first.

    Attributes:
        items: the detections.
        template: the template's name.
        scene: the picture that was searched.
        seconds: how long the search took.
        name: of the scene's file, as it was given; for exports.
        missed: if nothing was found, the best candidate, provided its score is close to the threshold.
    """

    items: tuple[Detection, ...]
    template: str
    scene: Picture
    seconds: float
    name: str = SCENE
    missed: Detection | None = None

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

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON, as `wherein detect` prints them, without the scene's name."""
        width, height = self.size
        return {
            "width": width,
            "height": height,
            "template": self.template,
            "seconds": round(self.seconds, 4),
            "detections": [item.to_dict() for item in self.items],
        }

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

    def draw(self) -> Image.Image:
        """The scene with the outline of every part, and a legend below."""
        from wherein.drawing.detections import draw_detections

        return draw_detections(self.scene, self.items)

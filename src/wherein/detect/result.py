"""What was found, in numbers, as JSON, in the formats of others, and drawn."""

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
"""2×3."""

SCENE = "scene.png"
"""What a scene that came as an array is called where a format wants a name."""


@dataclass(frozen=True, eq=False)
class PartFound:
    """One part of a detection.

    Attributes:
        matrix: its pixels → scene pixels, 2×3; canvas → scene for a group. Where it was not found: where it
            fits best about its joint, or at rest.
        score: ZNCC with the scene; where something is in front of it, one that tells as much as what can be
            seen of it; of a group, the mean of its leaves'.
        found: whether it was seen there.
        polygon: its outline in the scene, (x, y) a row.
        leaf: whether it has a picture of its own; a group is where its parts are.
    """

    matrix: Matrix
    score: float
    found: bool
    polygon: NDArray[np.float64]
    leaf: bool = True

    @property
    def angle(self) -> float:
        """Degrees that it is turned in the scene, positive from x towards y."""
        return math.degrees(math.atan2(self.matrix[1, 0], self.matrix[0, 0]))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "found": self.found,
            "score": round(self.score, 4),
            "matrix": np.round(self.matrix, 6).tolist(),
            "angle": round(self.angle, 4),
            "polygon": np.round(self.polygon, 2).tolist(),
        }


@dataclass(frozen=True, eq=False)
class Detection:
    """One object that was found.

    Attributes:
        score: how sure it is, in [0, 1): see `wherein.detect.score`.
        matrix: canvas → scene of the root, 2×3.
        parts: every part below the root by name (the root itself where it is a leaf).
    """

    score: float
    matrix: Matrix
    parts: dict[str, PartFound]

    @property
    def angle(self) -> float:
        """Degrees that it is turned, positive from x towards y."""
        return math.degrees(math.atan2(self.matrix[1, 0], self.matrix[0, 0]))

    @property
    def scale(self) -> float:
        """How much larger it is in the scene than on the canvas."""
        return float(abs(np.linalg.det(self.matrix[:, :2])) ** 0.5)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, as the command prints it."""
        return {
            "score": round(self.score, 4),
            "matrix": np.round(self.matrix, 6).tolist(),
            "angle": round(self.angle, 4),
            "scale": round(self.scale, 6),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
        }


@dataclass(frozen=True, eq=False)
class Detections(Sequence[Detection]):
    """All objects that were found in a scene, the surest first.

    Attributes:
        items: one a found object.
        template: the template's name.
        scene: the picture that was looked at.
        seconds: how long the search took.
        name: of the scene's file, as it was given; for exports.
        missed: where nothing was found, what came nearest, if its score was close to the threshold.
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
        """Plain numbers and lists, as the command prints them but for the scene's name."""
        width, height = self.size
        return {
            "width": width,
            "height": height,
            "template": self.template,
            "seconds": round(self.seconds, 4),
            "detections": [item.to_dict() for item in self.items],
        }

    def to_json(self, indent: int | None = None) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)

    def to_coco(self, name: str | None = None) -> dict[str, Any]:
        """A COCO dataset of this scene: a category for the whole object and one for each part.

        Many scenes in one: `wherein.formats.coco.coco`.

        Arguments:
            name: of the scene's file, where that is not `self.name`.
        """
        from wherein.formats.coco import coco

        return coco([(self.name if name is None else name, self)], self.template)

    def to_labelme(self, name: str | None = None) -> dict[str, Any]:
        """The JSON of labelme: a polygon for each part that was found, a group for each object.

        Arguments:
            name: of the scene's file, relative to the folder that the JSON will lie in; else `self.name`.
        """
        from wherein.formats.labelme import labelme

        return labelme(self, self.name if name is None else name)

    def to_csv(self, name: str | None = None) -> str:
        """A header, and a row for each part of each object.

        Arguments:
            name: of the scene, where that is not `self.name`.
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
        """A `supervision.Detections` with masks: `class_id` 0 is the whole object, the parts follow.

        Raises:
            MissingError: supervision is not installed.
        """
        from wherein.formats.supervision import supervision

        return supervision(self)

    def draw(self) -> Image.Image:
        """The scene with every part's outline, and a legend below it."""
        from wherein.drawing.detections import draw_detections

        return draw_detections(self.scene, self.items)

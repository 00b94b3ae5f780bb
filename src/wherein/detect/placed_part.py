"""`PartFound`: a part of a detection, and what poses of parts and objects have in common."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wherein.images.polygons import Polygon, Rings, box
from wherein.motion.homography import Matrix, angle_at, mapped, rounded, scale_at, tilt_at
from wherein.template.reading import Reading, rounded_value
from wherein.template.tree import Point


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

    @property
    def pose_text(self) -> str:
        """Its pose to read: "at (312, 205), angle 20.1°, scale 1.00, tilt 3°"."""
        x, y = self.center
        tilt = f", tilt {self.tilt:z.0f}°" if len(self.matrix) == 3 else ""
        return f"at ({x:z.0f}, {y:z.0f}), angle {self.angle:z.1f}°, scale {self.scale:.2f}{tilt}"


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
            Of an object that is followed, it may be that of up to eight frames before.
        reading: what its turn means, from the template; None: nothing.
        pivot: the point that it turns about, in its pixels; None: it does not turn.
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
    pivot: Point | None = None

    def __repr__(self) -> str:
        found = "" if self.found else "not found, "
        value = "" if self.value_text is None else f", {self.value_text}"
        return f"PartFound({found}score {self.score:.2f}, {self.pose_text}, turn {self.turn:z.1f}°{value})"

    @property
    def polygon(self) -> Polygon:
        """Its true outline in the scene, (N, 2), each row (x, y): that of its largest component."""
        return self.rings[0]

    @property
    def joint(self) -> Point | None:
        """The point in the scene that it turns about, (x, y); None if it does not turn."""
        if self.pivot is None:
            return None
        x, y = mapped(self.matrix, self.pivot).tolist()
        return x, y

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The box around its outline: x, y, width and height."""
        return outline_box(self.rings)

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


def outline_box(polygons: Rings) -> tuple[float, float, float, float]:
    """The box around polygons: x, y, width and height."""
    left, top, right, bottom = box(polygons)
    return left, top, right - left, bottom - top

"""`PartFound`: a part of a detection; and the base class that parts and detections share, `Placed`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wherein.images.polygons import Polygon, Rings, box
from wherein.motion.homography import Matrix, angle_at, mapped, rounded, scale_at, tilt_at
from wherein.template.reading import Reading, rounded_value
from wherein.template.tree import Point


class Placed:
    """The pose of an object or of a part, as numbers.

    Under perspective, rotation, scale and tilt differ from point to point: they are those at `middle`.

    Attributes:
        matrix: its pixels → scene pixels, 2×3; 3×3 if the search allowed perspective.
        middle: the centre of its picture, (x, y) in its pixels.
    """

    matrix: Matrix
    middle: Point

    @property
    def angle(self) -> float:
        """Its rotation in the scene in degrees, positive from x towards y."""
        return angle_at(self.matrix, self.middle)

    @property
    def scale(self) -> float:
        """Its size in the scene relative to its picture. A tilt makes it smaller, by foreshortening."""
        return scale_at(self.matrix, self.middle)

    @property
    def tilt(self) -> float:
        """Its tilt out of the picture plane, in degrees; 0 for a 2×3 matrix."""
        return tilt_at(self.matrix, self.middle)

    @property
    def center(self) -> Point:
        """The position of its picture's centre in the scene, (x, y)."""
        x, y = mapped(self.matrix, self.middle).tolist()
        return x, y

    @property
    def pose_text(self) -> str:
        """Its pose as text: "at (312, 205), angle 20.1°, scale 1.00, tilt 3°"."""
        x, y = self.center
        tilt = f", tilt {self.tilt:z.0f}°" if len(self.matrix) == 3 else ""
        return f"at ({x:z.0f}, {y:z.0f}), angle {self.angle:z.1f}°, scale {self.scale:.2f}{tilt}"


@dataclass(frozen=True, eq=False)
class PartFound(Placed):
    """One part of a detection.

    Attributes:
        matrix: its pixels → scene pixels, 2×3 or 3×3; canvas → scene for a group. If it was not found: the
            best fit about its joint, or its rest position.
        score: ZNCC with the scene, over its pixels inside the scene, at most 0.98
            (`detect.score.MAX_ZNCC`): a better fit is no more evidence. If an object of another template
            covers some of it, the ZNCC of the rest if that is lower. For a group, the mean over its leaves.
            With the method "paper", the confidence in it, 0 to 1.
        found: whether it is visible there.
        rings: its outlines in the scene, (N, 2) each with rows (x, y): of its largest component, of the
            others, and of holes, which have the opposite orientation. For a group, the convex hull of its
            parts.
        leaf: whether it has a picture of its own, as opposed to a group.
        middle: the centre of its picture, or of the canvas for a group, (x, y) in its pixels.
        turn: its turn from its rest position, in degrees in the plane of the object.
        turn_spread: ± degrees within which other turns explain the picture nearly as well; None: unknown.
            For a tracked object, it may have been measured up to eight frames earlier.
        reading: what its turn means, from the template; None: the template has no reading for it.
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
        """The outline of its largest component in the scene, (N, 2), each row (x, y)."""
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
        """Its reading at its turn; None if the template has no reading for it, or it was not found."""
        # The turn of a part that was not found is a guess, which must not pass for a measurement. The turn is
        # rounded far below its accuracy: otherwise a reading of 0 would come out as 7e-15.
        return self.reading(round(self.turn, 6)) if self.reading is not None and self.found else None

    @property
    def unit(self) -> str | None:
        """The unit of the value; None without a reading."""
        return None if self.reading is None else self.reading.unit

    @property
    def value_text(self) -> str | None:
        """The value and its unit as text, such as "70.1 °C"; None if there is no value."""
        value = self.value
        # Four digits: a turn is known to a fraction of a degree, and dials span some hundred degrees. The
        # text goes through float, as ".4g" alone writes 12345 as 1.234e+04; + 0.0 turns −0 into 0.
        return None if value is None else f"{float(f'{value:.4g}') + 0.0:.12g} {self.unit}".strip()

    def to_dict(self) -> dict[str, Any]:
        """Numbers and lists for JSON; `value` (null if not found) and `unit` only if it has a reading."""
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

"""Comparison of detections with the truth, by the criteria of ../shared/score.py.

An instance is found if the root of a detection is within 4 px (at the centre of the canvas) and 5° of the
truth. A part is right if the centre of its picture is within 1 px and its angle within 1°. Unlike in
score.py, parts that are hidden, covered or outside are not counted, because their position cannot be known.
The parts of a missed instance count as wrong. Detections are compared as they are printed in the JSON.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from benchmarks.geometry import Array, apply
from benchmarks.objects import Instance, Scene
from wherein.motion.homography import angle_at
from wherein.template import Template

ROOT_PX, ROOT_TURN = 4.0, 5.0
PART_PX, PART_TURN = 1.0, 1.0
NEAR_PX = 4.0  # for a search in whole pixels, a part counts up to this error


@dataclass(frozen=True)
class Tally:
    """Counts over scenes; tallies can be added."""

    scenes: int = 0
    instances: int = 0
    found: int = 0
    parts: int = 0
    right: int = 0
    near: int = 0  # parts within NEAR_PX, whatever their angle
    false_alarms: int = 0
    hidden: int = 0  # parts of found instances that were not painted
    imagined: int = 0  # hidden parts that were reported as found
    wrong: tuple[str, ...] = ()  # the parts of found instances that are not right, with their errors

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def perfect(self) -> bool:
        """Whether nothing was missed or misplaced, and there was no false alarm."""
        return self.found == self.instances and self.right == self.parts and not self.false_alarms


def judge(detections: Sequence[Mapping[str, Any]], scene: Scene, template: Template) -> Tally:
    """The tally of one scene; `detections` are those of the command's JSON."""
    left = list(detections)
    total = Tally(scenes=1)
    for instance in scene.instances:
        match = _match(left, instance, template)
        if match is not None:
            left.remove(match)
        total += _instance(match, instance, template)
    return total + Tally(false_alarms=len(left))


def distance(a: Array, b: Array, size: tuple[int, int]) -> float:
    """The distance between the centres of a picture (width, height) that is placed by two matrices."""
    middle = (np.array([size], dtype=np.float64) - 1) / 2
    return float(np.linalg.norm(apply(a, middle) - apply(b, middle)))


def turned(a: Array, b: Array, size: tuple[int, int]) -> float:
    """The difference of two matrices' rotations at the centre of a picture (width, height), 0 to 180°."""
    middle = (np.array(size, dtype=np.float64) - 1) / 2
    first, second = (angle_at(np.asarray(m, dtype=np.float64), middle) for m in (a, b))
    return abs((first - second + 180) % 360 - 180)


def _match(
    detections: Sequence[Mapping[str, Any]], instance: Instance, template: Template
) -> Mapping[str, Any] | None:
    """The nearest detection of those that are close enough to an instance; None if there is none."""
    near = [
        (error, index)
        for index, one in enumerate(detections)
        if (error := distance(one["matrix"], instance.root, template.size)) <= ROOT_PX
        and turned(one["matrix"], instance.root, template.size) <= ROOT_TURN
    ]
    return detections[min(near)[1]] if near else None


def _instance(match: Mapping[str, Any] | None, instance: Instance, template: Template) -> Tally:
    parts = {} if match is None else match["parts"]
    counted = [name for name in instance.parts if name not in instance.covered]
    away = [_away(parts.get(name), instance.parts[name], template, name) for name in counted]
    hidden = [name for name in template.parts.leaves if name not in instance.parts] if match else []
    return Tally(
        instances=1,
        found=match is not None,
        parts=len(counted),
        right=sum(_right(*one) for one in away),
        near=sum(px <= NEAR_PX for px, _ in away),
        hidden=len(hidden),
        imagined=sum(bool(parts.get(name, {}).get("found")) for name in hidden),
        wrong=tuple(
            f"{name} by {px:.1f} px and {turn:.1f}°"
            for name, (px, turn) in zip(counted, away, strict=True)
            if match and not _right(px, turn)
        ),
    )


def _right(px: float, turn: float) -> bool:
    return px <= PART_PX and turn <= PART_TURN


def _away(
    found: Mapping[str, Any] | None, truth: Array, template: Template, name: str
) -> tuple[float, float]:
    """The error of a part in pixels and degrees; infinite if it was not reported."""
    if not found or not found.get("matrix"):
        return float("inf"), float("inf")
    motif = template.parts[name].motif
    size = motif.width, motif.height
    return distance(found["matrix"], truth, size), turned(found["matrix"], truth, size)

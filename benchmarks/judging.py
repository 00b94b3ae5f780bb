"""Detections against truth, by the criteria of ../shared/score.py.

An instance is found where a detection's root is within 4 px (centre of the canvas) and 5° of it; a part is
right where the centre of its picture is within 1 px and its angle within 1°. Unlike there, a part that is
hidden, covered or outside is not counted: no one can say where it is. The parts of an instance that was
missed are counted, and wrong. Detections are hypotheses as they are printed: plain numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import atan2, degrees
from typing import Any

import numpy as np

from benchmarks.geometry import Array, apply
from benchmarks.objects import Instance, Scene
from wherein.template import Template

ROOT_PX, ROOT_TURN = 4.0, 5.0
PART_PX, PART_TURN = 1.0, 1.0
NEAR_PX = 4.0  # what counts of a part for a search in whole pixels


@dataclass(frozen=True)
class Tally:
    """Counts over scenes; they add up."""

    scenes: int = 0
    instances: int = 0
    found: int = 0
    parts: int = 0
    right: int = 0
    near: int = 0  # parts within NEAR_PX, whatever their angle
    false_alarms: int = 0
    hidden: int = 0  # parts of found instances that were never painted
    imagined: int = 0  # those of them that were told as found
    wrong: tuple[str, ...] = ()  # parts of found instances that are not right, and by how much

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def perfect(self) -> bool:
        """Nothing was missed, misplaced or made up."""
        return self.found == self.instances and self.right == self.parts and not self.false_alarms


def judge(detections: Sequence[Mapping[str, Any]], scene: Scene, template: Template) -> Tally:
    """What was found of one scene; `detections` as in the command's JSON."""
    left = list(detections)
    total = Tally(scenes=1)
    for instance in scene.instances:
        match = _match(left, instance, template)
        if match is not None:
            left.remove(match)
        total += _instance(match, instance, template)
    return total + Tally(false_alarms=len(left))


def distance(a: Array, b: Array, size: tuple[int, int]) -> float:
    """How far two matrices lay the centre of a picture (width, height) apart."""
    middle = (np.array([size], dtype=np.float64) - 1) / 2
    return float(np.linalg.norm(apply(a, middle) - apply(b, middle)))


def turned(a: Array, b: Array) -> float:
    """Degrees between two matrices, 0 to 180."""
    first, second = (degrees(atan2(m[1][0], m[0][0])) for m in (a, b))
    return abs((first - second + 180) % 360 - 180)


def _match(
    detections: Sequence[Mapping[str, Any]], instance: Instance, template: Template
) -> Mapping[str, Any] | None:
    """The nearest detection that counts as this instance."""
    near = [
        (error, index)
        for index, one in enumerate(detections)
        if (error := distance(one["matrix"], instance.root, template.size)) <= ROOT_PX
        and turned(one["matrix"], instance.root) <= ROOT_TURN
    ]
    return detections[min(near)[1]] if near else None


def _instance(match: Mapping[str, Any] | None, instance: Instance, template: Template) -> Tally:
    told = {} if match is None else match["parts"]
    counted = [name for name in instance.parts if name not in instance.covered]
    away = [_away(told.get(name), instance.parts[name], template, name) for name in counted]
    hidden = [name for name in template.parts.leaves if name not in instance.parts] if match else []
    return Tally(
        instances=1,
        found=match is not None,
        parts=len(counted),
        right=sum(_right(*one) for one in away),
        near=sum(px <= NEAR_PX for px, _ in away),
        hidden=len(hidden),
        imagined=sum(bool(told.get(name, {}).get("found")) for name in hidden),
        wrong=tuple(
            f"{name} by {px:.1f} px and {turn:.1f}°"
            for name, (px, turn) in zip(counted, away, strict=True)
            if match and not _right(px, turn)
        ),
    )


def _right(px: float, turn: float) -> bool:
    return px <= PART_PX and turn <= PART_TURN


def _away(told: Mapping[str, Any] | None, truth: Array, template: Template, name: str) -> tuple[float, float]:
    """Pixels and degrees between what was told of a part and the truth; infinite where nothing was."""
    if not told or not told.get("matrix"):
        return float("inf"), float("inf")
    motif = template.parts[name].motif
    return distance(told["matrix"], truth, (motif.width, motif.height)), turned(told["matrix"], truth)

"""How far off is it? What was found beside what is true."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.demo.scene import Truth
from wherein.detect.result import Detection
from wherein.template.bundle import Template


@dataclass(frozen=True)
class Missed:
    """The errors of one detection.

    Attributes:
        pixels: the farthest that a point of a found part's outline lies from where it should be; the mean and
            the greatest over parts.
        degrees: by which a found part's angle is off; the mean and the greatest.
        wrong: leaves that were found though hidden, or not found though there.
    """

    pixels: tuple[float, float]
    degrees: tuple[float, float]
    wrong: tuple[str, ...]


def nearest(item: Detection, truths: Sequence[Truth], template: Template) -> Truth | None:
    """The truth that a detection stands for: its middle is less than a quarter of the canvas away."""
    middle = np.array((*template.centre, 1.0))

    def away(truth: Truth) -> float:
        return float(np.linalg.norm((item.matrix - truth.root[:2]) @ middle))

    closest = min(truths, key=away, default=None)
    return closest if closest is not None and away(closest) < min(template.size) / 4 else None


def missed(item: Detection, truth: Truth, template: Template) -> Missed:
    """Compare the leaves."""
    pixels, degrees, wrong = [], [], []
    for name in template.parts.leaves:
        part, right = item.parts[name], truth.parts[name][:2]
        if part.found == (name in truth.hidden):
            wrong.append(name)
        if not part.found:
            continue
        there = template.outlines[name] @ right[:, :2].T + right[:, 2]
        pixels.append(float(np.linalg.norm(part.polygon - there, axis=1).max()))
        degrees.append(abs((part.angle - _angle(right) + 180) % 360 - 180))
    return Missed(_mean_and_most(pixels), _mean_and_most(degrees), tuple(wrong))


def _angle(matrix: NDArray[np.float64]) -> float:
    return float(np.degrees(np.arctan2(matrix[1, 0], matrix[0, 0])))


def _mean_and_most(values: list[float]) -> tuple[float, float]:
    return (float(np.mean(values)), max(values)) if values else (np.nan, np.nan)

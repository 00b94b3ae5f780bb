"""Pose errors of detections in the demonstration's scene, which has known true poses."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wherein.demo.robot_scene import Truth
from wherein.detect.result import Detection
from wherein.motion.homography import angle_at, mapped
from wherein.template.bundle import Template

MAX_DISTANCE = 1 / 4
"""Maximum distance of a detection's centre from that of its robot, as a share of the canvas's shorter side. A
choice: it is 65 px; the robots are more than 200 px apart, and the error of a correct pose is below 1 px."""


@dataclass(frozen=True)
class PoseErrors:
    """The errors of one detection.

    Attributes:
        pixels: mean and maximum over the found parts; a part's error is the largest distance between a
            vertex of its outline and the same vertex in the true pose.
        degrees: mean and maximum difference of a found part's angle from the true one.
        wrong: leaves that were found although they are hidden, or not found although they are visible.
    """

    pixels: tuple[float, float]
    degrees: tuple[float, float]
    wrong: tuple[str, ...]


def closest_truth(item: Detection, truths: Sequence[Truth], template: Template) -> Truth | None:
    """The true pose with the closest centre to a detection; None if it is too far away."""

    def distance(truth: Truth) -> float:
        here, there = (mapped(matrix, template.centre) for matrix in (item.matrix, truth.root))
        return float(np.linalg.norm(here - there))

    closest = min(truths, key=distance, default=None)
    limit = min(template.size) * MAX_DISTANCE
    return closest if closest is not None and distance(closest) < limit else None


def pose_errors(item: Detection, truth: Truth, template: Template) -> PoseErrors:
    """Compare every leaf of a detection with its true pose."""
    pixels, degrees, wrong = [], [], []
    for name in template.parts.leaves:
        part, true = item.parts[name], truth.parts[name]
        if part.found == (name in truth.hidden):
            wrong.append(name)
        if not part.found:
            continue
        outline = mapped(true, template.outlines[name])
        pixels.append(float(np.linalg.norm(part.polygon - outline, axis=1).max()))
        # The difference of two angles, wrapped to [−180°, 180°).
        degrees.append(abs((part.angle - angle_at(true, part.middle) + 180) % 360 - 180))
    return PoseErrors(_mean_and_max(pixels), _mean_and_max(degrees), tuple(wrong))


def _mean_and_max(values: list[float]) -> tuple[float, float]:
    return (float(np.mean(values)), max(values)) if values else (np.nan, np.nan)

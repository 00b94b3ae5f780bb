"""Detections of the paper's network: the peaks of ω_0, and the poses of parts from the root to the leaves."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.detect.paper.network import PaperNetwork, Traversal
from wherein.detect.paper.nodes import Occurrences
from wherein.detect.paper.occurrence import peaks
from wherein.template.bundle import Template
from wherein.template.tree import Matrix, Point

_MIN_CONFIDENCE = 0.05
"""Minimum confidence of a stride; a part without such a stride was not found. A choice: 1/20, as for the
support of a spike."""


@dataclass(frozen=True, eq=False)
class PaperPart:
    """One part of a detection.

    Attributes:
        matrix: the part's pixels → scene pixels, 3×3; canvas → scene pixels for a group.
        score: the confidence in it (eq. 14), 0 to 1; 0 if it was not found.
        cost: its final cost; infinite if it was not found.
        found: whether a stride ended near its joint. If not, `matrix` is its rest position.
    """

    matrix: Matrix
    score: float
    cost: float
    found: bool


@dataclass(frozen=True, eq=False)
class PaperDetection:
    """One instance of the template.

    Attributes:
        matrix: canvas → scene pixels, 3×3.
        score: ω_0 at its peak, in units of a full spike.
        cost: the root's final cost.
        parts: every part and group below the root, by name (the root itself if it is a leaf).
    """

    matrix: Matrix
    score: float
    cost: float
    parts: Mapping[str, PaperPart]


class PaperDetector:
    """Detection as in the paper: finds the peaks of ω_0, and the pose of each part below its parent's.

    Arguments:
        network: the network of a template.
        threshold: minimum score of a detection.
        apart: minimum distance between two instances, in pixels. A choice: one stride, as the text has it.
        reach: maximum distance of a part's joint from its place at the pose of its parent, in pixels. A
            choice: four widths σ0 of a spike.
    """

    def __init__(
        self, network: PaperNetwork, threshold: float = 0.5, apart: int = 20, reach: float = 12.0
    ) -> None:
        self.network, self.threshold, self.apart, self.reach = network, threshold, apart, reach

    @torch.no_grad()
    def __call__(self, scene: Float[Tensor, "3 H W"], threshold: float | None = None) -> list[PaperDetection]:
        """The detections in a scene, the highest score first.

        Arguments:
            scene: the picture to search.
            threshold: minimum score of a detection; None: that of the detector.
        """
        return self.follow(self.network(scene), threshold)

    @torch.no_grad()
    def follow(self, traversal: Traversal, threshold: float | None = None) -> list[PaperDetection]:
        """The detections in the result of a pass of the network over a scene; `threshold` as for a call."""
        lowest = self.threshold if threshold is None else threshold
        places, heights = peaks(self.heights(traversal), lowest, self.apart)
        found = (
            self._instance(traversal, (float(x), float(y)), score)
            for (x, y), score in zip(places.tolist(), heights.tolist(), strict=True)
        )
        return [instance for instance in found if instance is not None]

    def heights(self, traversal: Traversal) -> Float[Tensor, "H W"]:
        """ω_0 in units of a full spike, 2πσ0² ω_0: 1 at a stride of confidence 1."""
        # A spike is a Gaussian of mass 1 and width σ0 in two dimensions: its peak is 1 / (2πσ0²).
        sigma0 = self.network.log_sigma0.detach().exp()
        return 2 * math.pi * sigma0**2 * traversal.map

    def _instance(self, traversal: Traversal, place: Point, score: float) -> PaperDetection | None:
        template = self.network.template
        # A peak is a pixel, and spikes overlap: the stride that made it ended somewhere near.
        root = _best_near(traversal.nodes[traversal.root], place, self.reach)
        if root is None:
            return None
        parts: dict[str, PaperPart] = {}
        frames: dict[str, Matrix] = {traversal.root: root.matrix}
        # Parents come before their parts, so the frame of the parent is known.
        for name, part in template.parts.items():
            if part.parent is None:
                if part.motif is not None:
                    parts[name] = root
                continue
            parent = frames[part.parent]
            parts[name] = self._part(traversal.nodes[name], template, name, parent)
            # A group's pixels are the canvas: its matrix is its frame.
            frames[name] = parts[name].matrix
        # With Aggregate.SUM, several strides at one place add up to more than a full spike.
        return PaperDetection(root.matrix, min(score, 1.0), root.cost, parts)

    def _part(self, occurrences: Occurrences, template: Template, name: str, parent: Matrix) -> PaperPart:
        """The best stride that ended near the joint, which is placed by the pose of the parent."""
        part = template.parts[name]
        x, y, _ = parent @ np.array((*part.joint, 1.0))
        found = _best_near(occurrences, (float(x), float(y)), self.reach)
        return found or PaperPart(parent @ part.rest, 0.0, math.inf, False)


def _best_near(found: Occurrences, place: Point, reach: float) -> PaperPart | None:
    """The stride with the lowest cost of those that ended within reach of a place; None if there is none."""
    near = (found.point - found.point.new_tensor(place)).norm(dim=-1) <= reach
    sure = near & (found.weight > _MIN_CONFIDENCE)
    if not bool(sure.any()):
        return None
    # By cost, not by confidence, which is 1 for all costs up to γ and so does not tell them apart.
    best = int(torch.where(sure, found.cost, torch.inf).argmin())
    matrix = found.matrix[best].double().cpu().numpy()
    return PaperPart(matrix, float(found.weight[best]), float(found.cost[best]), True)

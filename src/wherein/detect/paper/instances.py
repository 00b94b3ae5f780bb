"""From the paper's network to plain detections: the root's peaks, and the poses down the tree."""

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


@dataclass(frozen=True, eq=False)
class PaperPart:
    """One part of a detection.

    Attributes:
        matrix: the part's pixels → scene pixels, 3×3; canvas → scene pixels for a group.
        score: how sure the network is of it, 0 to 1; 0 where it was not found.
        cost: its final cost; infinite where it was not found.
        found: whether a stride ended at its joint. If not, `matrix` has it as on the canvas.
    """

    matrix: Matrix
    score: float
    cost: float
    found: bool


@dataclass(frozen=True, eq=False)
class PaperDetection:
    """One instance.

    Attributes:
        matrix: canvas → scene pixels, 3×3.
        score: ω_0 at its peak, 1 for a spike that is surely there.
        cost: the root's final cost.
        parts: every part but the root by name, groups too; the root too where it is the only one.
    """

    matrix: Matrix
    score: float
    cost: float
    parts: Mapping[str, PaperPart]


class PaperDetector:
    """Detection as the paper has it: ω_0 thresholded, poses followed from the root to the leaves.

    Arguments:
        network: with its template.
        threshold: the least score of a detection.
        apart: two instances are so many pixels apart, or more.
        reach: how far from where its parent expects it a part's joint may lie, in pixels.
    """

    def __init__(
        self, network: PaperNetwork, threshold: float = 0.5, apart: int = 20, reach: float = 12.0
    ) -> None:
        self.network, self.threshold, self.apart, self.reach = network, threshold, apart, reach

    @torch.no_grad()
    def __call__(self, scene: Float[Tensor, "3 H W"]) -> list[PaperDetection]:
        """Detections in a scene, the surest first."""
        return self.follow(self.network(scene))

    @torch.no_grad()
    def follow(self, seen: Traversal) -> list[PaperDetection]:
        """Detections in what the network saw."""
        places, heights = peaks(self.heights(seen), self.threshold, self.apart)
        found = (
            self._instance(seen, (float(x), float(y)), score)
            for (x, y), score in zip(places.tolist(), heights.tolist(), strict=True)
        )
        return [instance for instance in found if instance is not None]

    def heights(self, seen: Traversal) -> Float[Tensor, "H W"]:
        """ω_0 in units of a full spike, 2πσ0² ω_0: 1 where one surely is."""
        sigma0 = self.network.log_sigma0.detach().exp()
        return 2 * math.pi * sigma0**2 * seen.map

    def _instance(self, seen: Traversal, place: Point, score: float) -> PaperDetection | None:
        template = self.network.template
        root = _nearest(seen.nodes[seen.root], place, self.reach)
        if root is None:
            return None
        parts: dict[str, PaperPart] = {}
        frames: dict[str, Matrix] = {seen.root: root.matrix}
        for name, part in template.parts.items():
            if part.parent is None:
                if part.motif is not None:
                    parts[name] = root
                continue
            parent = frames[part.parent]
            parts[name] = self._part(seen.nodes[name], template, name, parent)
            # A group's pixels are the canvas: its matrix is its frame.
            frames[name] = parts[name].matrix
        return PaperDetection(root.matrix, min(score, 1.0), root.cost, parts)

    def _part(self, seen: Occurrences, template: Template, name: str, parent: Matrix) -> PaperPart:
        """The surest stride that ended at the joint, where the parent's pose expects it."""
        part = template.parts[name]
        x, y, _ = parent @ np.array((*part.joint, 1.0))
        found = _nearest(seen, (float(x), float(y)), self.reach)
        return found or PaperPart(parent @ part.rest, 0.0, math.inf, False)


def _nearest(seen: Occurrences, place: Point, reach: float) -> PaperPart | None:
    """Of the strides that ended within reach of a place the surest, of equally sure ones the cheapest."""
    near = (seen.point - seen.point.new_tensor(place)).norm(dim=-1) <= reach
    sure = near & (seen.weight > 0.05)
    if not bool(sure.any()):
        return None
    # Costs below γ are all of weight 1: only the cost tells them apart, and it falls as the weight rises.
    best = int(torch.where(sure, seen.cost, torch.inf).argmin())
    matrix = seen.matrix[best].double().cpu().numpy()
    return PaperPart(matrix, float(seen.weight[best]), float(seen.cost[best]), True)

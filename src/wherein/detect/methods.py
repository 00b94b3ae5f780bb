"""The two ways to search a scene: by pieces, down the tree; and bottom-up, as the paper has it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.detect.calibration.measure import steps_of
from wherein.detect.calibration.model import Calibration
from wherein.detect.explain.convergence import Ways, retraced
from wherein.detect.explain.occurrence_maps import Map, occurrence
from wherein.detect.fast.assemble import assemble, detection
from wherein.detect.fast.exclusion import apart
from wherein.detect.fast.finder import Judged, Look, Range
from wherein.detect.fast.octaves import LIKELY, Bands
from wherein.detect.paper.instances import PaperDetection, PaperDetector
from wherein.detect.paper.network import PaperNetwork
from wherein.detect.result import Detection
from wherein.pyramid.register_pyramid import Poses
from wherein.template.bundle import Template

METHODS = ("fast", "paper")

_MANY, _CROWD = 6, 64
"""Finds from which on there may be more than were followed; and how many times as many are followed at most.
"""


@dataclass(frozen=True, eq=False)
class Finds:
    """What a search tells.

    Attributes:
        items: one a found object, the surest first.
        missed: where there is none, what came nearest, if that was close (`LIKELY` of the threshold).
    """

    items: tuple[Detection, ...]
    missed: Detection | None = None


class Search(Protocol):
    """Finds a template in one scene."""

    threshold: float

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int | None) -> Finds:
        """The surest `count` instances, all where it is None."""

    def occurrence(self, scene: Float[Tensor, "3 H W"]) -> dict[str, Map]:
        """Where parts could be, by name."""

    def retraced(self, scene: Float[Tensor, "3 H W"], found: Sequence[Detection]) -> tuple[Ways, ...]:
        """How the pieces of each find came to rest."""


class ByPieces:
    """The default: docs/detection.md follows a scene through it.

    Arguments:
        template: what is looked for.
        ranges: in which poses.
        calibration: steps and weights.
        threshold: the least score.
        threads: for the first look; torch's number where it is None.
    """

    def __init__(
        self,
        template: Template,
        ranges: Range,
        calibration: Calibration,
        threshold: float,
        threads: int | None,
    ) -> None:
        steps = {home: steps_of(basin, ranges.fixed) for home, basin in calibration.basins.items()}
        self.bands = Bands(template, ranges, calibration.weights, steps)
        self.threshold, self.threads = threshold, threads or torch.get_num_threads()
        # With a low threshold more is told, but what is enough to stop looking stays what it was.
        self.enough = max(threshold, calibration.threshold)

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int | None) -> Finds:
        """The surest `count` instances."""
        told = self._told(scene, self._everywhere(scene), count)
        crowd, most = 1, math.inf if count is None else count
        while _MANY * crowd < len(told.items) < most and crowd < _CROWD:
            crowd *= 4
            more = self._told(scene, self._everywhere(scene, crowd), count)
            if len(more.items) <= len(told.items):
                break
            told = more
        return told

    def follow(
        self, scene: Float[Tensor, "3 H W"], roots: Poses, count: int | None, everywhere: bool
    ) -> Finds:
        """The surest `count` instances near known places.

        Arguments:
            scene: where to look.
            roots: (N, 3, 3) canvas → scene, N > 0.
            count: None: all.
            everywhere: look at all other places as well.
        """
        found = self.bands.follow(scene, roots, self.enough, LIKELY * self.threshold)
        if everywhere:
            found = found.and_also(self._everywhere(scene))
        return self._told(scene, found, count)

    def _everywhere(self, scene: Float[Tensor, "3 H W"], crowd: int = 1) -> Judged:
        look = Look(self.enough, self.threads, crowd)
        return self.bands(scene, look, polished=LIKELY * self.threshold)

    def _told(self, scene: Float[Tensor, "3 H W"], found: Judged, count: int | None) -> Finds:
        items = self._assembled(scene, apart(self.bands.whole, found, self.threshold, count))
        if items or not len(found.scores):
            return Finds(items)
        (nearest,) = self._assembled(scene, found[np.argsort(-found.scores)[:1]])
        return Finds((), nearest if nearest.score >= LIKELY * self.threshold else None)

    def _assembled(self, scene: Float[Tensor, "3 H W"], judged: Judged) -> tuple[Detection, ...]:
        others = self.bands.followers(scene, judged)
        return tuple(assemble(self.bands.whole, judged, k, told) for k, told in enumerate(others))

    def occurrence(self, scene: Float[Tensor, "3 H W"]) -> dict[str, Map]:
        """The first look: ZNCC with the part's centre at each pixel."""
        return occurrence(self.bands, scene, self.threads)

    def retraced(self, scene: Float[Tensor, "3 H W"], found: Sequence[Detection]) -> tuple[Ways, ...]:
        """From where the search begins to full size."""
        return retraced(self.bands, scene, found, self.threads)


class ByPaper:
    """Algorithm 1.

    Arguments:
        network: with its template.
        ranges: finds outside of its rotations are not told.
        threshold: the least score.
    """

    def __init__(self, network: PaperNetwork, ranges: Range, threshold: float) -> None:
        self.template, self.ranges, self.threshold = network.template, ranges, threshold
        self.detector = PaperDetector(network)

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int | None) -> Finds:
        """The surest `count` instances."""
        self.detector.threshold = LIKELY * self.threshold
        seen = [self._told(one) for one in self.detector(scene)]
        turned = [one for one in seen if abs(one.angle) <= self.ranges.rotation]
        items = tuple(one for one in turned if one.score >= self.threshold)[:count]
        return Finds(items, None if items else next(iter(turned), None))

    def occurrence(self, scene: Float[Tensor, "3 H W"]) -> dict[str, Map]:
        """ω of every node."""
        nodes = self.detector.network(scene).nodes
        return {name: node.map.float().numpy() for name, node in nodes.items()}

    def retraced(self, scene: Float[Tensor, "3 H W"], found: Sequence[Detection]) -> tuple[Ways, ...]:
        """Nothing: thousands of descents make a map, and none of them is the find's."""
        return tuple({} for _ in found)

    def _told(self, found: PaperDetection) -> Detection:
        tree = self.template.parts
        frames = {name: part.matrix @ np.linalg.inv(tree[name].rest) for name, part in found.parts.items()}
        leaves = {name: (found.parts[name].score, found.parts[name].found) for name in tree.leaves}
        return detection(self.template, {tree.root: found.matrix, **frames}, leaves, found.score)

"""The two ways to search a scene: by pieces, down the tree; and bottom-up, as the paper has it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.detect.assemble import assemble, detection
from wherein.detect.bands import Bands
from wherein.detect.calibrate import Calibration, steps_of
from wherein.detect.detections import Detection
from wherein.detect.exclusion import apart
from wherein.detect.finder import Judged, Range
from wherein.detect.network import PaperNetwork
from wherein.detect.occurrence import Map, occurrence
from wherein.detect.paper import PaperDetection, PaperDetector
from wherein.errors import require
from wherein.pyramid import Poses
from wherein.template import Template

METHODS = ("fast", "paper")

PAPER_THRESHOLD = 0.5
"""Of ω_0 at its peak, where a spike that is surely there has 1."""


class Search(Protocol):
    """Finds a template in one scene."""

    threshold: float

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int | None) -> tuple[Detection, ...]:
        """The surest `count` instances, all where it is None."""

    def occurrence(self, scene: Float[Tensor, "3 H W"]) -> dict[str, Map]:
        """Where parts could be, by name."""


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
        steps = {home: steps_of(basin) for home, basin in calibration.basins.items()}
        self.bands = Bands(template, ranges, calibration.weights, steps)
        self.threshold, self.threads = threshold, threads

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int | None) -> tuple[Detection, ...]:
        """The surest `count` instances."""
        return self._told(scene, self._everywhere(scene), count)

    def follow(
        self, scene: Float[Tensor, "3 H W"], roots: Poses, count: int | None, everywhere: bool
    ) -> tuple[Detection, ...]:
        """The surest `count` instances near known places.

        Arguments:
            scene: where to look.
            roots: (N, 3, 3) canvas → scene, N > 0.
            count: None: all.
            everywhere: look at all other places as well.
        """
        found = self.bands.follow(scene, roots, self.threshold)
        if everywhere:
            found = found.and_also(self._everywhere(scene))
        return self._told(scene, found, count)

    def _everywhere(self, scene: Float[Tensor, "3 H W"]) -> Judged:
        return self.bands(scene, self.threshold, self.threads or torch.get_num_threads())

    def _told(self, scene: Float[Tensor, "3 H W"], found: Judged, count: int | None) -> tuple[Detection, ...]:
        judged = apart(self.bands.whole, found, self.threshold, count)
        others = self.bands.followers(scene, judged)
        return tuple(assemble(self.bands.whole, judged, k, told) for k, told in enumerate(others))

    def occurrence(self, scene: Float[Tensor, "3 H W"]) -> dict[str, Map]:
        """The first look: ZNCC with the part's centre at each pixel."""
        return occurrence(self.bands, scene, self.threads or torch.get_num_threads())


class ByPaper:
    """Algorithm 1.

    Arguments:
        template: what is looked for.
        ranges: finds outside of its rotations are not told; the scale must be 1, as the paper's is.
        threshold: the least score.
    """

    def __init__(self, template: Template, ranges: Range, threshold: float) -> None:
        require(
            ranges.scale == (1.0, 1.0),
            f'scale is {ranges.scale}, but method="paper" knows turns and shifts only: leave it at (1, 1)',
        )
        self.template, self.ranges, self.threshold = template, ranges, threshold
        self.detector = PaperDetector(PaperNetwork(template), threshold)

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int | None) -> tuple[Detection, ...]:
        """The surest `count` instances."""
        with _one_thread():
            found = [self._told(one) for one in self.detector(scene)]
        return tuple(one for one in found if abs(one.angle) <= self.ranges.rotation)[:count]

    def occurrence(self, scene: Float[Tensor, "3 H W"]) -> dict[str, Map]:
        """ω of every node."""
        with _one_thread():
            nodes = self.detector.network(scene).nodes
        return {name: node.map.float().numpy() for name, node in nodes.items()}

    def _told(self, found: PaperDetection) -> Detection:
        tree = self.template.parts
        frames = {name: part.matrix @ np.linalg.inv(tree[name].rest) for name, part in found.parts.items()}
        leaves = {name: (found.parts[name].score, found.parts[name].found) for name in tree.leaves}
        return detection(self.template, {tree.root: found.matrix, **frames}, leaves, found.score)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Thousands of small operations: threads that wait for each other between them cost more than they give,
    and twenty times as much where another process holds a core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

"""The basin of attraction of a leaf under the network's own descent, and the stride that covers it.

A leaf is found where at least one stride of the grid lies in its basin. Once it is known which of the starts
around a leaf, in steps of s, converge to it, the same is known for every grid of stride m·s: each of its m²
phases is a class of starts modulo m, and covers the leaf if one of them converges. So the basin is measured
once, and gives the fraction of places that a stride covers (end of section 6: cover the space at the scale of
the basin).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.detect.paper.nodes import Hyperparameters, StrideResults, leaf_node
from wherein.detect.paper.strides import Screen, register_strides
from wherein.detect.paper.tuning.synthetic_scenes import FOUND, SyntheticScene, close_to
from wherein.images.motif import Motif
from wherein.template.tree import Part, Point

_SIDE = 4
"""Starts along each axis. A choice: the largest stride, four steps, is then one start in each phase."""

_STEP = 2.25
"""Distance of neighbouring starts, in σ. A choice: closer starts converge together."""

_MULTIPLES = (4, 3, 2)
"""Strides that are considered, in steps. A stride of one step costs four times as much as one of two, and
covers hardly more."""

_MIN_COVERAGE = 0.95
"""Of the coverage of starts at every step: what a larger stride must reach. A choice."""

_SCREEN = Screen(keep=0.6)
"""Close to the leaf, more strides are worth following than in a whole scene, where it is 0.2. A choice."""


@dataclass(frozen=True, eq=False)
class LeafBasin:
    """Registrations of a leaf in K scenes, from N starts in each, row by row.

    Attributes:
        step: pixels between neighbouring starts.
        converged: which starts led to the leaf.
        results: for each scene, the results of the starts that reached the last stage.
        start: for each scene, the index of the start of each result.
    """

    step: int
    converged: Bool[Tensor, "K N"]
    results: list[StrideResults]
    start: list[Tensor]

    def coverage(self, multiple: int) -> float:
        """The fraction of phases of a grid of stride `multiple` · `step` that have a converging start."""
        square = self.converged.reshape(-1, _SIDE, _SIDE)
        phases = [
            square[:, top::multiple, left::multiple].flatten(1).any(1).float().mean()
            for top in range(multiple)
            for left in range(multiple)
        ]
        return float(torch.stack(phases).mean())

    def stride(self) -> int:
        """The largest stride that covers nearly as much as starts at every step."""
        enough = _MIN_COVERAGE * self.coverage(1)
        large = (m for m in _MULTIPLES if self.coverage(m) >= enough)
        return self.step * next(large, _MULTIPLES[-1])

    @property
    def converged_results(self) -> list[StrideResults]:
        """For each scene, the results that are at the leaf."""
        each = zip(self.results, self.start, self.converged, strict=True)
        return [results[converged[start]] for results, start, converged in each]

    def on_grid(self, index: int, stride: int, rng: np.random.Generator) -> StrideResults:
        """The results in a scene that a grid of this stride, at a random offset, would have."""
        multiple = stride // self.step
        rows, columns = self.start[index] // _SIDE, self.start[index] % _SIDE
        top, left = rng.integers(multiple, size=2).tolist()
        return self.results[index][(rows % multiple == top) & (columns % multiple == left)]


def measure_basin(
    part: Part,
    motif: Motif,
    chosen: Hyperparameters,
    scenes: Sequence[SyntheticScene],
    rng: np.random.Generator,
) -> LeafBasin:
    """Register a leaf from starts around its true pose, in every scene.

    Arguments:
        part: a leaf.
        motif: its picture.
        chosen: its smoothing and iterations.
        scenes: with known poses.
        rng: offsets the starts, which are never exactly at the true pose.
    """
    node = leaf_node(motif, part.pivot, chosen)
    step = max(2, round(_STEP * chosen.sigma))
    converged, results, start = [], [], []
    for scene in scenes:
        truth = scene.pose(part.name)
        starts = _starts_around(truth, motif.centre, step, rng)
        found = register_strides(node.network, scene.scene, starts, _SCREEN)
        right = torch.zeros(len(starts), dtype=torch.bool)
        right[found.stride[close_to(found.matrix, truth, motif.centre, *FOUND)]] = True
        converged.append(right)
        results.append(node.results(found.matrix, found.cost))
        start.append(found.stride)
    return LeafBasin(step, torch.stack(converged), results, start)


def _starts_around(
    truth: Float[Tensor, "3 3"], centre: Point, step: int, rng: np.random.Generator
) -> Float[Tensor, "N 2"]:
    """A lattice of positions of the motif's top-left pixel, with the motif's centre around the true one."""
    line = step * (torch.arange(_SIDE) - (_SIDE - 1) / 2)
    y, x = torch.meshgrid(line, line, indexing="ij")
    there = (truth @ truth.new_tensor((*centre, 1.0)))[:2] - truth.new_tensor(centre)
    offset = truth.new_tensor(rng.uniform(-step / 2, step / 2, 2))
    return torch.stack((x.flatten(), y.flatten()), -1) + there + offset

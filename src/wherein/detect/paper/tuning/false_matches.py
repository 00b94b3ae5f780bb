"""False matches of a leaf: where in a scene its cost is lowest, although it is not there.

At a fixed rotation the cost of the second round, which is hardly smoothed, is for every translation at once

    2φ = ⟨y², 1_Ω⟩ − 2 ⟨y, P_Ω x⟩ + ‖P_Ω x‖²,

two correlations. So the lowest cost in a scene is found without a single stride.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.detect.paper.nodes import Node, StrideResults
from wherein.detect.paper.tuning.synthetic_scenes import NEAR, SyntheticScene, close_to
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.motion.field import lattice, shift_matrix, transform
from wherein.solve.unroll import UnrolledStage
from wherein.template.pose import placed
from wherein.template.tree import Part, Point
from wherein.warp import Surface

_FACTOR = 2
"""By which scene and motif are reduced. A choice: a descent at full size follows."""

_COUNT, _ANGLE_STEP = 6, 5.0
"""Number of lowest costs in a scene from which a descent starts, and degrees between the rotations at which
they are searched. A choice."""


@dataclass(frozen=True, eq=False)
class FalseMatches:
    """Registrations of a leaf in one scene that ended where it is not.

    Attributes:
        results: the registrations.
        leaf: for each, the leaf that is visible there; None for the background.
    """

    results: StrideResults
    leaf: tuple[str | None, ...]

    @property
    def on_clutter(self) -> StrideResults:
        """Those that would be there without the template."""
        return self.results[torch.tensor([name is None for name in self.leaf], dtype=torch.bool)]


def false_matches(
    part: Part, motif: Motif, node: Node, scenes: Sequence[SyntheticScene], rotation: float
) -> list[FalseMatches]:
    """The false matches in each scene: the last stage of a leaf, run from the lowest costs.

    Results near the true pose are left out.

    Arguments:
        part: a leaf.
        motif: its picture.
        node: its network.
        scenes: with known poses.
        rotation: ± degrees that are searched.
    """
    count = 2 * math.ceil(rotation / _ANGLE_STEP) + 1
    search = LowestCosts(motif, np.linspace(-rotation, rotation, count).tolist())
    stage = node.network.stages[-1]
    assert isinstance(stage, UnrolledStage)
    found = []
    for scene in scenes:
        formulation = node.network.bind(stage, scene.scene)
        ended = node.network.run(stage, formulation, search(scene.scene, _COUNT))
        right = close_to(ended.matrix, scene.pose(part.name), motif.centre, *NEAR)
        wrong = ended.cost.isfinite() & ~right
        centres = ended.matrix[wrong] @ ended.matrix.new_tensor((*motif.centre, 1.0))
        leaves = tuple(scene.leaf_at(float(x), float(y)) for x, y, _ in centres)
        found.append(FalseMatches(node.results(ended.matrix, ended.cost)[wrong], leaves))
    return found


class LowestCosts:
    """Finds the poses at which a motif's cost is lowest.

    Arguments:
        motif: what is compared with the scene.
        angles: the rotations to try, in degrees.
    """

    def __init__(self, motif: Motif, angles: Sequence[float]) -> None:
        small, self.angles, self.centre = motif.pooled(_FACTOR), angles, motif.centre
        self.radius = math.ceil(math.hypot(small.width, small.height) / 2) + 1
        # Pixel X of a reduced picture has its centre at factor · X + (factor − 1)/2.
        x, y = ((v - (_FACTOR - 1) / 2) / _FACTOR for v in self.centre)
        self.kernels = [_rotated(small, (x, y), angle, self.radius) for angle in angles]

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int) -> Float[Tensor, "n 3 3"]:
        """`count` poses of lowest cost, motif pixels → scene pixels; no two closer than half the motif."""
        reduced = pool(scene, _FACTOR)
        side = 2 * self.radius + 1
        if min(reduced.shape[1:]) < side:
            return shift_matrix(scene.new_zeros(0, 2))
        spectrum = torch.fft.rfft2(torch.cat((reduced, reduced.square().sum(0, keepdim=True))))
        height, width = reduced.shape[1:]
        costs = torch.stack([_costs(spectrum, (height, width), kernel) for kernel in self.kernels])
        best, which = costs[:, : height - side + 1, : width - side + 1].min(0)
        found = []
        for row, column in _lowest(best, count, max(1, self.radius // 2)):
            x, y = (_FACTOR * (v + self.radius) + (_FACTOR - 1) / 2 for v in (column, row))
            found.append(placed(self.angles[int(which[row, column])], 1.0, (x, y), self.centre))
        return torch.from_numpy(np.stack(found)).to(scene)


def _rotated(motif: Motif, centre: Point, angle: float, radius: int) -> Float[Tensor, "4 n n"]:
    """P_Ω x and 1_Ω in a square, rotated about its centre, at which the motif's centre lies."""
    there = torch.from_numpy(placed(angle, 1.0, (radius, radius), centre))
    back = torch.linalg.inv(there).to(motif.pixels)
    spots = transform(back, lattice(2 * radius + 1, 2 * radius + 1, back))
    return Surface(torch.cat((motif.masked, motif.mask[None])))(spots).movedim(-1, 0)


def _costs(spectrum: Tensor, size: tuple[int, int], kernel: Float[Tensor, "4 n n"]) -> Float[Tensor, "H W"]:
    """2φ with the kernel's corner at each place, without ‖P_Ω x‖², which is the same for all rotations."""
    padding = (0, size[1] - kernel.shape[2], 0, size[0] - kernel.shape[1])
    filters = torch.fft.rfft2(F.pad(torch.cat((-2 * kernel[:-1], kernel[-1:])), padding)).conj()
    costs: Tensor = torch.fft.irfft2((spectrum * filters).sum(0), s=size)
    return costs


def _lowest(values: Float[Tensor, "H W"], count: int, distance: int) -> list[tuple[int, int]]:
    """Rows and columns of the lowest values, no two of them within a distance."""
    left = values.clone()
    places: list[tuple[int, int]] = []
    while len(places) < count and bool(left.isfinite().any()):
        row, column = divmod(int(left.argmin()), left.shape[1])
        places.append((row, column))
        left[
            max(0, row - distance) : row + distance + 1, max(0, column - distance) : column + distance + 1
        ] = math.inf
    return places

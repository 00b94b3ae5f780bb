"""What else is as cheap as a part? Where in a scene its cost is least, though it is not there.

At a fixed rotation the cost of the second round, which is hardly smoothed, is for every translation at once

    2φ = ⟨y², 1_Ω⟩ − 2 ⟨y, P_Ω x⟩ + ‖P_Ω x‖²,

two correlations: so the least there is in a scene is known without a single stride.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.detect.paper.nodes import Ends, Node
from wherein.detect.paper.tuning.rehearsal import NEAR, Rehearsal, at_home
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.motion.field import lattice, shift_matrix, transform
from wherein.solve.unroll import UnrolledStage
from wherein.template.pose import placed
from wherein.template.tree import Part, Point
from wherein.warp import Surface

_FACTOR = 2
"""By which scene and motif are reduced: a descent follows."""

_COUNT, _TURN = 6, 5.0
"""Cheapest places of a scene that are followed, and degrees between the looks for them."""


@dataclass(frozen=True, eq=False)
class Mistakes:
    """Where a leaf would be found in a scene, though it is not there.

    Attributes:
        ends: the places.
        of: the leaf that each shows; None for the background.
    """

    ends: Ends
    of: tuple[str | None, ...]

    @property
    def on_clutter(self) -> Ends:
        """Those that would be there without the template."""
        return self.ends[torch.tensor([name is None for name in self.of], dtype=torch.bool)]


def mistakes(
    part: Part, motif: Motif, node: Node, rehearsals: Sequence[Rehearsal], turning: float
) -> list[Mistakes]:
    """Where the last stage of a leaf ends in each rehearsal, from the cheapest places, but at the truth.

    Arguments:
        part: a leaf.
        motif: its picture.
        node: its network.
        rehearsals: scenes with the truth.
        turning: ± degrees at which to look.
    """
    looks = 2 * math.ceil(turning / _TURN) + 1
    look = Cheapest(motif, np.linspace(-turning, turning, looks).tolist())
    stage = node.network.stages[-1]
    assert isinstance(stage, UnrolledStage)
    found = []
    for rehearsal in rehearsals:
        formulation = node.network.bind(stage, rehearsal.scene)
        ended = node.network.run(stage, formulation, look(rehearsal.scene, _COUNT))
        right = at_home(ended.matrix, rehearsal.at(part.name), motif.centre, *NEAR)
        wrong = ended.cost.isfinite() & ~right
        centres = ended.matrix[wrong] @ ended.matrix.new_tensor((*motif.centre, 1.0))
        names = tuple(rehearsal.whose(float(x), float(y)) for x, y, _ in centres)
        found.append(Mistakes(node.ends(ended.matrix, ended.cost)[wrong], names))
    return found


class Cheapest:
    """Finds where a motif's cost is least.

    Arguments:
        motif: what is compared.
        angles: degrees at which to look.
    """

    def __init__(self, motif: Motif, angles: Sequence[float]) -> None:
        small, self.angles, self.centre = motif.pooled(_FACTOR), angles, motif.centre
        self.radius = math.ceil(math.hypot(small.width, small.height) / 2) + 1
        # Pixel X of a reduced picture has its centre at factor · X + (factor − 1)/2.
        x, y = ((v - (_FACTOR - 1) / 2) / _FACTOR for v in self.centre)
        self.kernels = [_turned(small, (x, y), angle, self.radius) for angle in angles]

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int) -> Float[Tensor, "n 3 3"]:
        """The `count` poses of least cost, no two closer than half the motif, motif pixels → scene pixels."""
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


def _turned(motif: Motif, centre: Point, angle: float, radius: int) -> Float[Tensor, "4 n n"]:
    """P_Ω x and 1_Ω in a square, turned about its middle, in which the motif's centre lies."""
    there = torch.from_numpy(placed(angle, 1.0, (radius, radius), centre))
    back = torch.linalg.inv(there).to(motif.pixels)
    spots = transform(back, lattice(2 * radius + 1, 2 * radius + 1, back))
    return Surface(torch.cat((motif.masked, motif.mask[None])))(spots).movedim(-1, 0)


def _costs(spectrum: Tensor, size: tuple[int, int], kernel: Float[Tensor, "4 n n"]) -> Float[Tensor, "H W"]:
    """2φ with the kernel's corner at each place, but for ‖P_Ω x‖², which is the same at all rotations."""
    padding = (0, size[1] - kernel.shape[2], 0, size[0] - kernel.shape[1])
    filters = torch.fft.rfft2(F.pad(torch.cat((-2 * kernel[:-1], kernel[-1:])), padding)).conj()
    costs: Tensor = torch.fft.irfft2((spectrum * filters).sum(0), s=size)
    return costs


def _lowest(values: Float[Tensor, "H W"], count: int, apart: int) -> list[tuple[int, int]]:
    """Rows and columns of the lowest values, one after the other, without what is around those before."""
    left = values.clone()
    places: list[tuple[int, int]] = []
    while len(places) < count and bool(left.isfinite().any()):
        row, column = divmod(int(left.argmin()), left.shape[1])
        places.append((row, column))
        left[max(0, row - apart) : row + apart + 1, max(0, column - apart) : column + apart + 1] = math.inf
    return places

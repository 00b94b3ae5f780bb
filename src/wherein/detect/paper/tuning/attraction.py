"""From which strides does a part come home? Its basin under the network's own descent, and the grid over it.

A part is found where one stride of the grid lies in its basin of attraction. With the starts around a part
in steps of s known to come home or not, every grid of stride m·s is, too: each of its m² phases is a class of
starts modulo m, and covers the part if one of them comes home. So the basin, measured once, tells the share
of places that a stride covers (end of section 6: cover the space at the scale of the basin).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.detect.paper.nodes import Ends, Hyperparameters, leaf
from wherein.detect.paper.strides import Screen, register_strides
from wherein.detect.paper.tuning.rehearsal import HOME, Rehearsal, at_home
from wherein.images.motif import Motif
from wherein.template.tree import Part, Point

_SIDE = 4
"""Starts along each axis."""

_STEP = 2.25
"""Between neighbouring starts, in σ: what is closer comes home together."""

_MULTIPLES = (4, 3, 2)
"""Strides that are considered, in steps. One of a single step costs four times as much as one of two, and
covers hardly more."""

_COVERED = 0.95
"""Of what starts at every step cover: what a wider grid must."""

_CLOSE = Screen(keep=0.6)
"""Around the truth more strides are worth following than in a whole scene."""


@dataclass(frozen=True, eq=False)
class Homing:
    """Starts around a part in K rehearsals, N of them in each, row by row.

    Attributes:
        step: pixels between neighbouring starts.
        home: which of them came home.
        ends: of each rehearsal, where the starts ended that were followed to the end.
        start: which start each of these was.
    """

    step: int
    home: Bool[Tensor, "K N"]
    ends: list[Ends]
    start: list[Tensor]

    def covered(self, multiple: int) -> float:
        """The share of phases of a grid of stride `multiple` · `step` that have a start at home."""
        square = self.home.reshape(-1, _SIDE, _SIDE)
        phases = [
            square[:, top::multiple, left::multiple].flatten(1).any(1).float().mean()
            for top in range(multiple)
            for left in range(multiple)
        ]
        return float(torch.stack(phases).mean())

    def stride(self) -> int:
        """The widest that covers nearly as much as starts at every step."""
        enough = _COVERED * self.covered(1)
        wide = (m for m in _MULTIPLES if self.covered(m) >= enough)
        return self.step * next(wide, _MULTIPLES[-1])

    @property
    def found(self) -> list[Ends]:
        """Those ends of each rehearsal that are home."""
        each = zip(self.ends, self.start, self.home, strict=True)
        return [ends[home[start]] for ends, start, home in each]

    def on_a_grid(self, index: int, stride: int, rng: np.random.Generator) -> Ends:
        """The ends of a rehearsal that a grid of this stride, laid anywhere, would have."""
        multiple = stride // self.step
        rows, columns = self.start[index] // _SIDE, self.start[index] % _SIDE
        top, left = rng.integers(multiple, size=2).tolist()
        return self.ends[index][(rows % multiple == top) & (columns % multiple == left)]


def homing(
    part: Part,
    motif: Motif,
    chosen: Hyperparameters,
    rehearsals: Sequence[Rehearsal],
    rng: np.random.Generator,
) -> Homing:
    """Descend to a part from starts around where it is, in every rehearsal.

    Arguments:
        part: a leaf.
        motif: its picture.
        chosen: its smoothing and iterations.
        rehearsals: scenes with the truth.
        rng: lays the starts, which are never where the part is exactly.
    """
    node = leaf(motif, part.pivot, chosen)
    step = max(2, round(_STEP * chosen.sigma))
    home, ends, start = [], [], []
    for rehearsal in rehearsals:
        truth = rehearsal.at(part.name)
        starts = _around(truth, motif.centre, step, rng)
        found = register_strides(node.network, rehearsal.scene, starts, _CLOSE)
        came = torch.zeros(len(starts), dtype=torch.bool)
        came[found.stride[at_home(found.matrix, truth, motif.centre, *HOME)]] = True
        home.append(came)
        ends.append(node.ends(found.matrix, found.cost))
        start.append(found.stride)
    return Homing(step, torch.stack(home), ends, start)


def _around(
    truth: Float[Tensor, "3 3"], centre: Point, step: int, rng: np.random.Generator
) -> Float[Tensor, "N 2"]:
    """Where the motif's top-left pixel starts: its middle near the truth's, a lattice of steps about it."""
    line = step * (torch.arange(_SIDE) - (_SIDE - 1) / 2)
    y, x = torch.meshgrid(line, line, indexing="ij")
    there = (truth @ truth.new_tensor((*centre, 1.0)))[:2] - truth.new_tensor(centre)
    aside = truth.new_tensor(rng.uniform(-step / 2, step / 2, 2))
    return torch.stack((x.flatten(), y.flatten()), -1) + there + aside

"""Occurrence motifs of the inner nodes: which pattern of spikes the parts below make (appendix A.4).

The paper puts the canonised template into the network and crops what its maps show to their support. At rest
that is known beforehand: a part that is found where it was cut out puts its spike on its joint. On the joint,
and not on the centre as eq. (13) has it, since a joint stays where it is when the part turns.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.errors import TemplateError
from wherein.images.gaussian import gaussian_spots
from wherein.images.motif import Motif
from wherein.template.bundle import Template

SUPPORT = 1 / 20
"""Of a full spike's height: below it, a map counts as empty (appendix A.4)."""


@dataclass(frozen=True, eq=False)
class OccurrenceMotif:
    """x_v of an inner node: a channel for each child, cropped from the canvas.

    Attributes:
        motif: the maps, on the whole of their box.
        at: where the box's top-left pixel lies on the canvas (x, y).
    """

    motif: Motif
    at: tuple[int, int]


def joints_below(template: Template, node: str) -> Float[Tensor, "C 2"]:
    """The joints of a node's children, (x, y) on the canvas."""
    children = template.parts.children(node)
    return torch.tensor([template.parts[child].joint for child in children], dtype=torch.float32)


def from_joints(template: Template, node: str, sigma0: float) -> OccurrenceMotif:
    """What the children of a node show at rest: a spike of width σ0 on each joint."""
    joints = joints_below(template, node)
    # exp(−r²/2σ0²) = 1/20: where `from_maps` would crop.
    reach = math.ceil(sigma0 * math.sqrt(-2 * math.log(SUPPORT)))
    low, high = joints.amin(0).floor().long() - reach, joints.amax(0).ceil().long() + reach + 1
    width, height = (high - low).tolist()
    left, top = low.tolist()
    return OccurrenceMotif(Motif.whole(gaussian_spots(joints - low, sigma0, height, width)), (left, top))


def from_maps(maps: Float[Tensor, "C h w"], sigma0: float, node: str) -> OccurrenceMotif:
    """What a network's maps show on the canvas, cropped to their support.

    Arguments:
        maps: of the children of a node, on the canvas.
        sigma0: the width of their spikes.
        node: whose they are, for the words of the error.

    Raises:
        TemplateError: a child does not show at all.
    """
    support = maps.detach() > SUPPORT / (2 * math.pi * sigma0**2)
    silent = torch.nonzero(~support.flatten(1).any(1))[:, 0].tolist()
    if silent:
        raise TemplateError(f'the group "{node}": its parts number {silent} do not show on the canvas')
    _, rows, columns = torch.nonzero(support, as_tuple=True)
    top, bottom = int(rows.min()), int(rows.max()) + 1
    left, right = int(columns.min()), int(columns.max()) + 1
    return OccurrenceMotif(Motif.whole(maps[:, top:bottom, left:right].clone()), (left, top))

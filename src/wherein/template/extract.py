"""Occurrence motifs of groups: the pattern of spikes in the occurrence maps of their children (appendix A.4).

The paper runs the network on the canonised template and crops the children's maps to their support
(`from_maps`). At rest these maps are known in advance: a part that is found where it was cut out puts its
spike on its joint (`from_joints`). The spike is on the joint, and not on the part's centre as in eq. (14),
because the joint does not move when the part turns; the released code does the same.
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
"""Fraction of a spike's peak below which a map counts as zero (appendix A.4: 1/20)."""


@dataclass(frozen=True, eq=False)
class OccurrenceMotif:
    """x_v of a group: one channel for each child, cropped from the canvas.

    Attributes:
        motif: the maps; the mask is the whole box.
        at: position (x, y) of the box's top-left pixel on the canvas.
    """

    motif: Motif
    at: tuple[int, int]


def joints_below(template: Template, node: str) -> Float[Tensor, "C 2"]:
    """The joints of a group's children, (x, y) on the canvas."""
    children = template.parts.children(node)
    return torch.tensor([template.parts[child].joint for child in children], dtype=torch.float32)


def from_joints(template: Template, node: str, sigma0: float) -> OccurrenceMotif:
    """The maps of a group's children in rest position: a spike of width σ0 on each joint."""
    joints = joints_below(template, node)
    # At radius r a spike has the fraction exp(−r²/2σ0²) of its peak. It equals SUPPORT for
    # r = σ0·√(−2 ln SUPPORT): the box is the one that `from_maps` would crop.
    reach = math.ceil(sigma0 * math.sqrt(-2 * math.log(SUPPORT)))
    low, high = joints.amin(0).floor().long() - reach, joints.amax(0).ceil().long() + reach + 1
    width, height = (high - low).tolist()
    left, top = low.tolist()
    return OccurrenceMotif(Motif.whole(gaussian_spots(joints - low, sigma0, height, width)), (left, top))


def from_maps(maps: Float[Tensor, "C h w"], sigma0: float, node: str) -> OccurrenceMotif:
    """The maps of a group's children on the canvas, cropped to their support.

    Arguments:
        maps: one for each child, of the size of the canvas.
        sigma0: the width of their spikes.
        node: the group's name, for the error message.

    Raises:
        TemplateError: a child's map is empty.
    """
    # The peak of a spike, a Gaussian of integral 1, is 1/(2πσ0²).
    support = maps.detach() > SUPPORT / (2 * math.pi * sigma0**2)
    empty = torch.nonzero(~support.flatten(1).any(1))[:, 0].tolist()
    if empty:
        raise TemplateError(f'children {empty} of the group "{node}" were not found on the canvas')
    _, rows, columns = torch.nonzero(support, as_tuple=True)
    top, bottom = int(rows.min()), int(rows.max()) + 1
    left, right = int(columns.min()), int(columns.max()) + 1
    return OccurrenceMotif(Motif.whole(maps[:, top:bottom, left:right].clone()), (left, top))

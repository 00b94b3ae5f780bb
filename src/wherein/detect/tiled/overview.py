"""The overview of a scene that is read by region: a reduced picture, filled in as tiles are read."""

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.giant.region_source import RegionSource
from wherein.images.picture import Overview
from wherein.images.pool import pool

_OVERVIEW = 2048
"""Pixels of the longer side of an overview, at most. A choice: what a screen shows."""

_UNREAD = 0.5
"""The grey of parts of an overview that were not read, as they are not in the region."""


def new_overview(source: RegionSource) -> Overview:
    """A grey picture for the overview of a scene."""
    reduction = 1
    while max(source.size) > _OVERVIEW * reduction:
        reduction *= 2
    width, height = (max(1, side // reduction) for side in source.size)
    return Overview(torch.full((3, height, width), _UNREAD), None, reduction, source.size)


def paste(
    overview: Overview, pixels: Float[Tensor, "3 h w"], corner: tuple[int, int], reduction: int
) -> None:
    """Write what was read into an overview.

    Arguments:
        overview: the picture that is changed.
        pixels: a part of the scene.
        corner: its left and top pixel in the scene at full size.
        reduction: of these pixels.
    """
    target_reduction = max(overview.reduction, reduction)
    # The first pixels of the overview that the part covers.
    first = [-(-begin // target_reduction) for begin in corner]
    x, y = ((target_reduction * at - begin) // reduction for at, begin in zip(first, corner, strict=True))
    small = pool(pixels[:, y:, x:].contiguous(), target_reduction // reduction)
    if target_reduction > overview.reduction:  # only where one tile is larger than any overview
        factor = target_reduction // overview.reduction
        small = small.repeat_interleave(factor, 1).repeat_interleave(factor, 2)
        first = [at * factor for at in first]
    target = overview.samples[:, first[1] : first[1] + small.shape[1], first[0] : first[0] + small.shape[2]]
    target[:] = small[:, : target.shape[1], : target.shape[2]]

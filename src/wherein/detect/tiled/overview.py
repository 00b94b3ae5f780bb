"""The overview of a scene that is read by region: a reduced picture, filled in as tiles are read."""

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.giant.region_source import RegionSource
from wherein.images.picture import Overview
from wherein.images.pool import pool

_OVERVIEW = 2048
"""Maximum length of the longer side of an overview, in pixels. A choice: what a screen shows."""

_UNREAD = 0.5
"""The grey level of pixels that are never read, as they lie outside of the searched region."""


def new_overview(source: RegionSource) -> Overview:
    """The overview of a scene before any tile is read: grey throughout."""
    # A power of 2, like the reductions of tiles, so that their pixels nest.
    reduction = 1
    while max(source.size) > _OVERVIEW * reduction:
        reduction *= 2
    width, height = (max(1, side // reduction) for side in source.size)
    return Overview(torch.full((3, height, width), _UNREAD), None, reduction, source.size)


def paste(
    overview: Overview, pixels: Float[Tensor, "3 h w"], corner: tuple[int, int], reduction: int
) -> None:
    """Write a tile into an overview.

    Arguments:
        overview: the picture that is changed.
        pixels: the pixels of the tile.
        corner: the left and top pixel of the tile in the scene at full size.
        reduction: the reduction of these pixels.
    """
    target_reduction = max(overview.reduction, reduction)
    # The first pixel of the overview that the tile covers as a whole: −(−a // b) rounds a / b up. The pixel
    # before it is covered by the previous tile, since tiles overlap.
    first = [-(-begin // target_reduction) for begin in corner]
    x, y = ((target_reduction * at - begin) // reduction for at, begin in zip(first, corner, strict=True))
    small = pool(pixels[:, y:, x:].contiguous(), target_reduction // reduction)
    if target_reduction > overview.reduction:  # the tiles are reduced further than the overview
        factor = target_reduction // overview.reduction
        small = small.repeat_interleave(factor, 1).repeat_interleave(factor, 2)
        first = [at * factor for at in first]
    # The last tile may reach past the overview, whose size is rounded down.
    target = overview.samples[:, first[1] : first[1] + small.shape[1], first[0] : first[0] + small.shape[2]]
    target[:] = small[:, : target.shape[1], : target.shape[2]]

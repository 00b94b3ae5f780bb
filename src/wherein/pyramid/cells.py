"""A grid of cells over the points of a motif.

Measures are computed for each cell separately, so that an occluder affects only some of the cells.
"""

from jaxtyping import Float, Int
from torch import Tensor


def cell_numbers(points: Float[Tensor, "N 2"], max_cells: int, min_size: float) -> Int[Tensor, " N"]:
    """The number of the cell that each point lies in.

    The grid spans the bounding box of the points, with as many cells along each axis as there is room for.

    Arguments:
        points: (x, y) in pixels.
        max_cells: maximum number of cells along each axis.
        min_size: minimum width and height of a cell, in pixels.

    Returns:
        row · max_cells + column, in [0, max_cells²). Some of the numbers may not occur.

    Example:
        >>> import torch
        >>> cell_numbers(torch.tensor([[0.0, 0.0], [9.0, 0.0], [0.0, 19.0]]), max_cells=4, min_size=5)
        tensor([ 0,  1, 12])
    """
    column, row = (
        ((points - points.amin(0)) / cell_size(points, max_cells, min_size)).floor().long().unbind(-1)
    )
    return row * max_cells + column


def cell_size(points: Float[Tensor, "N 2"], max_cells: int, min_size: float) -> Float[Tensor, "2"]:
    """The width and height in pixels of the cells of `cell_numbers`; arguments as there."""
    size = points.amax(0) - points.amin(0) + 1
    return size / (size / min_size).floor().clamp(1, max_cells)

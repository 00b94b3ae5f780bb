"""The grid of cells over the points of a motif."""

import torch

from wherein.motion.field import lattice
from wherein.pyramid.cells import cell_numbers


def test_cells_are_rectangles_of_the_minimum_size_or_more() -> None:
    points = lattice(31, 37, torch.zeros(1)).reshape(-1, 2)
    cells = cell_numbers(points, max_cells=6, min_size=4)
    assert len(cells.unique()) == 36
    for cell in cells.unique():
        low, high = points[cells == cell].amin(0), points[cells == cell].amax(0)
        assert (high - low + 1 >= 4).all()
        assert ((high - low + 1).prod() == (cells == cell).sum()).all()


def test_a_small_motif_has_fewer_cells() -> None:
    points = lattice(3, 9, torch.zeros(1)).reshape(-1, 2) + 100
    assert sorted(cell_numbers(points, max_cells=6, min_size=4).unique().tolist()) == [0, 1]

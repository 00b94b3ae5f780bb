"""The basin of a leaf: what every grid over it covers."""

import numpy as np
import pytest
import torch

from wherein.detect.paper.nodes import StrideResults
from wherein.detect.paper.tuning.leaf_basin import LeafBasin


def starts(*home: str) -> LeafBasin:
    """One scene: four rows of four starts, an x for each that converges; all reach the last stage."""
    came = torch.tensor([[mark == "x" for mark in "".join(home)]])
    number = torch.arange(16)
    results = StrideResults(torch.eye(3).expand(16, 3, 3), number.float(), torch.zeros(16, 2))
    return LeafBasin(4, came, [results], [number])


def test_a_basin_tells_what_every_grid_over_it_covers() -> None:
    square = starts("xxx.", "xxx.", "xxx.", "....")
    assert [square.coverage(m) for m in (1, 2, 3, 4)] == pytest.approx([1, 1, 1, 9 / 16])
    assert square.stride() == 12
    point = starts("....", ".x..", "....", "....")
    assert [point.coverage(m) for m in (1, 2, 3, 4)] == pytest.approx([1, 1 / 4, 1 / 9, 1 / 16])
    assert point.stride() == 8  # no closer: it would cost four times as much
    line = starts("..x.", "..x.", "..x.", "..x.")
    assert [line.coverage(m) for m in (1, 2, 3, 4)] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert starts("xxxx", "xxxx", "xxxx", "xxxx").stride() == 16


def test_a_grid_has_the_starts_of_one_phase() -> None:
    square = starts("xxx.", "xxx.", "xxx.", "....")
    (found,) = square.converged_results
    assert found.cost.tolist() == [0, 1, 2, 4, 5, 6, 8, 9, 10]
    seen = square.on_grid(0, 12, np.random.default_rng(0)).cost.tolist()
    assert 1 <= len(seen) <= 4
    assert len({(n // 4 % 3, n % 4 % 3) for n in seen}) == 1

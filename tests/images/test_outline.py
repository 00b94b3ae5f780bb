"""Outlines: every extreme point once, in the order of the angle."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wherein.images.motif import Motif
from wherein.images.outline import hull, outline

DIRECTIONS = np.arange(72) * (2 * np.pi / 72)


@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))).filter(np.any))
def test_every_extreme_point_is_a_corner_and_no_corner_comes_twice(mask: np.ndarray) -> None:
    rows, columns = np.nonzero(mask)
    points = np.stack((columns, rows), 1).astype(np.float64)
    corners = hull(points)
    assert len(np.unique(corners, axis=0)) == len(corners)
    for angle in DIRECTIONS:
        way = np.array((np.cos(angle), np.sin(angle)))
        assert (corners @ way).max() >= (points @ way).max() - 1e-9


def test_the_corners_of_a_box_go_round_once() -> None:
    motif = Motif.whole(torch.rand(3, 7, 11))
    corners = outline(motif)
    assert {tuple(corner) for corner in corners.tolist()} == {(0, 0), (10, 0), (10, 6), (0, 6)}
    edges = np.roll(corners, -1, axis=0) - corners
    turns = edges[:, 0] * np.roll(edges, -1, axis=0)[:, 1] - edges[:, 1] * np.roll(edges, -1, axis=0)[:, 0]
    assert (turns > 0).all()


def test_a_pixel_and_the_mask() -> None:
    mask = torch.zeros(5, 6)
    mask[2, 3] = 1
    mask[0, 0] = 0.4
    assert outline(Motif(torch.rand(3, 5, 6), mask)).tolist() == [[3, 2]]
    mask[2, 5] = 1
    assert outline(Motif(torch.rand(3, 5, 6), mask)).tolist() == [[3, 2], [5, 2]]

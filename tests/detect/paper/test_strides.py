"""The grid of starts, and registration from all of them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from wherein.detect.paper.strides import Screen, batch_size, grid, register_strides
from wherein.errors import ArgumentError
from wherein.formulations import CostSmoothed
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.motion import Euclidean
from wherein.solve import GaussNewtonLayers, Unrolled, UnrolledStage


@given(st.integers(5, 90), st.integers(5, 90), st.integers(1, 40), st.integers(1, 40), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_every_place_is_near_a_start(height: int, width: int, h: int, w: int, stride: int) -> None:
    points = grid((height, width), (h, w), stride)
    assert len(points.unique(dim=0)) == len(points)
    for axis, (whole, part) in enumerate(((width, w), (height, h))):
        line = points[:, axis].unique()
        if part > whole:
            assert line.tolist() == [(whole - part) / 2]
            continue
        assert line.min() == 0 and line.max() == whole - part  # from one border to the other
        assert len(line) == 1 or line.diff().max() <= stride


def test_no_stride() -> None:
    with pytest.raises(ArgumentError, match="1 pixel or more"):
        grid((9, 9), (3, 3), 0)
    with pytest.raises(ArgumentError, match="fraction in"):
        Screen(keep=0.0)


@pytest.fixture
def scene() -> Tensor:
    return blur(torch.rand(3, 57, 71, dtype=torch.float64), 2.0) * 4


@pytest.fixture
def network(scene: Tensor) -> Unrolled:
    stages = [UnrolledStage(CostSmoothed(s), GaussNewtonLayers(6)) for s in (2.0, 0.0)]
    return Unrolled(Motif.whole(scene[:, 20:33, 31:46].clone()), Euclidean(), stages).double()


def test_some_stride_finds_it_and_says_which(scene: Tensor, network: Unrolled) -> None:
    starts = grid((57, 71), (13, 15), 8, scene)
    found = register_strides(network, scene, starts)
    assert found.stride.tolist() == list(range(len(starts)))
    best = int(found.cost.argmin())
    torch.testing.assert_close(found.matrix[best, :2, 2], scene.new_tensor((31.0, 20.0)), atol=1e-3, rtol=0)
    assert (starts[best] - scene.new_tensor((31.0, 20.0))).norm() < 8
    alone = network(scene, torch.eye(3).double()[None] + 0)  # a start is a shift: the first is none
    torch.testing.assert_close(found.matrix[:1], alone.matrix)


@pytest.mark.parametrize("memory", [1.0, 2e6, 7e6])
def test_pieces_and_screens_change_no_item(scene: Tensor, network: Unrolled, memory: float) -> None:
    starts = grid((57, 71), (13, 15), 8, scene)
    everything = register_strides(network, scene, starts, memory=1e9)
    some = register_strides(network, scene, starts, Screen(keep=0.3), memory)
    assert len(some.stride) == -(-3 * len(starts) // 10)
    assert (some.stride.diff() > 0).all()
    torch.testing.assert_close(some.matrix, everything.matrix[some.stride], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(some.cost, everything.cost[some.stride], rtol=1e-9, atol=1e-9)
    assert int(everything.cost.argmin()) in some.stride.tolist()


def test_gradients_do_not_depend_on_batch_size(scene: Tensor, network: Unrolled) -> None:
    starts = grid((57, 71), (13, 15), 20, scene)
    found = []
    for memory in (1.0, 1e9):
        network.zero_grad()
        register_strides(network, scene, starts, memory=memory).cost.sum().backward()
        found.append([p.grad.clone() for p in network.parameters() if p.grad is not None])
    assert len(found[0]) == len(list(network.parameters()))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-10)


def test_what_diverges_is_left_out(scene: Tensor, network: Unrolled) -> None:
    starts = grid((57, 71), (13, 15), 20, scene)
    starts[1, 0] = torch.nan
    found = register_strides(network, scene, starts)
    assert found.stride.tolist() == [0, *range(2, len(starts))]
    found.cost.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in network.parameters())


def test_nothing_similar_is_no_error(scene: Tensor, network: Unrolled) -> None:
    starts = grid((57, 71), (13, 15), 20, scene)
    none = register_strides(network, scene, starts, Screen(similarity=1.1))
    assert none.matrix.shape == (0, 3, 3) and none.cost.shape == (0,) and none.stride.shape == (0,)
    few = register_strides(network, scene, starts, Screen(similarity=0.2))
    assert 0 < len(few.stride) < len(starts)


def test_similarity_sees_through_light_but_not_through_its_lack(scene: Tensor) -> None:
    motif = Motif.whole(scene[:, 20:33, 31:46])
    start = torch.eye(3).double()[None]
    start[0, :2, 2] = scene.new_tensor((31.0, 20.0))
    for picture, expected in ((scene, 1.0), (0.5 * scene + 0.3, 1.0), (1 - scene, -1.0), (0 * scene, 0.0)):
        bound = CostSmoothed(0.0).bind(picture, motif)
        centre = torch.eye(3).double()
        centre[:2, 2] = bound.centre
        assert bound.similarity(start @ centre).item() == pytest.approx(expected, abs=1e-6)


def test_pieces_fit(scene: Tensor) -> None:
    bound = CostSmoothed(0.0).bind(scene, Motif.whole(scene[:, :10, :10]))
    assert [batch_size(bound, memory) for memory in (1.0, 1e5, 1e6)] == [1, 1, 10]

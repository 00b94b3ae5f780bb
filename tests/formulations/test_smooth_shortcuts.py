"""What smoothness allows: a thinner lattice, Dy as a picture, spikes smoothed once."""

import pytest
import torch
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.formulations import CostSmoothed, MotionObjective, RigidSpikes, Spikes
from wherein.images.gaussian import blur, gaussian_spots
from wherein.images.motif import Motif
from wherein.motion import Euclidean
from wherein.motion.field import shift_matrix
from wherein.warp import Relief, Surface

JOINTS = torch.tensor([[12.0, 9.0], [30.0, 14.0], [22.0, 24.0]], dtype=torch.float64)


@pytest.fixture
def scene() -> Tensor:
    return blur(torch.rand(3, 61, 73, dtype=torch.float64), 1.5) * 4


def test_relief_is_the_picture_and_nearly_its_derivative(scene: Tensor) -> None:
    points = torch.rand(200, 2, dtype=torch.float64) * 50 + 5
    value, slope = Surface(scene).jet(points)
    flat_value, flat_slope = Relief(scene).jet(points)
    torch.testing.assert_close(flat_value, value)
    assert (flat_slope - slope).norm() < 0.2 * slope.norm()  # noise, smoothed as the first round does
    smoother = blur(scene, 3.0)
    exact, pictured = Surface(smoother).jet(points)[1], Relief(smoother).jet(points)[1]
    assert (pictured - exact).norm() < 0.06 * exact.norm()
    whole = torch.tensor([[20.0, 30.0], [7.0, 9.0]], dtype=torch.float64)  # on the grid they are the same
    torch.testing.assert_close(Relief(scene).jet(whole)[1], Surface(scene).jet(whole)[1])


def test_a_thinner_lattice_has_the_same_cost_and_gradient(scene: Tensor) -> None:
    mask = torch.ones(21, 25, dtype=torch.float64)
    mask[:8, :9] = 0
    motif = Motif(scene[:, 20:41, 25:50], mask)
    base = shift_matrix(torch.tensor([[26.7, 18.6], [24.1, 20.3]], dtype=torch.float64))
    found = []
    for spacing, relief in ((1, False), (2, True)):
        settings = CostSmoothed(3.0, 1.5, spacing=spacing, relief=relief)
        objective = MotionObjective(settings.bind(scene, motif), Euclidean(), base)
        found.append(objective.evaluate(objective.start()))
    torch.testing.assert_close(found[1].cost, found[0].cost, rtol=0.01, atol=0)
    for one, other in zip(found[0].gradient, found[1].gradient, strict=True):
        assert torch.cosine_similarity(one, other, 0) > 0.99
        assert (one - other).norm() < 0.08 * one.norm()


@pytest.mark.parametrize(("negligible", "close"), [(0.0, 1e-12), (0.01, 0.01)])
def test_points_of_no_weight_need_no_comparison(scene: Tensor, negligible: float, close: float) -> None:
    mask = torch.zeros(41, 25, dtype=torch.float64)
    mask[5:36, 3:9] = 1  # a thin motif in a wide box
    motif = Motif(scene[:, 10:51, 25:50], mask)
    base = shift_matrix(torch.tensor([[26.7, 8.6], [23.9, 30.3]], dtype=torch.float64))  # one half outside
    costs = [CostSmoothed(2.0, negligible=least).bind(scene, motif) for least in (None, negligible)]
    whole, listed = (MotionObjective(cost, Euclidean(), base) for cost in costs)
    assert costs[1].points.numel() < 0.7 * costs[0].points.numel()
    one, other = whole.linearise(whole.start()), listed.linearise(listed.start())
    torch.testing.assert_close(other.cost, one.cost, rtol=close, atol=0)
    assert other.hessian is not None and one.hessian is not None
    assert (other.hessian - one.hessian).norm() <= 3 * close * one.hessian.norm()
    assert (listed.evaluate(listed.start()).gradient - one.gradient).norm() <= 3 * close * one.gradient.norm()
    torch.testing.assert_close(costs[1].similarity(base), costs[0].similarity(base), rtol=0, atol=close)
    torch.testing.assert_close(listed.visible_fraction(listed.start()), whole.visible_fraction(whole.start()))


@pytest.mark.parametrize("settings", [CostSmoothed, RigidSpikes])
def test_a_spacing_is_at_least_a_pixel(settings: type[CostSmoothed]) -> None:
    with pytest.raises(ArgumentError, match="spacing must be 1 or more"):
        settings(spacing=0)


@pytest.mark.parametrize("spacing", [1, 2])
def test_rigid_spikes_are_complementary_smoothing(spacing: int) -> None:
    """Of a rotation, (13) is (10): same cost, same gradient, where the box of (10) holds all the spikes."""
    sigma, sigma0 = 6.0, 2.0
    motif = Motif.whole(gaussian_spots(JOINTS, sigma0, 34, 42))
    maps = gaussian_spots(JOINTS + torch.tensor([24.0, 31.0]), sigma0, 100, 96)
    base = shift_matrix(torch.tensor([[25.0, 33.0], [22.5, 30.0]], dtype=torch.float64))
    pose = torch.tensor([[0.05, 0.4, -0.3], [-0.1, 1.0, 0.5]], dtype=torch.float64)
    wide = motif.padded(20)
    wide = Motif(wide.pixels, torch.ones_like(wide.mask))
    ten = Spikes(sigma, sigma0, smoothed=True, reach=4.0).bind(maps, wide)
    twelve = RigidSpikes((sigma**2 - sigma0**2) ** 0.5, spacing).bind(maps, motif)
    expected = MotionObjective(ten, Euclidean(), base @ shift_matrix(torch.full((2,), -20.0).double()))
    found = MotionObjective(twelve, Euclidean(), base)
    one, other = expected.evaluate(expected.start(pose)), found.evaluate(found.start(pose))
    torch.testing.assert_close(other.cost, one.cost, rtol=0.03, atol=0)
    torch.testing.assert_close(other.gradient, one.gradient, rtol=0.05, atol=1e-7)


def test_spikes_at_the_border_count_like_others() -> None:
    """What reaches beyond the scene is not cut off: the cost at the truth is zero there too."""
    motif = Motif.whole(gaussian_spots(JOINTS, 2.0, 34, 42))
    maps = gaussian_spots(JOINTS - torch.tensor([11.0, 8.0]), 2.0, 60, 60)
    at_truth = shift_matrix(torch.tensor([[-11.0, -8.0]], dtype=torch.float64))
    objective = MotionObjective(RigidSpikes(5.0).bind(maps, motif), Euclidean(), at_truth)
    aside = MotionObjective(
        RigidSpikes(5.0).bind(maps, motif),
        Euclidean(),
        at_truth @ shift_matrix(torch.tensor([[3.0, 0.0]]).double()),
    )
    nothing = 1 / (8 * torch.pi * 29)  # a missing spike, three of three
    assert objective.evaluate(objective.start()).cost < 0.15 * nothing
    assert aside.evaluate(aside.start()).cost > 0.02 * nothing


def test_rigid_spikes_need_a_channel_a_spike() -> None:
    with pytest.raises(ArgumentError, match="the same number of channels, but have 2 and 3"):
        RigidSpikes(5.0).bind(torch.zeros(2, 30, 30), Motif.whole(torch.rand(3, 9, 9)))

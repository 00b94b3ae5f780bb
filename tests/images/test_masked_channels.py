"""Channels inside a mask: they equal `channels`, need nothing outside, and have the right derivative."""

import pytest
import torch
from torch import Tensor

from wherein.images.channels import ChannelSettings, channels
from wherein.images.masked_channels import MaskedChannels

SETTINGS = ChannelSettings(sigma=0.9, window=5)
REACH = 1 + 5 // 2 + 3
"""Gradient, window and smoothing of `SETTINGS` together."""


@pytest.fixture
def mask() -> Tensor:
    mask = torch.ones(19, 23, dtype=torch.float64)
    mask[:6, :7] = 0
    mask[9, 12:15] = torch.tensor([0.25, 0.5, 0.75])
    mask[14, 18] = 0
    return mask


def test_the_weight_is_the_least_of_the_neighbours(mask: Tensor) -> None:
    weight = MaskedChannels(mask, SETTINGS).weight
    assert (weight[0] == 0).all() and (weight[:, -1] == 0).all()  # beyond the border is outside
    assert weight[10, 11] == weight[8, 13] == 0.25
    assert weight[10, 14] == 0.5
    assert weight[10, 15] == 0.75
    assert weight[13, 17] == 0
    assert weight[3, 9] == 1


def test_further_inside_they_are_the_channels() -> None:
    picture, mask = torch.rand(3, 31, 37, dtype=torch.float64), torch.ones(31, 37, dtype=torch.float64)
    inner = (..., slice(REACH, -REACH), slice(REACH, -REACH))
    found, expected = MaskedChannels(mask, SETTINGS)(picture).values, channels(picture, SETTINGS)
    torch.testing.assert_close(found[inner], expected[inner], rtol=1e-5, atol=1e-8)


def test_rounding_off_changes_flat_pictures_little() -> None:
    """Less than a third of a percent of the strongest channel, in a picture with hardly any texture."""
    picture = torch.rand(3, 31, 37, dtype=torch.float64) * 1e-3
    inner = (..., slice(10, -10), slice(10, -10))
    found = MaskedChannels(torch.ones(31, 37, dtype=torch.float64))(picture).values[inner]
    expected = channels(picture)[inner]
    assert (found - expected).abs().max() < 3e-3 * expected.max()


def test_nothing_outside_the_mask_matters(mask: Tensor) -> None:
    features, picture = MaskedChannels(mask, SETTINGS), torch.rand(3, 19, 23, dtype=torch.float64)
    other = torch.where(mask > 0, picture, 100 * torch.rand_like(picture))
    inside = features.weight > 0
    here, there = features(picture), features(other)
    torch.testing.assert_close(there.values[:, inside], here.values[:, inside], rtol=0, atol=0)
    slope = torch.rand_like(here.values) * inside
    assert (here.pull(slope)[:, mask == 0] == 0).all()
    torch.testing.assert_close(here.pull(slope), there.pull(slope), rtol=0, atol=0)


def test_push_is_the_derivative(mask: Tensor) -> None:
    features, picture = MaskedChannels(mask, SETTINGS), torch.rand(2, 3, 19, 23, dtype=torch.float64)
    changes = torch.randn(2, 4, 3, 19, 23, dtype=torch.float64)
    pushed = features(picture).push(changes)
    for index in range(4):
        change = changes[:, index]
        _, expected = torch.autograd.functional.jvp(lambda z: features(z).values, picture, change)
        torch.testing.assert_close(pushed[:, index], expected, rtol=1e-10, atol=1e-12)
        ahead, behind = (features(picture + s * change).values for s in (1e-6, -1e-6))
        torch.testing.assert_close((ahead - behind) / 2e-6, expected, rtol=1e-4, atol=1e-4)


def test_pull_is_its_adjoint_and_autograds(mask: Tensor) -> None:
    features, picture = MaskedChannels(mask, SETTINGS), torch.rand(2, 3, 19, 23, dtype=torch.float64)
    picture.requires_grad_()
    jet = features(picture)
    change, slope = torch.randn(2, 1, 3, 19, 23).double(), torch.randn(2, 8, 19, 23).double()
    pulled = jet.pull(slope)
    torch.testing.assert_close((jet.push(change)[:, 0] * slope).sum(), (change[:, 0] * pulled).sum())
    (expected,) = torch.autograd.grad((jet.values * slope).sum(), picture)
    torch.testing.assert_close(pulled, expected, rtol=1e-10, atol=1e-12)


def test_derivatives_are_differentiable() -> None:
    """For unrolled solvers: gradients of push and pull, in the picture and in the width of the smoothing."""
    mask = torch.ones(7, 6, dtype=torch.float64)
    mask[0, :2] = 0
    picture = torch.rand(2, 7, 6, dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)
    change, slope = torch.randn(2, 2, 7, 6).double(), torch.randn(8, 7, 6).double()

    def run(picture: Tensor, sigma: Tensor) -> tuple[Tensor, ...]:
        jet = MaskedChannels(mask, ChannelSettings(sigma=sigma, window=3))(picture)
        return jet.values, jet.push(change), jet.pull(slope)

    assert torch.autograd.gradcheck(run, (picture, sigma), fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_second_derivatives_stay_bounded_where_a_picture_is_constant(dtype: torch.dtype) -> None:
    """A saturated area beside texture, whose pixels change by more than the area does."""
    picture = torch.rand(1, 15, 15, dtype=dtype)
    picture[:, 5:10, 5:10] = 1
    picture.requires_grad_()
    features = MaskedChannels(torch.ones(15, 15, dtype=dtype))
    pushed = features(picture).push(torch.ones(1, 1, 15, 15, dtype=dtype).cumsum(-1))
    (second,) = torch.autograd.grad(pushed.sum(), picture)
    assert second.abs().max() < 1e6  # measured: 1e5; without rounding off 1e10 in float32, 3e77 in float64


@pytest.mark.parametrize("noise", [0.002, 0.0])
def test_a_constant_picture_has_none(noise: float) -> None:
    picture = torch.full((3, 9, 8), 0.3, dtype=torch.float64, requires_grad=True)
    jet = MaskedChannels(torch.ones(9, 8).double(), ChannelSettings(noise=noise))(picture)
    assert jet.values.abs().max() < 1e-9
    assert jet.pull(torch.ones_like(jet.values)).isfinite().all()
    (gradient,) = torch.autograd.grad(jet.values.sum(), picture)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("size", [(1, 1), (2, 7), (3, 3)], ids=str)
def test_small_masks(size: tuple[int, int]) -> None:
    """Less than 3 × 3 pixels have no inside: all weights and channels are 0."""
    features = MaskedChannels(torch.ones(size))
    found = features(torch.rand(3, *size)).values
    assert found.isfinite().all()
    assert float(features.weight.sum()) == (1 if size == (3, 3) else 0)

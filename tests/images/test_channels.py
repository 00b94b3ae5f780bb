"""Channels: C = torch, derivatives, and what changes of light, rotation and contrast do to them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from wherein.images.channels import DIRECTIONS, ChannelSettings, channels, opposite
from wherein.images.gaussian import blur
from wherein.native import kernel

OTHER = ChannelSettings(sigma=0.7, window=5, floor=0.01, noise=0.005)


def in_torch(picture: Tensor, settings: ChannelSettings = ChannelSettings()) -> Tensor:
    """The same in torch: C takes no batches."""
    return channels(picture[None], settings)[0]


@pytest.mark.skipif(not kernel.available(), reason="there is no C library")
@pytest.mark.parametrize("size", [(1, 1), (2, 7), (7, 2), (37, 31)], ids=str)
@pytest.mark.parametrize("colours", [1, 3, 4])
@pytest.mark.parametrize("settings", [ChannelSettings(), OTHER], ids=["default", "other"])
def test_c_is_torch(size: tuple[int, int], colours: int, settings: ChannelSettings) -> None:
    picture = torch.rand(colours, *size)
    torch.testing.assert_close(channels(picture, settings), in_torch(picture, settings), rtol=2e-5, atol=2e-6)


@pytest.mark.skipif(not kernel.available(), reason="there is no C library")
def test_c_reads_views_and_does_not_touch_them() -> None:
    picture = torch.rand(31, 37, 3)
    before = picture.clone()
    view = picture.permute(2, 0, 1)[:, 2:-3, 1::2]
    torch.testing.assert_close(channels(view), in_torch(view), rtol=2e-5, atol=2e-6)
    assert torch.equal(picture, before)


def test_gradients_are_right() -> None:
    picture = torch.rand(2, 3, 7, 6, dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)

    def run(picture: Tensor, sigma: Tensor) -> Tensor:
        return channels(picture, ChannelSettings(sigma=sigma, window=3))

    assert torch.autograd.gradcheck(run, (picture, sigma), fast_mode=True)


def test_a_width_that_asks_for_its_gradient_gets_it() -> None:
    """Also where the picture alone would go to C."""
    sigma = torch.tensor(1.1, requires_grad=True)
    channels(torch.rand(3, 12, 13), ChannelSettings(sigma=sigma)).square().sum().backward()
    assert sigma.grad is not None and sigma.grad != 0


def test_a_batch_is_its_pictures() -> None:
    pictures = torch.rand(2, 3, 3, 13, 11, dtype=torch.float64)
    together = channels(pictures)
    assert together.shape == (2, 3, DIRECTIONS, 13, 11)
    torch.testing.assert_close(together[1, 2], channels(pictures[1, 2]), rtol=0, atol=1e-14)


def agreement(a: Tensor, b: Tensor) -> float:
    """The cosine of the angle between two pictures."""
    return float((a * b).sum() / (a.norm() * b.norm()))


def test_exposure_and_shading_hardly_matter() -> None:
    picture = 0.5 + 4 * (blur(torch.rand(3, 64, 72, dtype=torch.float64), 1.5)[:, 6:-6, 6:-6] - 0.5)
    x = torch.linspace(0, 1, 60, dtype=torch.float64)
    shaded = picture * (0.3 + 0.7 * x) + 0.2 * x
    found = channels(picture)
    assert agreement(found, channels(0.4 * picture + 0.3)) > 0.9999  # measured: 0.999998
    assert agreement(found, channels(shaded)) > 0.96  # measured: 0.970
    demeaned, changed = picture - picture.mean(), shaded - shaded.mean()
    assert agreement(demeaned, changed) < 0.7  # of the pixels, to compare: 0.68


def test_a_negative_has_opposite_channels() -> None:
    picture = torch.rand(3, 21, 17, dtype=torch.float64)
    torch.testing.assert_close(channels(1 - picture), opposite(channels(picture)), rtol=0, atol=1e-12)
    found = channels(picture)
    assert torch.equal(opposite(opposite(found)), found)


@pytest.mark.parametrize("run", [channels, in_torch], ids=["C", "torch"])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_quarter_turn_permutes_directions(run: Callable[[Tensor], Tensor], turns: int) -> None:
    """Directions are 45° apart, and y points down: a turn to the left moves them back by two."""
    picture = torch.rand(3, 31, 37)
    turned = run(picture.rot90(turns, (-2, -1)))
    expected = run(picture).roll(-2 * turns, -3).rot90(turns, (-2, -1))
    torch.testing.assert_close(turned, expected, rtol=2e-5, atol=2e-6)


def test_a_mirrored_picture_has_mirrored_directions() -> None:
    picture = torch.rand(3, 31, 37, dtype=torch.float64)
    mirrored = [(4 - k) % DIRECTIONS for k in range(DIRECTIONS)]
    expected = channels(picture)[mirrored].flip(-1)
    torch.testing.assert_close(channels(picture.flip(-1)), expected, rtol=0, atol=1e-12)


def test_a_step_is_in_the_channel_of_its_direction() -> None:
    picture = torch.zeros(1, 20, 20)
    picture[..., 10:] = 1  # brighter to the right: +x, direction 0
    strength = channels(picture).sum((-2, -1))
    assert int(strength.argmax()) == 0
    assert (strength[3:6] < 1e-6).all()  # nothing points the other way


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_a_constant_picture_has_none(level: float, dtype: torch.dtype) -> None:
    picture = torch.full((3, 9, 8), level, dtype=dtype)
    assert (channels(picture) == 0).all()
    asking = picture.requires_grad_()
    channels(asking).sum().backward()
    assert asking.grad is not None and (asking.grad == 0).all()


@pytest.mark.parametrize("scale", [1e-12, 1.0, 255.0])
def test_all_is_finite(scale: float) -> None:
    picture = (torch.rand(3, 12, 14) * scale).round(decimals=2).requires_grad_()
    found = channels(picture)
    assert found.isfinite().all()
    assert found.min() >= 0
    (gradient,) = torch.autograd.grad(found.sum(), picture)
    assert gradient.isfinite().all()
    assert channels(picture.detach()).isfinite().all()

"""Gaussian filters: their sums, widths, adjoints and gradients."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

from wherein.errors import ArgumentError
from wherein.images.gaussian import (
    blur,
    convolve_full,
    correlate_valid,
    gaussian_1d,
    gaussian_density,
    offsets_2d,
)
from wherein.native import kernel


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.7, 9.0])
def test_support_sum_and_width(sigma: float) -> None:
    taps = gaussian_1d(torch.tensor(sigma, dtype=torch.float64))
    assert taps.numel() == 2 * math.ceil(3 * sigma) + 1
    torch.testing.assert_close(taps.sum(), torch.tensor(1.0, dtype=torch.float64))
    if sigma >= 1:
        t = torch.arange(taps.numel()) - taps.numel() // 2
        assert abs((taps * t**2).sum() - sigma**2) < 0.05 * sigma**2


def test_sigma_zero_is_the_identity_and_negative_an_error() -> None:
    picture = torch.rand(2, 5, 7)
    assert torch.equal(blur(picture, 0.0), picture)
    with pytest.raises(ArgumentError, match=r"sigma must be 0 or more, but is -1\.0"):
        blur(picture, -1.0)


def test_blur_is_the_two_dimensional_filter() -> None:
    picture = torch.rand(2, 20, 17, dtype=torch.float64)
    taps = gaussian_1d(1.3, like=picture)
    whole = F.conv2d(picture[:, None], torch.outer(taps, taps)[None, None], padding=taps.numel() // 2)[:, 0]
    torch.testing.assert_close(blur(picture, 1.3), whole)


@pytest.mark.parametrize("sigma", [0.4, 1.3, 6.0, 40.0])
@pytest.mark.parametrize("size", [(5, 7), (37, 31), (3, 140)])
def test_filtering_by_matrices_is_filtering_by_convolution(sigma: float, size: tuple[int, int]) -> None:
    picture = torch.rand(2, 3, *size, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    taps = gaussian_1d(sigma, like=picture)
    radius = taps.numel() // 2
    across = F.conv2d(picture.reshape(6, 1, *size), taps[None, None, None], padding=(0, radius))
    expected = F.conv2d(across, taps[None, None, :, None], padding=(radius, 0)).reshape(picture.shape)
    torch.testing.assert_close(blur(picture, sigma), expected)


@pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")
@pytest.mark.parametrize("sigma", [0.4, 1.3, 6.0, 40.0])
@pytest.mark.parametrize("size", [(1, 1), (5, 7), (37, 131), (3, 64), (70, 65)])
def test_filtering_in_c_is_filtering_in_torch(
    sigma: float, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = torch.rand(2, 3, *size, generator=torch.Generator().manual_seed(0))
    turned = picture.mT.contiguous().mT  # the same, with its columns side by side
    compiled = blur(picture, sigma)
    assert torch.equal(compiled[1, 2], blur(picture[1, 2], sigma)), "alone as among others"
    assert torch.equal(compiled, blur(turned, sigma))
    assert blur(picture[:0], sigma).shape == (0, 3, *size)
    monkeypatch.setattr(kernel, "accepts", lambda *tensors: False)
    torch.testing.assert_close(compiled, blur(picture, sigma), atol=3e-6, rtol=0)


def test_density_has_the_covariance_it_says() -> None:
    covariance = torch.tensor([[5.0, 1.5], [1.5, 3.0]], dtype=torch.float64)
    density = gaussian_density(covariance, 14)
    w = offsets_2d(14, covariance)
    assert abs(density.sum() - 1) < 1e-6
    torch.testing.assert_close(
        torch.einsum("yx,yxi,yxj->ij", density, w, w), covariance, rtol=1e-4, atol=1e-4
    )


def test_full_convolution_and_its_adjoint() -> None:
    picture, taps = torch.rand(3, 9, 8, dtype=torch.float64), torch.rand(5, 5, dtype=torch.float64)
    expected = F.conv2d(picture[:, None], taps.flip(0, 1)[None, None], padding=4)[:, 0]
    torch.testing.assert_close(convolve_full(picture, taps), expected)
    other = torch.rand(3, 13, 12, dtype=torch.float64)
    torch.testing.assert_close(
        (convolve_full(picture, taps) * other).sum(), (picture * correlate_valid(other, taps)).sum()
    )


def test_gradients_in_sigma_covariance_and_picture() -> None:
    picture = torch.rand(1, 7, 6, dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)
    assert gradcheck(blur, (picture, sigma))
    half = torch.tensor([[1.6, 0.2], [0.1, 1.2]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda h: gaussian_density(h @ h.mT, 4), (half,))
    taps = torch.rand(3, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(convolve_full, (picture, taps))
    assert gradcheck(correlate_valid, (picture, taps))

"""y∘τ against its definition, its derivatives, and what must hold whatever the picture."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from wherein.errors import ArgumentError
from wherein.warp import KEYS, Surface, warp


def keys(t: Tensor, a: float) -> Tensor:
    """φ_a as Keys defines it."""
    t = t.abs()
    near = (a + 2) * t**3 - (a + 3) * t**2 + 1
    far = a * (t**3 - 5 * t**2 + 8 * t - 4)
    return torch.where(t < 1, near, torch.where(t < 2, far, torch.zeros_like(t)))


def by_definition(scene: Tensor, points: Tensor, a: float) -> Tensor:
    """Σ_k Σ_l y_lk φ(τ_x − k) φ(τ_y − l), over all pixels."""
    height, width = scene.shape[-2:]
    x = keys(points[..., 0, None] - torch.arange(width), a)
    y = keys(points[..., 1, None] - torch.arange(height), a)
    return torch.einsum("...h,chw,...w->...c", y, scene, x)


@pytest.fixture
def scene() -> Tensor:
    return torch.rand(3, 37, 31, dtype=torch.float64)


@pytest.fixture
def points() -> Tensor:
    return torch.rand(4, 25, 2, dtype=torch.float64) * torch.tensor([41.0, 47.0]) - 5


@pytest.mark.parametrize("a", [KEYS, -0.75, 0.0])
def test_equals_its_definition(scene: Tensor, points: Tensor, a: float) -> None:
    torch.testing.assert_close(Surface(scene, a)(points), by_definition(scene, points, a), rtol=0, atol=1e-13)


def test_equals_grid_sample_at_its_own_a(scene: Tensor, points: Tensor) -> None:
    grid = points * 2 / torch.tensor([30.0, 36.0]) - 1
    theirs = F.grid_sample(scene[None], grid[None], mode="bicubic", align_corners=True)[0]
    torch.testing.assert_close(Surface(scene, -0.75)(points).movedim(-1, 0), theirs, rtol=0, atol=1e-12)


def test_derivative_is_that_of_the_definition(scene: Tensor, points: Tensor) -> None:
    points.requires_grad_()
    values = by_definition(scene, points, KEYS)
    for channel in range(3):
        (expected,) = torch.autograd.grad(values[..., channel].sum(), points, retain_graph=True)
        torch.testing.assert_close(Surface(scene).derivative(points)[..., channel, :], expected)


def test_jet_is_values_and_derivatives(scene: Tensor, points: Tensor) -> None:
    surface = Surface(scene)
    values, derivatives = surface.jet(points)
    assert torch.equal(values, surface(points))
    assert torch.equal(derivatives, surface.derivative(points))


def test_first_and_second_derivatives_by_autograd() -> None:
    scene = torch.rand(2, 6, 5, dtype=torch.float64, requires_grad=True)
    points = (torch.rand(7, 2, dtype=torch.float64) * 8 - 1.5).requires_grad_()
    assert gradcheck(lambda s, p: Surface(s)(p), (scene, points))
    assert gradgradcheck(lambda s, p: Surface(s)(p), (scene, points))
    assert gradcheck(lambda s, p: Surface(s).derivative(p), (scene, points))


def test_adjoint(scene: Tensor, points: Tensor) -> None:
    """⟨A y, v⟩ = ⟨y, Aᵀ v⟩ with Aᵀ from autograd."""
    scene.requires_grad_()
    values = torch.rand(4, 25, 3, dtype=torch.float64)
    left = (Surface(scene)(points) * values).sum()
    (back,) = torch.autograd.grad(left, scene)
    torch.testing.assert_close(left, (scene * back).sum())


def test_whole_pixel_shifts_are_slices(scene: Tensor) -> None:
    y, x = torch.meshgrid(torch.arange(5.0, 20.0), torch.arange(3.0, 12.0), indexing="ij")
    grid = torch.stack((x, y), -1).double()
    assert torch.equal(warp(scene, grid), scene[:, 5:20, 3:12])


def test_keys_reproduces_a_ramp_and_grid_sample_does_not() -> None:
    ramp = torch.arange(30.0, dtype=torch.float64).expand(1, 20, 30)
    points = torch.rand(50, 2, dtype=torch.float64) * 12 + 4
    torch.testing.assert_close(Surface(ramp, KEYS)(points)[:, 0], points[:, 0])
    assert (Surface(ramp, -0.75)(points)[:, 0] - points[:, 0]).abs().max() > 0.02


def test_zero_outside_and_for_points_that_are_no_numbers(scene: Tensor) -> None:
    far = torch.tensor(
        [[-3.0, 5.0], [5.0, 40.0], [1e30, 1.0], [float("nan"), 3.0], [float("inf"), 0.0]]
    ).double()
    assert torch.equal(Surface(scene)(far), torch.zeros(5, 3, dtype=torch.float64))


def test_scenes_side_by_side_have_points_of_their_own() -> None:
    scenes, points = torch.rand(3, 2, 9, 8), torch.rand(3, 4, 6, 2) * 8
    together = Surface(scenes)(points)
    alone = torch.stack([Surface(s)(p) for s, p in zip(scenes, points, strict=True)])
    torch.testing.assert_close(together, alone)
    with pytest.raises(ArgumentError, match="for 3 scenes, points must have shape"):
        Surface(scenes)(points[:2])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), parts=st.integers(1, 7))
def test_chunking_changes_nothing(seed: int, parts: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    scene, points = (
        torch.rand(3, 13, 17, generator=generator),
        torch.rand(50, 2, generator=generator) * 20 - 2,
    )
    untouched = scene.clone()
    whole = Surface(scene)(points)
    assert torch.equal(whole, torch.cat([Surface(scene)(chunk) for chunk in points.chunk(parts)]))
    assert torch.equal(scene, untouched)

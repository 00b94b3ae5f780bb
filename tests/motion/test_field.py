"""Fields: matrices applied to lattices, projections back, and the free field's prox."""

import pytest
import torch
from torch import Tensor

from wherein.motion import MOTIONS, Motion
from wherein.motion.field import (
    centre_of,
    lattice,
    project,
    project_projective,
    smoothness,
    smoothness_prox,
    tangent,
    transform,
)

EVERY = pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)


def frames(motion: Motion) -> Tensor:
    params = torch.randn(2, motion.size, dtype=torch.float64) * 0.1
    if motion.name == "homography":
        params[:, 6:] *= 0.02
    return motion.matrix(params)


@pytest.fixture
def points() -> Tensor:
    like = torch.empty(0, dtype=torch.float64)
    return lattice(7, 9, like) - centre_of(7, 9, like)


def test_lattice_is_x_then_y_and_pads() -> None:
    grid = lattice(3, 4, torch.empty(0), pad=1)
    assert grid.shape == (5, 6, 2)
    assert grid[0, 0].tolist() == [-1, -1]
    assert grid[1, 3].tolist() == [2, 0]


@EVERY
def test_transform_is_the_homogeneous_product(motion: Motion, points: Tensor) -> None:
    matrix = frames(motion)
    raised = torch.cat((points, torch.ones_like(points[..., :1])), -1)
    moved = torch.einsum("bij,hwj->bhwi", matrix, raised)
    torch.testing.assert_close(transform(matrix, points), moved[..., :2] / moved[..., 2:])


@EVERY
def test_projection_is_the_gradient_in_the_matrix(motion: Motion, points: Tensor) -> None:
    """Equation (21), and its projective form: ⟨∇τ, τ(F)⟩ differentiated in F."""
    matrix = frames(motion).requires_grad_()
    gradient = torch.randn(2, 7, 9, 2, dtype=torch.float64)
    (expected,) = torch.autograd.grad((transform(matrix, points) * gradient).sum(), matrix)
    found = project_projective(gradient, points, matrix)
    if motion.name == "homography":
        torch.testing.assert_close(found, expected)
    else:
        torch.testing.assert_close(found[:, :2], expected[:, :2])
        torch.testing.assert_close(project(gradient, points), expected[:, :2])
    listed = gradient.reshape(2, 1, 63, 2), points.reshape(1, 63, 2)  # the same points, in one row
    torch.testing.assert_close(project_projective(*listed, matrix), found)


def test_the_centred_basis_is_orthogonal(points: Tensor) -> None:
    ones = torch.ones_like(points[..., :1])
    basis = torch.cat((points, ones), -1).reshape(-1, 3)
    gram = basis.mT @ basis
    torch.testing.assert_close(gram, torch.diag(gram.diagonal()), atol=1e-9, rtol=0)


@EVERY
def test_tangent_is_the_derivative_of_the_field(motion: Motion, points: Tensor) -> None:
    params = torch.randn(motion.size, dtype=torch.float64) * 0.02
    if motion.name == "homography":
        params[6:] *= 0.1
    expected = torch.autograd.functional.jacobian(lambda p: transform(motion.matrix(p), points), params)
    found = tangent(motion.matrix(params), motion.jacobian(params), points)
    torch.testing.assert_close(found, expected)


def test_prox_minimises_what_it_says() -> None:
    field, strength = torch.randn(2, 6, 5, 2, dtype=torch.float64), 0.7
    found = smoothness_prox(field, strength).requires_grad_()
    value = 0.5 * (found - field).pow(2).sum() + strength * smoothness(found).sum()
    (slope,) = torch.autograd.grad(value, found)
    assert slope.abs().max() < 1e-12


def test_prox_leaves_translations_alone() -> None:
    still = torch.ones(1, 4, 6, 2, dtype=torch.float64) * torch.tensor([2.0, -3.0])
    torch.testing.assert_close(smoothness_prox(still, 5.0), still)
    assert smoothness(still).item() == 0

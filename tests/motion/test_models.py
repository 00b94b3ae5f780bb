"""Motion models: group laws, derivatives, names."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from wherein.errors import ArgumentError
from wherein.motion import MOTIONS, Euclidean, Motion, motion_named

EVERY = pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)


def some(motion: Motion, *batch: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    params = torch.randn(*batch, motion.size, generator=generator, dtype=torch.float64) * 0.2
    if motion.name == "homography":
        params[..., 6:] *= 0.05
    return params


@EVERY
def test_the_identity_is_exact(motion: Motion) -> None:
    assert torch.equal(motion.matrix(motion.identity(2)), torch.eye(3).expand(2, 3, 3))


@EVERY
def test_the_jacobian_is_that_of_the_matrix(motion: Motion) -> None:
    params = some(motion, 3)
    jacobian = torch.stack([torch.autograd.functional.jacobian(motion.matrix, p) for p in params])
    torch.testing.assert_close(motion.jacobian(params), jacobian)
    assert gradcheck(motion.matrix, (params.requires_grad_(),))


@EVERY
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_group_laws(motion: Motion, seed: int) -> None:
    p, q = some(motion, 4, seed=seed), some(motion, 4, seed=seed + 1)
    torch.testing.assert_close(motion.params(motion.matrix(p)), p)
    product = motion.matrix(p) @ motion.matrix(q)
    composed = motion.matrix(motion.params(product))
    torch.testing.assert_close(composed, product / product[..., 2:, 2:])
    back = motion.params(motion.matrix(motion.inverse(p)) @ motion.matrix(p))
    torch.testing.assert_close(back, torch.zeros_like(back), atol=1e-12, rtol=0)
    torch.testing.assert_close(motion.inverse(motion.inverse(p)), p)


@EVERY
@pytest.mark.parametrize("factor", [3.0, -1.0, -0.2])
def test_a_matrix_and_its_multiples_are_the_same_transformation(motion: Motion, factor: float) -> None:
    p = some(motion, 4)
    torch.testing.assert_close(motion.params(factor * motion.matrix(p)), p)


def test_positive_angles_turn_x_towards_y() -> None:
    matrix = Euclidean().matrix(torch.tensor([torch.pi / 2, 0.0, 0.0]))
    torch.testing.assert_close(matrix[:2, 0], torch.tensor([0.0, 1.0]), atol=1e-6, rtol=0)


def test_names_and_what_else_may_be_said() -> None:
    assert motion_named("affine") is MOTIONS["affine"]
    assert motion_named(MOTIONS["similarity"]) is MOTIONS["similarity"]
    with pytest.raises(
        ArgumentError, match=r"unknown motion 'rigid': it must be one of 'translation', 'euclidean'"
    ):
        motion_named("rigid")

"""The convergence theorem (Theorem 5.1) against its own words, and every formula against its definition."""

import math

import jaxtyping
import pytest
import torch
from torch import Tensor

from wherein import theory
from wherein.errors import ArgumentError
from wherein.theory import AffineMap, Displacement, StepSizes

RECTANGLE = torch.tensor([[2.0, 1.0], [-2.0, 1.0], [-2.0, -1.0], [2.0, -1.0]], dtype=torch.float64)
EYE = torch.eye(2, dtype=torch.float64)


def spikes_of(n: int, c: int, conditions: Tensor, radius: float = 20.0) -> Tensor:
    """n centred sets of c spikes whose κ is given, (n, c, 2)."""
    U, _ = theory.centre(torch.randn(n, c, 2, dtype=torch.float64))
    left, _, right = torch.linalg.svd(U, full_matrices=False)
    return (
        radius
        * left
        @ torch.diag_embed(torch.stack([torch.ones(n), conditions.rsqrt()], -1).double())
        @ right
    )


def truths_of(n: int) -> AffineMap:
    """Maps from gentle to violent: shears, scales, turns, reflections."""
    strength = torch.logspace(-2, 0.5, n, dtype=torch.float64)
    A = EYE + strength[:, None, None] * torch.randn(n, 2, 2, dtype=torch.float64)
    return AffineMap(A, 10 * strength[torch.randperm(n), None] * torch.randn(n, 2, dtype=torch.float64))


def moved(U: Tensor, truth: AffineMap) -> Tensor:
    return U @ truth.A.mT + truth.b.unsqueeze(-2)


def excess(path: AffineMap, truth: AffineMap, U: Tensor) -> Tensor:
    """error ÷ (bound + what rounding alone leaves), for every set and iteration: the theorem says ≤ 1."""
    error, bound = theory.error(path, truth, U), theory.error_bound(truth, U, path.b.shape[-2] - 1)
    scale = bound[..., :1] + theory.error(
        AffineMap(0 * truth.A[..., None, :, :], 0 * truth.b[..., None, :]), truth, U
    )
    return error / (bound * (1 + 1e-9) + 1e-28 * scale)


@pytest.mark.parametrize("c", range(3, 13))
@pytest.mark.parametrize("factor", [1.0, 1.5, 10.0])
def test_the_bound_holds_at_every_iteration(c: int, factor: float) -> None:
    torch.manual_seed(c)
    n = 20  # of each c: 200 sets
    U, truth = spikes_of(n, c, torch.logspace(0, 4, n)), truths_of(n)
    sigma = factor * theory.smoothing_level(U, Displacement.of(*truth))
    path = theory.continuum_descent(U, moved(U, truth), sigma, steps=150)
    assert excess(path, truth, U).max() <= 1
    assert (theory.error(path, truth, U)[:, -1] < theory.error(path, truth, U)[:, 0]).all()


@pytest.mark.parametrize("factor", [4.0, 50.0])
def test_longer_steps_break_the_bound(factor: float) -> None:
    U, truth = spikes_of(10, 6, torch.linspace(1, 10, 10)), truths_of(10)
    sigma = theory.smoothing_level(U, Displacement.of(*truth))
    sizes = StepSizes(*(factor * t for t in theory.step_sizes(U, sigma)))
    path = theory.continuum_descent(U, moved(U, truth), sigma, steps=100, sizes=sizes)
    assert (excess(path, truth, U).amax(-1) > 10).all()
    assert (theory.error(path, truth, U)[:, -20:].amax(-1) > 1e-6).all()


def test_far_too_little_smoothing_gets_stuck() -> None:
    U, truth = RECTANGLE, AffineMap(EYE, EYE[0] * 5)
    sigma = theory.smoothing_level(U, Displacement.of(*truth)) / 20
    path = theory.continuum_descent(U, moved(U, truth), sigma, steps=100)
    assert theory.error(path, truth, U)[-1] > 0.9 * theory.error(path, truth, U)[0]
    assert excess(path, truth, U)[-1] > 1


@pytest.mark.parametrize("condition", [1.5, 4.0, 20.0])
def test_the_linear_rate_is_reached_and_in_the_end_it_is_one_minus_one_over_kappa(condition: float) -> None:
    U = spikes_of(1, 5, torch.tensor([condition]))[0]
    truth = AffineMap(*(x[12] for x in truths_of(20)))
    sigma = theory.smoothing_level(U, Displacement.of(*truth))
    steps = int(8 * condition)
    error = theory.error(theory.continuum_descent(U, moved(U, truth), sigma, steps), truth, U)
    shrink = (error[1:] / error[:-1]).sqrt()
    assert (shrink <= theory.rate(U)).all()
    assert shrink[-1].item() == pytest.approx(1 - 1 / condition, rel=1e-3)


def test_a_rigid_shift_of_a_round_set_converges_faster_than_linearly() -> None:
    U, truth = RECTANGLE / torch.tensor([2.0, 1.0]), AffineMap(EYE, EYE[1])
    path = theory.continuum_descent(U, moved(U, truth), 4.0, steps=4)
    assert theory.error(path, truth, U)[-1] < 1e-20
    assert (path.A - EYE).abs().max() < 1e-15


def test_the_numbers_of_a_rectangle_by_hand() -> None:
    assert theory.condition_number(RECTANGLE).item() == pytest.approx(4)
    assert theory.rate(RECTANGLE).item() == pytest.approx(0.875)
    # max‖u‖² = 5, s_min² = 4, s_max² = 16, c = 4
    for linear, shift in [(0.0, 3.0), (0.7, 0.0), (0.7, 3.0)]:
        expected = 2 * 5 / 4 * (16 * linear**2 + 4 * shift**2)
        assert theory.smoothing_level(RECTANGLE, Displacement(linear, shift)).item() ** 2 == pytest.approx(
            expected
        )
    sizes = theory.step_sizes(RECTANGLE, 3.0)
    assert sizes.linear.item() == pytest.approx(8 * math.pi * 4 * 81 / 16)
    assert sizes.shift.item() == pytest.approx(8 * math.pi * 81)


@pytest.mark.parametrize(("scale", "degrees"), [(1.0, 180.0), (1.3, 25.0), (0.5, 90.0)])
def test_displacement_of_a_similarity(scale: float, degrees: float) -> None:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    A = scale * torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)
    linear, shift = Displacement.of(A, torch.tensor([-3.0, 4.0], dtype=torch.float64))
    assert float(linear) ** 2 == pytest.approx(2 * (scale**2 - 2 * scale * cos + 1))
    assert float(shift) == pytest.approx(5)


def gaussian(grid: Tensor, mean: Tensor, covariance: Tensor) -> Tensor:
    away = grid - mean
    quadratic = (away @ torch.linalg.inv(covariance) * away).sum(-1)
    return torch.exp(-quadratic / 2) / (2 * math.pi * torch.linalg.det(covariance).sqrt())


def cost_by_quadrature(A: Tensor, b: Tensor, U: Tensor, V: Tensor, sigma: float, *, sigma0: float) -> Tensor:
    """φ_{L²,σ} (above equation 15) word by word on a grid: sample, rescale, convolve, compare; σ₀ and all."""
    step, n = 0.125, 256
    axis = (torch.arange(n, dtype=torch.float64) - n // 2) * step
    grid = torch.stack(torch.meshgrid(axis, axis, indexing="xy"), -1)
    inner = sigma**2 * EYE - sigma0**2 * torch.linalg.inv(A.T @ A)
    kernel = torch.fft.rfft2(torch.fft.ifftshift(gaussian(grid, torch.zeros(2), inner))) * step**2
    total = torch.zeros((), dtype=torch.float64)
    for u, v in zip(U, V, strict=True):
        sampled = torch.linalg.det(A.T @ A).sqrt() * gaussian(grid @ A.T + b, u, sigma0**2 * EYE)
        smoothed = torch.fft.irfft2(torch.fft.rfft2(sampled) * kernel, s=(n, n))
        total += (smoothed - gaussian(grid, v, sigma**2 * EYE)).square().sum() * step**2
    return total / (2 * len(U))


@pytest.mark.parametrize("sigma0", [0.6, 0.9])
def test_the_closed_form_is_the_l2_distance_of_its_definition(sigma0: float) -> None:
    A, b = torch.tensor([[0.9, -0.35], [0.5, 1.1]]).double(), torch.tensor([0.7, -1.2]).double()
    U, V = torch.randn(2, 4, 2, dtype=torch.float64)
    inverse = torch.linalg.inv(A)
    brute = cost_by_quadrature(inverse, -inverse @ b, U, V, sigma=1.7, sigma0=sigma0)
    assert theory.continuum_cost(A, b, U, V, 1.7).item() == pytest.approx(brute.item(), rel=1e-9)


def problem(*batch: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """A, b, spikes, targets and σ, all random: nothing fits, nothing is centred."""
    shapes = ((2, 2), (2,), (5, 2), (5, 2))
    A, b, U, V = (torch.randn(*batch, *shape, dtype=torch.float64) for shape in shapes)
    return A, b, U, V, 1.5 + torch.rand(batch, dtype=torch.float64)


def test_gradient_analytic_autograd_and_differences_agree() -> None:
    A, b, U, V, sigma = problem()
    analytic = theory.continuum_gradient(A, b, U, V, sigma)
    leaves = A.clone().requires_grad_(), b.clone().requires_grad_()
    auto = torch.autograd.grad(theory.continuum_cost(*leaves, U, V, sigma), leaves)
    for mine, theirs in zip(analytic, auto, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-15)
    h = 1e-5
    for i in range(6):
        e = torch.zeros(6, dtype=torch.float64)
        e[i] = h
        up, down = (
            theory.continuum_cost(A + s * e[:4].view(2, 2), b + s * e[4:], U, V, sigma) for s in (1, -1)
        )
        expected = torch.cat([analytic.A.flatten(), analytic.b])[i]
        torch.testing.assert_close((up - down) / (2 * h), expected, rtol=1e-6, atol=1e-10)


def test_gradcheck_in_every_argument() -> None:
    inputs = tuple(x.requires_grad_() for x in problem(2))
    assert torch.autograd.gradcheck(theory.continuum_cost, inputs)
    assert torch.autograd.gradgradcheck(theory.continuum_cost, inputs)
    assert torch.autograd.gradcheck(lambda *a: tuple(theory.continuum_gradient(*a)), inputs)


def test_gradcheck_of_the_theorems_constants_and_of_the_unrolled_descent() -> None:
    points, linear, shift = (
        x.double().requires_grad_() for x in (torch.randn(2, 4, 2), torch.rand(2), torch.rand(2))
    )

    targets = torch.randn(2, 4, 2, dtype=torch.float64)

    def constants(points: Tensor, linear: Tensor, shift: Tensor) -> tuple[Tensor, ...]:
        U = theory.centre(points)[0]
        sigma = theory.smoothing_level(U, Displacement(linear, shift))
        path = theory.continuum_descent(U, targets, 3.0, steps=3)
        return sigma, *theory.step_sizes(U, sigma), theory.rate(U), *path

    assert torch.autograd.gradcheck(constants, (points, linear, shift))


def test_a_batch_equals_its_singles_and_touches_nothing() -> None:
    U, truth = spikes_of(6, 5, torch.linspace(1, 9, 6)).reshape(2, 3, 5, 2), truths_of(6)
    truth = AffineMap(truth.A.reshape(2, 3, 2, 2), truth.b.reshape(2, 3, 2))
    V, before = moved(U, truth), U.clone()
    sigma = theory.smoothing_level(U, Displacement.of(*truth))
    path = theory.continuum_descent(U, V, sigma, steps=7)
    bound, cost = theory.error_bound(truth, U, 7), theory.continuum_cost(*truth, U, V + 1, sigma)
    assert path.A.shape == (2, 3, 8, 2, 2)
    assert path.b.shape == (2, 3, 8, 2)
    for i, j in ((0, 0), (0, 2), (1, 1)):
        one, true = (U[i, j], V[i, j], sigma[i, j]), AffineMap(truth.A[i, j], truth.b[i, j])
        alone = theory.continuum_descent(*one, steps=7)
        torch.testing.assert_close(path.A[i, j], alone.A, rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(path.b[i, j], alone.b, rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(theory.smoothing_level(one[0], Displacement.of(*true)), one[2])
        torch.testing.assert_close(bound[i, j], theory.error_bound(true, one[0], 7))
        torch.testing.assert_close(cost[i, j], theory.continuum_cost(*true, one[0], one[1] + 1, one[2]))
    assert torch.equal(U, before)


def test_one_set_of_spikes_under_many_levels() -> None:
    levels = torch.tensor([3.0, 5.0, 8.0], dtype=torch.float64)
    path = theory.continuum_descent(RECTANGLE, RECTANGLE + 0.5, levels, steps=4)
    assert path.b.shape == (3, 5, 2)
    torch.testing.assert_close(path.b[1], theory.continuum_descent(RECTANGLE, RECTANGLE + 0.5, 5.0, 4).b)
    assert theory.step_sizes(RECTANGLE, levels).shift.shape == (3,)


def test_centring_keeps_the_matrix_and_turns_the_shift_into_the_way_of_the_mean() -> None:
    points, truth = (
        100 + 20 * torch.randn(7, 2, dtype=torch.float64),
        AffineMap(*(x[8] for x in truths_of(20))),
    )
    U, mean = theory.centre(points)
    assert U.mean(0).abs().max() < 1e-12
    torch.testing.assert_close(U + mean, points)
    way = moved(points, truth).mean(0) - mean
    torch.testing.assert_close(truth.b + truth.A @ mean - mean, way)
    sigma = theory.smoothing_level(U, Displacement.of(truth.A, way))
    path = theory.continuum_descent(U, moved(points, truth) - mean, sigma, steps=200)
    torch.testing.assert_close(path.A[-1], truth.A)
    torch.testing.assert_close(path.b[-1] + mean - truth.A @ mean, truth.b)  # back in the frame of the points


def test_dtype_is_the_spikes() -> None:
    U = RECTANGLE.float()
    sigma = theory.smoothing_level(U, Displacement(0.3, 2.0))
    path = theory.continuum_descent(U, U + 1, sigma, steps=3)
    bound = theory.error_bound(AffineMap(torch.eye(2), torch.ones(2)), U, 3)
    for x in (sigma, *theory.step_sizes(U, 0.1), theory.rate(U), *path, bound):
        assert x.dtype == torch.float32
    exact = -math.expm1(-2 / (4 * 0.1**2)) / (4 * math.pi * 0.1**2)  # σ = 0.1 must not pass through float32
    assert theory.continuum_cost(EYE, EYE.sum(0), RECTANGLE, RECTANGLE, 0.1).item() == pytest.approx(
        exact, rel=1e-14
    )


def test_no_steps_give_the_start() -> None:
    path = theory.continuum_descent(RECTANGLE, RECTANGLE, 1.0, steps=0)
    assert torch.equal(path.A, EYE[None])
    assert torch.equal(path.b, torch.zeros(1, 2, dtype=torch.float64))


LINE = torch.tensor([[-1.0, -2.0], [0.0, 0.0], [1.0, 2.0]])
NAN = torch.tensor([[-1.0, -2.0], [math.nan, 0.0], [1.0, 2.0]])
ZERO = torch.zeros(2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: theory.rate(LINE[::2]), r"at least 3 spikes, but there are 2"),
        (lambda: theory.rate(LINE), r"on a line: add a spike"),
        (lambda: theory.rate(torch.zeros(4, 2)), r"on a line"),
        (lambda: theory.rate(NAN), r"NaN or infinity: remove these spikes"),
        (lambda: theory.rate(RECTANGLE + 0.5), r"must be 0, but is 0\.707 px away: call `centre`"),
        (lambda: theory.rate(torch.zeros(4, 3)), r"\(…, c, 2\), but is torch\.float32 of shape \(4, 3\)"),
        (lambda: theory.rate(torch.zeros(2)), r"spikes must be .* shape \(2,\)"),
        (lambda: theory.centre(RECTANGLE.int()), r"spikes must be floating point .* but is torch\.int32"),
        (
            lambda: theory.step_sizes(RECTANGLE, 0.0),
            r"positive and finite, but is 0\.0: use `smoothing_level`",
        ),
        (lambda: theory.step_sizes(RECTANGLE, math.inf), r"sigma must be positive and finite, but is inf"),
        (
            lambda: theory.continuum_cost(EYE, EYE[0], LINE, LINE, -1.0),
            r"sigma must be positive and finite, but is -1\.0",
        ),
        (
            lambda: theory.continuum_cost(EYE, EYE[0], LINE, RECTANGLE, 1.0),
            r"one target for each spike, but there are 3 spikes and 4 targets",
        ),
        (
            lambda: theory.continuum_cost(EYE[:1], ZERO, LINE, LINE, 1.0),
            r"A must be .*\(…, 2, 2\), but is .*\(1, 2\)",
        ),
        (lambda: Displacement.of(EYE, torch.zeros(3)), r"b must be .*\(…, 2\), but is .*\(3,\)"),
        (lambda: theory.continuum_descent(LINE, LINE, 1.0, -1), r"steps must be 0 or more, but is -1"),
        (
            lambda: theory.continuum_cost(EYE.repeat(3, 1, 1), ZERO, LINE.repeat(2, 1, 1), LINE, 1.0),
            r"must broadcast, but are A \(3,\), b \(\), spikes \(2,\).*: make them equal or 1",
        ),
    ],
)
def test_errors_say_what_came_what_is_allowed_and_what_to_do(call, words, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    # As for a user: without the shape checks that the tests switch on, which would speak first.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    with pytest.raises(ArgumentError, match=words):
        call()


@pytest.mark.parametrize("count", [2, 5])
def test_rigid_steps_are_the_theorems_and_safe(count: int) -> None:
    """Seen in θ, a step of t_A is half of it, and never exceeds one over the cost's curvature."""
    spikes = torch.randn(count, 2, dtype=torch.float64) * 20
    spikes = spikes - spikes.mean(0)
    sizes = theory.rigid_step_sizes(spikes, 9.0)
    if count > 2:
        affine = theory.step_sizes(spikes, 9.0)
        torch.testing.assert_close(sizes.linear, affine.linear / 2)
        torch.testing.assert_close(sizes.shift, affine.shift)
    angle = torch.zeros((), dtype=torch.float64, requires_grad=True)
    c, s = angle.cos(), angle.sin()
    turned = torch.stack((torch.stack((c, -s)), torch.stack((s, c))))
    cost = theory.continuum_cost(turned, torch.zeros(2).double(), spikes, spikes, 9.0)
    (slope,) = torch.autograd.grad(cost, angle, create_graph=True)
    (curvature,) = torch.autograd.grad(slope, angle)
    assert 0.4 < sizes.linear * curvature <= 1 + 1e-6


def test_rigid_steps_need_two_places() -> None:
    with pytest.raises(ArgumentError, match="at one point"):
        theory.rigid_step_sizes(torch.zeros(2, 2), 9.0)

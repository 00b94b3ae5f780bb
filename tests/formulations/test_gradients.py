"""Each formulation: the analytic gradient = autograd's = finite differences; and the propositions."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from wherein.formulations import (
    Channels,
    CostSmoothed,
    FieldObjective,
    MotionObjective,
    Plain,
    QuadraticFormulation,
    Robust,
    Spikes,
    Variables,
    WithBackground,
)
from wherein.images.gaussian import gaussian_density
from wherein.images.motif import Motif
from wherein.motion import MOTIONS, Affine, Motion
from wherein.motion.field import shift_matrix, transform
from wherein.solve.unroll import Settings

SETTINGS: dict[str, Settings] = {
    "plain": Plain(1.2),
    "plain, no filter": Plain(0.0),
    "plain, lighting": Plain(1.2, lighting=True),
    "cost-smoothed": CostSmoothed(1.5, 0.7),
    "cost-smoothed, lighting": CostSmoothed(1.5, lighting=True),
    "background": WithBackground(1.2),
    "background, lighting": WithBackground(1.2, lighting=True),
    "spikes": Spikes(2.5, 1.2),
    "plain, robust": Plain(1.2, robust=Robust()),
    "plain, robust, lighting": Plain(1.2, lighting=True, robust=Robust(0.3)),
    "plain, robust, scale": Plain(1.2, robust=Robust(scale=0.15)),
    "cost-smoothed, robust": CostSmoothed(1.5, 0.7, robust=Robust()),
    "cost-smoothed, robust, lighting, scale": CostSmoothed(1.5, lighting=True, robust=Robust(scale=0.3)),
    "background, robust": WithBackground(1.2, robust=Robust()),
    "spikes, robust": Spikes(2.5, 1.2, robust=Robust(scale=0.1)),
    "channels": Channels(),
    "channels, lighting": Channels(1.0, window=3, lighting=True),
    "channels, robust": Channels(robust=Robust()),
    "channels, robust, lighting": Channels(lighting=True, robust=Robust(scale=0.3)),
}
EVERY = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
MOVING = pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)


@pytest.fixture
def scene() -> Tensor:
    return torch.rand(2, 31, 37, dtype=torch.float64)


@pytest.fixture
def motif() -> Motif:
    mask = (torch.rand(9, 7, dtype=torch.float64) > 0.2).double()
    return Motif(torch.rand(2, 9, 7, dtype=torch.float64), mask)


def problem(
    settings: Settings, motion: Motion, scene: Tensor, motif: Motif, inverse: bool
) -> tuple[MotionObjective, Variables]:
    base = shift_matrix(torch.tensor([[11.3, 9.2], [14.0, 12.7]], dtype=torch.float64))
    objective = MotionObjective(settings.bind(scene, motif), motion, base, inverse)
    pose = torch.randn(2, motion.size, dtype=torch.float64) * 0.06
    if motion.name == "homography":
        pose[:, 6:] *= 0.05
    at = objective.start(pose)
    if at.background is not None:
        at = replace(at, background=at.background + 0.1 * torch.randn_like(at.background))
    return objective, at


@EVERY
@MOVING
@pytest.mark.parametrize("inverse", [False, True], ids=["standard", "inverse"])
def test_analytic_gradient_is_autograds(
    settings: Settings, motion: Motion, inverse: bool, scene: Tensor, motif: Motif
) -> None:
    if isinstance(settings, Spikes) and motion.name == "homography":
        pytest.skip("complementary smoothing is defined on Aff(2)")
    objective, at = problem(settings, motion, scene, motif, inverse)
    pose = at.pose.clone().requires_grad_()
    background = None if at.background is None else at.background.clone().requires_grad_()
    found = objective.evaluate(Variables(pose, background))
    variables = [pose] if background is None else [pose, background]
    expected = torch.autograd.grad(found.cost.sum(), variables)
    torch.testing.assert_close(found.gradient, expected[0], rtol=1e-8, atol=1e-8)
    if background is not None:
        torch.testing.assert_close(found.background, expected[1], rtol=1e-8, atol=1e-8)


@EVERY
def test_finite_differences_agree(settings: Settings, scene: Tensor, motif: Motif) -> None:
    objective, at = problem(settings, Affine(), scene, motif, inverse=True)
    gradient, step = objective.evaluate(at).gradient, 1e-6
    for index in range(6):
        change = torch.zeros(6, dtype=torch.float64)
        change[index] = step
        ahead = objective.evaluate(replace(at, pose=at.pose + change)).cost
        behind = objective.evaluate(replace(at, pose=at.pose - change)).cost
        torch.testing.assert_close((ahead - behind) / (2 * step), gradient[:, index], rtol=1e-5, atol=1e-7)


@EVERY
@MOVING
def test_gauss_newton_sees_the_same_cost_and_gradient(
    settings: Settings, motion: Motion, scene: Tensor, motif: Motif
) -> None:
    if isinstance(settings, Spikes) and motion.name == "homography":
        pytest.skip("complementary smoothing is defined on Aff(2)")
    objective, at = problem(settings, motion, scene, motif, inverse=False)
    first, second = objective.evaluate(at), objective.linearise(at)
    torch.testing.assert_close(second.cost, first.cost)
    torch.testing.assert_close(second.gradient, first.gradient)
    assert second.hessian is not None
    torch.testing.assert_close(second.hessian, second.hessian.mT)
    assert torch.linalg.eigvalsh(second.hessian).min() > -1e-9


@pytest.mark.parametrize("name", ["plain", "cost-smoothed", "background", "spikes", "channels"])
def test_gauss_newton_matrix_is_the_hessian_where_the_fit_is_exact(name: str, motif: Motif) -> None:
    """With no residual, the second derivative of a least-squares cost is JᵀQJ."""
    settings = replace(SETTINGS[name], sigma=1e-3) if name == "cost-smoothed" else SETTINGS[name]
    if name == "cost-smoothed":
        settings = replace(settings, scene_sigma=0.0)
    motif = Motif.whole(motif.pixels) if name == "spikes" else motif
    scene = torch.zeros(2, 31, 37, dtype=torch.float64)
    scene[:, 11:20, 13:20] = motif.masked
    base = shift_matrix(torch.tensor([[13.0, 11.0]], dtype=torch.float64))
    objective = MotionObjective(settings.bind(scene, motif), Affine(), base)
    start = Variables(torch.zeros(1, 6, dtype=torch.float64))
    if name == "background":
        start = replace(start, background=torch.zeros(1, *objective.formulation.target(None).shape).double())  # type: ignore[attr-defined]
    found = objective.linearise(start)

    # φ_a is not twice differentiable at whole pixels: test a little beside them on both sides.
    def second(offset: float) -> Tensor:
        at = torch.full((6,), offset, dtype=torch.float64)
        return torch.autograd.functional.hessian(
            lambda p: objective.evaluate(replace(start, pose=p[None])).cost.sum(), at
        )

    expected = (second(1e-7) + second(-1e-7)) / 2
    assert found.hessian is not None
    torch.testing.assert_close(found.hessian[0], expected, rtol=2e-3, atol=2e-3 * expected.abs().max().item())


def test_proposition_1_gradient_in_the_field(scene: Tensor, motif: Motif) -> None:
    formulation = Plain(1.2).bind(scene, motif)
    field = transform(
        shift_matrix(torch.tensor([[12.2, 10.7]]).double()), formulation.points + formulation.centre
    )
    field = (field + 0.3 * torch.randn_like(field)).requires_grad_()
    found = formulation.evaluate_field(field)
    (expected,) = torch.autograd.grad(found.cost.sum(), field)
    torch.testing.assert_close(found.gradient, expected, rtol=1e-9, atol=1e-10)


def test_proposition_2_gradient_of_the_filter(scene: Tensor, motif: Motif) -> None:
    formulation = Spikes(2.5, 1.2).bind(scene, motif)
    linear = (torch.eye(2).double() + 0.2 * torch.randn(3, 2, 2, dtype=torch.float64)).requires_grad_()
    taps = formulation.filter(linear)
    weights = torch.randn_like(taps)
    (expected,) = torch.autograd.grad((weights * taps).sum(), linear)
    torch.testing.assert_close(formulation.filter_gradient(linear, weights), expected, rtol=1e-9, atol=1e-10)
    change = torch.randn(3, 2, 2, 1, dtype=torch.float64)
    along = (weights * formulation.filter_tangent(linear, change)[:, 0]).sum((-2, -1))
    torch.testing.assert_close(along, (expected * change[..., 0]).sum((-2, -1)))


def test_proposition_2_outside_of_its_domain_costs_infinity(scene: Tensor, motif: Motif) -> None:
    """σ²I − σ0²(A*A)⁻¹ ≻ 0: shrinking by more than σ0/σ leaves it."""
    objective = MotionObjective(Spikes(2.5, 1.2).bind(scene, motif), Affine())
    shrunk = Variables(torch.tensor([[-0.6, 0, 0, -0.6, 0, 0], [0.0] * 6], dtype=torch.float64))
    assert objective.evaluate(shrunk).cost.isfinite().tolist() == [False, True]


def test_proposition_3_inverse_parameterisation() -> None:
    """The chain rule as printed, (A, b) ↦ (A⁻¹, −A⁻¹b), against what the objective does."""
    linear = torch.eye(2).double() + 0.2 * torch.randn(2, 2, dtype=torch.float64)
    shift = torch.randn(2, dtype=torch.float64)
    of_linear, of_shift = torch.randn(2, 2, dtype=torch.float64), torch.randn(2, dtype=torch.float64)
    turned = torch.linalg.inv(linear).mT
    printed_linear = -turned @ of_linear @ turned + torch.outer(
        turned @ of_shift, torch.linalg.inv(linear) @ shift
    )
    printed_shift = -turned @ of_shift
    variables = (linear.clone().requires_grad_(), shift.clone().requires_grad_())
    inverse = torch.linalg.inv(variables[0])
    value = (of_linear * inverse).sum() - (of_shift * (inverse @ variables[1])).sum()
    expected = torch.autograd.grad(value, variables)
    torch.testing.assert_close(printed_linear, expected[0])
    torch.testing.assert_close(printed_shift, expected[1])
    # In homogeneous form it is one product: −N⁻ᵀ G N⁻ᵀ.
    homogeneous = torch.eye(3).double()
    homogeneous[:2, :2], homogeneous[:2, 2] = linear, shift
    gradient = torch.zeros(3, 3, dtype=torch.float64)
    gradient[:2, :2], gradient[:2, 2] = of_linear, of_shift
    inverted = torch.linalg.inv(homogeneous).mT
    together = -inverted @ gradient @ inverted
    torch.testing.assert_close(together[:2, :2], printed_linear)
    torch.testing.assert_close(together[:2, 2], printed_shift)


def test_free_field_gradient(scene: Tensor, motif: Motif) -> None:
    base = shift_matrix(torch.tensor([[12.2, 10.7]]).double())
    formulation = CostSmoothed(1.0).bind(scene, motif)
    assert isinstance(formulation, QuadraticFormulation)
    objective = FieldObjective(formulation, strength=0.0, base=base)
    start = objective.start()
    pose = (0.2 * torch.randn_like(start.pose)).requires_grad_()
    found = objective.evaluate(replace(start, pose=pose))
    (expected,) = torch.autograd.grad(found.cost.sum(), pose)
    torch.testing.assert_close(found.gradient, expected, rtol=1e-9, atol=1e-10)


def test_cost_is_differentiable_in_scene_motif_and_smoothing(scene: Tensor, motif: Motif) -> None:
    base = shift_matrix(torch.tensor([[12.2, 10.7]]).double())

    def cost(scene: Tensor, pixels: Tensor, sigma: Tensor, kind: type) -> Tensor:
        settings = Spikes(sigma, 1.2) if kind is Spikes else kind(sigma)
        objective = MotionObjective(settings.bind(scene, Motif(pixels, motif.mask)), Affine(), base)
        return objective.evaluate(objective.start()).cost

    small = scene[:, 5:25, 6:26].clone().requires_grad_()
    pixels = motif.pixels.clone().requires_grad_()
    sigma = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    for kind in (Plain, CostSmoothed, Spikes, Channels):
        assert torch.autograd.gradcheck(
            lambda s, p, w, kind=kind: cost(s, p, w, kind), (small, pixels, sigma), fast_mode=True
        )


def test_spikes_that_agree_cost_nothing_whatever_the_scale() -> None:
    """The compensation of (10): a scene that is an affine image of the motif's spikes has cost ≈ 0 there."""
    linear = torch.tensor([[1.15, 0.1], [-0.05, 0.9]], dtype=torch.float64)
    spots = torch.tensor([[-9.0, -5.0], [7.0, -6.0], [2.0, 8.0]], dtype=torch.float64)
    grid = torch.stack(
        torch.meshgrid(torch.arange(61.0), torch.arange(71.0), indexing="ij")[::-1], -1
    ).double()
    centre = torch.tensor([35.0, 30.0], dtype=torch.float64)

    def spread(points: Tensor) -> Tensor:
        offsets = grid - (points + centre)[:, None, None]
        return torch.exp(-0.5 * offsets.pow(2).sum(-1) / 9) / (2 * torch.pi * 9)

    formulation = Spikes(8.0, 3.0, smoothed=True).bind(spread(spots @ linear.mT), Motif.whole(spread(spots)))
    frame = torch.eye(3).double()[None]
    frame[:, :2, :2], frame[:, :2, 2] = linear, centre
    unmoved = torch.eye(3).double()[None]
    unmoved[:, :2, 2] = centre
    assert formulation.evaluate(frame).cost < 2e-3 * formulation.evaluate(unmoved).cost
    assert gaussian_density(torch.eye(2).double() * 9, 9).sum() < 1

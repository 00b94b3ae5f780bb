"""Each cost against its formula written out, lighting, the tally, and the paper's own numbers."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from wherein.formulations import CostSmoothed, MotionObjective, Plain, Spikes, WithBackground
from wherein.formulations.background import dilate
from wherein.images.gaussian import blur, gaussian_1d
from wherein.images.motif import Motif
from wherein.motion import Affine, Euclidean, Translation
from wherein.motion.field import lattice, shift_matrix
from wherein.solve import Step, proximal_gradient
from wherein.warp import warp


@pytest.fixture
def scene() -> Tensor:
    return torch.rand(3, 37, 31, dtype=torch.float64)


@pytest.fixture
def motif() -> Motif:
    mask = torch.ones(8, 7, dtype=torch.float64)
    mask[:3, :2] = 0
    mask[5, 2:5] = torch.tensor([0.3, 0.5, 0.7])  # a soft mask counts by its value
    return Motif(torch.rand(3, 8, 7, dtype=torch.float64), mask)


OFFSET = torch.tensor([11.25, 13.5], dtype=torch.float64)


def cost_at_offset(
    settings: Plain | CostSmoothed | WithBackground, scene: Tensor, motif: Motif, offset: Tensor = OFFSET
) -> Tensor:
    objective = MotionObjective(settings.bind(scene, motif), Translation(), shift_matrix(offset[None]))
    return objective.evaluate(objective.start()).cost[0]


def test_plain_is_equation_2(scene: Tensor, motif: Motif) -> None:
    pad = 4
    field = lattice(8, 7, scene, pad) + OFFSET
    difference = warp(scene, field) - F.pad(motif.pixels * (motif.mask > 0), (pad,) * 4)
    inside = motif.mask * blur(difference, 1.3)[:, pad:-pad, pad:-pad] ** 2
    torch.testing.assert_close(cost_at_offset(Plain(1.3), scene, motif), 0.5 * inside.sum())


def test_cost_smoothed_is_equation_3(scene: Tensor, motif: Motif) -> None:
    """The sum over shifts Δ, one by one."""
    taps = gaussian_1d(1.1, like=scene)
    radius = taps.numel() // 2
    expected = torch.zeros((), dtype=torch.float64)
    for i, down in enumerate(range(-radius, radius + 1)):
        for j, right in enumerate(range(-radius, radius + 1)):
            field = lattice(8, 7, scene) + OFFSET + torch.tensor([right, down], dtype=torch.float64)
            misfit = (motif.mask * (warp(scene, field) - motif.pixels) ** 2).sum()
            expected += 0.5 * taps[i] * taps[j] * misfit
    torch.testing.assert_close(cost_at_offset(CostSmoothed(1.1), scene, motif), expected)


def test_background_is_equation_4(scene: Tensor, motif: Motif) -> None:
    settings = WithBackground(1.2, spread=3.0)
    formulation = settings.bind(scene, motif)
    objective = MotionObjective(formulation, Translation(), shift_matrix(OFFSET[None]))
    start = objective.start()
    assert start.background is not None
    pad = math.ceil(5 * 1.2)
    inner = F.pad(motif.mask, (pad,) * 4)
    smooth = blur(start.background[0], 3.0**0.5 * 1.2) * (1 - inner)
    warped = warp(scene, lattice(8, 7, scene, pad) + OFFSET)
    residual = blur(warped - F.pad(motif.masked, (pad,) * 4) - smooth, 1.2) * dilate(inner > 0, 2.4)
    torch.testing.assert_close(objective.evaluate(start).cost[0], 0.5 * residual.pow(2).sum())


SIGMA, SIGMA0 = 3.2, 1.4
LINEAR, SHIFT = np.array([[1.12, 0.17], [-0.09, 0.88]]), np.array([2.3, -1.6])  # A and b of equation (10)
SPIKES = np.array([[-7.0, -4.0], [6.0, -5.0], [1.0, 6.0]])  # (x, y) from the centre, a channel each
CENTRE = np.array([27.0, 24.0])


def density(points: np.ndarray, covariance: np.ndarray, size: tuple[int, int], pad: int = 0) -> np.ndarray:
    """g_M about each point on a picture of height and width, continued by `pad` pixels on each side."""
    y, x = np.mgrid[-pad : size[0] + pad, -pad : size[1] + pad]
    offsets = np.stack((x, y), -1) - points[:, None, None]
    exponent = np.einsum("chwi,ij,chwj->chw", offsets, np.linalg.inv(covariance), offsets)
    return np.exp(-exponent / 2) / (2 * np.pi * np.sqrt(np.linalg.det(covariance)))


def keys(x: np.ndarray) -> np.ndarray:
    """φ, the cubic convolution kernel of Keys."""
    x = np.abs(x)
    near, far = 1.5 * x**3 - 2.5 * x**2 + 1, -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def equation_10(size: tuple[int, int]) -> float:
    """1/(2c) ‖g_{σ²I − σ0²AA*} ∗ (det^−½(AA*) (g_σ0² ∗ y)∘τ_{A⁻¹, −A⁻¹b}) − g_σ² ∗ x_o‖², term by term.

    y has a spike at each of `SPIKES`, x_o at the same places moved by half of b: they do not agree.
    """
    eye, pad = np.eye(2), 24
    scene = density(SPIKES + CENTRE, SIGMA0**2 * eye, size)
    y, x = np.mgrid[: size[0], : size[1]]
    field = (np.stack((x, y), -1) - CENTRE - SHIFT) @ np.linalg.inv(LINEAR).T + CENTRE
    rows, columns = (keys(field[..., axis, None] - np.arange(size[1 - axis])) for axis in (1, 0))
    warped = np.einsum("hwk,hwl,ckl->chw", rows, columns, scene) / np.sqrt(np.linalg.det(LINEAR @ LINEAR.T))
    covariance = SIGMA**2 * eye - SIGMA0**2 * LINEAR @ LINEAR.T
    smooth = density(np.zeros((1, 2)), covariance, (1, 1), pad)[0]
    smoothed = np.zeros((len(scene), size[0] + 2 * pad, size[1] + 2 * pad))
    for row, column in np.ndindex(*smooth.shape):  # the convolution, one tap after the other
        smoothed[:, row : row + size[0], column : column + size[1]] += smooth[row, column] * warped
    target = density(SPIKES + CENTRE + SHIFT / 2, SIGMA**2 * eye, size, pad)
    return float(((smoothed - target) ** 2).sum() / (2 * len(scene)))


def spikes_cost(settings: Spikes, scene: np.ndarray, motif: np.ndarray) -> float:
    """The cost of `Spikes` at A and b."""
    formulation = settings.bind(torch.from_numpy(scene), Motif.whole(torch.from_numpy(motif)))
    objective = MotionObjective(formulation, Affine(), inverse=True)
    moved = torch.eye(3).double()[None]
    moved[0, :2] = torch.from_numpy(np.column_stack((LINEAR, SHIFT)))
    return float(objective.evaluate(objective.start(Affine().params(moved))).cost)


def test_spikes_is_equation_10() -> None:
    size = (49, 55)
    motif = SPIKES + CENTRE + SHIFT / 2
    # Smoothed by σ0 beforehand, as the spikes of Figure 4; six standard deviations of each filter.
    smooth = (density(points, SIGMA0**2 * np.eye(2), size) for points in (SPIKES + CENTRE, motif))
    exact = spikes_cost(Spikes(SIGMA, SIGMA0, smoothed=True, reach=6.0), *smooth)
    assert exact == pytest.approx(equation_10(size), rel=1e-6)
    assert exact > 1e-4  # of two spikes that agree it would be zero


def test_spikes_smooths_single_pixels_itself() -> None:
    """The same from pictures of one pixel a spike, which `Spikes` smooths by σ0, with filters of 3σ."""
    size, pictures = (49, 55), np.zeros((2, 3, 49, 55))
    for picture, shift in zip(pictures, (np.zeros(2), np.array([1.0, -1.0])), strict=True):
        for channel, (x, y) in zip(picture, (SPIKES + CENTRE + shift).astype(int), strict=True):
            channel[y, x] = 1
    dots = spikes_cost(Spikes(SIGMA, SIGMA0), *pictures)
    points = (SPIKES + CENTRE, SPIKES + CENTRE + np.array([1.0, -1.0]))
    smooth = (density(each, SIGMA0**2 * np.eye(2), size) for each in points)
    exact = spikes_cost(Spikes(SIGMA, SIGMA0, smoothed=True, reach=6.0), *smooth)
    assert dots == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize("settings", [Plain(1.2, lighting=True), CostSmoothed(1.2, lighting=True)], ids=repr)
def test_lighting_is_the_best_gain_and_bias(
    settings: Plain | CostSmoothed, scene: Tensor, motif: Motif
) -> None:
    """Against Newton's method in (a, b), which needs one step for a quadratic."""
    scene = 0.1 * scene
    scene[:, 13:21, 11:18] += 0.6 * motif.masked
    offset = torch.tensor([11.1, 12.9], dtype=torch.float64)  # close by, so that the best gain is positive
    formulation = type(settings)(settings.sigma).bind(scene, motif)
    pad = (formulation.points.shape[0] - 8) // 2
    warped = warp(scene, lattice(8, 7, scene, pad) + offset)

    def cost(values: Tensor) -> Tensor:
        return formulation.misfit(values[0] * warped + values[1:, None, None])[0]

    start = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(cost(start), start)
    best = -torch.linalg.solve(torch.autograd.functional.hessian(cost, start), gradient)
    assert best[0] > 0
    torch.testing.assert_close(cost_at_offset(settings, scene, motif, offset), cost(best))


def test_lighting_does_not_mind_gain_and_bias(scene: Tensor, motif: Motif) -> None:
    changed = 0.3 * scene + torch.tensor([0.1, 0.2, 0.05], dtype=torch.float64)[:, None, None]
    for settings in (Plain(1.0, lighting=True), CostSmoothed(1.0, lighting=True)):
        torch.testing.assert_close(
            cost_at_offset(settings, changed, motif), cost_at_offset(settings, scene, motif)
        )
        assert cost_at_offset(type(settings)(1.0), changed, motif) != cost_at_offset(
            type(settings)(1.0), scene, motif
        )


def test_tally_counts_pictures(scene: Tensor, motif: Motif) -> None:
    base = shift_matrix(OFFSET.expand(5, 2))
    smoothed = CostSmoothed(1.0).bind(scene, motif)
    objective = MotionObjective(smoothed, Translation(), base)
    before = smoothed.tally.convolutions
    objective.evaluate(objective.start())
    assert (smoothed.tally.interpolations, smoothed.tally.convolutions) == (15, before)
    plain = Plain(1.0).bind(scene, motif)
    objective = MotionObjective(plain, Translation(), base)
    objective.evaluate(objective.start())
    assert (plain.tally.interpolations, plain.tally.convolutions) == (15, 10)
    assert plain.tally.operations == 25


def test_parity_cost_smoothed_rigid(shared: Path) -> None:
    data = {k: torch.as_tensor(v) for k, v in np.load(shared / "golden" / "cost_smoothed_rigid.npz").items()}
    sigma = float(data["sigma"])
    motif = Motif(data["motif"], data["mask"])
    formulation = CostSmoothed(sigma, float(data["sigma_in"]), a=-0.75).bind(data["scene"], motif)
    objective = MotionObjective(formulation, Euclidean(), shift_matrix(data["strides_xy"]))
    step = float(data["step"]) * 8 * math.pi * sigma**4
    turn = step / (max(motif.height, motif.width) / 2) ** 2
    sizes = Step(torch.tensor([turn, step, step], dtype=torch.float64))
    found = proximal_gradient(objective, objective.start(), [sizes] * int(data["steps"]), history=True)
    torch.testing.assert_close(torch.stack(found.history, 1), data["cost"], rtol=0, atol=1e-9)
    torch.testing.assert_close(found.variables.pose[:, 0].rad2deg(), data["angle_deg"], rtol=0, atol=1e-6)
    torch.testing.assert_close(found.variables.pose[:, 1:], data["shift_xy"], rtol=0, atol=1e-6)


def test_parity_spikes_affine(shared: Path) -> None:
    data = {k: torch.as_tensor(v) for k, v in np.load(shared / "golden" / "spikes_affine.npz").items()}
    settings = Spikes(float(data["sigma"]), float(data["sigma0"]), smoothed=True, reach=2.0, a=-0.75)
    objective = MotionObjective(
        settings.bind(data["scene"], Motif.whole(data["motif"])), Affine(), inverse=True
    )
    sizes = Step(torch.cat((data["step_A"].expand(4), data["step_b"].expand(2))))
    at, costs = objective.start(), []
    for linear, shift in zip(data["A_xy"], data["b_xy"], strict=True):
        matrix = Affine().matrix(at.pose)[0]
        torch.testing.assert_close(matrix[:2, :2], linear, rtol=0, atol=1e-6)
        torch.testing.assert_close(matrix[:2, 2], shift, rtol=0, atol=1e-6)
        found = proximal_gradient(objective, at, [sizes], history=True)
        costs.append(found.history[0][0])
        at = found.variables
    torch.testing.assert_close(torch.stack(costs), data["cost"], rtol=0, atol=1e-9)

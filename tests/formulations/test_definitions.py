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

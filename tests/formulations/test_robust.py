"""Robust weights: the loss by its definition, and a motif that is covered by a third."""

import pytest
import torch
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.formulations import (
    CostSmoothed,
    MotionObjective,
    Plain,
    Robust,
    Spikes,
    WithBackground,
)
from wherein.formulations.robust import scale_of, trust
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.motion import MOTIONS, Euclidean, Motion, Translation
from wherein.motion.field import centre_of, lattice, shift_matrix, transform
from wherein.solve import GaussNewtonLayers, Status, Unrolled, UnrolledStage, gauss_newton
from wherein.solve.unroll import Settings
from wherein.warp import warp

BASE = shift_matrix(torch.tensor([[19.0, 17.0]], dtype=torch.float64))
POSES = {
    "translation": (1.3, -0.9),
    "euclidean": (0.08, 1.3, -0.9),
    "similarity": (0.08, 0.06, 1.3, -0.9),
    "affine": (0.06, -0.05, 0.04, 0.05, 1.3, -0.9),
    "homography": (0.06, -0.05, 0.04, 0.05, 1.3, -0.9, 5e-4, -7e-4),
}


def noise(seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return blur(torch.rand(2, 61, 71, generator=generator, dtype=torch.float64), 3.0) * 6


def hidden(motion: Motion) -> tuple[Tensor, Motif, Tensor]:
    """A scene, the motif that lies in it at a known pose, 12 of its 33 columns covered; and the pose."""
    scene, centre = noise(3), centre_of(27, 33, noise(3))
    moved = motion.matrix(torch.tensor(POSES[motion.name], dtype=torch.float64))
    truth = BASE[0] @ shift_matrix(centre) @ moved @ shift_matrix(-centre)
    motif = Motif.whole(warp(scene, transform(truth, lattice(27, 33, scene))))
    scene[:, :, 19:31] = 0.8 * noise(9)[:, :, 19:31] + 0.4
    return scene, motif, truth


def corner_error(found: Tensor, truth: Tensor) -> float:
    corners = torch.tensor([[0.0, 0], [32, 0], [0, 26], [32, 26]], dtype=torch.float64)
    return float((transform(found, corners) - transform(truth, corners)).norm(dim=-1).max())


@pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)
@pytest.mark.parametrize(
    ("plain", "robust"),
    [
        (Plain(0.0), Plain(0.0, robust=Robust())),
        (Plain(0.0, lighting=True), Plain(0.0, lighting=True, robust=Robust())),
        (CostSmoothed(0.05), CostSmoothed(0.05, robust=Robust())),
    ],
    ids=["plain", "lighting", "cost-smoothed"],
)
def test_with_a_third_covered_only_the_robust_one_finds_the_pose(
    plain: Settings, robust: Settings, motion: Motion
) -> None:
    scene, motif, truth = hidden(motion)
    errors = []
    for settings in (plain, robust):
        objective = MotionObjective(settings.bind(scene, motif), motion, BASE)
        found = gauss_newton(objective, objective.start(), 60, tolerance=1e-6)
        errors.append(corner_error(objective.matrix(found.variables)[0], truth))
    assert found.status == (Status.CONVERGED,)
    assert errors[0] > 0.3
    assert errors[1] < 0.01


def test_a_background_model_and_robust_weights_get_on() -> None:
    scene, motif, truth = hidden(Translation())
    mask = torch.zeros_like(motif.mask)
    mask[4:-4, 4:-4] = 1
    errors = []
    for robust in (None, Robust()):
        formulation = WithBackground(0.7, robust=robust).bind(scene, Motif(motif.pixels, mask))
        objective = MotionObjective(formulation, Translation(), BASE)
        found = gauss_newton(objective, objective.start(), 100, tolerance=0.0)
        errors.append(corner_error(objective.matrix(found.variables)[0], truth))
    assert errors[1] < 0.1 < errors[0]


def test_spikes_with_one_missing() -> None:
    grid = lattice(41, 51, torch.empty(0, dtype=torch.float64))
    spots = torch.tensor([[15.0, 12], [36, 15], [24, 30], [33, 28]], dtype=torch.float64)

    def spread(points: Tensor) -> Tensor:
        return torch.exp(-0.5 * (grid - points[:, None, None]).pow(2).sum(-1) / 4) / (8 * torch.pi)

    scene, motif = spread(spots + torch.tensor((2.0, -1.5))), Motif.whole(spread(spots))
    scene[1] = spread(spots[1:2] - 9)[0]  # not where it belongs
    truth, errors = shift_matrix(torch.tensor((2.0, -1.5), dtype=torch.float64)), []
    for robust in (None, Robust(scale=3e-4)):
        formulation = Spikes(5.0, 2.0, smoothed=True, robust=robust).bind(scene, motif)
        objective = MotionObjective(formulation, Euclidean())
        found = gauss_newton(objective, objective.start(), 60, tolerance=1e-6)
        errors.append(corner_error(objective.matrix(found.variables)[0], truth))
    assert errors[1] < 0.1 < errors[0]


def test_a_batch_has_the_poses_and_costs_of_its_items() -> None:
    scene, motif, _ = hidden(Euclidean())
    bases = BASE @ shift_matrix(torch.tensor([[0.0, 0], [0.6, -0.4], [-1.1, 0.3]], dtype=torch.float64))
    formulation = Plain(0.0, lighting=True, robust=Robust()).bind(scene, motif)

    def solve(base: Tensor) -> tuple[Tensor, Tensor]:
        objective = MotionObjective(formulation, Euclidean(), base)
        found = gauss_newton(objective, objective.start(), 40, tolerance=1e-6)
        return objective.matrix(found.variables), found.cost

    together = solve(bases)
    for index in range(3):
        for whole, one in zip(together, solve(bases[index : index + 1]), strict=True):
            torch.testing.assert_close(whole[index], one[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    "settings",
    [
        Plain(1.1, robust=Robust()),
        Plain(1.1, lighting=True, robust=Robust(0.3)),
        CostSmoothed(0.8, robust=Robust(scale=0.2)),
        Spikes(2.5, 1.2, robust=Robust(scale=0.05)),
    ],
    ids=repr,
)
def test_unrolled_gradients_are_right(settings: Settings) -> None:
    """Finite differences through three Gauss–Newton layers, the scale and the lighting among what moves."""
    scene, motif, _ = hidden(Euclidean())
    motif = Motif.whole(motif.pixels[:, 5:20, 8:24])
    base = shift_matrix(torch.tensor([[27.0, 22.0]], dtype=torch.float64))
    network = Unrolled(motif, Euclidean(), [UnrolledStage(settings, GaussNewtonLayers(3))]).double()
    mix = torch.randn(3, dtype=torch.float64)

    def run(scene: Tensor) -> Tensor:
        return (network(scene, base).pose @ mix).sum()

    along, step = torch.randn_like(scene), 1e-6
    (gradient,) = torch.autograd.grad(run(scene.requires_grad_()), scene)
    with torch.no_grad():
        measured = (run(scene + step * along) - run(scene - step * along)) / (2 * step)
    torch.testing.assert_close((gradient * along).sum(), measured, rtol=1e-5, atol=1e-9)
    assert measured.abs() > 1e-4


def test_the_scale_is_where_the_mean_mistrust_is_what_may_be_hidden() -> None:
    squares = torch.randn(3, 200, dtype=torch.float64).pow(2) * torch.tensor([[1e-3], [1.0], [1e3]]).double()
    squares[:, ::3] += 100
    weights = torch.rand(200, dtype=torch.float64)
    variance = scale_of(squares, weights, 0.4)
    mistrust = (1 - trust(squares, variance).sqrt()) ** 2
    found = (weights * mistrust).sum(-1) / weights.sum()
    torch.testing.assert_close(found, torch.full_like(found, 0.4), rtol=1e-9, atol=0)
    assert torch.autograd.gradcheck(
        lambda e: scale_of(e, weights, 0.4), squares[:2].clone().requires_grad_(), fast_mode=True
    )


def test_the_loss_is_the_greatest_over_scales_and_its_slope_the_weights() -> None:
    squares = (torch.randn(50, dtype=torch.float64) ** 2).requires_grad_()
    weights = torch.rand(50, dtype=torch.float64)
    total, slope = Robust(0.3)(squares, weights)
    variances = torch.logspace(-5, 2, 20_000, dtype=torch.float64)[:, None]
    each = (weights * squares / (1 + squares / variances)).sum(-1)
    best = (each - 0.3 * (variances[:, 0] - 1e-5) * weights.sum()).max()
    torch.testing.assert_close(total, best, rtol=1e-6, atol=0)
    torch.testing.assert_close(slope, torch.autograd.grad(total, squares)[0])


def test_where_all_fits_nothing_is_lost_and_all_is_trusted() -> None:
    total, slope = Robust()(torch.zeros(2, 30), torch.ones(30))
    assert torch.equal(total, torch.zeros(2))
    assert torch.equal(slope, torch.ones(2, 30))


def test_wrong_arguments_say_what_is_wrong() -> None:
    for share in (0.0, 1.0, -0.2):
        with pytest.raises(ArgumentError, match=r"must be in \(0, 1\), but is"):
            Robust(share)
    with pytest.raises(ArgumentError, match="must be positive, but is 0"):
        Robust(scale=0.0)
    with pytest.raises(ArgumentError, match=r"robust weights of spikes need a scale: Robust\(scale=…\)"):
        Spikes(robust=Robust())

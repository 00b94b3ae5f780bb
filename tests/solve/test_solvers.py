"""Both solvers on problems with known answers, and on those that must fail; batches; statuses."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.formulations import (
    Channels,
    CostSmoothed,
    FieldObjective,
    MotionObjective,
    Objective,
    Plain,
    Spikes,
    Variables,
    WithBackground,
)
from wherein.images.gaussian import blur
from wherein.images.motif import Motif
from wherein.motion import MOTIONS, Euclidean, Motion, Translation
from wherein.motion.field import centre_of, lattice, shift_matrix, transform
from wherein.solve import Damping, Solution, Status, Step, gauss_newton, proximal_gradient
from wherein.solve.unroll import Settings
from wherein.warp import warp


@dataclass(frozen=True)
class Bank:
    """A smooth scene, and the motif cut out of it at a known pose."""

    scene: Tensor
    motif: Motif
    truth: Tensor
    pose: Tensor


def bank(motion: Motion, size: float = 1.0) -> Bank:
    generator = torch.Generator().manual_seed(3)
    scene = blur(torch.rand(2, 61, 71, generator=generator, dtype=torch.float64), 3.0) * 6
    pose = torch.tensor([0.06, -0.05, 0.04, 0.05, 1e-4, -2e-4], dtype=torch.float64)
    values = {
        "translation": (1.3, -0.9),
        "euclidean": (0.08, 1.3, -0.9),
        "similarity": (0.08, 0.06, 1.3, -0.9),
        "affine": (*pose[:4].tolist(), 1.3, -0.9),
        "homography": (*pose[:4].tolist(), 1.3, -0.9, 5e-4, -7e-4),
    }[motion.name]
    pose = size * torch.tensor(values, dtype=torch.float64)
    h, w = 27, 33
    centre = centre_of(h, w, scene)
    truth = (
        shift_matrix(torch.tensor([19.0, 17.0]).double() + centre)
        @ motion.matrix(pose)
        @ shift_matrix(-centre)
    )
    return Bank(scene, Motif.whole(warp(scene, transform(truth, lattice(h, w, scene)))), truth, pose)


BASE = shift_matrix(torch.tensor([[19.0, 17.0]], dtype=torch.float64))
SETTINGS: dict[str, Settings] = {
    "plain": Plain(0.0),
    "plain, lighting": Plain(0.0, lighting=True),
    "cost-smoothed": CostSmoothed(0.05),
    "cost-smoothed, lighting": CostSmoothed(0.05, lighting=True),
    "channels": Channels(),
    "channels, lighting": Channels(lighting=True),
}
Solve = Callable[[MotionObjective, int], Solution]


def newton(objective: MotionObjective, depth: int) -> Solution:
    return gauss_newton(objective, objective.start(), depth, tolerance=1e-9)


def corner_error(found: Tensor, truth: Tensor) -> float:
    corners = torch.tensor([[0.0, 0], [32, 0], [0, 26], [32, 26]], dtype=torch.float64)
    return float((transform(found, corners) - transform(truth, corners)).norm(dim=-1).max())


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)
def test_gauss_newton_finds_the_pose(motion: Motion, settings: Settings) -> None:
    known = bank(motion)
    objective = MotionObjective(settings.bind(known.scene, known.motif), motion, BASE)
    found = newton(objective, 40)
    assert found.status == (Status.CONVERGED,)
    assert corner_error(objective.matrix(found.variables)[0], known.truth) < 1e-4


@pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS)
def test_proximal_gradient_finds_the_pose(motion: Motion) -> None:
    """With steps of the scale of the curvature at the start, many of them."""
    known = bank(motion, 0.6)
    objective = MotionObjective(Plain(0.0).bind(known.scene, known.motif), motion, BASE)
    start = objective.start()
    curvature = objective.linearise(start).hessian
    assert curvature is not None
    sizes = 0.5 / curvature[0].diagonal()
    steps = {"translation": 200, "euclidean": 300, "similarity": 300, "affine": 600, "homography": 1500}
    found = proximal_gradient(objective, start, [Step(sizes)] * steps[motion.name], history=True)
    assert corner_error(objective.matrix(found.variables)[0], known.truth) < 0.05
    assert found.history[-1] < 1e-2 * found.history[0]


def test_background_model_is_learned_along_with_the_pose() -> None:
    """The motif in the middle, other texture around it: with (4) both solvers find it."""
    known = bank(Translation())
    mask = torch.zeros_like(known.motif.mask)
    mask[6:-6, 6:-6] = 1
    formulation = WithBackground(1.0).bind(known.scene, Motif(known.motif.pixels, mask))
    objective = MotionObjective(formulation, Translation(), BASE)
    newtons = gauss_newton(objective, objective.start(), 150, tolerance=0.0)
    assert corner_error(objective.matrix(newtons.variables)[0], known.truth) < 0.05
    held, moving = [Step(0.0)] * 5, [Step(0.3)] * 150
    first = proximal_gradient(objective, objective.start(), held + moving, history=True)
    assert torch.equal(first.history[0], objective.evaluate(objective.start()).cost)
    assert first.history[5] < 0.2 * first.history[0]  # the background alone, the pose held
    assert corner_error(objective.matrix(first.variables)[0], known.truth) < 0.05


def test_both_solvers_register_spikes() -> None:
    grid = lattice(41, 51, torch.empty(0, dtype=torch.float64))
    spots = torch.tensor([[15.0, 12], [36, 15], [24, 30], [33, 28]], dtype=torch.float64)

    def spread(points: Tensor) -> Tensor:
        return torch.exp(-0.5 * (grid - points[:, None, None]).pow(2).sum(-1) / 4) / (8 * torch.pi)

    motion = Euclidean()
    truth = shift_matrix(torch.tensor([25.0, 20]).double()) @ motion.matrix(
        torch.tensor([0.15, 2.0, -1.5]).double()
    )
    truth = truth @ shift_matrix(-torch.tensor([25.0, 20]).double())
    scene, motif = spread(transform(truth, spots)), Motif.whole(spread(spots))
    objective = MotionObjective(Spikes(5.0, 2.0, smoothed=True).bind(scene, motif), motion)
    for found in (
        gauss_newton(objective, objective.start(), 30, tolerance=1e-6),
        proximal_gradient(
            objective, objective.start(), [Step(torch.tensor([8.0, 2000, 2000]).double())] * 300
        ),
    ):
        assert corner_error(objective.matrix(found.variables)[0], truth) < 0.03


def test_a_free_fields_background_model_begins_where_the_field_is() -> None:
    known = bank(Translation())
    formulation = WithBackground(1.0).bind(known.scene, known.motif)
    shift = torch.tensor([1.25, -0.75], dtype=torch.float64)
    moved = FieldObjective(formulation, strength=0.1, base=BASE @ shift_matrix(shift[None]))
    objective = FieldObjective(formulation, strength=0.1, base=BASE)
    start = objective.start(torch.zeros_like(objective.start().pose) + shift)
    torch.testing.assert_close(start.background, moved.start().background)


def test_a_free_field_follows_a_bend() -> None:
    """min φ(y∘τ) + λρ(τ): a warp that no motion model has."""
    scene = blur(torch.rand(2, 61, 71, generator=torch.Generator().manual_seed(1)).double(), 3.0) * 6
    grid = lattice(27, 33, scene)
    bend = torch.stack((torch.sin(grid[..., 1] / 6), 0.8 * torch.cos(grid[..., 0] / 7)), -1)
    motif = Motif.whole(warp(scene, grid + torch.tensor([19.0, 17.0]).double() + bend))
    objective = FieldObjective(CostSmoothed(0.05).bind(scene, motif), strength=0.002, base=BASE)
    start = objective.start()
    found = proximal_gradient(objective, start, [Step(50.0)] * 300, history=True)
    inner = found.variables.pose[0, 1:-1, 1:-1]
    assert found.history[-1] < 0.02 * found.history[0]
    assert (inner - bend).norm(dim=-1).mean() < 0.15 * bend.norm(dim=-1).mean()
    stiff = FieldObjective(CostSmoothed(0.05).bind(scene, motif), strength=1e6, base=BASE)
    still = proximal_gradient(stiff, stiff.start(), [Step(1.0)] * 50).variables.pose
    assert still.flatten(1, 2).std(1).max() < 1e-3  # so much smoothing leaves a translation


def test_items_stop_and_report_on_their_own() -> None:
    known = bank(Euclidean())
    formulation = Plain(0.0).bind(known.scene, known.motif)
    bases = torch.cat(
        (
            BASE,
            shift_matrix(torch.tensor([[500.0, 500.0]]).double()),
            BASE @ shift_matrix(torch.tensor([[0.4, 0.2]]).double()),
        )
    )
    objective = MotionObjective(formulation, Euclidean(), bases)
    found = gauss_newton(objective, objective.start(), 40, tolerance=1e-9)
    assert found.status == (Status.CONVERGED, Status.OUTSIDE, Status.CONVERGED)
    for index in range(3):
        alone = MotionObjective(formulation, Euclidean(), bases[index : index + 1])
        single = gauss_newton(alone, alone.start(), 40, tolerance=1e-9)
        torch.testing.assert_close(single.variables.pose[0], found.variables.pose[index])
        assert single.status[0] == found.status[index]
        assert single.steps[0] == found.steps[index]


def test_step_limit_divergence_and_not_a_number() -> None:
    known = bank(Euclidean())
    objective = MotionObjective(Plain(0.0).bind(known.scene, known.motif), Euclidean(), BASE)
    assert gauss_newton(objective, objective.start(), 1, tolerance=1e-9).status == (Status.STEP_LIMIT,)
    assert proximal_gradient(objective, objective.start(), [Step(1e-9)]).status == (Status.STEP_LIMIT,)
    huge = proximal_gradient(objective, objective.start(), [Step(1e300)] * 5)
    assert huge.status[0] in (Status.DIVERGED, Status.OUTSIDE)
    lost = replace(objective.start(), pose=torch.full((1, 3), torch.nan, dtype=torch.float64))
    for found in (gauss_newton(objective, lost, 5), proximal_gradient(objective, lost, [Step(0.1)] * 5)):
        assert found.status == (Status.DIVERGED,)


def ends(objective: Objective, at: Variables | None = None) -> set[Status]:
    """How both solvers end."""
    at = objective.start() if at is None else at
    steps = [Step(1e-3)] * 3
    return {
        gauss_newton(objective, at, 5).status[0],
        proximal_gradient(objective, at, steps, tolerance=1e-12).status[0],
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("level", [0.0, 0.3, 1.0])
def test_a_scene_without_texture_is_flat_and_not_converged(level: float, dtype: torch.dtype) -> None:
    known = bank(Euclidean())
    motif = Motif(known.motif.pixels.to(dtype), known.motif.mask.to(dtype))
    scene = torch.full((2, 61, 71), level, dtype=dtype)
    for settings in (*SETTINGS.values(), WithBackground(1.0), Spikes(3.0, 1.0, smoothed=True)):
        objective = MotionObjective(settings.bind(scene, motif), Euclidean(), BASE.to(dtype))
        assert ends(objective) == {Status.FLAT}


def test_where_the_best_gain_is_zero_the_fit_is_flat() -> None:
    known = bank(Euclidean())
    motif = Motif.whole(1 - known.motif.pixels)  # the negative
    objective = MotionObjective(Plain(0.0, lighting=True).bind(known.scene, motif), Euclidean(), BASE)
    at = objective.start(known.pose[None])
    assert ends(objective, at) == {Status.FLAT}


def test_an_exact_fit_is_not_flat() -> None:
    known = bank(Translation())
    objective = MotionObjective(Plain(0.0).bind(known.scene, known.motif), Translation(), BASE)
    assert ends(objective, objective.start(known.pose[None])) == {Status.CONVERGED}


@pytest.mark.parametrize(
    "settings", [Plain(4.0), CostSmoothed(4.0), WithBackground(3.0), Channels()], ids=repr
)
def test_outside_is_where_none_of_the_motifs_own_pixels_are_in_the_scene(settings: Settings) -> None:
    """Not where none of the lattice is, which reaches as far around the motif as the filter does."""
    known = bank(Translation())
    for x, expected in ((-34.0, True), (-31.0, False), (71.5, True), (69.5, False)):
        base = shift_matrix(torch.tensor([[x, 17.0]], dtype=torch.float64))
        objective = MotionObjective(settings.bind(known.scene, known.motif), Translation(), base)
        found = proximal_gradient(objective, objective.start(), [Step(1e-9)])
        assert (found.status == (Status.OUTSIDE,)) is expected


def test_a_finite_pose_survives_divergence() -> None:
    """Steps that blow up leave the last pose that was a number."""
    known = bank(Translation())
    formulation = Spikes(3.0, 1.0).bind(known.scene, known.motif)
    objective = MotionObjective(formulation, MOTIONS["affine"], BASE)
    found = proximal_gradient(objective, objective.start(), [Step(1e6)] * 10)
    assert found.status[0] in (Status.DIVERGED, Status.OUTSIDE)
    assert found.variables.pose.isfinite().all()


def test_history_counts_the_end_and_damping_never_accepts_worse() -> None:
    known = bank(Euclidean())
    objective = MotionObjective(Plain(0.0).bind(known.scene, known.motif), Euclidean(), BASE)
    found = gauss_newton(objective, objective.start(), 12, Damping(1e-8), tolerance=0.0, history=True)
    costs = torch.cat(found.history)
    assert len(costs) == 13
    assert (costs.diff() <= 0).all()
    assert costs[-1] == found.cost[0]


def test_wrong_arguments_say_what_is_wrong() -> None:
    known = bank(Translation())
    objective = MotionObjective(Plain(0.0).bind(known.scene, known.motif), Translation(), BASE)
    with pytest.raises(ArgumentError, match="at least one step, but steps is 0"):
        gauss_newton(objective, objective.start(), 0)
    with pytest.raises(ArgumentError, match="at least one step"):
        proximal_gradient(objective, objective.start(), [])
    spikes = Spikes(3.0, 1.0).bind(known.scene, known.motif)
    with pytest.raises(ArgumentError, match="for affine poses, but the homography motion or its start has"):
        MotionObjective(spikes, MOTIONS["homography"], BASE)
    bent = BASE.clone()
    bent[:, 2, 0] = 1e-3
    with pytest.raises(ArgumentError, match="for affine poses, but the affine motion or its start has"):
        MotionObjective(spikes, MOTIONS["affine"], bent)


def test_statuses_have_words_and_advice() -> None:
    assert [str(s) for s in Status] == ["converged", "step limit", "diverged", "outside", "no texture"]
    assert all(s.advice.endswith(".") for s in Status)


def test_variables_are_chosen_item_by_item() -> None:
    a, b = (
        Variables(torch.zeros(2, 3), torch.zeros(2, 1, 2, 2)),
        Variables(torch.ones(2, 3), torch.ones(2, 1, 2, 2)),
    )
    mixed = a.where(torch.tensor([True, False]), b)
    assert mixed.pose.sum() == 3
    assert mixed.background is not None
    assert mixed.background.sum() == 4

"""The theorem and Figure 4: bounds that hold, checks that can fail, spikes that are registered."""

from dataclasses import replace

import pytest
import torch

from wherein import theory
from wherein.experiments import fig4, theorem
from wherein.experiments.data import Subject
from wherein.theory import StepSizes

FEW = theorem.Settings(conditions=(1.0, 9.0), sets=12, lengths=12)
ONE = fig4.Settings(runs=1, iterations=40)


def test_the_spike_sets_have_the_condition_and_size_that_was_asked_for() -> None:
    for condition in FEW.conditions:
        spikes, truth = theorem.problems(FEW, condition, seed=0)
        torch.testing.assert_close(
            theory.condition_number(spikes), torch.full((12,), condition, dtype=torch.float64)
        )
        rms = spikes.square().sum(-1).mean(-1).sqrt()
        torch.testing.assert_close(rms, torch.full_like(rms, FEW.radius))
        assert torch.equal(truth.A, theorem.problems(FEW, 4.0, seed=0)[1].A)


def test_the_bound_of_the_theorem_holds(robot: Subject) -> None:
    results = {piece.name: piece.work() for piece in theorem.pieces(FEW, robot, 0)}
    found = theorem.numbers(FEW, results)
    assert found["holds"] is True
    for each, condition in zip(found["conditions"], FEW.conditions, strict=True):
        assert each["condition"] == condition
        assert each["closest"] <= 1
        assert each["error"]["greatest"][-1] <= each["bound"][-1] < 1e-4
        lengths = {len(each[key]) for key in ("iterations", "bound")} | set(map(len, each["error"].values()))
        assert lengths == {len(each["iterations"])}


def test_that_it_holds_is_no_foregone_conclusion(monkeypatch: pytest.MonkeyPatch) -> None:
    right = theory.step_sizes

    def too_short(spikes: torch.Tensor, sigma: torch.Tensor) -> StepSizes:
        sizes = right(spikes, sigma)
        return StepSizes(sizes.linear / 10, sizes.shift / 10)

    monkeypatch.setattr(theory, "step_sizes", too_short)
    assert theorem.descend(FEW, 9.0, seed=0)["holds"] is False


def test_spikes_are_where_the_problem_says() -> None:
    given = fig4.problem(ONE, seed=0, run=0)
    assert given.scene.shape == given.motif.shape == (5, 61 + 50, 81 + 50)
    height, width = given.scene.shape[1:]
    middle = torch.tensor(((width - 1) / 2, (height - 1) / 2), dtype=torch.float64)
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    for picture, points in (
        (given.scene, given.spikes),
        (given.motif, given.spikes @ given.truth.A.mT + given.truth.b),
    ):
        torch.testing.assert_close(picture.sum((1, 2)), torch.ones(5, dtype=torch.float64), atol=1e-3, rtol=0)
        means = torch.stack([(picture * axis).sum((1, 2)) for axis in (x, y)], -1)
        torch.testing.assert_close(means, points + middle, atol=0.05, rtol=0)
    low, high = torch.linalg.svdvals(given.truth.A).aminmax()
    assert 0.8 <= low <= high <= 1.25
    assert given.spikes.mean(0).abs().max() < 1e-12


def test_spikes_are_registered_within_the_bound_of_their_steps() -> None:
    # Well conditioned and not far: the prescribed smoothing is small, and so is the work.
    settings = replace(ONE, turn=0.1, shift=1.0, scales=(0.95, 1.05))
    run = min(range(20), key=lambda run: fig4.smoothing(settings, fig4.problem(settings, 0, run)))
    found = fig4.register(settings, 0, run)
    assert found["ncc"][0] < 0.95
    assert found["ncc"][-1] > 0.995
    assert found["cost"][-1] < found["cost"][0] / 1e3
    assert all(e <= b for e, b in zip(found["error"], found["shorter_bound"], strict=True))
    assert found["bound"][0] == found["shorter_bound"][0] == found["error"][0]
    truth = fig4.problem(settings, 0, run).truth
    reached = torch.tensor(found["matrix"], dtype=torch.float64)
    torch.testing.assert_close(reached[:, :2], truth.A, atol=0.01, rtol=0)
    torch.testing.assert_close(reached[:, 2], truth.b, atol=0.05, rtol=0)
    told = fig4.numbers(settings, {"run 0": found})
    assert told["ncc"]["least"] == told["ncc"]["greatest"] == found["ncc"][-1]
    first = told["iterations_to_0.97"][0]
    assert found["ncc"][first] >= 0.97 > found["ncc"][first - 1]

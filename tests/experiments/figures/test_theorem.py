"""The experiment of Theorem 5.1: its spike sets, a bound that holds, and a check that can fail."""

import pytest
import torch

from wherein import theory
from wherein.experiments.figures import theorem
from wherein.experiments.subject import Subject
from wherein.theory import StepSizes

FEW = theorem.TheoremSettings(conditions=(1.0, 9.0), sets=12, lengths=12)


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
    results = {task.name: task.work() for task in theorem.tasks(FEW, robot, 0)}
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

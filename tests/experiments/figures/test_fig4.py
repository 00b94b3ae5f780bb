"""Figure 4: its spikes, and that they are registered within the bound of their steps."""

from dataclasses import replace

import pytest
import torch

from wherein import theory
from wherein.experiments.figures import fig4
from wherein.theory import StepSizes

ONE = fig4.Fig4Settings(runs=1, iterations=40)


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
    given = fig4.problem(settings, 0, run)
    truth = given.truth
    reached = torch.tensor(found["matrix"], dtype=torch.float64)
    torch.testing.assert_close(reached[:, :2], truth.A, atol=0.01, rtol=0)
    torch.testing.assert_close(reached[:, 2], truth.b, atol=0.05, rtol=0)
    # On pixels as without: the theorem's descent, with a fifth of its steps.
    targets, sigma = given.spikes @ truth.A.mT + truth.b, fig4.smoothing(settings, given)
    sizes = StepSizes(*(0.2 * size for size in theory.step_sizes(given.spikes, sigma)))
    path = theory.continuum_descent(given.spikes, targets, sigma, 10, sizes)
    assert found["error"][:11] == pytest.approx(theory.error(path, truth, given.spikes).tolist(), rel=0.01)
    told = fig4.numbers(settings, {"run 0": found})
    assert told["ncc"]["least"] == told["ncc"]["greatest"] == found["ncc"][-1]
    first = told["iterations_to_0.97"][0]
    assert found["ncc"][first] >= 0.97 > found["ncc"][first - 1]

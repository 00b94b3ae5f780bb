"""Theorem 5.1: gradient descent on the continuum cost against its bound (equations 15 to 18)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from wherein import theory
from wherein.experiments import Name, plots
from wherein.experiments.runs.experiment import (
    Experiment,
    FinishedRun,
    Json,
    Results,
    Task,
    generator,
    six_digits,
)
from wherein.experiments.subject import Subject
from wherein.theory import AffineMap, Displacement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOOR = 1e-24
"""Smallest meaningful error relative to the first: smaller ones are rounding, and may exceed the bound."""


@dataclass(frozen=True)
class TheoremSettings:
    """Sets of random spikes that differ only in κ, and maps about as far from the identity as Figure 4's.

    Attributes:
        conditions: κ of the spike sets, from the best possible, 1, to bad.
        sets: number of spike sets for each κ.
        spikes: c, in each set.
        radius: root mean square distance of a spike from the centre, in pixels.
        shift: standard deviation of each component of b⋆, in pixels.
        change: standard deviation of each entry of A⋆ − I.
        lengths: number of iterations, as a multiple of κ.
    """

    conditions: tuple[float, ...] = (1.0, 4.0, 25.0, 100.0)
    sets: int = 200
    spikes: int = 5
    radius: float = 25.0
    shift: float = 3.0
    change: float = 0.15
    lengths: int = 25


def tasks(settings: TheoremSettings, subject: Subject, seed: int) -> Sequence[Task]:
    """A task for each κ."""
    del subject
    return [
        Task(f"κ = {condition:g}", partial(descend, settings, condition, seed), weight=condition)
        for condition in settings.conditions
    ]


def descend(settings: TheoremSettings, condition: float, seed: int) -> Json:
    """Both sides of the bound (18), relative to the start, for all sets of one κ."""
    spikes, truth = problems(settings, condition, seed)
    targets = spikes @ truth.A.mT + truth.b.unsqueeze(-2)
    sigma = theory.smoothing_level(spikes, Displacement.of(*truth))
    steps = ceil(settings.lengths * condition)
    path = theory.continuum_descent(spikes, targets, sigma, steps)
    error, bound = theory.error(path, truth, spikes), theory.error_bound(truth, spikes, steps)
    error, bound = error / bound[:, :1], bound / bound[:, :1]
    shown = slice(None, None, ceil(condition / 4))  # at most a hundred points
    return {
        "condition": condition,
        "rate": six_digits(float(theory.rate(spikes)[0])),
        "sigma": six_digits([float(sigma.min()), float(sigma.max())]),
        "steps": steps,
        "holds": bool((error <= bound * (1 + 1e-9) + FLOOR).all()),
        "closest": six_digits(float((error / (bound + FLOOR))[:, 1:].max())),
        "iterations": list(range(steps + 1))[shown],
        "bound": six_digits(bound[0, shown].tolist()),
        "error": {
            name: six_digits(error.quantile(share, 0)[shown].tolist()) for name, share in _SHARES.items()
        },
    }


_SHARES = {"least": 0.0, "median": 0.5, "greatest": 1.0}
"""The quantiles over the sets that are written to the file, at every iteration."""


def problems(settings: TheoremSettings, condition: float, seed: int) -> tuple[Tensor, AffineMap]:
    """Centred spikes (n, c, 2) of one κ, and a map for each set; the maps are the same for every κ."""
    rng = generator(seed, Name.THEOREM)
    n, c = settings.sets, settings.spikes
    drawn = torch.from_numpy(rng.normal(size=(n, c, 2)))
    left, _, right = torch.linalg.svd(theory.centre(drawn)[0], full_matrices=False)
    # Random singular vectors with singular values in the ratio √κ, scaled to the mean square radius: Σ ‖uᵢ‖²
    # = s_max² + s_min². The spikes stay centred, since the columns of `left` are.
    singular = torch.tensor([1.0, condition**-0.5], dtype=torch.float64)
    singular *= settings.radius * c**0.5 / singular.norm()
    linear = np.eye(2) + settings.change * rng.normal(size=(n, 2, 2))
    shift = settings.shift * rng.normal(size=(n, 2))
    truth = AffineMap(torch.from_numpy(linear), torch.from_numpy(shift))
    return left @ torch.diag(singular) @ right, truth


def numbers(settings: TheoremSettings, results: Results) -> dict[str, Json]:
    """The results by κ, and whether the bound holds at every iteration of every set."""
    del settings
    sets = list(results.values())
    return {"holds": all(each["holds"] for each in sets), "conditions": sets}


def draw(finished: FinishedRun[TheoremSettings], template: bool) -> "Figure":
    """Both sides of the bound, in one panel for each κ."""
    del template
    conditions = finished.numbers["conditions"]
    figure = plots.canvas(3.0 * len(conditions), 3.2)
    for axes, each in zip(figure.subplots(1, len(conditions), sharey=True), conditions, strict=True):
        _panel(axes, each)
    figure.axes[0].set_ylabel("error, relative to the start", fontsize=9)
    figure.axes[0].legend(fontsize=7, loc="upper right")
    held = "holds at every iteration" if finished.numbers["holds"] else "is violated"
    sets = f"{finished.settings.sets} sets of {finished.settings.spikes} spikes each"
    figure.suptitle(f"Theorem 5.1, in the continuum: the bound (18) {held}; {sets}", fontsize=11)
    return figure


def _panel(axes: "Axes", each: Json) -> None:
    error, at = each["error"], each["iterations"]
    axes.fill_between(at, error["least"], error["greatest"], color=plots.BLUE, alpha=0.25, linewidth=0)
    axes.plot(at, error["median"], color=plots.BLUE, label="left side (18): all sets, median")
    axes.plot(at, each["bound"], color=plots.RED, linestyle="--", label="right side: the bound")
    axes.set_yscale("log")
    axes.set_ylim(1e-17, 10)
    plots.label(axes, f"κ = {each['condition']:g}", "iteration")


EXPERIMENT = Experiment(
    Name.THEOREM,
    "The continuum iteration against its bound (Theorem 5.1)",
    full=TheoremSettings(),
    quick=TheoremSettings(conditions=(1.0, 4.0, 25.0), sets=20),
    tasks=tasks,
    numbers=numbers,
    draw=draw,
    pictured=False,
)

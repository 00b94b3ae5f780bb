"""The theorem: gradient descent on the continuum cost against its bound (Theorem 5.1, equations 15 to 18)."""

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
from wherein.experiments.data import Subject
from wherein.experiments.experiment import Experiment, Json, Outcome, Piece, Results, brief, generator
from wherein.theory import Affine, Displacement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOOR = 1e-24
"""Of the first error: what is smaller is rounding, above the bound or below it."""


@dataclass(frozen=True)
class Settings:
    """Sets of random spikes that differ in κ alone, and maps about as far from the identity as Figure 4's.

    Attributes:
        conditions: κ of the spike sets, from the best there is, 1, to bad.
        sets: how many of each.
        spikes: c, in each.
        radius: root mean square distance of a spike from the centre, in pixels.
        shift: standard deviation of each component of b⋆, in pixels.
        change: of each entry of A⋆ − I.
        lengths: iterations, as a multiple of κ.
    """

    conditions: tuple[float, ...] = (1.0, 4.0, 25.0, 100.0)
    sets: int = 200
    spikes: int = 5
    radius: float = 25.0
    shift: float = 3.0
    change: float = 0.15
    lengths: int = 25


def pieces(settings: Settings, subject: Subject, seed: int) -> Sequence[Piece]:
    """A piece for each κ."""
    del subject
    return [
        Piece(f"κ = {condition:g}", partial(descend, settings, condition, seed), weight=condition)
        for condition in settings.conditions
    ]


def descend(settings: Settings, condition: float, seed: int) -> Json:
    """All sets of that κ through the theorem's iteration; both sides of the bound (18) over its start."""
    spikes, truth = problems(settings, condition, seed)
    targets = spikes @ truth.A.mT + truth.b.unsqueeze(-2)
    sigma = theory.smoothing_level(spikes, Displacement.of(*truth))
    steps = ceil(settings.lengths * condition)
    path = theory.continuum_descent(spikes, targets, sigma, steps)
    error, bound = theory.error(path, truth, spikes), theory.error_bound(truth, spikes, steps)
    error, bound = error / bound[:, :1], bound / bound[:, :1]
    shown = slice(None, None, ceil(condition / 4))  # a hundred points or less
    return {
        "condition": condition,
        "rate": brief(float(theory.rate(spikes)[0])),
        "sigma": brief([float(sigma.min()), float(sigma.max())]),
        "steps": steps,
        "holds": bool((error <= bound * (1 + 1e-9) + FLOOR).all()),
        "closest": brief(float((error / (bound + FLOOR))[:, 1:].max())),
        "iterations": list(range(steps + 1))[shown],
        "bound": brief(bound[0, shown].tolist()),
        "error": {name: brief(error.quantile(share, 0)[shown].tolist()) for name, share in _SHARES.items()},
    }


_SHARES = {"least": 0.0, "median": 0.5, "greatest": 1.0}
"""What is told of the sets, at every iteration."""


def problems(settings: Settings, condition: float, seed: int) -> tuple[Tensor, Affine]:
    """Centred spikes (n, c, 2) of that κ, and a map for each; every κ has the same maps."""
    rng = generator(seed, Name.THEOREM)
    n, c = settings.sets, settings.spikes
    drawn = torch.from_numpy(rng.normal(size=(n, c, 2)))
    left, _, right = torch.linalg.svd(theory.centre(drawn)[0], full_matrices=False)
    singular = torch.tensor([1.0, condition**-0.5], dtype=torch.float64)
    singular *= settings.radius * c**0.5 / singular.norm()
    linear = np.eye(2) + settings.change * rng.normal(size=(n, 2, 2))
    shift = settings.shift * rng.normal(size=(n, 2))
    return left @ torch.diag(singular) @ right, Affine(torch.from_numpy(linear), torch.from_numpy(shift))


def numbers(settings: Settings, results: Results) -> dict[str, Json]:
    """By κ, and whether the bound holds at every iteration of every set."""
    del settings
    sets = list(results.values())
    return {"holds": all(each["holds"] for each in sets), "conditions": sets}


def draw(outcome: Outcome[Settings], template: bool) -> "Figure":
    """Both sides of the bound, a panel for each κ."""
    del template
    conditions = outcome.numbers["conditions"]
    figure = plots.canvas(3.0 * len(conditions), 3.2)
    for axes, each in zip(figure.subplots(1, len(conditions), sharey=True), conditions, strict=True):
        _panel(axes, each)
    figure.axes[0].set_ylabel("error, over that of the start", fontsize=9)
    figure.axes[0].legend(fontsize=7, loc="upper right")
    held = "holds at every iteration" if outcome.numbers["holds"] else "is broken"
    sets = f"{outcome.settings.sets} sets of {outcome.settings.spikes} spikes each"
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
    full=Settings(),
    quick=Settings(conditions=(1.0, 4.0, 25.0), sets=20),
    pieces=pieces,
    numbers=numbers,
    draw=draw,
    pictured=False,
)

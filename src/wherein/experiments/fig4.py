"""Figure 4: affine registration of spikes with the theorem's prescriptions (section 5.2, appendix A.3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein import theory
from wherein.experiments import Name, plots
from wherein.experiments.data import Subject
from wherein.experiments.experiment import Experiment, Json, Outcome, Piece, Results, brief, generator
from wherein.formulations.motion_objective import MotionObjective
from wherein.formulations.objective import Variables
from wherein.formulations.spikes import Spikes
from wherein.images.gaussian import gaussian_spots
from wherein.images.motif import Motif
from wherein.motion.field import lattice, transform
from wherein.motion.models import Affine, rotation
from wherein.solve.proximal import Step, proximal_step
from wherein.warp import Surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Settings:
    """Five random spikes, a random affine map, and steps as the theorem has them, times 0.2.

    The paper does not say how the map is drawn: its singular values are as in Figure 1, its two angles as in
    the released code, and each component of its shift as in Figure 1.

    Attributes:
        runs: how many pairs of spikes and map.
        spikes: c.
        size: height and width of the picture in which spikes are drawn.
        border: black pixels around it, so that no spike leaves the picture.
        sigma0: of the density that stands for a spike, in pixels.
        scales: from which the singular values are drawn.
        turn: from 0 to which angle, in radians, both rotations are drawn.
        shift: pixels to either side.
        step: by which the theorem's steps are multiplied.
        iterations: of each run at least; and 6 κ, since with these steps the error may shrink by no more than
            1/(10 κ) an iteration.
    """

    runs: int = 20
    spikes: int = 5
    size: tuple[int, int] = (61, 81)
    border: int = 25
    sigma0: float = 3.0
    scales: tuple[float, float] = (0.8, 1.25)
    turn: float = 0.5
    shift: float = 5.0
    step: float = 0.2
    iterations: int = 150


@dataclass(frozen=True, eq=False)
class Problem:
    """Spikes and where they should go, about the middle of both pictures.

    Attributes:
        spikes: U, observed, (c, 2), centred.
        truth: the map that takes them to the motif's.
        scene, motif: the pictures, a channel a spike, smoothed by σ0.
    """

    spikes: Float[Tensor, "c 2"]
    truth: theory.Affine
    scene: Float[Tensor, "c H W"]
    motif: Float[Tensor, "c H W"]


def problem(settings: Settings, seed: int, run: int) -> Problem:
    """The spikes and the map of one run, in float64."""
    rng = generator(seed, Name.FIG4, run)
    height, width = settings.size
    drawn = torch.from_numpy(rng.uniform((0, 0), (width - 1, height - 1), (settings.spikes, 2)))
    spikes, _ = theory.centre(drawn)
    left, right = (rotation(torch.tensor(rng.uniform(0, settings.turn))) for _ in range(2))
    linear = left.double() @ torch.from_numpy(np.diag(rng.uniform(*settings.scales, 2))) @ right.double().mT
    truth = theory.Affine(linear, torch.from_numpy(rng.uniform(-settings.shift, settings.shift, 2)))
    frame = height + 2 * settings.border, width + 2 * settings.border
    middle = torch.tensor(((frame[1] - 1) / 2, (frame[0] - 1) / 2), dtype=torch.float64)
    targets = spikes @ truth.A.mT + truth.b
    scene, motif = (gaussian_spots(each + middle, settings.sigma0, *frame) for each in (spikes, targets))
    return Problem(spikes, truth, scene, motif)


def smoothing(settings: Settings, given: Problem) -> float:
    """The σ that the theorem prescribes (16), or more where spikes of width σ0 need it."""
    least = theory.smoothing_level(given.spikes, theory.Displacement.of(*given.truth))
    return max(float(least), 2 * settings.sigma0)


def length(settings: Settings, given: Problem) -> int:
    """How many iterations a run has."""
    return max(settings.iterations, ceil(6 * float(theory.condition_number(given.spikes))))


def pieces(settings: Settings, subject: Subject, seed: int) -> Sequence[Piece]:
    """A piece for each run; the wider the prescribed smoothing, the longer an iteration takes."""
    del subject
    given = [problem(settings, seed, run) for run in range(settings.runs)]
    return [
        Piece(
            f"run {run}",
            partial(register, settings, seed, run),
            weight=(100 + 6 * smoothing(settings, each)) ** 2 * length(settings, each),
        )
        for run, each in enumerate(given)
    ]


def register(settings: Settings, seed: int, run: int) -> Json:
    """Proximal gradient in the inverse parameterisation (15) from the identity, and what it did a step."""
    given = problem(settings, seed, run)
    sigma = smoothing(settings, given)
    sizes = theory.step_sizes(given.spikes, sigma)
    formulation = Spikes(sigma, settings.sigma0, smoothed=True).bind(given.scene, Motif.whole(given.motif))
    objective = MotionObjective(formulation, Affine(), inverse=True)
    step = Step(settings.step * torch.cat((sizes.linear.expand(4), sizes.shift.expand(2))))
    at, costs, similar, path = objective.start(), [], [], []
    for _ in range(length(settings, given) + 1):
        found = objective.evaluate(at)
        costs.append(float(found.cost))
        similar.append(ncc(seen(given, objective, at), given.motif))
        path.append(Affine().matrix(at.pose)[0, :2])
        at = proximal_step(objective, at, step, found)
    reached = theory.Affine(torch.stack(path)[..., :2], torch.stack(path)[..., 2])
    return {
        "sigma": brief(sigma),
        "condition": brief(float(theory.condition_number(given.spikes))),
        "cost": brief(costs),
        "ncc": brief(similar),
        "error": brief(theory.error(reached, given.truth, given.spikes).tolist()),
        **bounds(settings, given),
        "matrix": path[-1].tolist(),
    }


def bounds(settings: Settings, given: Problem) -> Json:
    """The right side of (18), as it is printed and for steps that are shorter by a factor.

    In the theorem's norm the curvature lies between 1/(2κ) and 1 over the prescribed step, so a step of t
    times that contracts by 1 − t/(2κ) or better.
    """
    iterations = length(settings, given)
    printed = theory.error_bound(given.truth, given.spikes, iterations)
    rate = 1 - settings.step * (1 - theory.rate(given.spikes))
    shorter = printed[0] * rate ** (2 * torch.arange(iterations + 1))
    return {"bound": brief(printed.tolist()), "shorter_bound": brief(shorter.tolist())}


def seen(given: Problem, objective: MotionObjective, at: Variables) -> Float[Tensor, "c H W"]:
    """The transformed scene, y∘τ."""
    height, width = given.motif.shape[-2:]
    field = transform(objective.matrix(at)[0], lattice(height, width, given.motif))
    return Surface(given.scene)(field).movedim(-1, 0)


def ncc(x: Tensor, y: Tensor) -> float:
    """⟨x, y⟩ / ‖x‖ ‖y‖ (appendix A.3)."""
    return float((x * y).sum() / (x.norm() * y.norm()))


def numbers(settings: Settings, results: Results) -> dict[str, Json]:
    """Every run, and how similar motif and transformed scene became."""
    del settings
    runs = list(results.values())
    last = [run["ncc"][-1] for run in runs]
    within = [
        all(error <= bound for error, bound in zip(run["error"], run["shorter_bound"], strict=True))
        for run in runs
    ]
    return {
        "ncc": {"least": min(last), "median": brief(float(np.median(last))), "greatest": max(last)},
        "iterations_to_0.97": [
            next((k for k, v in enumerate(run["ncc"]) if v >= 0.97), None) for run in runs
        ],
        "within_shorter_bound": within,
        "runs": runs,
    }


def draw(outcome: Outcome[Settings], template: bool) -> "Figure":
    """Motif, scene and solution of one run; cost and NCC of all; both sides of the bound for the one."""
    del template
    runs = outcome.numbers["runs"]
    shown = int(np.argsort([run["condition"] for run in runs])[len(runs) // 2])
    figure = plots.canvas(11, 6)
    axes = figure.subplots(2, 3).flatten()
    given, run = problem(outcome.settings, outcome.seed, shown), runs[shown]
    pictures = {"(a) motif": given.motif, "(b) scene": given.scene, "(c) solution": _solved(given, run)}
    for panel, (title, picture) in zip(axes, pictures.items(), strict=False):
        panel.imshow(_coloured(picture), interpolation="nearest")
        panel.set_title(title, fontsize=10, loc="left")
        panel.set_axis_off()
    for each in runs:
        axes[3].plot(np.array(each["cost"]) / each["cost"][0], color=plots.BLUE, alpha=0.35, linewidth=0.8)
        axes[4].plot(each["ncc"], color=plots.BLUE, alpha=0.35, linewidth=0.8)
    axes[3].set_yscale("log")
    plots.label(axes[3], f"(d) cost, {len(runs)} runs", "iteration", "over the first")
    axes[4].axhline(0.972, color=plots.INK, linestyle=":", linewidth=1)
    axes[4].text(outcome.settings.iterations, 0.965, "the paper: 0.972", ha="right", va="top", fontsize=8)
    plots.label(axes[4], f"(e) NCC: {outcome.numbers['ncc']['least']:.3f} or more in the end", "iteration")
    axes[5].plot(run["error"], color=plots.BLUE, label="left side of (18)")
    axes[5].plot(run["bound"], color=plots.RED, linestyle="--", label="right side, as printed")
    axes[5].plot(run["shorter_bound"], color=plots.AMBER, linestyle="--", label="right side, steps × 0.2")
    axes[5].set_yscale("log")
    axes[5].set_ylim(min(run["error"]) / 100, 3 * run["error"][0])
    axes[5].legend(fontsize=8)
    plots.label(axes[5], f"(f) the bound, of the run above (κ = {run['condition']:.1f})", "iteration", "px²")
    return figure


def _solved(given: Problem, run: Json) -> Float[Tensor, "c H W"]:
    height, width = given.motif.shape[-2:]
    middle = torch.tensor(((width - 1) / 2, (height - 1) / 2), dtype=torch.float64)
    A, b = torch.tensor(run["matrix"], dtype=torch.float64).split((2, 1), 1)
    inverse = torch.linalg.inv(A)
    points = (lattice(height, width, given.motif) - middle - b[:, 0]) @ inverse.mT + middle
    return Surface(given.scene)(points).movedim(-1, 0)


def _coloured(channels: Float[Tensor, "c H W"]) -> NDArray[np.float64]:
    """A colour a channel, on black; (H, W, 3)."""
    hues = np.arange(len(channels))[:, None] / len(channels) + np.array((0, 1 / 3, 2 / 3))
    colours = 0.55 + 0.45 * np.cos(2 * np.pi * hues)
    levels = (channels / channels.amax()).numpy()
    mixed: NDArray[np.float64] = np.einsum("chw,cr->hwr", levels, colours).clip(0, 1)
    return mixed


EXPERIMENT = Experiment(
    Name.FIG4,
    "Affine registration of random spikes with the theorem's prescriptions",
    full=Settings(),
    quick=Settings(runs=4, iterations=60),
    pieces=pieces,
    numbers=numbers,
    draw=draw,
    pictured=False,
)

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
class Fig4Settings:
    """Random spikes, a random affine map, and the theorem's prescriptions.

    The text does not say how the map is drawn. Here its singular values and its shift are drawn as in
    Figure 1, and its two angles as in the released code.

    Attributes:
        runs: number of pairs of spikes and map. The paper shows one.
        spikes: c (text: 5).
        size: height and width of the picture in which spikes are drawn (text: 61 × 81).
        border: black pixels around it, so that no spike leaves the picture. The text has none.
        sigma0: width of the density that represents a spike, in pixels (text: 3).
        scales: range of the singular values.
        turn: both rotations are drawn from 0 to this angle, in radians.
        shift: maximum of each component of the shift, in pixels.
        step: factor of the theorem's step sizes (text: 0.2).
        iterations: minimum number in each run; a run has 6 κ if that is more, since with these steps the
            error may shrink by no more than 1/(10 κ) in an iteration.
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
class SpikeProblem:
    """Observed spikes and their targets, relative to the centre of both pictures.

    The observed spikes U are drawn, and the motif's follow as A⋆ u + b⋆: the theorem states its conditions
    on U. (The paper draws the motif and transforms it into the scene.)

    Attributes:
        spikes: U, (c, 2), centred.
        truth: (A⋆, b⋆), the map from observed spikes to the motif's.
        scene, motif: the pictures, one channel for each spike, smoothed by σ0.
    """

    spikes: Float[Tensor, "c 2"]
    truth: theory.AffineMap
    scene: Float[Tensor, "c H W"]
    motif: Float[Tensor, "c H W"]


def problem(settings: Fig4Settings, seed: int, run: int) -> SpikeProblem:
    """The spikes and the map of one run, in float64."""
    rng = generator(seed, Name.FIG4, run)
    height, width = settings.size
    drawn = torch.from_numpy(rng.uniform((0, 0), (width - 1, height - 1), (settings.spikes, 2)))
    spikes, _ = theory.centre(drawn)
    left, right = (rotation(torch.tensor(rng.uniform(0, settings.turn))) for _ in range(2))
    linear = left.double() @ torch.from_numpy(np.diag(rng.uniform(*settings.scales, 2))) @ right.double().mT
    truth = theory.AffineMap(linear, torch.from_numpy(rng.uniform(-settings.shift, settings.shift, 2)))
    frame = height + 2 * settings.border, width + 2 * settings.border
    middle = torch.tensor(((frame[1] - 1) / 2, (frame[0] - 1) / 2), dtype=torch.float64)
    targets = spikes @ truth.A.mT + truth.b
    scene, motif = (gaussian_spots(each + middle, settings.sigma0, *frame) for each in (spikes, targets))
    return SpikeProblem(spikes, truth, scene, motif)


def smoothing(settings: Fig4Settings, given: SpikeProblem) -> float:
    """The σ that the theorem prescribes (16), and at least twice σ0."""
    prescribed = theory.smoothing_level(given.spikes, theory.Displacement.of(*given.truth))
    # (10) needs σ² I − σ0² A A* ≻ 0; with σ = 2 σ0 this holds as long as A does not double a length.
    return max(float(prescribed), 2 * settings.sigma0)


def length(settings: Fig4Settings, given: SpikeProblem) -> int:
    """The number of iterations of a run."""
    return max(settings.iterations, ceil(6 * float(theory.condition_number(given.spikes))))


def tasks(settings: Fig4Settings, subject: Subject, seed: int) -> Sequence[Task]:
    """A task for each run; the larger the prescribed smoothing, the longer an iteration takes."""
    del subject
    given = [problem(settings, seed, run) for run in range(settings.runs)]
    return [
        Task(
            f"run {run}",
            partial(register, settings, seed, run),
            weight=(100 + 6 * smoothing(settings, each)) ** 2 * length(settings, each),
        )
        for run, each in enumerate(given)
    ]


def register(settings: Fig4Settings, seed: int, run: int) -> Json:
    """Proximal gradient on (10) in the inverse parameterisation (15), from the identity, step by step."""
    given = problem(settings, seed, run)
    sigma = smoothing(settings, given)
    sizes = theory.step_sizes(given.spikes, sigma)
    formulation = Spikes(sigma, settings.sigma0, smoothed=True).bind(given.scene, Motif.whole(given.motif))
    objective = MotionObjective(formulation, Affine(), inverse=True)
    step = Step(settings.step * torch.cat((sizes.linear.expand(4), sizes.shift.expand(2))))
    at, costs, nccs, path = objective.start(), [], [], []
    for _ in range(length(settings, given) + 1):
        found = objective.evaluate(at)
        costs.append(float(found.cost))
        nccs.append(ncc(warped_scene(given, objective, at), given.motif))
        path.append(Affine().matrix(at.pose)[0, :2])
        at = proximal_step(objective, at, step, found)
    reached = theory.AffineMap(torch.stack(path)[..., :2], torch.stack(path)[..., 2])
    return {
        "sigma": six_digits(sigma),
        "condition": six_digits(float(theory.condition_number(given.spikes))),
        "cost": six_digits(costs),
        "ncc": six_digits(nccs),
        "error": six_digits(theory.error(reached, given.truth, given.spikes).tolist()),
        **bounds(settings, given),
        "matrix": path[-1].tolist(),
    }


def bounds(settings: Fig4Settings, given: SpikeProblem) -> Json:
    """The right side of (18) as printed, and the same bound for steps that are shorter by a factor t.

    In the theorem's norm the curvature lies between 1/(2κ) and 1 over the prescribed step, so a step of t
    times that contracts by 1 − t/(2κ) or better.
    """
    iterations = length(settings, given)
    printed = theory.error_bound(given.truth, given.spikes, iterations)
    rate = 1 - settings.step * (1 - theory.rate(given.spikes))
    shorter = printed[0] * rate ** (2 * torch.arange(iterations + 1))
    return {"bound": six_digits(printed.tolist()), "shorter_bound": six_digits(shorter.tolist())}


def warped_scene(given: SpikeProblem, objective: MotionObjective, at: Variables) -> Float[Tensor, "c H W"]:
    """The transformed scene, y∘τ."""
    height, width = given.motif.shape[-2:]
    field = transform(objective.matrix(at)[0], lattice(height, width, given.motif))
    return Surface(given.scene)(field).movedim(-1, 0)


def ncc(x: Tensor, y: Tensor) -> float:
    """⟨x, y⟩ / ‖x‖ ‖y‖ (appendix A.3)."""
    return float((x * y).sum() / (x.norm() * y.norm()))


def numbers(settings: Fig4Settings, results: Results) -> dict[str, Json]:
    """Every run, and the final NCC of motif and transformed scene."""
    del settings
    runs = list(results.values())
    last = [run["ncc"][-1] for run in runs]
    within = [
        all(error <= bound for error, bound in zip(run["error"], run["shorter_bound"], strict=True))
        for run in runs
    ]
    return {
        "ncc": {"least": min(last), "median": six_digits(float(np.median(last))), "greatest": max(last)},
        "iterations_to_0.97": [
            next((k for k, v in enumerate(run["ncc"]) if v >= 0.97), None) for run in runs
        ],
        "within_shorter_bound": within,
        "runs": runs,
    }


def draw(finished: FinishedRun[Fig4Settings], template: bool) -> "Figure":
    """Motif, scene and solution of one run; cost and NCC of all runs; both sides of one run's bound."""
    del template
    runs = finished.numbers["runs"]
    shown = int(np.argsort([run["condition"] for run in runs])[len(runs) // 2])
    figure = plots.canvas(11, 6)
    axes = figure.subplots(2, 3).flatten()
    given, run = problem(finished.settings, finished.seed, shown), runs[shown]
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
    axes[4].text(finished.settings.iterations, 0.965, "the paper: 0.972", ha="right", va="top", fontsize=8)
    plots.label(axes[4], f"(e) NCC, {finished.numbers['ncc']['least']:.3f} or more at the end", "iteration")
    axes[5].plot(run["error"], color=plots.BLUE, label="left side of (18)")
    axes[5].plot(run["bound"], color=plots.RED, linestyle="--", label="right side, as printed")
    axes[5].plot(run["shorter_bound"], color=plots.AMBER, linestyle="--", label="right side, steps × 0.2")
    axes[5].set_yscale("log")
    axes[5].set_ylim(min(run["error"]) / 100, 3 * run["error"][0])
    axes[5].legend(fontsize=8)
    plots.label(axes[5], f"(f) the bound, for the run above (κ = {run['condition']:.1f})", "iteration", "px²")
    return figure


def _solved(given: SpikeProblem, run: Json) -> Float[Tensor, "c H W"]:
    height, width = given.motif.shape[-2:]
    middle = torch.tensor(((width - 1) / 2, (height - 1) / 2), dtype=torch.float64)
    A, b = torch.tensor(run["matrix"], dtype=torch.float64).split((2, 1), 1)
    inverse = torch.linalg.inv(A)
    points = (lattice(height, width, given.motif) - middle - b[:, 0]) @ inverse.mT + middle
    return Surface(given.scene)(points).movedim(-1, 0)


def _coloured(channels: Float[Tensor, "c H W"]) -> NDArray[np.float64]:
    """One colour for each channel, on black; (H, W, 3)."""
    hues = np.arange(len(channels))[:, None] / len(channels) + np.array((0, 1 / 3, 2 / 3))
    colours = 0.55 + 0.45 * np.cos(2 * np.pi * hues)
    levels = (channels / channels.amax()).numpy()
    mixed: NDArray[np.float64] = np.einsum("chw,cr->hwr", levels, colours).clip(0, 1)
    return mixed


EXPERIMENT = Experiment(
    Name.FIG4,
    "Affine registration of random spikes with the theorem's prescriptions",
    full=Fig4Settings(),
    quick=Fig4Settings(runs=4, iterations=60),
    tasks=tasks,
    numbers=numbers,
    draw=draw,
    pictured=False,
)

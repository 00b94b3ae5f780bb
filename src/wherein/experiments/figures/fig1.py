"""Figure 1: the number of convolution-like operations to find a motif, by covering and by optimisation.

For motions of increasing dimension it compares random poses tried until one fits ("covering"), the paper's
method, and this library's default solver. An operation is an interpolation or a convolution of a picture. If
it processes only a part of the picture, it counts as that fraction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from wherein.drawing.registrations import START, draw_outline
from wherein.experiments import Name, plots
from wherein.experiments.paper_registration import Schedule, register_by_paper
from wherein.experiments.registration_scenes import (
    Observation,
    SupportZNCC,
    as_tensor,
    observe,
    random_motion,
    translation,
)
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
from wherein.images.eight_bit import to_image
from wherein.motion.models import motion_named
from wherein.registration.fit import Descent, fit
from wherein.registration.plan import coarse_to_fine
from wherein.registration.problem import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIMENSIONS = {"translation": 2, "euclidean": 3, "similarity": 4, "affine": 6}
"""The number of parameters of each motion."""

OPERATIONS_PER_TRY = 2
"""Operations for each try of covering: one interpolation and one convolution (section 1)."""


@dataclass(frozen=True)
class Fig1Settings:
    """The settings of Figure 1 (appendix A.3).

    Attributes:
        images: number of images for each motion (text: 10).
        tries: maximum number of poses that covering draws. A choice: the whole figure then takes 6 to 14
            minutes of one core (`timing` in experiments/results).
        goal: the ZNCC at which a motif counts as found (text: 0.9).
        schedule: smoothing and step sizes of the paper's method.
        affine_sigma: its first smoothing for affine motion (text: 10).
    """

    images: int = 10
    tries: int = 100_000
    goal: float = 0.9
    schedule: Schedule = field(default_factory=Schedule)
    affine_sigma: float = 10.0


def tasks(settings: Fig1Settings, subject: Subject, seed: int) -> Sequence[Task]:
    """A task for each motion, image and method; the longest come first."""
    weights = {"covering": settings.tries / 5e3, "optimization": 5.0, "fast": 0.2}
    return [
        Task(
            f"{motion} {image}, {method}",
            partial(METHODS[method], settings, subject, seed, motion, image),
            weight * DIMENSIONS[motion] ** 2,
        )
        for method, weight in weights.items()
        for motion in reversed(DIMENSIONS)
        for image in range(settings.images)
    ]


def observation(subject: Subject, seed: int, motion: str, image: int) -> Observation:
    """One image: the template in a random pose of the motion, over a random crop of the photograph."""
    rng = generator(seed, Name.FIG1, motion, image)
    return observe(subject, random_motion(motion, rng), rng)


def cover(settings: Fig1Settings, subject: Subject, seed: int, motion: str, image: int) -> Json:
    """Draw random poses, from the distribution of the image's pose, until one of them reaches the goal."""
    observed = observation(subject, seed, motion, image)
    rng = generator(seed, Name.FIG1, motion, image, "covering")
    zncc_at = SupportZNCC(observed.scene, observed.motif)
    there, back = translation(*_centre(observed)), translation(*-_centre(observed))
    best, tried = 0.0, 0
    while tried < settings.tries:
        # Evaluated in batches of a thousand; tries after the first good one are not counted.
        drawn = [random_motion(motion, rng) for _ in range(min(1000, settings.tries - tried))]
        znccs = zncc_at(as_tensor(*(observed.start @ there @ pose @ back for pose in drawn)))
        good = torch.nonzero(znccs >= settings.goal)
        used = int(good[0]) + 1 if len(good) else len(drawn)
        best, tried = max(best, float(znccs[:used].max())), tried + used
        if len(good):
            break
    return _row(settings, OPERATIONS_PER_TRY * tried, best, tries=tried)


def optimise(settings: Fig1Settings, subject: Subject, seed: int, motion: str, image: int) -> Json:
    """The paper's method: proximal gradient on formulation (4), coarse-to-fine."""
    sigma = settings.affine_sigma if motion == "affine" else settings.schedule.sigma
    observed = observation(subject, seed, motion, image)
    found = register_by_paper([observed], motion, replace(settings.schedule, sigma=sigma), settings.goal)
    return _row(settings, float(found.operations), float(found.best), iterations=int(found.iterations))


def register(settings: Fig1Settings, subject: Subject, seed: int, motion: str, image: int) -> Json:
    """The default solver, up to its first comparison of all motif pixels; to its end if that is too early.

    Until then it compares reduced pictures or some of the pixels, so it cannot know the ZNCC on the whole
    support. The pose may therefore have reached the goal long before it is counted here.
    """
    observed = observation(subject, seed, motion, image)
    early, late = (_registered(settings, observed, motion, to_rest) for to_rest in (False, True))
    chosen = early if early["success"] else late
    return {**chosen, "operations_to_rest": late["operations"], "zncc_at_rest": late["zncc"]}


def _registered(settings: Fig1Settings, observed: Observation, motion: str, to_rest: bool) -> Json:
    """The equivalent of `wherein.register(scene, motif, motion)`; without the last steps unless `to_rest`."""
    problem = Problem(observed.scene, observed.motif, motion_named(motion))
    plan = coarse_to_fine(observed.motif.height, observed.motif.width, problem.motif.support)
    strongest, every = plan.finish
    if not to_rest:
        plan = replace(plan, finish=(strongest, replace(every, steps=0)))
    descent = Descent(problem, robust=False)
    found = fit(descent, observed.start, plan, everywhere=True)
    zncc = float(SupportZNCC(observed.scene, observed.motif)(as_tensor(found.poses[0])))
    return _row(settings, descent.tally.operations, zncc)


def _centre(observed: Observation) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(((observed.motif.width - 1) / 2, (observed.motif.height - 1) / 2))


def _row(settings: Fig1Settings, operations: float, zncc: float, **more: int) -> Json:
    success = zncc >= settings.goal
    return {"operations": six_digits(operations), "zncc": six_digits(zncc), "success": success, **more}


METHODS = {"covering": cover, "optimization": optimise, "fast": register}


def numbers(settings: Fig1Settings, results: Results) -> dict[str, Json]:
    """For each motion and method: mean operations, and the fraction of images in which the motif was found.

    If it was not found, all of the operations count, and the mean is a lower bound.
    """
    modes = {
        motion: {
            "dimension": dimension,
            **{method: _mean(settings, results, motion, method) for method in METHODS},
            "images": [
                {method: results[f"{motion} {image}, {method}"] for method in METHODS}
                for image in range(settings.images)
            ],
        }
        for motion, dimension in DIMENSIONS.items()
    }
    return {"modes": modes}


def _mean(settings: Fig1Settings, results: Results, motion: str, method: str) -> Json:
    images = [results[f"{motion} {image}, {method}"] for image in range(settings.images)]
    success = float(np.mean([image["success"] for image in images]))
    mean = {
        "operations": six_digits(float(np.mean([image["operations"] for image in images]))),
        "success": six_digits(success),
        "bound": success < 1,
    }
    if method == "fast":
        rest = float(np.mean([image["operations_to_rest"] for image in images]))
        mean["operations_to_rest"] = six_digits(rest)
    return mean


STYLES = {
    "covering": (plots.RED, "covering: random poses"),
    "optimization": (plots.BLUE, "optimisation: the paper's method"),
    "fast": (plots.GREEN, "this library's default"),
}
"""Colour and label of each method."""


def draw(finished: FinishedRun[Fig1Settings], template: bool) -> "Figure":
    """Operations by dimension; above them, if the template may be shown, an image of each motion."""
    figure = plots.canvas(11, 7.2 if template else 4.6)
    if not template:
        _operations(figure.subplots(), finished)
        return figure
    panels = figure.subplot_mosaic([[*DIMENSIONS], ["operations"] * 4], height_ratios=(1, 1.7))
    for letter, motion in zip("abcd", DIMENSIONS, strict=True):
        observed = observation(finished.subject, finished.seed, motion, 0)
        picture = to_image(observed.scene)
        draw_outline(picture, observed.motif, observed.start, START)
        panels[motion].imshow(picture)
        panels[motion].set_title(f"({letter}) {motion}", fontsize=10, loc="left")
        panels[motion].set_axis_off()
    _operations(panels["operations"], finished)
    return figure


def _operations(axes: "Axes", finished: FinishedRun[Fig1Settings]) -> None:
    modes = finished.numbers["modes"]
    places = np.arange(len(modes))
    for method, (colour, name) in STYLES.items():
        means = [mode[method] for mode in modes.values()]
        axes.plot(places, [mean["operations"] for mean in means], color=colour, marker="o", label=name)
        for place, mode in zip(places, modes.values(), strict=True):
            each = [image[method]["operations"] for image in mode["images"]]
            axes.plot(np.full(len(each), place), each, ".", color=colour, alpha=0.3, markersize=5)
            if mode[method]["bound"]:
                label = f"≥, found in {mode[method]['success']:.0%}"
                axes.annotate(
                    label, (place, mode[method]["operations"]), (0, 7), textcoords="offset points",
                    ha="center", fontsize=8, color=colour,
                )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xticks(places, [f"{motion}\nd = {mode['dimension']}" for motion, mode in modes.items()])
    axes.legend(fontsize=8, loc="upper left")
    images, goal = finished.settings.images, finished.settings.goal
    title = f"mean of {images} images of the {finished.subject.template.name} each, dots: every one"
    plots.label(
        axes, f"Operations to reach a ZNCC of {goal:g} ({title})", y="interpolations and convolutions"
    )


EXPERIMENT = Experiment(
    Name.FIG1,
    "Operations to find a motif: covering against optimisation",
    full=Fig1Settings(),
    quick=Fig1Settings(images=2, tries=4000),
    tasks=tasks,
    numbers=numbers,
    draw=draw,
    shows_template=True,
)

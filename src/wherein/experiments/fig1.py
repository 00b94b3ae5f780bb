"""Figure 1: how many convolution-like operations it takes to find a motif, by covering and by optimisation.

For motions of growing dimension: by trying random poses until one fits, by the paper's method, and by this
library's default solver. An operation is an interpolation or a convolution of a picture; where only a part of
the picture is touched, that part of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from wherein.drawing.registrations import START, draw_outline
from wherein.experiments import Name, plots
from wherein.experiments.data import Subject
from wherein.experiments.experiment import Experiment, Json, Outcome, Piece, Results, brief, generator
from wherein.experiments.judge import Judge
from wherein.experiments.multiscale import Schedule, descend
from wherein.experiments.scenes import Observation, as_tensor, observe, random_motion, shifted
from wherein.images.eight_bit import to_image
from wherein.motion.models import motion_named
from wherein.registration.fit import Descent, fit
from wherein.registration.plan import coarse_to_fine
from wherein.registration.problem import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIMENSIONS = {"translation": 2, "euclidean": 3, "similarity": 4, "affine": 6}
"""The motions, and how many parameters each has."""

A_TRY = 2
"""Operations of one try in covering: one interpolation and one convolution (section 1)."""


@dataclass(frozen=True)
class Settings:
    """Ten images of each motion, as in appendix A.3.

    Attributes:
        images: of each motion.
        tries: how many poses covering draws at most.
        goal: the ZNCC at which a motif counts as found.
        schedule: of the paper's method.
        affine_sigma: its first smoothing for affine motion.
    """

    images: int = 10
    tries: int = 100_000
    goal: float = 0.9
    schedule: Schedule = field(default_factory=Schedule)
    affine_sigma: float = 10.0


def pieces(settings: Settings, subject: Subject, seed: int) -> Sequence[Piece]:
    """A piece for each motion, image and method; those that take longest come first."""
    weights = {"covering": settings.tries / 5e3, "optimization": 5.0, "fast": 0.2}
    return [
        Piece(
            f"{motion} {image}, {method}",
            partial(METHODS[method], settings, subject, seed, motion, image),
            weight * DIMENSIONS[motion] ** 2,
        )
        for method, weight in weights.items()
        for motion in reversed(DIMENSIONS)
        for image in range(settings.images)
    ]


def observation(subject: Subject, seed: int, motion: str, image: int) -> Observation:
    """One image: the template in a random pose of that motion, in a random part of the photograph."""
    rng = generator(seed, Name.FIG1, motion, image)
    return observe(subject, random_motion(motion, rng), rng)


def cover(settings: Settings, subject: Subject, seed: int, motion: str, image: int) -> Json:
    """Random poses from the set that the image's is from, until one of them is good enough."""
    seen = observation(subject, seed, motion, image)
    judge, rng = Judge(seen.scene, seen.motif), generator(seed, Name.FIG1, motion, image, "covering")
    there, back = shifted(*_centre(seen)), shifted(*-_centre(seen))
    best, tried = 0.0, 0
    while tried < settings.tries:
        drawn = [random_motion(motion, rng) for _ in range(min(1000, settings.tries - tried))]
        fits = judge(as_tensor(*(seen.start @ there @ pose @ back for pose in drawn)))
        good = torch.nonzero(fits >= settings.goal)
        used = int(good[0]) + 1 if len(good) else len(drawn)
        best, tried = max(best, float(fits[:used].max())), tried + used
        if len(good):
            break
    return _told(settings, A_TRY * tried, best, tries=tried)


def optimise(settings: Settings, subject: Subject, seed: int, motion: str, image: int) -> Json:
    """The paper's method: proximal gradient on formulation (4), from coarse to fine."""
    sigma = settings.affine_sigma if motion == "affine" else settings.schedule.sigma
    seen = observation(subject, seed, motion, image)
    found = descend([seen], motion, replace(settings.schedule, sigma=sigma), settings.goal)
    return _told(settings, float(found.operations), float(found.best), iterations=int(found.iterations))


def register(settings: Settings, subject: Subject, seed: int, motion: str, image: int) -> Json:
    """The default solver, up to the first look at all of the motif; to its end where that is not enough.

    It sees nothing of a motif's whole support before that look: a pose may have been good for long.
    """
    seen = observation(subject, seed, motion, image)
    results = [_registered(settings, seen, motion, to_rest) for to_rest in (False, True)]
    first, whole = results
    chosen = first if first["success"] else whole
    return {**chosen, "operations_to_rest": whole["operations"], "zncc_at_rest": whole["zncc"]}


def _registered(settings: Settings, seen: Observation, motion: str, to_rest: bool) -> Json:
    """What `wherein.register(scene, motif, motion)` does; unless `to_rest`, without the last steps."""
    pyramid = Problem(seen.scene, seen.motif, motion_named(motion))
    plan = coarse_to_fine(seen.motif.height, seen.motif.width, pyramid.motif.support)
    strongest, every = plan.finish
    if not to_rest:
        plan = replace(plan, finish=(strongest, replace(every, steps=0)))
    descent = Descent(pyramid, robust=False)
    found = fit(descent, seen.start, plan, everywhere=True)
    zncc = float(Judge(seen.scene, seen.motif)(as_tensor(found.poses[0])))
    return _told(settings, descent.tally.operations, zncc)


def _centre(seen: Observation) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(((seen.motif.width - 1) / 2, (seen.motif.height - 1) / 2))


def _told(settings: Settings, operations: float, zncc: float, **more: int) -> Json:
    return {"operations": brief(operations), "zncc": brief(zncc), "success": zncc >= settings.goal, **more}


METHODS = {"covering": cover, "optimization": optimise, "fast": register}


def numbers(settings: Settings, results: Results) -> dict[str, Json]:
    """Of each motion and method: mean operations, and the share of images in which the motif was found.

    Where some were not, their operations are all that was spent, and the mean is a lower bound.
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


def _mean(settings: Settings, results: Results, motion: str, method: str) -> Json:
    images = [results[f"{motion} {image}, {method}"] for image in range(settings.images)]
    success = float(np.mean([image["success"] for image in images]))
    mean = {
        "operations": brief(float(np.mean([image["operations"] for image in images]))),
        "success": brief(success),
        "bound": success < 1,
    }
    if method == "fast":
        rest = float(np.mean([image["operations_to_rest"] for image in images]))
        mean["operations_to_rest"] = brief(rest)
    return mean


LOOKS = {
    "covering": (plots.RED, "covering: random poses"),
    "optimization": (plots.BLUE, "optimisation: the paper's method"),
    "fast": (plots.GREEN, "this library's default"),
}
"""Colour and name of each method."""


def draw(outcome: Outcome[Settings], template: bool) -> "Figure":
    """The operations by dimension and, where the template may be shown, an image of each motion above."""
    figure = plots.canvas(11, 7.2 if template else 4.6)
    if not template:
        _operations(figure.subplots(), outcome)
        return figure
    panels = figure.subplot_mosaic([[*DIMENSIONS], ["operations"] * 4], height_ratios=(1, 1.7))
    for letter, motion in zip("abcd", DIMENSIONS, strict=True):
        seen = observation(outcome.subject, outcome.seed, motion, 0)
        picture = to_image(seen.scene)
        draw_outline(picture, seen.motif, seen.start, START)
        panels[motion].imshow(picture)
        panels[motion].set_title(f"({letter}) {motion}", fontsize=10, loc="left")
        panels[motion].set_axis_off()
    _operations(panels["operations"], outcome)
    return figure


def _operations(axes: "Axes", outcome: Outcome[Settings]) -> None:
    modes = outcome.numbers["modes"]
    places = np.arange(len(modes))
    for method, (colour, name) in LOOKS.items():
        means = [mode[method] for mode in modes.values()]
        axes.plot(places, [mean["operations"] for mean in means], color=colour, marker="o", label=name)
        for place, mode in zip(places, modes.values(), strict=True):
            each = [image[method]["operations"] for image in mode["images"]]
            axes.plot(np.full(len(each), place), each, ".", color=colour, alpha=0.3, markersize=5)
            if mode[method]["bound"]:
                told = f"≥, found in {mode[method]['success']:.0%}"
                axes.annotate(
                    told, (place, mode[method]["operations"]), (0, 7), textcoords="offset points",
                    ha="center", fontsize=8, color=colour,
                )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xticks(places, [f"{motion}\nd = {mode['dimension']}" for motion, mode in modes.items()])
    axes.legend(fontsize=8, loc="upper left")
    images, goal = outcome.settings.images, outcome.settings.goal
    title = f"mean of {images} images of the {outcome.subject.template.name} each, dots: every one"
    plots.label(
        axes, f"Operations to reach a ZNCC of {goal:g} ({title})", y="interpolations and convolutions"
    )


EXPERIMENT = Experiment(
    Name.FIG1,
    "Operations to find a motif: covering against optimisation",
    full=Settings(),
    quick=Settings(images=2, tries=4000),
    pieces=pieces,
    numbers=numbers,
    draw=draw,
    shows_template=True,
)

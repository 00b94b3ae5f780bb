"""Figure 5: from how far away a registration finds home, and how many starts that leaves to try."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.experiments import Name
from wherein.experiments.covering import Space, cover
from wherein.experiments.data import Subject
from wherein.experiments.experiment import Experiment, Json, Piece, Results, generator
from wherein.experiments.fig5_picture import draw
from wherein.experiments.judge import Judge
from wherein.experiments.multiscale import Schedule, descend
from wherein.experiments.scenes import Observation, as_tensor, observe, shifted
from wherein.motion.models import motion_named
from wherein.registration.fit import Descent, fit
from wherein.registration.plan import coarse_to_fine
from wherein.registration.problem import Problem
from wherein.registration.register import register
from wherein.template.pose import rotation
from wherein.template.tree import Matrix

Register = Callable[["Settings", Sequence[Observation], str], Sequence[Matrix]]
"""Registers each of some observations under a motion; body pixels → scene pixels, 3×3."""


@dataclass(frozen=True)
class Settings:
    """The grids, and the paper's schedule.

    Shifts and scales are those of the released code, whose scale is how much larger the scene is than the
    motif sees it, so that here it is one over theirs. Which turns the paper has, neither text nor code tells.

    Attributes:
        shifts: of the body along its own height, in pixels of its own.
        turns: in degrees, of the first panel.
        scales: of the body in the scene, of the second.
        images: how many at each pose, each with a background of its own.
        sigma, halvings, iterations: the paper's schedule: the first smoothing, how many in all, and how long
            at each.
        right: how far a corner may be off, in pixels of the motif, where it was brought home.
        scene: width and height of the scene in which starts are counted.
    """

    shifts: tuple[float, ...] = tuple(np.linspace(-30, 30, 9).tolist())
    turns: tuple[float, ...] = tuple(np.linspace(-80, 80, 9).tolist())
    scales: tuple[float, ...] = tuple(1 / s for s in (4, 3.5, 3, 2.5, 2, 1.5, 1, 0.9, 0.8, 0.7, 0.6, 0.5))
    images: int = 10
    sigma: float = 10.0
    halvings: int = 5
    iterations: int = 50
    right: float = 2.0
    scene: tuple[int, int] = (512, 384)

    @property
    def schedule(self) -> Schedule:
        """As Figure 1's, but for where it starts and ends.

        The work is less, not the result: coarse scales are run on reduced pictures, and a scale is over where
        a step moves the body by less than a hundredth of a pixel.
        """
        return Schedule(self.sigma, self.halvings, self.iterations, coarse=1.25, rest=0.01)


@dataclass(frozen=True)
class Panel:
    """A shift against one other parameter.

    Attributes:
        name: of the other parameter.
        motion: that the solvers know.
        home: its value at the start.
        unit: for people.
    """

    name: str
    motion: str
    home: float
    unit: str

    def others(self, settings: Settings) -> tuple[float, ...]:
        """The values of the other parameter."""
        return settings.turns if self.name == "rotation" else settings.scales

    def moved(self, shift: float, other: float) -> Matrix:
        """The paper's y(u) = x(A u + b), as a motion of x: the inverse of (A, b)."""
        linear = rotation(other) if self.name == "rotation" else np.diag((1 / other, 1 / other, 1.0))
        return np.asarray(np.linalg.inv(shifted(0.0, shift) @ linear), dtype=np.float64)

    def space(self, settings: Settings) -> Space:
        """Every place in a scene with every rotation, or with every scale of the grid."""
        if self.name == "rotation":
            return Space(*settings.scene, -180.0, 180.0, ratio=False)
        return Space(*settings.scene, min(settings.scales), max(settings.scales), ratio=True)


PANELS = (Panel("rotation", "euclidean", 0.0, "°"), Panel("scale", "similarity", 1.0, ""))


def by_paper(settings: Settings, observed: Sequence[Observation], motion: str) -> list[Matrix]:
    """Formulation (4) with the paper's schedule, from the motif in the middle."""
    # One by one: at full size, ten at a time take half as long again, since they do not fit a core's cache.
    ends = (descend((each,), motion, settings.schedule, goal=2.0).matrix[0] for each in observed)
    return [end.double().numpy() for end in ends]


def by_register(settings: Settings, observed: Sequence[Observation], motion: str) -> list[Matrix]:
    """`wherein.register(scene, motif)`: begins in the middle, then looks at all places and rotations."""
    del settings
    return [
        _square(register(each.scene, each.motif.pixels, motion, each.motif.mask).matrix) for each in observed
    ]


def by_start(settings: Settings, observed: Sequence[Observation], motion: str) -> list[Matrix]:
    """`wherein.register(…, start=…)`: besides that start it tries those within 37.5° of it."""
    del settings
    return [
        _square(register(each.scene, each.motif.pixels, motion, each.motif.mask, each.start).matrix)
        for each in observed
    ]


@torch.no_grad()
def by_descent(settings: Settings, observed: Sequence[Observation], motion: str) -> list[Matrix]:
    """The descent inside of `register` by itself: from that one pose, and from no other."""
    del settings
    found = []
    for each in observed:
        pyramid = Problem(each.scene, each.motif, motion_named(motion))
        plan = coarse_to_fine(each.motif.height, each.motif.width, pyramid.motif.support)
        alone = fit(Descent(pyramid, robust=False), each.start, replace(plan, searches=()), everywhere=False)
        found.append(alone.poses[0])
    return found


METHODS: Mapping[str, Register] = {
    "paper": by_paper,
    "default": by_register,
    "start": by_start,
    "descent": by_descent,
}
"""By the names that they have in the file."""


def pieces(settings: Settings, subject: Subject, seed: int) -> Sequence[Piece]:
    """A piece for each pose of the grids."""
    return [
        Piece(_name(panel, other, shift), partial(at_pose, settings, subject, seed, panel, other, shift))
        for panel in PANELS
        for other in panel.others(settings)
        for shift in settings.shifts
    ]


def _name(panel: Panel, other: float, shift: float) -> str:
    return f"{panel.name} {other:.3g}{panel.unit}, shift {shift:g} px"


def at_pose(
    settings: Settings, subject: Subject, seed: int, panel: Panel, other: float, shift: float
) -> dict[str, Json]:
    """ZNCC where each method ended, and whether that is home, image by image."""
    observed = images(settings, subject, seed, panel, other, shift)
    judges = [Judge(each.scene, each.motif) for each in observed]
    told = {}
    for name, solve in METHODS.items():
        ends = solve(settings, observed, panel.motion)
        told[name] = {
            "zncc": [round(float(judge(as_tensor(end))), 4) for judge, end in zip(judges, ends, strict=True)],
            "right": [off(each, end) <= settings.right for each, end in zip(observed, ends, strict=True)],
        }
    return told


def images(
    settings: Settings, subject: Subject, seed: int, panel: Panel, other: float, shift: float
) -> list[Observation]:
    """The same pose before several backgrounds."""
    moved, pose = panel.moved(shift, other), (Name.FIG5, panel.name, f"{other:.6g}", f"{shift:.6g}")
    return [observe(subject, moved, generator(seed, *pose, image)) for image in range(settings.images)]


def smallest(settings: Settings, subject: Subject, seed: int) -> Observation:
    """One of the scenes in which the body is the smallest."""
    return images(settings, subject, seed, PANELS[-1], min(settings.scales), 0.0)[0]


def off(observed: Observation, end: Matrix) -> float:
    """By how much the corner that is the furthest off is, in pixels of the motif."""
    right, bottom = observed.motif.width - 1, observed.motif.height - 1
    corners = np.array(((0, right, 0, right), (0, 0, bottom, bottom), (1, 1, 1, 1)))
    scale = abs(np.linalg.det(observed.truth[:2, :2])) ** 0.5
    apart = ((end - observed.truth) @ corners)[:2] / scale
    return float(np.linalg.norm(apart, axis=0).max())


def _square(matrix: NDArray[np.float64]) -> Matrix:
    return np.vstack((matrix, (0.0, 0.0, 1.0)))


def numbers(settings: Settings, results: Results) -> dict[str, Json]:
    """For each panel and method: mean ZNCC and the share that came home, pose by pose, and what it covers."""
    return {
        "methods": {name: solve.__doc__ for name, solve in METHODS.items()},
        "panels": {
            panel.name: {
                "shifts": list(settings.shifts),
                "others": list(panel.others(settings)),
                **{name: _basin(settings, panel, results, name) for name in METHODS},
            }
            for panel in PANELS
        },
    }


def _basin(settings: Settings, panel: Panel, results: Results, method: str) -> dict[str, Json]:
    others = panel.others(settings)
    told = [[results[_name(panel, o, s)][method] for s in settings.shifts] for o in others]
    zncc = np.array([[np.mean(cell["zncc"]) for cell in row] for row in told])
    right = np.array([[np.mean(cell["right"]) for cell in row] for row in told])
    found = cover(right == 1.0, settings.shifts, others, panel.home, panel.space(settings))
    return {
        "zncc": zncc.round(4).tolist(),
        "right": right.round(4).tolist(),
        "mean_zncc": round(float(zncc.mean()), 4),
        "home": int((right == 1.0).sum()),
        "home_share": round(float(right.mean()), 4),
        "cover": asdict(found) if found else None,
    }


EXPERIMENT = Experiment(
    Name.FIG5,
    "Basins of attraction: shift against rotation and scale (Figure 5)",
    full=Settings(),
    quick=Settings(
        shifts=(-15.0, 0.0, 15.0), turns=(-60.0, -30.0, 0.0, 30.0, 60.0), scales=(0.5, 1.0, 2.0), images=1
    ),
    pieces=pieces,
    numbers=numbers,
    draw=partial(draw, smallest),
    shows_template=True,
)

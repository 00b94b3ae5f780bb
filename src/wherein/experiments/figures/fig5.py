"""Figure 5: the basin of attraction of a registration, and the number of starts that cover all poses."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.experiments import Name, plots
from wherein.experiments.basin_cover import PoseSpace, cover
from wherein.experiments.figures.fig5_methods import METHODS
from wherein.experiments.paper_registration import Schedule
from wherein.experiments.registration_scenes import (
    Observation,
    SupportZNCC,
    as_tensor,
    corner_error,
    observe,
    translation,
)
from wherein.experiments.runs.experiment import Experiment, FinishedRun, Json, Results, Task, generator
from wherein.experiments.subject import Subject
from wherein.motion.field import lattice, transform
from wherein.template.pose import rotation
from wherein.template.tree import Matrix
from wherein.warp import warp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Fig5Settings:
    """The grids of poses, and the paper's schedule.

    Shifts and scales are those of the released code. Its scales are of the motif relative to the scene; the
    scales here are their reciprocals. Neither text nor code gives the paper's rotations.

    Attributes:
        shifts: of the body along its own height, in its own pixels.
        turns: rotations of the first panel, in degrees.
        scales: of the body in the scene, of the second panel.
        images: number of images at each pose, each with its own background (text: 10).
        sigma: the first smoothing of the paper's schedule (text: 10).
        halvings: the number of scales, one more than the number of times that σ is halved (text: 250
            iterations, 50 at each scale).
        iterations: at each scale (text: 50).
        right: maximum corner error of a successful registration, in pixels of the motif. A choice: the text
            measures ZNCC alone.
        scene: width and height of the scene in which starts are counted: those of Figure 3.
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
        """The schedule of Figure 1 with this smoothing and length, and with two changes that save work.

        Coarse scales run on reduced pictures, and a scale ends when a step moves the body by less than a
        hundredth of a pixel. Neither changes the final pose, as tests show.
        """
        return Schedule(self.sigma, self.halvings, self.iterations, coarse=1.25, rest=0.01)


@dataclass(frozen=True)
class Panel:
    """A grid of poses: shifts against one second parameter.

    Attributes:
        name: of the second parameter.
        motion: the motion model of the solvers.
        start: the second parameter's value at the start.
        unit: for the names of tasks.
    """

    name: str
    motion: str
    start: float
    unit: str

    def others(self, settings: Fig5Settings) -> tuple[float, ...]:
        """The values of the second parameter."""
        return settings.turns if self.name == "rotation" else settings.scales

    def moved(self, shift: float, other: float) -> Matrix:
        """The paper's y(u) = x(A u + b), as a motion of x: the inverse of (A, b)."""
        linear = rotation(other) if self.name == "rotation" else np.diag((1 / other, 1 / other, 1.0))
        return np.asarray(np.linalg.inv(translation(0.0, shift) @ linear), dtype=np.float64)

    def space(self, settings: Fig5Settings) -> PoseSpace:
        """Every place in a scene with every rotation, or with every scale of the grid."""
        if self.name == "rotation":
            return PoseSpace(*settings.scene, -180.0, 180.0, ratio=False)
        return PoseSpace(*settings.scene, min(settings.scales), max(settings.scales), ratio=True)


PANELS = (Panel("rotation", "euclidean", 0.0, "°"), Panel("scale", "similarity", 1.0, ""))


def tasks(settings: Fig5Settings, subject: Subject, seed: int) -> Sequence[Task]:
    """A task for each pose of the grids."""
    return [
        Task(_name(panel, other, shift), partial(at_pose, settings, subject, seed, panel, other, shift))
        for panel in PANELS
        for other in panel.others(settings)
        for shift in settings.shifts
    ]


def _name(panel: Panel, other: float, shift: float) -> str:
    return f"{panel.name} {other:.3g}{panel.unit}, shift {shift:g} px"


def at_pose(
    settings: Fig5Settings, subject: Subject, seed: int, panel: Panel, other: float, shift: float
) -> dict[str, Json]:
    """The final ZNCC of each method in each image, and whether its pose is right."""
    observed = images(settings, subject, seed, panel, other, shift)
    znccs = [SupportZNCC(each.scene, each.motif) for each in observed]
    methods = {}
    for name, solve in METHODS.items():
        ends = solve(settings.schedule, observed, panel.motion)
        methods[name] = {
            "zncc": [round(float(zncc(as_tensor(end))), 4) for zncc, end in zip(znccs, ends, strict=True)],
            "right": [
                corner_error(each, end) <= settings.right for each, end in zip(observed, ends, strict=True)
            ],
        }
    return methods


def images(
    settings: Fig5Settings, subject: Subject, seed: int, panel: Panel, other: float, shift: float
) -> list[Observation]:
    """The same pose over several backgrounds."""
    moved, pose = panel.moved(shift, other), (Name.FIG5, panel.name, f"{other:.6g}", f"{shift:.6g}")
    return [observe(subject, moved, generator(seed, *pose, image)) for image in range(settings.images)]


def numbers(settings: Fig5Settings, results: Results) -> dict[str, Json]:
    """For each panel and method: ZNCC and success rate at each pose, and the starts that cover all poses."""
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


def _basin(settings: Fig5Settings, panel: Panel, results: Results, method: str) -> dict[str, Json]:
    """One basin. "home" counts the poses at which all images are right, "home_share" the images that are."""
    others = panel.others(settings)
    cells = [[results[_name(panel, o, s)][method] for s in settings.shifts] for o in others]
    zncc = np.array([[np.mean(cell["zncc"]) for cell in row] for row in cells])
    right = np.array([[np.mean(cell["right"]) for cell in row] for row in cells])
    found = cover(right == 1.0, settings.shifts, others, panel.start, panel.space(settings))
    return {
        "zncc": zncc.round(4).tolist(),
        "right": right.round(4).tolist(),
        "mean_zncc": round(float(zncc.mean()), 4),
        "home": int((right == 1.0).sum()),
        "home_share": round(float(right.mean()), 4),
        "cover": asdict(found) if found else None,
    }


_LABELS = {
    "paper": "the paper's method",
    "default": "register(scene, motif)",
    "start": "register(…, start=…)",
    "descent": "its descent alone",
}
_COLORS = {"paper": plots.BLUE, "default": plots.GREEN, "start": plots.AMBER, "descent": plots.RED}
_AXES = {"rotation": "rotation in degrees", "scale": "scale of the motif in the scene"}


def draw(finished: FinishedRun[Fig5Settings], template: bool) -> "Figure":
    """A row of basins for each panel with a column for each method; below them the numbers of starts.

    If the template may be shown, it also shows why the ZNCC stays low at small scales, as in the paper.
    """
    panels = finished.numbers["panels"]
    figure = plots.canvas(13, 11)
    above, below = np.ravel(figure.subfigures(2, 1, height_ratios=(2.3, 1), squeeze=False))
    _draw_basins(above, panels, finished.settings.images)
    if template:
        *shown, bars = below.subplots(1, 4, width_ratios=(1, 1, 1, 1.5))
        _draw_smallest(shown, finished)
    else:
        bars = below.subplots()
    _draw_starts(bars, panels)
    return figure


def _draw_basins(figure: Any, panels: Json, images: int) -> None:
    grid = figure.subplots(len(panels), len(_LABELS), sharex=True, sharey="row")
    for row, (name, panel) in zip(grid, panels.items(), strict=True):
        for axes, method in zip(row, _LABELS, strict=True):
            drawn = _draw_basin(axes, panel, method)
            plots.label(axes, f"{_LABELS[method]}\n{_starts(panel[method]['cover'])}")
            axes.grid(visible=False)
        row[0].set_ylabel(_AXES[name], fontsize=9)
        figure.colorbar(drawn, ax=row, label=f"mean ZNCC of {images}", pad=0.01)
    for axes in grid[-1]:
        axes.set_xlabel("shift in pixels", fontsize=9)
    title = "Framed in red: poses at which every image was registered"
    figure.suptitle(title, fontsize=10, color=plots.RED, x=0.02, ha="left")


def _draw_basin(axes: "Axes", panel: Json, method: str) -> Any:
    """Draw ZNCC as colour, and a frame around the poses at which every image is right."""
    zncc, right = np.array(panel[method]["zncc"]), np.array(panel[method]["right"])
    drawn = axes.imshow(zncc, origin="lower", aspect="auto", cmap="viridis", vmin=0, vmax=1)
    axes.set_xticks(range(len(panel["shifts"])), [f"{shift:g}" for shift in panel["shifts"]])
    axes.set_yticks(range(len(panel["others"])), [f"{other:.3g}" for other in panel["others"]])
    for begin, end in _edges(right == 1.0):
        axes.plot(*zip(begin, end, strict=True), color=plots.RED, linewidth=1.6, solid_capstyle="round")
    return drawn


def _edges(inside: NDArray[np.bool_]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The edges between cells that are inside and those that are not, from (x, y) to (x, y)."""
    padded = np.pad(inside, 1)
    upright = [
        ((x - 0.5, y - 0.5), (x - 0.5, y + 0.5))
        for y, x in np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1]).tolist()
    ]
    level = [
        ((x - 0.5, y - 0.5), (x + 0.5, y - 0.5))
        for y, x in np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1]).tolist()
    ]
    return upright + level


def _starts(cover: Json) -> str:
    if cover is None:
        return "no cover by this grid"
    return f"{'at most ' if cover['bound'] else ''}{cover['starts']} starts cover all poses"


def _draw_starts(axes: "Axes", panels: Json) -> None:
    """Draw the number of starts by panel and method."""
    width = 0.8 / len(_LABELS)
    legend: dict[str, Any] = {}
    for index, (method, label) in enumerate(_LABELS.items()):
        for place, panel in enumerate(panels.values()):
            cover = panel[method]["cover"]
            if cover is None:
                continue
            x = place + (index - (len(_LABELS) - 1) / 2) * width
            bars = axes.bar(x, cover["starts"], width, color=_COLORS[method])
            legend.setdefault(label, bars)
            note = f"≤ {cover['starts']}" if cover["bound"] else str(cover["starts"])
            axes.text(x, cover["starts"] * 1.08, note, ha="center", fontsize=8)
    axes.set_yscale("log")
    axes.margins(y=0.25)
    axes.set_xticks(range(len(panels)), [f"all places and {name}s" for name in panels])
    axes.legend(legend.values(), legend.keys(), fontsize=8)
    plots.label(axes, "starts that cover all poses", "", "")


def _draw_smallest(shown: Sequence["Axes"], finished: FinishedRun[Fig5Settings]) -> None:
    """Draw a scene with the body at the smallest scale, the body enlarged again, and the motif."""
    settings, scale = finished.settings, min(finished.settings.scales)
    observed = images(settings, finished.subject, finished.seed, PANELS[-1], scale, 0.0)[0]
    motif = observed.motif
    field = transform(as_tensor(observed.truth)[0], lattice(motif.height, motif.width, motif.pixels))
    enlarged = warp(observed.scene, field)
    pictures = {
        f"a scene at the scale {scale:g}": observed.scene,
        "the motif in it, enlarged": torch.where(motif.mask > 0, enlarged, 1.0),
        "the motif": torch.where(motif.mask > 0, motif.pixels, 1.0),
    }
    for axes, (title, picture) in zip(shown, pictures.items(), strict=True):
        axes.imshow(picture.clamp(0, 1).movedim(0, -1).numpy(), interpolation="nearest")
        axes.set_title(title, fontsize=9, loc="left")
        axes.set(xticks=(), yticks=())


EXPERIMENT = Experiment(
    Name.FIG5,
    "Basins of attraction: shift against rotation and scale (Figure 5)",
    full=Fig5Settings(),
    quick=Fig5Settings(
        shifts=(-15.0, 0.0, 15.0), turns=(-60.0, -30.0, 0.0, 30.0, 60.0), scales=(0.5, 1.0, 2.0), images=1
    ),
    tasks=tasks,
    numbers=numbers,
    draw=draw,
    shows_template=True,
)

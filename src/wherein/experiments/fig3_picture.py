"""The picture of Figure 3: what was found drawn on the scenes, ω_0, and errors by angle."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wherein.experiments import plots
from wherein.experiments.data import Subject
from wherein.experiments.experiment import Json, Outcome
from wherein.experiments.turning import Turned
from wherein.template.bundle import Template

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 4
"""Scenes of each method that are drawn, as in the paper."""

_LEAF, _GROUP, _ROOT, _MISSING = "#ff3b30", "#34c759", "#2f6bff", "#f0f0f0"
"""The paper's colours: red the motifs, green what is made of them, blue the whole; grey what is missing."""

_MARKS = {"at rest": "o", "bent": "^"}


Scene = Callable[[Any, Subject, int, str, float], Turned]
"""From settings, subject, seed, sweep and angle to the scene that was looked at."""


def draw(scene: Scene, outcome: Outcome[Any], template: bool) -> "Figure":
    """Scenes above (where the template may be shown), numbers below."""
    paper, default = (outcome.numbers["methods"][method] for method in ("paper", "default"))
    sweep = outcome.settings.sweeps[-1]
    figure = plots.canvas(14, 10.4 if template else 6.0)
    ratios = (3, 3, 3.4) if template else (1.6, 0.01, 3)
    first, second, last = np.ravel(figure.subfigures(3, 1, height_ratios=ratios, squeeze=False))
    rows = [row for row in paper if row["sweep"] == sweep and row["angle"] >= 0]
    if template:
        _scenes(first, scene, outcome, _spread(rows, SHOWN), "the paper's network", trace=True)
        turned = [row for row in default if row["sweep"] == sweep]
        _scenes(second, scene, outcome, _spread(turned, SHOWN), "the default, every rotation", trace=False)
    else:
        for axes, row in zip(np.ravel(first.subplots(1, len(rows))), rows, strict=True):
            _trace(axes, row)
            plots.label(axes, f"ω₀ at {row['angle']:g}°, by column", "x in pixels")
    _peaks, _scores, _errors = last.subplots(1, 3)
    _plot_peaks(_peaks, paper)
    _plot_scores(_scores, default)
    _plot_errors(_errors, paper, default)
    return figure


def _spread(rows: Sequence[Json], count: int) -> list[Json]:
    """The first and the last of them, and others evenly between."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int))
    return [rows[index] for index in chosen]


def _scenes(
    panel: Any, scene: Scene, outcome: Outcome[Any], rows: Sequence[Json], method: str, trace: bool
) -> None:
    for axes, row in zip(np.ravel(panel.subplots(1, len(rows))), rows, strict=True):
        shown = scene(outcome.settings, outcome.subject, outcome.seed, row["sweep"], row["angle"])
        axes.imshow(shown.scene.movedim(0, -1).numpy(), interpolation="bilinear")
        height, width = shown.scene.shape[-2:]
        axes.set(xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5), xticks=(), yticks=())
        verdict = "all parts right" if row["perfect"] else "found" if row["found"] else "missed"
        axes.set_title(f"{method}, {row['angle']:g}°: {verdict}", fontsize=9, loc="left")
        if "parts" in row:
            _boxes(axes, outcome.subject.template, row)
        if trace:
            _trace(axes.inset_axes((0.7, 0.02, 0.28, 0.25)), row)


def _boxes(axes: "Axes", template: Template, row: Json) -> None:
    """The transformed bounding box of every motif, of every group of them, and of the whole."""
    tree = template.parts
    inner = [name for name in row["parts"] if tree[name].motif is None]
    for name in (*inner, *(name for name in row["parts"] if tree[name].motif is not None)):
        part, leaf = row["parts"][name], tree[name].motif is not None
        color = _MISSING if not part["found"] and leaf else _LEAF if leaf else _GROUP
        box = _turned(part["matrix"], *_box(template, name))
        axes.plot(*box, color=color, linewidth=1.0 if leaf else 1.6, linestyle="-" if part["found"] else ":")
    axes.plot(*_turned(row["matrix"], *_box(template, tree.root)), color=_ROOT, linewidth=1.8)


def _box(template: Template, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The corners of a part in its own pixels: of its picture, or of all pictures below it on the canvas."""
    tree = template.parts
    corners = []
    for leaf in tree.leaves_below(name):
        motif = tree[leaf].motif
        assert motif is not None
        x, y = tree[leaf].at if leaf != name else (0.0, 0.0)
        corners += [(x, y), (x + motif.width - 1, y + motif.height - 1)]
    return np.min(corners, 0), np.max(corners, 0)


def _turned(matrix: Json, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    """The closed outline of a box under a matrix, x and y."""
    x, y = zip(low, high, strict=True)
    corners = np.array(((x[0], x[1], x[1], x[0], x[0]), (y[0], y[0], y[1], y[1], y[0]), (1.0,) * 5))
    drawn: NDArray[np.float64] = np.array(matrix) @ corners
    return drawn


def _trace(axes: "Axes", row: Json) -> None:
    """ω_0 by column, 1 at the dashed line."""
    axes.fill_between(range(len(row["trace"])), row["trace"], color=plots.BLUE, linewidth=0.8)
    axes.axhline(1.0, color=plots.RED, linewidth=0.8, linestyle="--")
    axes.set(ylim=(0, 1.2), xlim=(0, len(row["trace"]) - 1), xticks=(), yticks=())


def _by_sweep(rows: Sequence[Json]) -> dict[str, list[Json]]:
    sweeps = dict.fromkeys(row["sweep"] for row in rows)
    return {sweep: [row for row in rows if row["sweep"] == sweep] for sweep in sweeps}


def _plot_peaks(axes: "Axes", paper: Sequence[Json]) -> None:
    for sweep, rows in _by_sweep(paper).items():
        angles, heights = zip(*((row["angle"], row["peak"]) for row in rows), strict=True)
        axes.plot(angles, heights, color=plots.BLUE, marker=_MARKS[sweep], label=sweep, linewidth=1)
        missed = [(row["angle"], row["peak"]) for row in rows if not row["perfect"]]
        if missed:
            axes.plot(
                *zip(*missed, strict=True), "x", color=plots.RED, markersize=10, label=f"{sweep}: missed"
            )
    axes.set_ylim(-0.05, 1.1)
    axes.legend(fontsize=7)
    plots.label(axes, "the paper's network: the peak of ω₀", "rotation in degrees", "1: a spike")


def _plot_scores(axes: "Axes", default: Sequence[Json]) -> None:
    for sweep, rows in _by_sweep(default).items():
        angles, scores = zip(*((row["angle"], row.get("score", 0.0)) for row in rows), strict=True)
        axes.plot(angles, scores, color=plots.GREEN, marker=_MARKS[sweep], label=sweep, linewidth=1)
    axes.set(ylim=(-0.05, 1.1), xlim=(-190, 190), xticks=range(-180, 181, 60))
    axes.legend(fontsize=7)
    plots.label(axes, "the default: score", "rotation in degrees")


def _plot_errors(axes: "Axes", paper: Sequence[Json], default: Sequence[Json]) -> None:
    for method, color, told in (("paper", plots.BLUE, paper), ("default", plots.GREEN, default)):
        for sweep, rows in _by_sweep(told).items():
            worst = [(row["angle"], _worst(row)) for row in rows if row["found"]]
            if worst:
                points = zip(*worst, strict=True)
                axes.plot(*points, _MARKS[sweep], color=color, markersize=4, label=f"{method}, {sweep}")
    axes.axhline(1.0, color=plots.FAINT, linestyle="--")
    axes.set(yscale="log", xlim=(-190, 190), xticks=range(-180, 181, 60))
    axes.legend(fontsize=7)
    plots.label(axes, "error of the worst part that was found", "rotation in degrees", "pixels")


def _worst(row: Json) -> float:
    return max((part["px"] for part in row["parts"].values() if part["found"]), default=np.nan)

"""The picture of Figure 5: basins as maps of ZNCC, how many starts they leave, and what small scales lose."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.experiments import plots
from wherein.experiments.data import Subject
from wherein.experiments.experiment import Json, Outcome
from wherein.experiments.scenes import Observation, as_tensor
from wherein.motion.field import lattice, transform
from wherein.warp import warp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = {
    "paper": "the paper's method",
    "default": "register(scene, motif)",
    "start": "register(…, start=…)",
    "descent": "its descent alone",
}
_COLORS = {"paper": plots.BLUE, "default": plots.GREEN, "start": plots.AMBER, "descent": plots.RED}
_AXES = {"rotation": "rotation in degrees", "scale": "scale of the motif in the scene"}


Smallest = Callable[[Any, Subject, int], Observation]
"""From settings, subject and seed to a scene in which the body is the smallest."""


def draw(smallest: Smallest, outcome: Outcome[Any], template: bool) -> "Figure":
    """A row of basins for each panel, a column for each method; below the starts and, as in the paper, why
    ZNCC stays low at small scales."""
    panels = outcome.numbers["panels"]
    figure = plots.canvas(13, 11)
    above, below = np.ravel(figure.subfigures(2, 1, height_ratios=(2.3, 1), squeeze=False))
    grid = above.subplots(len(panels), len(METHODS), sharex=True, sharey="row")
    for row, (name, panel) in zip(grid, panels.items(), strict=True):
        for axes, method in zip(row, METHODS, strict=True):
            drawn = _basin(axes, panel, method)
            plots.label(axes, f"{METHODS[method]}\n{_starts(panel[method]['cover'])}")
            axes.grid(visible=False)
        row[0].set_ylabel(_AXES[name], fontsize=9)
        above.colorbar(drawn, ax=row, label=f"mean ZNCC of {outcome.settings.images}", pad=0.01)
    for axes in grid[-1]:
        axes.set_xlabel("shift in pixels", fontsize=9)
    above.suptitle("Framed in red: every image came home", fontsize=10, color=plots.RED, x=0.02, ha="left")
    if template:
        *shown, bars = below.subplots(1, 4, width_ratios=(1, 1, 1, 1.5))
        seen = smallest(outcome.settings, outcome.subject, outcome.seed)
        _zoomed_out(shown, seen, min(outcome.settings.scales))
    else:
        bars = below.subplots()
    _bars(bars, panels)
    return figure


def _basin(axes: "Axes", panel: Json, method: str) -> Any:
    """ZNCC as colour; a frame around each pose from which every image came home."""
    zncc, right = np.array(panel[method]["zncc"]), np.array(panel[method]["right"])
    drawn = axes.imshow(zncc, origin="lower", aspect="auto", cmap="viridis", vmin=0, vmax=1)
    axes.set_xticks(range(len(panel["shifts"])), [f"{shift:g}" for shift in panel["shifts"]])
    axes.set_yticks(range(len(panel["others"])), [f"{other:.3g}" for other in panel["others"]])
    for begin, end in _outline(right == 1.0):
        axes.plot(*zip(begin, end, strict=True), color=plots.RED, linewidth=1.6, solid_capstyle="round")
    return drawn


def _outline(inside: NDArray[np.bool_]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
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


def _bars(axes: "Axes", panels: Json) -> None:
    """Starts by panel and method."""
    width = 0.8 / len(METHODS)
    legend: dict[str, Any] = {}
    for index, (method, words) in enumerate(METHODS.items()):
        for place, panel in enumerate(panels.values()):
            cover = panel[method]["cover"]
            if cover is None:
                continue
            x = place + (index - (len(METHODS) - 1) / 2) * width
            bars = axes.bar(x, cover["starts"], width, color=_COLORS[method])
            legend.setdefault(words, bars)
            note = f"≤ {cover['starts']}" if cover["bound"] else str(cover["starts"])
            axes.text(x, cover["starts"] * 1.08, note, ha="center", fontsize=8)
    axes.set_yscale("log")
    axes.margins(y=0.25)
    axes.set_xticks(range(len(panels)), [f"all places and {name}s" for name in panels])
    axes.legend(legend.values(), legend.keys(), fontsize=8)
    plots.label(axes, "starts that cover all poses", "", "")


def _zoomed_out(shown: Sequence["Axes"], seen: Observation, scale: float) -> None:
    """The body at a small scale, that brought back to its size, and the motif."""
    motif = seen.motif
    field = transform(as_tensor(seen.truth)[0], lattice(motif.height, motif.width, motif.pixels))
    back = warp(seen.scene, field)
    pictures = {
        f"a scene at the scale {scale:g}": seen.scene,
        "the motif in it, brought back": torch.where(motif.mask > 0, back, 1.0),
        "the motif": torch.where(motif.mask > 0, motif.pixels, 1.0),
    }
    for axes, (title, picture) in zip(shown, pictures.items(), strict=True):
        axes.imshow(picture.clamp(0, 1).movedim(0, -1).numpy(), interpolation="nearest")
        axes.set_title(title, fontsize=9, loc="left")
        axes.set(xticks=(), yticks=())

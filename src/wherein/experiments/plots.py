"""Pictures of numbers: one look for all figures, and matplotlib only where it is needed."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from wherein.errors import require
from wherein.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#222222", "#d9d9d9"
BLUE, RED, GREEN, AMBER = "#1f6fb4", "#c8372d", "#1b8a5a", "#d98e04"
"""Of the paper's method, of covering (or a bound), of this library's default, of what is beside them."""


def require_matplotlib() -> None:
    """Say how to get matplotlib where it is not installed."""
    require(
        find_spec("matplotlib") is not None,
        "the figures are drawn by matplotlib, which is not installed: pip install 'wherein[plots]'",
    )


def canvas(width: float, height: float) -> "Figure":
    """An empty figure, in inches; it belongs to no window and no global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained", facecolor="white")


def label(axes: "Axes", title: str, x: str = "", y: str = "") -> None:
    """Titles, and a frame that keeps out of the way."""
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def save(figure: "Figure", path: Path) -> None:
    """Write a figure whole or not at all; the same bytes for the same numbers."""
    with atomic_file(path) as target:
        figure.savefig(target, format="png", metadata={"Software": None})

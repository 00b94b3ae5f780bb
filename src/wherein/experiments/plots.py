"""A common style for the plots of all figures; matplotlib is imported only when something is drawn."""

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
"""Colours for the paper's method, for covering or a bound, for this library's default, and for variants."""


def require_matplotlib() -> None:
    """Raise `ArgumentError` with the command that installs matplotlib, if it is missing."""
    require(
        find_spec("matplotlib") is not None,
        "drawing figures needs matplotlib, which is not installed: pip install 'wherein[plots]'",
    )


def canvas(width: float, height: float) -> "Figure":
    """An empty figure of a size in inches, independent of windows and of pyplot's global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained", facecolor="white")


def label(axes: "Axes", title: str, x: str = "", y: str = "") -> None:
    """Set the titles, and a light frame and grid."""
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(True, color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def save(figure: "Figure", path: Path) -> None:
    """Write a figure atomically; the same numbers give the same bytes."""
    with atomic_file(path) as target:
        # Without the version of matplotlib, which the metadata would contain by default.
        figure.savefig(target, format="png", metadata={"Software": None})

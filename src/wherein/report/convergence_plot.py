"""Convergence plots of a detection: the geometry of a small plot for each part that was fitted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wherein.detect.explain.fit_trace import FitTrace, FitTraces, TraceStage
from wherein.detect.result import Detection
from wherein.detect.score import MAX_ZNCC
from wherein.report.part_entries import PartEntry

MAX_SCORED_ZNCC = MAX_ZNCC
"""The ZNCC above which the score does not increase; the page mentions it."""

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 260.0, 112.0, 30.0, 4.0, 18.0, 8.0
"""Size and margins of a plot in SVG units. A choice: "0.99" fits into the left margin, and a line of text
into the top margin."""

_GAP = 3.0
"""Gap between the last round of one level and the first of the next, in rounds. A choice: wide enough for the
label above a level with few rounds."""

_MAX_LOSS, _MIN_LOSS = 1.0, 1e-3
"""1 − ZNCC at the bottom and at the top of a plot; values beyond are clipped. A choice: a ZNCC of 0 is no
match, and above 0.999 only noise remains."""

_PER_NAT = (_HEIGHT - _TOP - _BOTTOM) / math.log(_MAX_LOSS / _MIN_LOSS)
"""Vertical distance in SVG units for a factor of e in 1 − ZNCC."""

_TICKS = (0.0, 0.9, 0.99)
"""ZNCC values with a grid line: one for each power of ten of 1 − ZNCC."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Tick:
    """A horizontal grid line: its label, and its y in SVG units."""

    label: str
    y: float


@dataclass(frozen=True)
class PlotAxes:
    """The size, margins and grid lines that all plots share, in SVG units."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float
    ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class PlotLevel:
    """One pyramid level of a plot.

    Attributes:
        label: its resolution.
        x: its left edge.
        width: the distance to the next level.
        shaded: whether it has a shaded background; every other level has, to distinguish them.
        points: one point before the first round, and one after each round.
    """

    label: str
    x: float
    width: float
    shaded: bool
    points: tuple[Point, ...]


@dataclass(frozen=True)
class ConvergencePlot:
    """The plot of one part.

    Attributes:
        part: the entry of the part.
        zncc: the ZNCC of the fit, at the level at which it is scored.
        first: ZNCC before the first round.
        last: ZNCC after the last round.
        levels: the levels from the coarsest to full size.
        notes: sentences below the plot.
    """

    part: PartEntry
    zncc: float
    first: float
    last: float
    levels: tuple[PlotLevel, ...]
    notes: str


@dataclass(frozen=True)
class Convergence:
    """The plots of a detection.

    Attributes:
        plots: one plot for each part that was fitted and found.
        not_found: leaves without a plot, because they were not found.
        not_fitted: leaves without a plot, because they move with another part.
        axes: the axes of all plots.
    """

    plots: tuple[ConvergencePlot, ...]
    not_found: tuple[str, ...]
    not_fitted: tuple[str, ...]
    axes: PlotAxes


def convergence(entries: Sequence[PartEntry], item: Detection, traces: FitTraces) -> Convergence | None:
    """The plots of a detection; None if no fit was recorded."""
    if not traces:
        return None
    # In the order of the table, and not of the fits, so that plots are found beside their parts.
    fitted = [part for part in entries if part.name in traces]
    plots = tuple(_plot(part, traces[part.name]) for part in fitted)
    others = [part.name for part in entries if part.leaf and part.name not in traces]
    return Convergence(
        plots,
        not_found=tuple(name for name in others if not item.parts[name].found),
        not_fitted=tuple(name for name in others if item.parts[name].found),
        axes=AXES,
    )


def _plot(part: PartEntry, trace: FitTrace) -> ConvergencePlot:
    rounds = sum(len(stage.zncc) - 1 for stage in trace.stages)
    # The width of one round, so that all rounds and one gap per level fill the plot.
    unit = (_WIDTH - _LEFT - _RIGHT) / (rounds + _GAP * len(trace.stages))
    x, levels = _LEFT, []
    for index, stage in enumerate(trace.stages):
        levels.append(_level(stage, x, unit, shaded=index % 2 == 0))
        x += levels[-1].width
    return ConvergencePlot(
        part,
        trace.zncc,
        first=trace.stages[0].zncc[0],
        last=trace.stages[-1].zncc[-1],
        levels=tuple(levels),
        notes=" ".join(_notes(trace, rounds)),
    )


def _level(stage: TraceStage, x: float, unit: float, shaded: bool) -> PlotLevel:
    # The curve of a level is centred in it: half a gap before its first point, half after its last one.
    first, width = x + unit * _GAP / 2, (len(stage.zncc) - 1 + _GAP) * unit
    points = tuple((first + k * unit, _y(value)) for k, value in enumerate(stage.zncc))
    return PlotLevel(_label(stage), x, width, shaded, points)


def _label(stage: TraceStage) -> str:
    """The resolution of a level, for its label."""
    return "full size" if stage.scale <= 1 else f"1/{stage.scale:.3g}"


def _notes(trace: FitTrace, rounds: int) -> list[str]:
    """Sentences about a plot: the number of rounds, and a note if the fit did not start from the search."""
    notes = [f"{rounds} round{'' if rounds == 1 else 's'}."]
    if not trace.from_search:
        notes.append("Located from the other parts, so the plot starts at the detected pose.")
    return notes


def _y(zncc: float) -> float:
    """The y of a ZNCC on an axis that is logarithmic in 1 − ZNCC.

    On a linear axis, all values between 0.9 and 1, where fits end, would look like one line.
    """
    # SVG's y axis points downwards: a larger loss has a larger y.
    loss = min(max(1 - zncc, _MIN_LOSS), _MAX_LOSS)
    return _TOP + math.log(loss / _MIN_LOSS) * _PER_NAT


AXES = PlotAxes(
    _WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM, tuple(Tick(f"{zncc:g}", _y(zncc)) for zncc in _TICKS)
)
"""The axes of all plots. They are the same, so that the page contains the grid once."""

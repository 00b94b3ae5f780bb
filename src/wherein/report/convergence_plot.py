"""How each fit of a detection converged: the geometry of a small plot for each part that was fitted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wherein.detect.explain.fit_trace import FitTrace, FitTraces, TraceStage
from wherein.detect.result import Detection
from wherein.detect.score import MAX_ZNCC
from wherein.report.part_entries import PartEntry

MAX_SCORED_ZNCC = MAX_ZNCC
"""A ZNCC above this does not increase the score; the page says so."""

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 260.0, 112.0, 30.0, 4.0, 18.0, 8.0
"""Size and margins of a plot in SVG units. A choice: "0.99" fits into the left margin, a line of
text into the top one."""

_GAP = 3.0
"""Rounds between the last round of one level and the first of the next. A choice: wide enough that the label
fits above a level with few rounds."""

_MAX_LOSS, _MIN_LOSS = 1.0, 1e-3
"""1 − ZNCC at the bottom and at the top of a plot; values beyond are drawn at the edge. A choice: ZNCC 0 is
no match, and above 0.999 only noise is left."""

_PER_NAT = (_HEIGHT - _TOP - _BOTTOM) / math.log(_MAX_LOSS / _MIN_LOSS)
"""SVG units by which a factor of e in 1 − ZNCC moves a point."""

_TICKS = (0.0, 0.9, 0.99)
"""ZNCC values with a grid line: one for each power of ten of 1 − ZNCC."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Tick:
    """A grid line: its label and height."""

    label: str
    y: float


@dataclass(frozen=True)
class PlotAxes:
    """What all plots have in common, in SVG units."""

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
        label: its scale.
        x: its left edge.
        width: from there to the next level.
        shaded: every other level is, to tell them apart.
        points: before the first round and after each.
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
        part: which.
        zncc: of the fit, at the level where it is scored.
        first: ZNCC before the first round.
        last: ZNCC after the last.
        levels: from the coarsest to full size.
        notes: sentences about it.
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
        plots: one for each part that was fitted and found.
        not_found: leaves without a plot that were not found.
        not_fitted: leaves without a plot that move with another part.
        axes: the same for all plots.
    """

    plots: tuple[ConvergencePlot, ...]
    not_found: tuple[str, ...]
    not_fitted: tuple[str, ...]
    axes: PlotAxes


def convergence(entries: Sequence[PartEntry], item: Detection, traces: FitTraces) -> Convergence | None:
    """The plots of a detection; None where no fit was recorded."""
    if not traces:
        return None
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
    first, width = x + unit * _GAP / 2, (len(stage.zncc) - 1 + _GAP) * unit
    points = tuple((first + k * unit, _y(value)) for k, value in enumerate(stage.zncc))
    return PlotLevel(_label(stage), x, width, shaded, points)


def _label(stage: TraceStage) -> str:
    """Its resolution."""
    return "full size" if stage.scale <= 1 else f"1/{stage.scale:.3g}"


def _notes(trace: FitTrace, rounds: int) -> list[str]:
    """Sentences: the number of rounds, and whatever was unusual."""
    notes = [f"{rounds} round{'' if rounds == 1 else 's'}."]
    if not trace.from_search:
        notes.append("Located from the other parts, so the plot starts at the detected pose.")
    return notes


def _y(zncc: float) -> float:
    """Logarithmic in 1 − ZNCC: equal distances are equal ratios of what is left to gain. On a linear axis
    everything between 0.9 and 1, where fits end, would be one line."""
    loss = min(max(1 - zncc, _MIN_LOSS), _MAX_LOSS)
    return _TOP + math.log(loss / _MIN_LOSS) * _PER_NAT


AXES = PlotAxes(
    _WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM, tuple(Tick(f"{zncc:g}", _y(zncc)) for zncc in _TICKS)
)
"""The same in all plots, so that the page draws the grid once."""

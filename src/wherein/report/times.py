"""Run times in the report: a bar below each scene, and a summary of all scenes."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wherein.report.stopwatch import SEARCH


@dataclass(frozen=True)
class SceneTimes:
    """The times of one scene.

    Attributes:
        anchor: the anchor of the scene in the page.
        name: the name of the scene.
        laps: the seconds of each step; `SEARCH` is always included.
    """

    anchor: str
    name: str
    laps: Mapping[str, float]


@dataclass(frozen=True)
class Lap:
    """One step of the work on a scene: its seconds, and its share of the total from 0 to 1."""

    step: str
    seconds: float
    share: float


@dataclass(frozen=True)
class StepSummary:
    """The times of one step over all scenes that had it, in seconds.

    Attributes:
        step: the name of the step.
        median: the median over the scenes.
        maximum: the maximum over the scenes.
        total: the sum over the scenes.
        slowest: the scene with the maximum.
    """

    step: str
    median: float
    maximum: float
    total: float
    slowest: SceneTimes


@dataclass(frozen=True)
class TimeSummary:
    """The times of all steps over all scenes.

    Attributes:
        scenes: the number of scenes.
        search: the step that every scene has.
        steps: all steps, in the order in which they were first measured.
    """

    scenes: int
    search: StepSummary
    steps: tuple[StepSummary, ...]


def laps_of(laps: Mapping[str, float]) -> tuple[Lap, ...]:
    """The steps of one scene with their shares."""
    total = sum(laps.values())
    return tuple(Lap(step, took, took / total if total > 0 else 0.0) for step, took in laps.items())


def summarize(scenes: Sequence[SceneTimes]) -> TimeSummary | None:
    """Median, maximum and total of every step; None if there are no scenes."""
    if not scenes:
        return None
    # A dict instead of a set keeps the order in which the steps first occur.
    steps = dict.fromkeys(step for scene in scenes for step in scene.laps)
    summaries = {step: _summary(step, [scene for scene in scenes if step in scene.laps]) for step in steps}
    return TimeSummary(len(scenes), summaries[SEARCH], tuple(summaries.values()))


def _summary(step: str, scenes: Sequence[SceneTimes]) -> StepSummary:
    took = [scene.laps[step] for scene in scenes]
    slowest = max(scenes, key=lambda scene: scene.laps[step])
    return StepSummary(step, statistics.median(took), max(took), sum(took), slowest)

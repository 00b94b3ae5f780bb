"""The suite "detection": quality, time compared with OpenCV, cold start, growth, determinism."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import cold, determinism, growth, photographs, quality, speed
from benchmarks.measure import machine, set_threads
from benchmarks.registration import Settings, Step, silent
from benchmarks.report import FORMAT
from benchmarks.subjects import crab, describe_range
from benchmarks.workload import RANGES, Share, Workload


@dataclass(frozen=True)
class Section:
    """A section of the suite; its weight is roughly its share of the time."""

    name: str
    measure: Callable[[Workload, Share], dict[str, Any]]
    weight: float


SECTIONS = (
    Section("quality", quality.measure, 0.65),
    Section("speed", speed.measure, 0.2),
    Section("cold start", cold.measure, 0.03),
    Section("growth", growth.measure, 0.07),
    Section("determinism", determinism.measure, 0.05),
)


def run(
    settings: Settings,
    step: Step = silent,
    sections: Sequence[Section] = SECTIONS,
    work: Workload | None = None,
) -> dict[str, Any]:
    """Measure every section; `step` is called with the progress."""
    set_threads(settings.threads)
    at = machine(settings.threads)  # first, so that the recorded load is the one before the run
    work = work or Workload.of(settings)
    made, done, whole = [], 0.0, sum(section.weight for section in sections)
    for section in sections:
        made.append(section.measure(work, _progress(section, step, done / whole, section.weight / whole)))
        done += section.weight
    return {
        "format": FORMAT,
        "suite": "detection",
        "command": "python -m benchmarks detection" + (" --quick" if settings.quick else ""),
        "settings": asdict(settings) | {"counts": asdict(work.counts), "ranges": _ranges()},
        "machine": at,
        "data": {"photographs": photographs.names(), "missing": _missing(settings)},
        "sections": made,
    }


def _progress(section: Section, step: Step, before: float, weight: float) -> Share:
    """A callback that converts the progress of a section to that of the suite."""
    return lambda share: step(section.name, before + weight * share)


def _ranges() -> list[str]:
    return [f"every rotation, {describe_range(ranges)}" for ranges in RANGES]


def _missing(settings: Settings) -> list[str]:
    notes = list(photographs.missing())
    if crab() is None:
        notes.append(
            "no ../shared: the robot is used instead of the crab, and the shared scenes are left out"
        )
    if settings.quick:
        notes.append("quick: calibrated on fewer scenes and at fixed scale only; no sweep over scales")
    return notes

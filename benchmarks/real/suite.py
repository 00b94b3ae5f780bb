"""The suite "real": its sections, all of which or some of which are run."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.measure import machine, set_threads
from benchmarks.real import coins, gauge, industrial, needles, oxford, pairs, screens, silhouettes, stamps
from benchmarks.real.common import MissingDataError, Plan
from benchmarks.registration import Settings, Step, silent
from benchmarks.report import FORMAT
from benchmarks.workload import Share


@dataclass(frozen=True)
class Section:
    """A section of the suite; its weight is roughly its share of the time."""

    measure: Callable[[Plan, Share], dict[str, Any]]
    weight: float


SECTIONS = {
    "gauge": Section(gauge.measure, 0.2),
    "pairs": Section(pairs.measure, 0.08),
    "oxford": Section(oxford.measure, 0.04),
    "coins": Section(coins.measure, 0.04),
    "industrial": Section(industrial.measure, 0.06),
    "stamps": Section(stamps.measure, 0.36),
    "silhouettes": Section(silhouettes.measure, 0.15),
    "needles": Section(needles.measure, 0.07),
    "screens": Section(screens.measure, 0.1),
}


def run(
    settings: Settings,
    step: Step = silent,
    names: Sequence[str] = tuple(SECTIONS),
    plan: Plan | None = None,
) -> dict[str, Any]:
    """Measure the named sections; `step` is called with the progress.

    A section whose pictures are missing, or which fails, is omitted; the report contains the reason.
    """
    set_threads(settings.threads)
    at = machine(settings.threads)  # first, so that the recorded load is the one before the run
    plan = plan or Plan.of(settings)
    made, missing, done, whole = [], [], 0.0, sum(SECTIONS[name].weight for name in names)
    for name in names:
        section = SECTIONS[name]
        progress = _progress(name, step, done / whole, section.weight / whole)
        try:
            made.append(section.measure(plan, progress))
        except MissingDataError as reason:
            missing.append(f"{name}: {reason}")
        except Exception as error:  # the other sections take long: they are measured all the same
            traceback.print_exc()
            missing.append(f"{name}: failed with {type(error).__name__}: {error}")
        done += section.weight
    return {
        "format": FORMAT,
        "suite": _suite(names),
        "command": _command(settings, names),
        "settings": asdict(settings) | {"counts": asdict(plan.counts)},
        "machine": at,
        "data": {"missing": missing + _notes(settings)},
        "sections": made,
    }


def _progress(name: str, step: Step, before: float, weight: float) -> Share:
    """A callback that converts the progress of a section to that of the suite."""
    return lambda share: step(f"real: {name}", before + weight * share)


def _suite(names: Sequence[str]) -> str:
    """The name of the files; that of some sections differs, to keep the results of all sections."""
    return "real" if list(names) == list(SECTIONS) else "_".join(["real", *names])


def _command(settings: Settings, names: Sequence[str]) -> str:
    some = [] if list(names) == list(SECTIONS) else ["--sections", ",".join(names)]
    return " ".join(["python -m benchmarks real", *some, *(["--quick"] if settings.quick else [])])


def _notes(settings: Settings) -> list[str]:
    return ["quick: a few pictures of each kind, calibrated on fewer scenes"] if settings.quick else []

"""`python -m benchmarks [SUITE …] [--quick] [--sections a,b] [--out results]`.

Tables are printed on standard output, progress on standard error. JSON and Markdown are written to the
folder.
"""

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks import busy, detection, giant, library, matcher, registration, sections, video
from benchmarks.many import faults, soak, throughput
from benchmarks.real import suite as real
from benchmarks.registration import Settings
from benchmarks.report import write

SUITES = {
    "registration": registration.run,
    "detection": detection.run,
    "real": real.run,
    "library": library.run,
    "matcher": matcher.run,
    "busy": busy.run,
    "scale": throughput.run,
    "faults": faults.run,
    "soak": soak.run,
    "video": video.run,
    "giant": giant.run,
}
ON_DEMAND = ("faults", "soak")  # they measure no speed and take long: they run only if they are named
_in_sections = partial(write, text=sections.markdown, table=sections.terminal)
WRITERS = {suite: _in_sections for suite in SUITES if suite != "registration"}


def main(arguments: list[str] | None = None) -> None:
    """Run the given suites; without any, all but those on demand."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if unknown := [suite for suite in asked.suites if suite not in SUITES]:
        parser.error(f"unknown suite {', '.join(unknown)}: the suites are {', '.join(SUITES)}")
    if unknown := [name for name in asked.sections or () if name not in real.SECTIONS]:
        parser.error(f"unknown section {', '.join(unknown)}: the sections are {', '.join(real.SECTIONS)}")
    if asked.sections and asked.suites != ["real"]:
        parser.error("--sections is for the suite real: python -m benchmarks real --sections gauge,pairs")
    settings = Settings(seed=asked.seed, quick=asked.quick, threads=asked.threads)
    messages = Console(stderr=True)
    for suite in asked.suites or [suite for suite in SUITES if suite not in ON_DEMAND]:
        some = {"names": asked.sections} if asked.sections else {}
        if suite == "soak":
            some = {"scenes": asked.scenes, "minutes": asked.minutes}
        report = _measured(suite, settings, messages, some)
        for file in WRITERS.get(suite, write)(report, asked.out, _wide(Console())):
            messages.print(f"wrote {file}")


def _measured(suite: str, settings: Settings, messages: Console, some: dict[str, Any]) -> dict[str, Any]:
    """Run one suite with a progress bar; returns its report."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=messages) as progress:
        bar = progress.add_task(suite, total=1.0)
        report = SUITES[suite](
            settings, lambda name, done: progress.update(bar, description=name, completed=done), **some
        )
        progress.update(bar, description=suite, completed=1.0)
    return report


def _wide(console: Console) -> Console:
    """The console; if the output is not a terminal, at least 120 columns wide, so that tables fit."""
    return console if console.is_terminal else Console(width=max(console.width, 120))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure wherein and its peers."
    )
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="suite",
        help=f"{', '.join(SUITES)}; default: all but {' and '.join(ON_DEMAND)}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="only a few problems of each kind, in under a minute"
    )
    parser.add_argument(
        "--sections",
        type=lambda text: text.split(","),
        help=f"only these of the suite real, separated by commas: {', '.join(real.SECTIONS)}",
    )
    parser.add_argument("--scenes", type=int, help="number of scenes of the suite soak")
    parser.add_argument("--minutes", type=float, help="duration of its threads")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for JSON and Markdown")
    parser.add_argument("--seed", type=int, default=0)
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    parser.add_argument("--threads", type=int, default=threads, help="number of threads of torch and OpenCV")
    return parser


if __name__ == "__main__":
    main()

"""`python -m benchmarks [SUITE …] [--quick] [--out results]`.

Tables go to standard output, progress to standard error, JSON and Markdown to the folder.
"""

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks import detection, registration, sections
from benchmarks.registration import Settings
from benchmarks.report import write

SUITES = {"registration": registration.run, "detection": detection.run}
WRITERS = {"detection": partial(write, text=sections.markdown, table=sections.terminal)}


def main(arguments: list[str] | None = None) -> None:
    """Run the given suites, or all of them."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if unknown := [suite for suite in asked.suites if suite not in SUITES]:
        parser.error(f"unknown suite {', '.join(unknown)}: the suites are {', '.join(SUITES)}")
    settings = Settings(seed=asked.seed, quick=asked.quick, threads=asked.threads)
    messages = Console(stderr=True)
    for suite in asked.suites or SUITES:
        report = _measured(suite, settings, messages)
        for file in WRITERS.get(suite, write)(report, asked.out, _wide(Console())):
            messages.print(f"wrote {file}")


def _measured(suite: str, settings: Settings, messages: Console) -> dict[str, Any]:
    """The report of one suite; shows a progress bar while it runs."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=messages) as progress:
        bar = progress.add_task(suite, total=1.0)
        report = SUITES[suite](
            settings, lambda name, done: progress.update(bar, description=name, completed=done)
        )
        progress.update(bar, description=suite, completed=1.0)
    return report


def _wide(console: Console) -> Console:
    """A console at least 120 columns wide if the output is not a terminal, so that the table fits."""
    return console if console.is_terminal else Console(width=max(console.width, 120))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure wherein and its peers."
    )
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"{', '.join(SUITES)}; default: all")
    parser.add_argument(
        "--quick", action="store_true", help="only a few problems of each kind, in under a minute"
    )
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder for JSON and Markdown")
    parser.add_argument("--seed", type=int, default=0)
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    parser.add_argument("--threads", type=int, default=threads, help="number of threads of torch and OpenCV")
    return parser


if __name__ == "__main__":
    main()

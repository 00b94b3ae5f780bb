"""The suite "busy": the slowdown of `register` and `detect` while another process uses a core.

If threads wait for each other, and one of them does not get a core, the slowdown is a factor of five, and not
of two.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from statistics import median
from time import perf_counter, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import photographs, scenes
from benchmarks.measure import machine, set_threads
from benchmarks.methods import METHODS, attempt
from benchmarks.registration import Settings, Step, silent
from benchmarks.report import FORMAT
from benchmarks.scenes import Problem
from benchmarks.subjects import DEFAULTS, FIXED, Calibrations, timed_subject
from benchmarks.workload import Workload, aim, levels, section

SLOWER = 1.5  # maximum slowdown beside a busy process
AWAKE = 0.1  # s, after which the busy process certainly runs
ABOUT = (
    "Each problem is solved alone and beside a process that never waits, alternately; medians over the "
    "problems. OpenCV's ECC and a Python loop that adds numbers show the slowdown of the machine itself: two "
    "of its cores may be the same physical core."
)
COLUMNS = (
    ("what", "what", "text"),
    ("problems", "problems", "number"),
    ("alone ms", "alone", "ms"),
    ("beside ms", "beside", "ms"),
    ("ratio", "ratio", "number"),
)
LOOP = 200_000  # additions, which take about as long as a registration


@contextmanager
def busy_process(busy: bool = True) -> Iterator[None]:
    """Run a process that never waits during the block, if `busy`."""
    if not busy:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        sleep(AWAKE)
        yield
    finally:
        process.kill()
        process.wait()


def run(settings: Settings, step: Step = silent) -> dict[str, Any]:
    """Measure everything; `step` is called with the progress."""
    set_threads(settings.threads)
    at = machine(settings.threads)
    subjects = list(_subjects(settings))
    rows = []
    for number, (what, calls) in enumerate(subjects):
        step(f"busy: {what}", number / len(subjects))
        rows.append(_row(what, calls))
    targets = [
        aim(f"{row['what']}: times as long", "<=", SLOWER, row["ratio"])
        for row in rows
        if str(row["what"]).startswith("register")
    ]
    return {
        "format": FORMAT,
        "suite": "busy",
        "command": "python -m benchmarks busy" + (" --quick" if settings.quick else ""),
        "settings": asdict(settings),
        "machine": at,
        "data": {"missing": list(photographs.missing())},
        "sections": [section("beside a busy process", ABOUT, COLUMNS, rows=rows, targets=targets)],
    }


def _subjects(settings: Settings) -> Iterator[tuple[str, Sequence[Callable[[], Any]]]]:
    """The name of each subject, and the calls that are timed, one for each problem."""
    count = 3 if settings.quick else 30
    moved = list(scenes.figure1("euclidean", "photographs", count, settings.seed))
    near = list(scenes.subpixel(count=count, seed=settings.seed))
    turned = [_in_other_light(problem) for problem in moved]
    for what, problems in (("with a start", near), ("without a start", moved), ("in other light", turned)):
        yield f"register, {what}", [partial(attempt, METHODS["wherein"], problem) for problem in problems]
    if METHODS["ECC"].missing() is None:
        yield "ECC, with a start", [partial(attempt, METHODS["ECC"], problem) for problem in near]
    template, work = timed_subject(), Workload.of(settings)
    for name, searched in (("fixed size", FIXED), ("by defaults", DEFAULTS)):
        detector = Calibrations(settings.quick).detector(template, searched, settings.threads)
        pictures = [levels(work.scene(template, "plain", k, searched).picture) for k in range(count)]
        yield f"detect, {name}", [partial(detector, picture) for picture in pictures]
    yield "a loop of Python", [partial(sum, range(LOOP))] * count


def _in_other_light(problem: Problem) -> Problem:
    """The same problem with an inverted scene: colours do not match, so that the search by gradients runs."""
    return Problem(**{**vars(problem), "scene": _inverted(problem.scene)})


def _inverted(scene: NDArray[Any]) -> NDArray[Any]:
    return np.iinfo(scene.dtype).max - scene if scene.dtype.kind == "u" else 1 - scene


def _row(what: str, calls: Sequence[Callable[[], Any]]) -> dict[str, Any]:
    calls[0]()  # not timed: the first call loads libraries and compiles
    alone, beside = [], []
    for call in calls:
        alone.append(_seconds(call))
        with busy_process():
            beside.append(_seconds(call))
    return {
        "what": what,
        "problems": len(calls),
        "alone": median(alone),
        "beside": median(beside),
        "ratio": median(beside) / median(alone),
    }


def _seconds(call: Callable[[], Any]) -> float:
    began = perf_counter()
    call()
    return perf_counter() - began

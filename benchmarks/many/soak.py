"""The suite "soak": the memory over thousands of scenes, and detectors shared by threads for minutes."""

import re
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.determinism import json_of
from benchmarks.many.files import suite_report
from benchmarks.registration import Settings, Step, silent
from benchmarks.subjects import FIXED, bodiless, timed_subject
from benchmarks.workload import Workload, aim, levels, section
from wherein.detect import Detector

SCENES, MINUTES = 2000, 10.0
WARM = 100  # scenes before the first measurement of the memory: caches are full then
GROWTH = 1.05
THREADS = 4
KINDS = ("plain", "noise", "covered", "empty")
ABOUT_MEMORY = (
    "One process and one detector, scenes of four kinds in turn, read as arrays: resident memory after the "
    "first hundred scenes and after the last."
)
MEMORY_COLUMNS = (
    ("scenes", "scenes", "text"),
    ("MB after the first 100", "before", "number"),
    ("MB after the last", "after", "number"),
    ("ratio", "ratio", "number"),
)
ABOUT_THREADS = (
    "Two detectors in four threads: each thread searches with both in turn. The JSON of every scene is "
    "compared with that of the same scene searched alone."
)
THREAD_COLUMNS = (
    ("minutes", "minutes", "number"),
    ("searches", "searches", "text"),
    ("same JSON", "same", "of searches"),
    ("errors", "errors", "text"),
)


def run(
    settings: Settings, step: Step = silent, scenes: int | None = None, minutes: float | None = None
) -> dict[str, Any]:
    """Measure the memory and the shared detectors.

    Arguments:
        settings: the settings of the run; quick: 150 scenes and 6 seconds.
        step: called with the progress.
        scenes: number of scenes that are searched in one process.
        minutes: duration of the searches by threads.
    """
    scenes = scenes or (150 if settings.quick else SCENES)
    minutes = minutes or (0.1 if settings.quick else MINUTES)
    work = Workload.of(settings)
    step("soak: memory", 0.0)
    memory = _memory(work, scenes, lambda done: step("soak: memory", done / 2))
    step("soak: threads", 0.5)
    shared = _threads(work, minutes)
    return suite_report("soak", settings, [memory, shared], scenes=scenes, minutes=minutes)


def _memory(work: Workload, scenes: int, share: Any) -> dict[str, Any]:
    template = timed_subject()
    detector = work.calibrations.detector(template, FIXED, work.settings.threads)
    pictures = _pictures(work, template)
    before = _resident()
    for k in range(scenes):
        detector(pictures[k % len(pictures)])
        if k + 1 == min(WARM, scenes):
            before = _resident()
        share(k / scenes)
    after = _resident()
    row = {"scenes": scenes, "before": before, "after": after, "ratio": after / before}
    target = aim("memory at the end / after the first 100 scenes", "<=", GROWTH, after / before)
    return section("memory", ABOUT_MEMORY, MEMORY_COLUMNS, rows=[row], targets=[target])


def _threads(work: Workload, minutes: float) -> dict[str, Any]:
    templates = [timed_subject(), bodiless(timed_subject())]
    detectors = [work.calibrations.detector(one, FIXED, 1) for one in templates]
    pictures = _pictures(work, templates[0])
    expected = [[json_of(detector, picture) for picture in pictures] for detector in detectors]
    until, counts = time.monotonic() + 60 * minutes, _Counts()
    threads = [
        threading.Thread(target=_search, args=(k, detectors, pictures, expected, until, counts))
        for k in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    row = {"minutes": minutes, "searches": counts.all, "same": counts.same, "errors": counts.errors}
    targets = [aim("share of searches with the same JSON", ">=", 1.0, counts.same / max(1, counts.all))]
    return section("threads", ABOUT_THREADS, THREAD_COLUMNS, rows=[row], targets=targets)


class _Counts:
    """Counts over all threads, protected by a lock."""

    def __init__(self) -> None:
        self.lock, self.all, self.same, self.errors = threading.Lock(), 0, 0, 0

    def add(self, same: bool, error: bool = False) -> None:
        with self.lock:
            self.all += 1
            self.same += same
            self.errors += error


def _search(
    first: int,
    detectors: list[Detector],
    pictures: list[Any],
    expected: list[list[str]],
    until: float,
    counts: _Counts,
) -> None:
    k = first
    while time.monotonic() < until:
        which, picture = k % len(detectors), k // len(detectors) % len(pictures)
        try:
            counts.add(json_of(detectors[which], pictures[picture]) == expected[which][picture])
        except Exception:
            counts.add(False, error=True)
        k += 1


def _pictures(work: Workload, template: Any) -> list[Any]:
    return [levels(work.scene(template, kind, k, FIXED).picture) for k in range(3) for kind in KINDS]


def _resident() -> float:
    """The resident memory of this process in MB."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0

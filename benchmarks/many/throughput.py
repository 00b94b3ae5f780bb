"""The suite "scale": scenes per second with one and two workers and on Ray; the overhead of the engine."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.many.files import HAS_RAY, Files, suite_report, timeless, written
from benchmarks.many.same_lines import compared
from benchmarks.registration import Settings, Step, silent
from benchmarks.workload import aim, section
from wherein.engine.manifest import Entry, SceneFile, Shard
from wherein.engine.processes import LocalWorkers
from wherein.engine.ray_workers import RayWorkers, ray_cluster
from wherein.engine.run_folder import write_shard
from wherein.engine.scene_events import SceneEvent, Unreadable
from wherein.engine.workers import Workers, supervised

SPEEDUP = 1.7  # minimum speed-up with two workers
ABOUT = (
    "`wherein detect` on many scenes, from the first line of the output to the last, hence without the start "
    "of Python, of workers and of Ray. Medians; the configurations alternate. Two workers on two cores have "
    "one thread each, so the speed-up is relative to one process with one thread. By default, one process "
    "has as many threads as cores."
)
COLUMNS = (
    ("who", "who", "text"),
    ("scenes", "scenes", "text"),
    ("ms a scene", "seconds", "ms"),
    ("times one thread", "speedup", "number"),
    ("same lines", "same", "text"),
)
ABOUT_COST = (
    "Shards of one scene, without any search: the overhead of the supervisor, the workers and the files of "
    "results per shard, and the time until the first shard is done."
)
COST_COLUMNS = (
    ("who", "who", "text"),
    ("shards", "shards", "text"),
    ("ms a shard", "seconds", "ms"),
    ("ms to start", "start", "ms"),
)
ONE, TWO, RAY = "one process, one thread", "two workers", "two workers of Ray"
WAYS: dict[str, tuple[list[str], dict[str, str]]] = {
    ONE: ([], {"OMP_NUM_THREADS": "1"}),
    "one process, default threads": ([], {}),
    TWO: (["--workers", "2"], {}),
    **({RAY: (["--workers", "2", "--engine", "ray"], {})} if HAS_RAY else {}),
}


def run(settings: Settings, step: Step = silent) -> dict[str, Any]:
    """Measure both sections; `step` is called with the progress."""
    scenes, repeats = (24, 1) if settings.quick else (480, 3)
    step("scale: scenes", 0.0)
    with written(settings, scenes) as files:
        taken: dict[str, list[tuple[float, str]]] = {who: [] for who in WAYS}
        for k in range(repeats):
            for number, (who, (options, variables)) in enumerate(WAYS.items()):
                step(f"scale: {who}", (k + number / len(WAYS)) / (repeats + 1))
                taken[who].append(_timed(files, options, {**os.environ, **variables}))
        same = compared(files, silent)
    step("scale: engine", repeats / (repeats + 1))
    costs = [_cost(who, workers, 50 if settings.quick else 500) for who, workers in _engines()]
    engine = section("engine", ABOUT_COST, COST_COLUMNS, rows=costs)
    return suite_report("scale", settings, [_throughput(taken, scenes), same, engine])


def _throughput(taken: dict[str, list[tuple[float, str]]], scenes: int) -> dict[str, Any]:
    seconds = {who: median(one for one, _ in runs) for who, runs in taken.items()}
    expected = taken[ONE][0][1]
    rows = [
        {
            "who": who,
            "scenes": scenes,
            "seconds": seconds[who],
            "speedup": seconds[ONE] / seconds[who],
            "same": "yes" if all(text == expected for _, text in runs) else "no",
        }
        for who, runs in taken.items()
    ]
    same = sum(row["same"] == "yes" for row in rows)
    targets = [
        aim("times as fast with two workers", ">=", SPEEDUP, seconds[ONE] / seconds[TWO]),
        aim(
            "times as fast with two workers of Ray",
            ">=",
            SPEEDUP,
            seconds[ONE] / seconds[RAY] if RAY in seconds else None,
        ),
        aim(f"ways with the same lines, of {len(rows)}", ">=", len(rows), same),
    ]
    return section("throughput", ABOUT, COLUMNS, rows=rows, targets=targets)


def _timed(files: Files, options: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """The seconds per scene after the first, and the lines of the output without their times."""
    process = subprocess.Popen(
        files.command(*options), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    lines = [process.stdout.readline()]
    began = perf_counter()
    for line in process.stdout:
        lines.append(line)
        ended = perf_counter()
    errors = process.stderr.read()
    if process.wait() or len(lines) != files.count:
        raise RuntimeError(f"wherein detect did not run as expected: {errors}")
    return (ended - began) / (files.count - 1), timeless("".join(lines))


@dataclass(frozen=True)
class Nothing:
    """A job that writes an empty result for each scene."""

    folder: Path

    def __call__(self) -> Callable[[Shard], None]:
        return self._write

    def _write(self, shard: Shard) -> None:
        write_shard(self.folder, shard, _nothing)


def _nothing(_: Entry) -> list[SceneEvent]:
    return [Unreadable("nothing was done")]


def _engines() -> Iterator[tuple[str, Callable[[Nothing], Workers]]]:
    """Each engine with two workers; the Ray cluster is stopped when the iteration continues."""
    yield TWO, LocalWorkers
    if not HAS_RAY:
        return
    with ray_cluster(None, cpus=2):
        yield RAY, RayWorkers


def _cost(who: str, workers: Callable[[Nothing], Workers], count: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "shards").mkdir()
        shards = [Shard((Entry(k, SceneFile(Path(f"{k}.png")), key=str(k)),)) for k in range(count)]
        began = perf_counter()
        times = [perf_counter() for _ in supervised(workers(Nothing(Path(name))), shards, 2)]
    return {
        "who": who,
        "shards": count,
        "seconds": (times[-1] - times[0]) / (count - 1),
        "start": times[0] - began,
    }

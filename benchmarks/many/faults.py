"""The suite "faults": runs that are killed in several ways, and whether their results are complete and equal.

Each row is a run of `wherein detect`, with workers or on Ray, that is disturbed while it works. Its lines are
compared with those of a single process that was not disturbed.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.many.files import HAS_RAY, Files, finished, suite_report, timeless, written
from benchmarks.ray_nodes import ray_nodes
from benchmarks.registration import Settings, Step, silent
from benchmarks.workload import aim, section

ABOUT = (
    "The lines that the disturbed run has printed in the end are compared, without the times, with those of "
    "a single process that was not disturbed. A run that was killed as a whole was continued by the same "
    "command."
)
COLUMNS = (
    ("what happened", "what", "text"),
    ("scenes", "scenes", "text"),
    ("kills", "kills", "text"),
    ("lines", "lines", "text"),
    ("identical", "same", "of scenes"),
)
TIMEOUT = 600  # s


@dataclass
class Trial:
    """A run to be disturbed.

    Attributes:
        files: the template and the scenes.
        folder: the folder of the run.
        random: determines the times of the disturbances.
        kills: the number of disturbances so far.
    """

    files: Files
    folder: Path
    random: random.Random
    kills: int = 0

    @property
    def printed(self) -> Path:
        """The file with the output of the last run. A pipe would fill, since nothing reads it meanwhile."""
        return self.folder.with_suffix(".jsonl")

    def start(self, *options: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start the command; in an existing folder, it continues the run."""
        command = self.files.command("--resume", self.folder, *options)
        with self.printed.open("w") as file:
            return subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL, env=environment)

    def end(self, process: subprocess.Popen[bytes]) -> str:
        """Wait until a run ends by itself; returns its output."""
        process.wait(TIMEOUT)
        return self.printed.read_text()

    def wait(self, process: subprocess.Popen[bytes], count: int) -> bool:
        """Wait until `count` shards are finished; returns False if the run ends before."""
        until = time.monotonic() + TIMEOUT
        while finished(self.folder) < count:
            if process.poll() is not None:
                return False
            if time.monotonic() > until:
                raise RuntimeError("the run does not go on")
            time.sleep(0.02)
        return True


def run(settings: Settings, step: Step = silent) -> dict[str, Any]:
    """Disturb one run after the other; `step` is called with the progress."""
    scenes, kills = (30, 3) if settings.quick else (200, 20)
    step("faults: scenes", 0.0)
    with written(settings, scenes) as files:
        expected = timeless(files.output()).splitlines()
        rows = []
        for number, (what, disturb) in enumerate(_WAYS.items()):
            step(f"faults: {what}", (number + 1) / (len(_WAYS) + 1))
            trial = Trial(files, files.root / f"run{number}", random.Random(settings.seed + number))
            lines = timeless(disturb(trial, kills)).splitlines()
            same = sum(one == other for one, other in zip(lines, expected, strict=False))
            rows.append(
                {"what": what, "scenes": scenes, "kills": trial.kills, "lines": len(lines), "same": same}
            )
    right = sum(row["lines"] == row["same"] == scenes for row in rows)
    targets = [aim(f"runs with every line once, of {len(rows)}", ">=", len(rows), right)]
    return suite_report("faults", settings, [section("faults", ABOUT, COLUMNS, rows=rows, targets=targets)])


def kill_workers(trial: Trial, kills: int) -> str:
    """Kill workers, one at a time, in the first four fifths of the run.

    Not at its end, where the scenes of killed workers are tried again: a second failure would be reported.
    """
    process = trial.start("--workers", "2")
    for k in range(kills):
        if not trial.wait(process, 1 + int(0.8 * trial.files.count * k / kills)):
            break
        workers = _children(process.pid)[1:]  # the first child is the resource tracker of multiprocessing
        if workers:
            os.kill(trial.random.choice(workers), signal.SIGKILL)
            trial.kills += 1
    return trial.end(process)


def kill_runs(trial: Trial, kills: int) -> str:
    """Kill the whole run at random times, and continue it; it may be finished before the last kill."""
    for _ in range(kills):
        process = trial.start("--workers", "2")
        there = finished(trial.folder)
        left = trial.files.count - there
        if trial.wait(process, there + 1):
            time.sleep(trial.random.uniform(0, 0.5))
        process.kill()
        process.wait()
        trial.kills += 1
        if left <= 1:
            break
    return trial.end(trial.start("--workers", "2"))


def lose_node(trial: Trial, kills: int) -> str:
    """Kill one of two nodes of a Ray cluster in the middle of the run."""
    with ray_nodes() as nodes:
        where = ("--engine", "ray", "--address", nodes.address)
        process = trial.start(*where, environment=nodes.environment)
        if trial.wait(process, trial.files.count // 3):
            nodes.kill_node()
            trial.kills += 1
        return trial.end(process)


def kill_ray_run(trial: Trial, kills: int) -> str:
    """Kill a run with its own Ray cluster, and continue it."""
    process = trial.start("--engine", "ray", "--workers", "2")
    if trial.wait(process, trial.files.count // 3):
        process.kill()
        trial.kills += 1
    process.wait()
    return trial.end(trial.start("--engine", "ray", "--workers", "2"))


_WAYS: dict[str, Callable[[Trial, int], str]] = {
    "workers killed": kill_workers,
    "all killed, continued": kill_runs,
    **({"a node of Ray lost": lose_node, "all killed on Ray, continued": kill_ray_run} if HAS_RAY else {}),
}


def _children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []

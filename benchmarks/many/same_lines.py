"""Scale, 2: whether the output is the same to the byte, however the scenes are distributed."""

import os
from collections.abc import Callable
from typing import Any

from benchmarks.many.files import HAS_RAY, Files, timeless
from benchmarks.registration import Step
from benchmarks.workload import aim, section

ABOUT = (
    "The lines of `wherein detect` without their seconds, compared byte by byte with those of one process "
    "with one thread."
)
COLUMNS = (("how", "how", "text"), ("scenes", "scenes", "text"), ("the same", "same", "of scenes"))
PARTS = 3


def _threads(files: Files) -> str:
    return files.output(environment={**os.environ, "OMP_NUM_THREADS": "2"})


def _parts(files: Files) -> str:
    return "".join(files.output("--shard", f"{k}/{PARTS}") for k in range(1, PARTS + 1))


def _continued(files: Files) -> str:
    kept = ("--resume", files.root / "run")
    files.output("--shard", f"2/{PARTS}", *kept)
    return files.output("--workers", "2", *kept)


WAYS: dict[str, Callable[[Files], str]] = {
    "two threads": _threads,
    "three workers": lambda files: files.output("--workers", "3"),
    "three parts (--shard)": _parts,
    "continued (--resume), two workers": _continued,
}
if HAS_RAY:
    WAYS["three workers of Ray"] = lambda files: files.output("--workers", "3", "--engine", "ray")


def compared(files: Files, step: Step) -> dict[str, Any]:
    """Search the scenes in every way, and compare the lines with those of one thread."""
    expected = _lines(files.output(environment={**os.environ, "OMP_NUM_THREADS": "1"}))
    rows = []
    for number, (how, search) in enumerate(WAYS.items()):
        step(f"scale: {how}", number / len(WAYS))
        lines = _lines(search(files))
        same = len(lines) == len(expected) and sum(map(str.__eq__, lines, expected))
        rows.append({"how": how, "scenes": files.count, "same": int(same)})
    right = sum(row["same"] == files.count for row in rows)
    targets = [aim(f"ways with the same lines, of {len(rows)}", ">=", len(rows), right)]
    return section("determinism", ABOUT, COLUMNS, rows=rows, targets=targets)


def _lines(text: str) -> list[str]:
    return timeless(text).splitlines()

"""Helpers for tests of runs with workers: compare results, and wait for other processes."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROGRAM = [sys.executable, "-c", "from wherein.cli.main import main; main()"]
FIXED = ["--rotation", "0", "--scale", "1", "1", "--tilt", "0"]
"""Options for which the template `toy` has a calibration (`detecting.write_template`)."""


def timeless(text: str) -> str:
    """Output without durations, which differ from run to run."""
    return re.sub(r'"seconds": [0-9.]+|[0-9.]+ frames per second', "", text)


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their names."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def finished(run: Path) -> int:
    """The number of finished shards of a run."""
    shards = run / "shards"
    return len(list(shards.glob("[!.]*.jsonl"))) if shards.exists() else 0


def started(*words: str | Path, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """Start the program with these arguments."""
    command = [*PROGRAM, *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds, for two minutes at most."""
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.01)

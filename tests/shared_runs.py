"""Shared by tests of runs with workers: comparing results, and waiting for what other processes do."""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PROGRAM = [sys.executable, "-c", "from wherein.cli.main import main; main()"]
FIXED = ["--rotation", "0", "--scale", "1", "1", "--tilt", "0"]
"""For which the template `toy` has a calibration."""


def timeless(text: str) -> str:
    """Lines without what differs from run to run: seconds."""
    return re.sub(r'"seconds": [0-9.]+|[0-9.]+ frames per second', "", text)


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their names."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def finished(run: Path) -> int:
    """How many shards of a run are finished."""
    shards = run / "shards"
    return len(list(shards.glob("[!.]*.jsonl"))) if shards.exists() else 0


def started(*words: str | Path, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """The program with these words."""
    command = [*PROGRAM, *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until it holds, but not for ever."""
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.01)

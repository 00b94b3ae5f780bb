"""Worker process: runs cases of a target with limits of memory and time, and writes a journal for `runner`.

If a case kills the process, the last line of the journal has the number of that case.
"""

import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from random import Random

from tools.fuzz import seeds
from tools.fuzz.targets import TARGETS, Target
from tools.fuzz.watch import Watch
from wherein.errors import WhereinError
from wherein.native import kernel

MAX_CPU_SECONDS, MAX_SECONDS = 10, 120
"""Processor time and wall time after which a case counts as hanging. The wall time is longer, since it also
passes while the machine is busy with other work. Choices: the slowest cases take a second."""

MAX_MEMORY = 1 << 30
"""Maximum number of bytes that a case may allocate, beyond the memory of the process after its start. A
choice: pictures of a million pixels take tens of megabytes."""

_MAX_MESSAGE = 3000
"""Maximum number of characters of an error message. A choice: a longer one repeats its input."""


def main(target: str, seed: int, first: int, last: int, deadline: float, folder: Path) -> None:
    """Run the cases `first` to `last` − 1, until the time `deadline`, and note each outcome."""
    kernel.available()  # compiled now if necessary: a compiler started by a case would be a finding
    folder = folder.resolve()
    for name in ("case", "tmp", "home"):
        (folder / name).mkdir(exist_ok=True)
    os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = str(folder / "home")
    tempfile.tempdir = str(folder / "tmp")
    _prepare(TARGETS[target], folder / "case", seed)
    _limit_memory()
    watch = Watch(folder, "secret.png")
    faulthandler.enable()
    faulthandler.register(
        signal.SIGPROF, chain=True
    )  # prints the traceback, then the signal ends the process
    with (folder / "journal").open("a", buffering=1, encoding="utf-8") as journal:
        for number in range(first, last):
            if time.time() > deadline:
                break
            journal.write(f"{number} begin\n")
            faulthandler.dump_traceback_later(MAX_SECONDS, exit=True)
            signal.setitimer(signal.ITIMER_PROF, MAX_CPU_SECONDS)
            outcome = run_case(TARGETS[target], seed, target, number, folder, watch)
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
            journal.write(f"{number} {json.dumps(outcome)}\n")


def run_case(
    target: Target, seed: int, name: str, number: int, folder: Path, watch: Watch | None = None
) -> dict[str, str]:
    """The result of one case: "outcome" is accepted, refused or finding; a finding has "what" and "where"."""
    case, temporary = folder / "case", folder / "tmp"
    for made in (case, folder / "home"):
        shutil.rmtree(made)
        made.mkdir()
    (case / "secret.png").write_bytes(seeds.pictures()[0])
    try:
        accepted = target(Random(f"{seed}/{name}/{number}"), case)
        found = {"outcome": "accepted" if accepted else "refused"}
    except WhereinError as error:
        found = _refused(error)
    except BaseException as error:  # any other exception is a finding, MemoryError included
        found = _finding(f"{type(error).__name__}: {error!s:.300}", _place(error))
    if watch is not None and watch.seen:
        found = _finding("; ".join(watch.seen)[:500], "watched")
        watch.seen.clear()
    left = [path.name for path in temporary.iterdir()]
    if left:
        found = _finding(f"left behind: {', '.join(left)[:200]}", "temporary folder")
        shutil.rmtree(temporary)
        temporary.mkdir()
    return found


def _refused(error: WhereinError) -> dict[str, str]:
    message = str(error)
    if not message.strip() or len(message) > _MAX_MESSAGE or "Traceback" in message:
        return _finding(f"unclear error: {message!r:.300}", _place(error))
    return {"outcome": "refused"}


def _finding(what: str, where: str) -> dict[str, str]:
    return {"outcome": "finding", "what": what, "where": where}


def _place(error: BaseException) -> str:
    """The last line of a traceback that is in the package; it identifies a finding."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/wherein/" in frame.filename] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno} in {own[-1].name}" if own else ""


def _prepare(target: Target, case: Path, seed: int) -> None:
    """Run a few cases without limits, so that all modules are imported and all caches are filled."""
    # Otherwise the first case would be charged for the memory and time of the imports.
    for number in range(5):
        with suppress(Exception):
            target(Random(f"warm/{seed}/{number}"), case)
        shutil.rmtree(case)
        case.mkdir()


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MAX_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    name, seed, first, last, deadline, folder = sys.argv[1:]
    main(name, int(seed), int(first), int(last), float(deadline), Path(folder))

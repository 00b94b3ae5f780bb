"""Run the cases of a target in worker processes, and collect what they find."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]

_TAIL = 1500
"""Characters of a worker's standard error that a finding has."""


@dataclass(frozen=True)
class Finding:
    """Something that no input may cause.

    Attributes:
        case: its number.
        what: happened.
        where: in the source.
    """

    case: int
    what: str
    where: str


@dataclass
class Tally:
    """What came of the cases of a target.

    Attributes:
        outcomes: how many were accepted, refused or a finding.
        findings: each of them.
        seconds: that they took.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """How many were run."""
        return self.outcomes.total()

    def note(self, case: int, outcome: dict[str, str]) -> None:
        """Count an outcome."""
        self.outcomes[outcome["outcome"]] += 1
        if outcome["outcome"] == "finding":
            self.findings.append(Finding(case, outcome["what"], outcome["where"]))


def fuzz(target: str, seed: int, first: int, count: int, seconds: float) -> Tally:
    """Run cases of a target until `count` are done or the time is over.

    A worker that is killed by a case is replaced by another, which goes on with the next case.
    """
    tally, began, number = Tally(), time.time(), first
    while number < first + count and time.time() < began + seconds:
        with tempfile.TemporaryDirectory(prefix="wherein-fuzz-") as folder:
            errors = _work(target, seed, number, first + count, began + seconds, Path(folder))
            last = _read_journal(Path(folder) / "journal", tally)
        if last is None:  # the worker ended by itself: all is done, or it could not begin
            if not tally.cases:
                raise RuntimeError(f"the worker did not start: {errors}")
            break
        tally.note(last, {"outcome": "finding", "what": f"the process ended: {errors}", "where": "process"})
        number = last + 1
    tally.seconds = time.time() - began
    return tally


def _work(target: str, seed: int, first: int, last: int, deadline: float, folder: Path) -> str:
    """Run a worker to its end; the end of what it wrote to standard error."""
    arguments = (target, str(seed), str(first), str(last), str(deadline), str(folder))
    environment = os.environ | {
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join((str(_ROOT / "src"), str(_ROOT))),
    }
    with (folder / "errors").open("wb") as errors:
        command = [sys.executable, "-m", "tools.fuzz.worker", *arguments]
        done = subprocess.run(command, env=environment, cwd=folder, stderr=errors, check=False)
    text = (folder / "errors").read_bytes().decode(errors="replace")
    return f"status {done.returncode}; {text[-_TAIL:].strip()}"


def _read_journal(path: Path, tally: Tally) -> int | None:
    """Count what a journal has; the case that ended the worker, if one did."""
    begun: int | None = None
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        number, _, outcome = line.partition(" ")
        if outcome == "begin":
            begun = int(number)
        else:
            tally.note(int(number), json.loads(outcome))
            begun = None
    return begun

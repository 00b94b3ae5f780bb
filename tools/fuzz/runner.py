"""Runs the cases of a target in worker processes, and collects their findings."""

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
"""Number of characters at the end of a worker's standard error that a finding quotes."""


@dataclass(frozen=True)
class Finding:
    """A failure that no input may cause.

    Attributes:
        case: number of the case.
        what: description of the failure.
        where: the place in the source.
    """

    case: int
    what: str
    where: str


@dataclass
class Tally:
    """The results of the cases of a target.

    Attributes:
        outcomes: number of cases that were accepted, refused or a finding.
        findings: all findings.
        seconds: duration of the run.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """Number of cases that were run."""
        return self.outcomes.total()

    def note(self, case: int, outcome: dict[str, str]) -> None:
        """Count an outcome."""
        self.outcomes[outcome["outcome"]] += 1
        if outcome["outcome"] == "finding":
            self.findings.append(Finding(case, outcome["what"], outcome["where"]))


def fuzz(target: str, seed: int, first: int, count: int, seconds: float) -> Tally:
    """Run cases of a target until `count` are done or the time is over.

    A worker process that a case kills is replaced by another, which continues with the next case.
    """
    tally, began, number = Tally(), time.time(), first
    while number < first + count and time.time() < began + seconds:
        with tempfile.TemporaryDirectory(prefix="wherein-fuzz-") as folder:
            errors = _work(target, seed, number, first + count, began + seconds, Path(folder))
            last = _read_journal(Path(folder) / "journal", tally)
        if last is None:  # no case killed the worker: it has finished, or could not start
            if not tally.cases:
                raise RuntimeError(f"the worker did not start: {errors}")
            break
        tally.note(last, {"outcome": "finding", "what": f"the process ended: {errors}", "where": "process"})
        number = last + 1
    tally.seconds = time.time() - began
    return tally


def _work(target: str, seed: int, first: int, last: int, deadline: float, folder: Path) -> str:
    """Run a worker until it ends; return its status and the end of its standard error."""
    # A fixed hash seed and one thread make cases reproducible.
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
    """Count the outcomes in a journal; return the number of the case that killed the worker, if one did."""
    # A worker writes a line before and after each case. A case without the second line killed the worker.
    begun: int | None = None
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        number, _, outcome = line.partition(" ")
        if outcome == "begin":
            begun = int(number)
        else:
            tally.note(int(number), json.loads(outcome))
            begun = None
    return begun

"""The harness of the fuzzer finds what it looks for, and a few cases of the readers pass."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tools.fuzz import __main__ as command
from tools.fuzz import runner
from tools.fuzz.mutations import mutated, mutated_json, with_checksums
from tools.fuzz.runner import Tally
from tools.fuzz.seeds import pictures
from tools.fuzz.targets import TARGETS

PLANTED = {
    "bytearray(1 << 32)": "MemoryError",
    "{}['key']": "KeyError",
    "raise WhereinError('')": "unclear error",
    "(folder / '../../outside').resolve().write_text('x')": "written: ",
    "(folder / '../../made').resolve().mkdir()": "os.mkdir: ",
    "(folder / 'secret.png').read_bytes()": "read: ",
    "socket.create_connection(('127.0.0.1', 1), 0.1)": "socket.connect",
    "subprocess.run(['true'])": "subprocess.Popen",
    "pickle.loads(pickle.dumps(Path))": "pickle.find_class",
    "tempfile.mkstemp()": "left behind",
}
"""What a target may do wrong, and the words of what is found."""

SCRIPT = """
import ctypes, pickle, socket, subprocess, sys, tempfile, time
from pathlib import Path
from tools.fuzz import targets, worker
from wherein.errors import WhereinError
faults = {faults!r}
def planted(rng, folder):
    if ready: exec(faults.pop(0), globals() | dict(folder=folder))
    return True
ready, targets.TARGETS["planted"], worker.MAX_SECONDS, worker.MAX_CPU_SECONDS = [], planted, {limits}
prepare = worker._prepare
worker._prepare = lambda *rest: (prepare(*rest), ready.append(1))
worker.main("planted", 0, 0, len(faults), time.time() + 60, Path(sys.argv[1]))
"""


def planted(faults: list[str], tmp_path: Path, limits: str = "60, 60") -> tuple[Tally, int | None]:
    """What a worker notes of faults, and the one that ended it; the limits are those of time."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    command = [sys.executable, "-c", SCRIPT.format(faults=faults, limits=limits), folder]
    subprocess.run(command, timeout=120, check=False, capture_output=True)
    tally = Tally()
    killed = runner._read_journal(folder / "journal", tally)
    return tally, killed


def test_every_planted_fault_is_found(tmp_path: Path) -> None:
    tally, killed = planted(["pass", *PLANTED], tmp_path)
    assert killed is None
    assert tally.outcomes == {"accepted": 1, "finding": len(PLANTED)}
    for finding, words in zip(tally.findings, PLANTED.values(), strict=True):
        assert words in finding.what


@pytest.mark.parametrize(
    ("fault", "limits"),
    [("ctypes.string_at(0)", "60, 60"), ("time.sleep(90)", "3, 60"), ("while True: pass", "60, 1")],
    ids=["crashes", "waits", "works"],
)
def test_a_case_that_ends_or_holds_up_its_process_is_found(fault: str, limits: str, tmp_path: Path) -> None:
    tally, killed = planted(["pass", fault, "pass"], tmp_path, limits)
    assert (tally.outcomes, killed) == ({"accepted": 1}, 1)


def test_a_worker_that_is_killed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def work(target: str, seed: int, first: int, last: int, deadline: float, folder: Path) -> str:
        """Every third case kills the worker."""
        begun.append(first)
        with (folder / "journal").open("w") as journal:
            for case in range(first, last):
                journal.write(f"{case} begin\n")
                if case % 3 == 2:
                    return "status -11"
                journal.write(f"{case} {json.dumps({'outcome': 'refused'})}\n")
        return ""

    monkeypatch.setattr(runner, "_work", work)
    tally = runner.fuzz("pictures", 0, 0, 10, 60)
    assert begun == [0, 3, 6, 9]
    assert (tally.cases, [finding.case for finding in tally.findings]) == (10, [2, 5, 8])


def test_cases_follow_from_their_seed() -> None:
    spec = {"parts": {"a": {"parent": None, "at": [1, 2.5]}}, "name": "x"}
    for seed in range(50):
        made = [mutated(pictures()[0], Random(seed), pictures()) for _ in range(2)]
        texts = [mutated_json(spec, Random(seed)) for _ in range(2)]
        assert made[0] == made[1] and texts[0] == texts[1]
    assert spec == {"parts": {"a": {"parent": None, "at": [1, 2.5]}}, "name": "x"}


def test_checksums_are_right_again() -> None:
    png = pictures()[0]
    spoilt = bytearray(png)
    spoilt[16:20] = (999).to_bytes(4, "big")  # the width, in the header
    assert with_checksums(png) == png
    assert with_checksums(bytes(spoilt)) not in (png, bytes(spoilt))


def test_the_command_knows_all_targets() -> None:
    assert tuple(TARGETS) == command.TARGETS


def test_a_few_cases(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz", "pictures", "--cases", "30", "--seed", "1"])
    assert command.main() == 0
    assert "pictures: 30 cases in" in capsys.readouterr().out

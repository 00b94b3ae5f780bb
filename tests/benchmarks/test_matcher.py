"""The suite "matcher": the protocol of its peer, by a program that answers alike, and a run without data."""

import sys
from pathlib import Path

import pytest

from benchmarks import matcher
from benchmarks.registration import Settings

ANSWERS = """import sys
print("learned", flush=True)
for _ in sys.stdin:
    print("ms 3.5 cpu 3.4 n 2\\n0.9 0 10 10\\n0.8 90 20 20", flush=True)
"""


def test_matches_are_counted_and_read_to_the_end(tmp_path: Path) -> None:
    program = tmp_path / "fipm"
    program.write_text(f"#!{sys.executable}\n{ANSWERS}")
    program.chmod(0o755)
    with matcher._matcher(str(program), tmp_path, tmp_path, matcher.CASES[0]) as match:
        assert match is not None
        assert [match(), match()] == [2, 2]


def test_without_the_program_there_is_nothing_to_compare(tmp_path: Path) -> None:
    with matcher._matcher(None, tmp_path, tmp_path, matcher.CASES[0]) as match:
        assert match is None


def test_a_run_without_program_and_data_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(matcher.PEER, raising=False)
    monkeypatch.setattr("benchmarks.real.common.REAL", tmp_path)
    report = matcher.run(Settings(quick=True))
    assert report["sections"][0]["rows"] == []
    assert [words.split(":")[0] for words in report["data"]["missing"]] == [
        "FIPM",
        "no ../shared/real/industrial",
    ]


def test_what_the_peer_does_better_is_a_loss() -> None:
    rows = [
        {"case": "a", "seconds": 2.0, "found": 3, "peer": 1.0, "peer_found": 4, "ratio": 2.0, "bound": 1.0},
        {"case": "b", "seconds": 1.0, "found": 3, "bound": 1.0},
    ]
    assert matcher._losses(rows) == [
        "matcher: a: 2.00 times the time of FIPM",
        "matcher: a: 3 found, FIPM 4",
    ]
    assert [aim["met"] for aim in matcher._aims(rows)] == [False, None]

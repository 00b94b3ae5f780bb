"""The suite "matcher": the protocol of its peer, by a program that answers alike, and a run without data."""

import sys
from pathlib import Path

import numpy as np
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
        assert [match(), match()] == 2 * [[(0.0, 10.0, 10.0), (90.0, 20.0, 20.0)]]


def test_poses_of_the_peer_are_those_of_the_picture() -> None:
    """A template turned by 90° in a scene agrees with it there, and not half a pixel beside."""
    rng = np.random.default_rng(3)
    template, scene = rng.random((7, 11, 1)), rng.random((40, 50, 1))
    scene[20:31, 12:19] = np.rot90(template)  # x of the template is up in the scene
    (right, beside) = ((90.0, x, 25.5) for x in (15.5, 16.0))
    agreed = [matcher._agreement(template, scene, [matcher._matrix(one, (11, 7))]) for one in (right, beside)]
    assert agreed[0] == pytest.approx(1)
    assert agreed[1] is not None and agreed[1] < 0.95
    assert matcher._agreement(template, scene, [matcher._matrix((0.0, 1.0, 1.0), (11, 7))]) is None


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
        {"case": "a", "seconds": 2.0, "found": 3, "peer": 1.0, "peer_found": 4, "ratio": 2.0, "bound": 1.0}
        | {"zncc": 0.91, "peer_zncc": 0.94},
        {"case": "b", "seconds": 1.0, "found": 3, "bound": 1.0},
    ]
    assert matcher._losses(rows) == [
        "matcher: a: 2.00 times the time of FIPM",
        "matcher: a: 3 found, FIPM 4",
        "matcher: a: ZNCC 0.910, FIPM 0.940",
    ]
    assert [aim["met"] for aim in matcher._aims(rows)] == [False, None]

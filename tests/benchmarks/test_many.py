"""The suites about many scenes: what counts as the same, and what a run that lost lines looks like."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.many import faults, files, same_lines, soak
from benchmarks.many.files import Files
from benchmarks.registration import Settings, silent

LINES = [f'{{"scene": "{k}.png", "seconds": 0.{k}, "detections": []}}' for k in range(30)]


class Told(Files):
    """Scenes whose lines are known; a run with --shard 2/3 loses one of them."""

    def output(self, *options: str | Path, environment: dict[str, str] | None = None) -> str:
        shards = {f"{k}/3": LINES[10 * (k - 1) : 10 * k] for k in (1, 2, 3)}
        lines = shards.get(str(options[1]) if len(options) > 1 else "", LINES)
        lost = environment is None and options[:2] == ("--shard", "2/3")
        return "".join(f"{line}\n" for line in lines[lost:])


@contextmanager
def told(*_: object) -> Iterator[Files]:
    yield Told(Path("nowhere"), len(LINES))


def test_times_do_not_count_and_numbers_do() -> None:
    assert files.timeless(LINES[1]) == files.timeless(LINES[1].replace("0.1", "17.3"))
    assert files.timeless(LINES[1]) != files.timeless(LINES[2])


def test_a_lost_line_is_seen() -> None:
    made = same_lines.compared(Told(Path("nowhere"), len(LINES)), silent)
    wrong = [row["how"] for row in made["rows"] if row["same"] != row["scenes"]]
    assert wrong == ["three parts (--shard)"]
    assert [target["met"] for target in made["targets"]] == [False]


def test_a_run_that_lost_a_line_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def lossy(trial: faults.Trial, kills: int) -> str:
        trial.kills = kills
        return "\n".join(LINES[:-1])

    monkeypatch.setattr(faults, "written", told)
    monkeypatch.setattr(faults, "_WAYS", {"well": lambda *_: "\n".join(LINES), "badly": lossy})
    (made,) = faults.run(Settings(quick=True))["sections"]
    assert [(row["lines"], row["same"], row["kills"]) for row in made["rows"]] == [(30, 30, 0), (29, 29, 3)]
    assert made["targets"][0]["value"] == 1


def test_errors_of_threads_are_counted() -> None:
    class Failing:
        def __call__(self, picture: str) -> None:
            raise ValueError

    counts = soak._Counts()
    until = soak.time.monotonic() + 0.05
    soak._search(0, [Failing()], ["picture"], [["expected"]], until, counts)
    assert counts.all == counts.errors > 0 == counts.same

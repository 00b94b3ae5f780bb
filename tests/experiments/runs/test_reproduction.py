"""Runs of experiments: what was done is never done again, and a run can be stopped anywhere."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from wherein.errors import ArgumentError
from wherein.experiments import Name, plots
from wherein.experiments.runs import reproduction
from wherein.experiments.runs.experiment import Experiment, Task, experiment_named, generator
from wherein.experiments.runs.journal import Journal
from wherein.experiments.runs.reproduction import Request
from wherein.experiments.runs.runner import Progress

TASKS = 7


@dataclass(frozen=True)
class Settings:
    factor: float = 3.0
    sizes: tuple[int, int] = (3, 4)


def drawn(settings: Settings, seed: int, number: int, log: list[int]) -> float:
    log.append(number)
    return settings.factor * generator(seed, "test", number).normal()


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Puts a small experiment in the place of the theorem; the numbers of the tasks that were worked on."""
    log: list[int] = []
    small = Experiment(
        Name.THEOREM,
        "A test",
        full=Settings(),
        quick=Settings(factor=1.0),
        tasks=lambda settings, subject, seed: [
            Task(f"task {n}", partial(drawn, settings, seed, n, log), weight=n + 1.0) for n in range(TASKS)
        ],
        numbers=lambda settings, results: {"names": list(results), "values": list(results.values())},
        draw=lambda outcome, template: _drawing(outcome.numbers["values"], template),
        shows_template=True,
    )
    monkeypatch.setattr(reproduction, "experiment_named", lambda name: small)
    return log


def _drawing(values: list[float], template: bool) -> Any:
    figure = plots.canvas(2, 2)
    figure.subplots().plot(values, color="r" if template else "b")
    return figure


def run(request: Request, progress: Progress) -> None:
    """In this process, where the log is."""
    reproduction.reproduce(request, progress, cores=1)


def quiet(share: float, what: str) -> None:
    assert 0 <= share <= 1
    assert what


def stop_after(count: int) -> Progress:
    """Ctrl-C after so many tasks."""
    told: list[str] = []

    def show(share: float, what: str) -> None:
        told.append(what)
        if len(told) > count:
            raise KeyboardInterrupt

    return show


def written(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "theorem.json").read_text(encoding="utf-8"))
    assert report.pop("timing")["pieces"].keys() == {f"task {n}" for n in range(TASKS)}
    return report


def test_a_run_that_was_stopped_ends_as_one_that_was_not(worked: list[int], tmp_path: Path) -> None:
    whole, parts = (Request(Name.THEOREM, tmp_path / name) for name in ("whole", "parts"))
    run(whole, quiet)
    worked.clear()
    for count in (2, 0, 3):  # in the middle, before anything, in the middle again
        with pytest.raises(KeyboardInterrupt):
            run(parts, stop_after(count))
        assert [path.name for path in parts.out.iterdir()] == ["theorem.journal"]
    kept = set(Journal.open(parts.journal, _run_of(parts.journal), False).entries)
    assert len(kept) == 5  # the first word of every run comes before its first task
    worked.clear()
    run(parts, quiet)
    assert {f"task {n}" for n in worked}.isdisjoint(kept)
    assert written(parts.out) == written(whole.out)
    names = {"theorem.json", "theorem.png", "theorem-numbers.png"}
    assert {path.name for path in parts.out.iterdir()} == names
    for name in names - {"theorem.json"}:
        assert (parts.out / name).read_bytes() == (whole.out / name).read_bytes()


def _run_of(journal: Path) -> dict[str, Any]:
    return json.loads(journal.read_text(encoding="utf-8").splitlines()[0])


def test_the_last_line_may_be_cut_off(worked: list[int], tmp_path: Path) -> None:
    request = Request(Name.THEOREM, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(request, stop_after(3))
    text = request.journal.read_text(encoding="utf-8")
    request.journal.write_text(text[:-9], encoding="utf-8")  # as when the machine went down
    worked.clear()
    run(request, quiet)
    assert len(worked) >= TASKS - 2
    assert len(written(tmp_path)["values"]) == TASKS


def test_the_same_seed_gives_the_same_numbers(worked: list[int], tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run(Request(Name.THEOREM, tmp_path / name, seed=seed), quiet)
    a, b, c = (written(tmp_path / name)["values"] for name in "abc")
    assert a == b
    assert all(x != y for x, y in zip(a, c, strict=True))


def test_the_report_says_what_it_is_of(worked: list[int], tmp_path: Path) -> None:
    run(Request(Name.THEOREM, tmp_path, seed=3, quick=True), quiet)
    report = written(tmp_path)
    assert report["settings"] == {"quick": True, "factor": 1.0, "sizes": [3, 4]}
    assert (report["experiment"], report["seed"], report["data"]["template"]) == ("theorem", 3, "robot")
    assert {"wherein", "torch", "numpy", "python"} <= report["versions"].keys()
    assert report["names"] == [f"task {n}" for n in range(TASKS)]  # whatever was done first


def test_nothing_is_overwritten_unasked(worked: list[int], tmp_path: Path) -> None:
    for path in ("theorem.json", "theorem.png", "theorem-numbers.png"):
        out = tmp_path / path.replace(".", "-")
        out.mkdir()
        (out / path).write_text("mine")
        with pytest.raises(
            ArgumentError, match=f"{path} already exists: choose another --out or use --overwrite"
        ):
            run(Request(Name.THEOREM, out), quiet)
        assert not worked
        assert (out / path).read_text() == "mine"
    run(Request(Name.THEOREM, out, overwrite=True), quiet)
    assert (out / path).read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 1}, "different seed"),
        ({"quick": True}, "different settings"),
        ({"data": "crab"}, "different data"),
    ],
)
def test_a_journal_of_another_run_is_not_taken_over(
    worked: list[int], tmp_path: Path, other: dict[str, Any], words: str, request: pytest.FixtureRequest
) -> None:
    if "data" in other:
        other = {"data": request.getfixturevalue("shared") / "crab"}
    with pytest.raises(KeyboardInterrupt):
        run(Request(Name.THEOREM, tmp_path), stop_after(2))
    with pytest.raises(ArgumentError, match=f"belongs to another run \\({words}.*--overwrite to start again"):
        run(Request(Name.THEOREM, tmp_path, **other), quiet)
    run(Request(Name.THEOREM, tmp_path, **other, overwrite=True), quiet)
    assert len(written(tmp_path)["values"]) == TASKS


def test_wrong_arguments_are_told_before_any_work(
    worked: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong, words in (
        ({"images": 3}, "--images cannot be used with theorem"),
        ({"seed": -1}, "--seed must be 0 or more, but is -1"),
    ):
        with pytest.raises(ArgumentError, match=words):
            run(Request(Name.THEOREM, tmp_path / "new", **wrong), quiet)
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match=r"pip install 'wherein\[plots\]'"):
        run(Request(Name.THEOREM, tmp_path / "new"), quiet)
    assert not worked
    assert not (tmp_path / "new").exists()


def test_images_are_checked() -> None:
    with pytest.raises(ArgumentError, match="--images must be 1 or more, but is 0"):
        run(Request(Name.FIG1, Path("nowhere"), images=0), quiet)


def test_a_task_that_fails_stops_the_run_and_keeps_the_others(
    worked: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(settings: Settings, seed: int, number: int, log: list[int]) -> float:
        if number == TASKS - 1:
            raise ZeroDivisionError
        return 1.0

    with monkeypatch.context() as patch:
        patch.setitem(globals(), "drawn", broken)
        with pytest.raises(ZeroDivisionError):
            run(Request(Name.THEOREM, tmp_path), quiet)
    assert [path.name for path in tmp_path.iterdir()] == ["theorem.journal"]


@pytest.mark.parametrize("name", list(Name))
def test_every_name_has_its_experiment(name: Name) -> None:
    assert experiment_named(name).name == name
    assert experiment_named(name).quick != experiment_named(name).full

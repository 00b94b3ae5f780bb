"""A small run of the suite: the report has its shape, the tables have its numbers."""

import json

import numpy as np
import pytest
from rich.console import Console

from benchmarks import registration, report, scenes
from benchmarks.__main__ import main
from benchmarks.methods import Method
from benchmarks.peers import Outcome
from benchmarks.registration import Group, Settings

NUMBERS = {
    "count": int,
    "success": float,
    "within_1px": float,
    "corner_median": (float, type(None)),
    "corner_p90": (float, type(None)),
    "corner_rms": (float, type(None)),
    "seconds": float,
    "statuses": dict,
    "failures": list,
}


def perfect(problem):
    return Outcome(problem.truth, "converged")


def half_a_pixel_off(problem):
    return Outcome(problem.truth + np.array([[0, 0, 0.5], [0, 0, 0]]), "converged")


def gives_up(problem):
    return Outcome(None, "gave up")


def stub(name, run, missing=None, limit=None):
    return Method(name, f"stub {name}", run, lambda: missing, limit)


@pytest.fixture
def small(monkeypatch, threads):
    """Three stubs and one that is missing, on two groups of three problems."""
    methods = (
        stub("wherein", half_a_pixel_off),
        stub("ECC", perfect),
        stub("kornia", gives_up, limit=2),
        stub("absent", perfect, missing="not installed"),
    )
    monkeypatch.setattr(registration, "METHODS", {method.name: method for method in methods})
    groups = (
        Group(
            "poses",
            lambda count, seed: scenes.figure1("euclidean", "photographs", count, seed),
            3,
            registration.POSE,
        ),
        Group("windows", scenes.homographies, 3, registration.WINDOW),
    )
    monkeypatch.setattr(registration, "GROUPS", groups)
    return groups


def few_poses(small):
    return registration.run(Settings(quick=True), groups=small[:1])


def test_report_has_its_shape(small):
    told = []
    result = registration.run(Settings(quick=True), lambda name, share: told.append((name, share)), small[:1])
    assert set(result) == {"format", "suite", "command", "settings", "machine", "data", "methods", "groups"}
    assert result["format"] == "wherein-benchmark/1"
    assert result["settings"] == {"seed": 0, "quick": True, "threads": 1}
    assert {"cores", "threads", "load_before", "versions"} <= set(result["machine"])
    assert result["methods"]["absent"] == {"about": "stub absent", "missing": "not installed"}
    (group,) = result["groups"]
    assert set(group) == {"name", "motion", "problems", "methods", "targets", "comparisons"}
    assert set(group["methods"]) == {"wherein", "ECC", "kornia"}
    for numbers in group["methods"].values():
        for key, kind in NUMBERS.items():
            assert isinstance(numbers[key], kind), key
    assert told == [("poses", 0.0), ("poses", pytest.approx(1 / 3)), ("poses", pytest.approx(2 / 3))]
    assert json.loads(json.dumps(result, allow_nan=False))["suite"] == "registration"


def test_slow_methods_get_fewer_problems(small):
    (group,) = registration.run(Settings(), groups=small[:1])["groups"]
    assert [numbers["count"] for numbers in group["methods"].values()] == [3, 3, 2]


def test_numbers_targets_and_losses(small):
    (group,) = few_poses(small)["groups"]
    ours, ecc, kornia = (group["methods"][name] for name in ("wherein", "ECC", "kornia"))
    assert ours["corner_median"] == pytest.approx(0.5)
    assert ecc["corner_median"] == 0
    assert (kornia["count"], kornia["success"], kornia["corner_median"]) == (1, 0.0, None)
    assert kornia["our_time_over_its"]["solved"] is None
    assert [(target["measure"], target["met"]) for target in group["targets"][:2]] == [
        ("success", True),
        ("corner_median", False),
    ]
    lost = [(row["peer"], row["measure"]) for row in group["comparisons"] if row["verdict"] == "loss"]
    assert ("ECC", "corner_median") in lost
    assert ("kornia", "corner_median") not in lost


def test_tables_say_the_same(small):
    result = few_poses(small)
    text = report.markdown(result)
    assert "| poses | wherein | 3 | 100 % | 100 % | 0.5000 | 0.5000 |" in text
    assert "| poses | kornia | 1 | 0 % | 0 % | – |" in text
    assert "- absent: not measured: not installed" in text
    assert "- poses, to ECC: corner_median 0.5 against 0;" in text
    console = Console(width=120, record=True, quiet=True)
    console.print(report.terminal(result))
    assert len(report.rows(result)) == 3


def test_command_writes_json_and_table(small, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        "benchmarks.__main__.SUITES", {"registration": lambda *a: registration.run(*a, groups=small[:1])}
    )
    main(["registration", "--quick", "--threads", "1", "--out", str(tmp_path)])
    printed = capsys.readouterr()
    assert "poses" in printed.out
    assert "registration.json" in printed.err.replace("\n", "")
    assert json.loads((tmp_path / "registration.json").read_text())["groups"][0]["problems"] == 3
    assert (tmp_path / "registration.md").read_text().startswith("# Benchmark: registration")


def test_unknown_suite_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["unicorns"])
    assert "unicorns" in capsys.readouterr().err

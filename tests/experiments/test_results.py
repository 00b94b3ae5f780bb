"""What is published under experiments/results is what docs/experiments.md says, and shows what it must."""

import json
from pathlib import Path
from typing import Any

import pytest

from wherein.experiments import Name
from wherein.experiments.runs.experiment import experiment_named

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"
PAGE = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
SUBJECTS = ("robot", "crab")


def read(subject: str, name: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((RESULTS / subject / f"{name}.json").read_text(encoding="utf-8"))
    return report


def count(told: dict[str, Any]) -> str:
    """Operations as the page has them: a bound is marked, and how often it was enough."""
    often = f" ({told['success']:.0%})".replace("%", " %") if told["bound"] else ""
    return f"{'≥ ' if told['bound'] else ''}{told['operations']:,.0f}{often}"


def figure_1() -> list[str]:
    rows = []
    for subject in SUBJECTS:
        for name, mode in read(subject, "fig1")["modes"].items():
            fast = f"{count(mode['fast'])} ({mode['fast']['operations_to_rest']:,.0f})"
            counts = f"{count(mode['covering'])} | {count(mode['optimization'])} | {fast}"
            rows.append(f"| {subject} | {name} | {mode['dimension']} | {counts} |")
    return rows


def figure_3() -> list[str]:
    rows = []
    for subject in SUBJECTS:
        for method, sweeps in read(subject, "fig3")["summary"].items():
            for sweep, told in sweeps.items():
                errors = (
                    f"{told['median_px']:.3f} px, {told['worst_px']:.3f} px, {told['worst_degrees']:.2f}°"
                )
                found = f"{told['perfect']} of {told['scenes']}"
                rows.append(f"| {subject} | {method} | {sweep} | {found} | {errors} |")
    return rows


def figure_4() -> list[str]:
    told = read("robot", "fig4")
    ncc, enough = told["ncc"], told["iterations_to_0.97"]
    return [
        f"NCC in the end: {ncc['least']:.3f} at least, {ncc['median']:.3f} in the middle, "
        f"{ncc['greatest']:.3f} at most; 0.97 is reached after {sorted(enough)[len(enough) // 2]} iterations "
        f"in the middle and {max(enough)} at most."
    ]


def figure_5() -> list[str]:
    rows = []
    for subject in SUBJECTS:
        for panel, told in read(subject, "fig5")["panels"].items():
            poses = len(told["shifts"]) * len(told["others"])
            for method in ("paper", "default", "start", "descent"):
                basin = told[method]
                cover = basin["cover"]
                starts = f"{'≤ ' if cover['bound'] else ''}{cover['starts']:,}" if cover else "none"
                home = f"{basin['home']} of {poses} | {basin['home_share']:.0%}".replace("%", " %")
                rows.append(f"| {subject} | {panel} | {method} | {home} | {starts} |")
    return rows


def theorem() -> list[str]:
    return [
        f"| {each['condition']:g} | {each['rate']:g} | {each['steps']} | {each['closest']:.2f} |"
        for each in read("robot", "theorem")["conditions"]
    ]


@pytest.mark.parametrize("rows", [figure_1, figure_3, figure_4, figure_5, theorem])
def test_the_page_has_these_numbers(rows: Any) -> None:
    for row in rows():
        assert row in PAGE


def test_of_the_crab_only_numbers_are_published() -> None:
    for path in (RESULTS / "crab").iterdir():
        shows = experiment_named(Name(path.name.split(".")[0].split("-")[0])).shows_template
        assert path.suffix in (".json", ".png")
        assert path.suffix == ".json" or path.stem.endswith("-numbers") or not shows, path.name


@pytest.mark.parametrize("subject", SUBJECTS)
def test_they_are_full_runs_with_the_settings_of_today(subject: str) -> None:
    paths = sorted((RESULTS / subject).glob("*.json"))
    assert [path.stem for path in paths] == ["fig1", "fig3", "fig4", "fig5", "theorem"]
    for path in paths:
        report = json.loads(path.read_text(encoding="utf-8"))
        assert report["settings"]["quick"] is False
        assert report["seed"] == 0
        assert (report["data"] or {}).get("template", subject) == subject


@pytest.mark.parametrize("subject", SUBJECTS)
def test_figure_1_covering_grows_with_the_dimension_and_the_default_takes_least(subject: str) -> None:
    report = read(subject, "fig1")
    assert (report["settings"]["images"], report["settings"]["tries"]) == (10, 100_000)
    modes = list(report["modes"].values())
    assert [mode["dimension"] for mode in modes] == [2, 3, 4, 6]
    gaps = [mode["covering"]["operations"] / mode["optimization"]["operations"] for mode in modes]
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 100  # two orders of magnitude, and that is a lower bound
    for mode in modes:
        assert mode["optimization"]["operations"] >= 5 * mode["fast"]["operations"]
        assert mode["fast"]["success"] == 1


def test_figure_3_the_default_finds_all_rotations() -> None:
    for subject in SUBJECTS:
        summary = read(subject, "fig3")["summary"]
        for told in summary["default"].values():
            assert told["perfect"] == told["scenes"] == 24
    assert all(told["perfect_to"] >= 22.5 for told in read("crab", "fig3")["summary"]["paper"].values())


def test_figure_4_registers_all_spikes() -> None:
    report = read("robot", "fig4")
    assert len(report["runs"]) == 20
    assert report["ncc"]["least"] >= 0.97


@pytest.mark.parametrize("subject", SUBJECTS)
def test_figure_5_the_basin_of_the_default_is_the_larger(subject: str) -> None:
    for panel in read(subject, "fig5")["panels"].values():
        assert panel["default"]["home"] > panel["paper"]["home"]
        assert panel["default"]["home_share"] > panel["paper"]["home_share"]


def test_the_theorem_holds() -> None:
    report = read("robot", "theorem")
    assert report["holds"] is True
    assert [each["condition"] for each in report["conditions"]] == [1, 4, 25, 100]

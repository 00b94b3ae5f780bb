"""Every experiment from its command to its files, in a setting that takes a moment."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from wherein.experiments import Name
from wherein.experiments.figures.fig1 import Fig1Settings
from wherein.experiments.figures.fig4 import Fig4Settings
from wherein.experiments.figures.theorem import TheoremSettings
from wherein.experiments.paper_registration import Schedule
from wherein.experiments.runs import reproduction
from wherein.experiments.runs.experiment import experiment_named
from wherein.experiments.runs.reproduction import Request

TINY: dict[Name, Any] = {
    Name.FIG1: Fig1Settings(images=1, tries=20, schedule=Schedule(scales=1, iterations=7), affine_sigma=3.0),
    Name.FIG4: Fig4Settings(runs=2, iterations=3, turn=0.1, shift=1.0, border=30),
    Name.THEOREM: TheoremSettings(conditions=(1.0, 2.0), sets=3, lengths=5),
}


def run(
    name: Name, out: Path, monkeypatch: pytest.MonkeyPatch, cores: int = 1, **more: Any
) -> dict[str, Any]:
    small = replace(experiment_named(name), quick=TINY[name])
    monkeypatch.setattr(reproduction, "experiment_named", lambda _: small)
    reproduction.reproduce(Request(name, out, quick=True, **more), lambda share, what: None, cores)
    report: dict[str, Any] = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    del report["timing"]
    return report


@pytest.mark.parametrize("name", list(TINY))
def test_numbers_and_pictures(name: Name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = run(name, tmp_path / "a", monkeypatch)
    images = {"images": 1} if name == Name.FIG1 else {}
    assert report == run(name, tmp_path / "b", monkeypatch, **images)  # which is what it has anyway
    written = {path.name for path in (tmp_path / "a").iterdir()}
    without = {f"{name}-numbers.png"} if experiment_named(name).shows_template else set()
    assert written == {f"{name}.json", f"{name}.png"} | without
    for path in (tmp_path / "a").glob("*.png"):
        with Image.open(path) as picture:
            assert len(picture.convert("RGB").getcolors(2**24) or ()) > 10  # something is drawn
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_processes_give_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = (run(Name.FIG1, tmp_path / str(cores), monkeypatch, cores) for cores in (1, 2))
    assert here == there


def test_the_crab_is_shown_in_one_picture_only(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What may be published of it is its numbers."""
    report = run(Name.FIG1, tmp_path, monkeypatch, data=shared / "crab")
    assert report["data"]["template"] == "crab"
    with Image.open(tmp_path / "fig1.png") as whole, Image.open(tmp_path / "fig1-numbers.png") as numbers:
        colours = [len(picture.convert("RGB").getcolors(2**24) or ()) for picture in (whole, numbers)]
    assert colours[0] > 20_000  # photographs
    assert colours[1] < 3_000

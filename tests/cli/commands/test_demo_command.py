"""`wherein demo`: robots found in a photograph, and without one; a gauge that is read."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from detecting import made_up, ready
from golden import check_golden, transcript
from wherein.cli import demo_run
from wherein.cli.demo_run import compare, describe_gauge
from wherein.cli.main import app
from wherein.demo import GAUGE, ROBOT
from wherein.demo.gauge_scene import gauge_scene
from wherein.demo.robot_scene import demo_scene, photograph
from wherein.detect import Calibration, Detections, methods
from wherein.detect.search_range import Range
from wherein.images.picture import Picture
from wherein.template import Template

runner = CliRunner()

GAUGE_FILES = ("gauge_scene.png", "gauge.png", "gauge.html")


@pytest.fixture(autouse=True)
def _calibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and nothing is kept beside the template."""

    def calibration_for(template: Template, ranges: Range, *_: object) -> Calibration:
        return made_up(template, ranges.rotation, ranges.scale, tilt=ranges.tilt)

    monkeypatch.setattr(methods, "calibration_for", calibration_for)


def test_it_finds_the_robots_and_says_where_everything_is(tmp_path: Path) -> None:
    result = runner.invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    check_golden("demo", re.sub(r"\d+ steps", "# steps", transcript(result)).replace(str(tmp_path), "HERE"))
    assert "3 of 3 robots found" in result.stdout
    most = [float(px) for px in re.findall(r"average, ([\d.]+) px", result.stdout)]
    assert len(most) == 3
    assert max(most) < 0.5
    assert "10 of 11 parts found, hidden: " in result.stdout
    assert ", wrong: " not in result.stdout
    assert "converged" in result.stdout
    value, true = map(float, re.findall(r"gauge: ([\d.]+) bar \(true value ([\d.]+) bar", result.stdout)[0])
    assert value == pytest.approx(true, abs=0.02 * 10)  # 2 % of its scale
    written = {"scene.png", "robot.png", "report.html", *GAUGE_FILES, "register.png"}
    assert {path.name for path in (tmp_path / "demo").iterdir()} == written
    for name in written:
        assert str(tmp_path / "demo" / name) in result.stdout
    for name in written - {"report.html", "gauge.html"}:
        with Image.open(tmp_path / "demo" / name) as picture:
            assert picture.width > 400
    gauge = (tmp_path / "demo" / "gauge.html").read_text(encoding="utf-8")
    assert "occurrence map of dial" in gauge
    assert "scale 0.5 to 2, tilt up to 40°" in gauge
    assert re.search(rf"{value:.1f}\d* bar", gauge)
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "occurrence map of torso" in page
    assert len(re.findall(r'<path id="s0d\dp', page)) == 3 * 14
    assert not (ROBOT / "calibration.json").exists()
    again = runner.invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert (again.exit_code, again.stdout) == (2, "")
    assert (
        f"{tmp_path / 'demo' / 'scene.png'} already exists: choose another --out or use --overwrite"
        in again.stderr
    )


def test_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_run, "run_demo", lambda out, seed, console: [f"quiet: {console.quiet}"])
    assert runner.invoke(app, ["demo", "--out", str(tmp_path)]).output == "quiet: False\n"
    assert runner.invoke(app, ["demo", "--out", str(tmp_path), "--quiet"]).output == ""


def test_without_photographs_it_says_so_and_makes_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage", None)
    result = runner.invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("scikit-image is not installed")
    assert "3 of 3 robots found" in result.stdout
    assert "\ngauge: " in result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {
        "scene.png",
        "robot.png",
        "report.html",
        *GAUGE_FILES,
    }


def test_a_seed_is_a_scene() -> None:
    template = replace(Template.load(ROBOT), source=None)
    background, _ = photograph(0)
    first, same, other = (demo_scene(template, background, seed) for seed in (0, 0, 1))
    assert torch.equal(first.pixels, same.pixels)
    assert not torch.equal(first.pixels, other.pixels)
    assert [len(truth.hidden) for truth in first.truths] == [0, 1, 0]


def test_what_is_missed_is_not_counted() -> None:
    template = Template.load(ROBOT)
    background, _ = photograph(0)
    shown = demo_scene(template, background, 0)
    nothing = Detections((), "robot", Picture(shown.pixels, None), 0.1)
    assert next(compare(nothing, shown, template)).startswith("0 of 3 robots found")


def test_a_gauge_that_is_missed_or_has_lost_its_needle() -> None:
    template = Template.load(GAUGE)
    shown = gauge_scene(template, 0)
    nothing = Detections((), "gauge", Picture(shown.pixels, None), 0.1)
    assert describe_gauge(nothing, shown) == "not found"
    without = gauge_scene(template, 0, hidden=("needle",))
    found = ready(template, 180.0, (0.5, 2.0), tilt=40.0)(without.pixels)
    assert describe_gauge(found, without).startswith("needle not found (score ")


def test_pictures_alone(tmp_path: Path) -> None:
    arguments = ["demo", "--pictures", str(tmp_path / "new")]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert f"photograph of a cup: {tmp_path / 'new' / 'coffee.jpg'}" in result.stdout
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert [path.relative_to(tmp_path / "new").as_posix() for path in written] == [
        "coffee.jpg",
        "dial.png",
        "gauges/a.png",
        "gauges/b.png",
        "gauges/glare.png",
        "photographs/cup-on-bricks.jpg",
        "photographs/cup-on-gravel.jpg",
        "photographs/no-cup.jpg",
    ]
    before = [path.read_bytes() for path in written]
    again = runner.invoke(app, arguments)
    assert again.exit_code == 2
    assert "already exists: choose another name or use --overwrite" in str(again.exception) + again.output
    assert runner.invoke(app, [*arguments, "--overwrite"]).exit_code == 0
    assert [path.read_bytes() for path in written] == before, "the same pictures every time"

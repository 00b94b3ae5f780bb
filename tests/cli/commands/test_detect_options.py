"""The options of `wherein detect` that the detector gets."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from detecting import toy, upright
from wherein.cli import detect_run
from wherein.cli.main import app
from wherein.detect import Detections, Detector
from wherein.images.picture import Picture
from wherein.thresholds import MinScore

DEFAULTS = {"rotation": 180.0, "scale": (0.5, 2.0), "tilt": 40.0, "threshold": None}
ASKED: list[dict[str, Any]] = []


class _Recorder(Detector):
    """Finds nothing, and keeps what it was asked."""

    def __init__(self, template: object, progress: object = None, **options: Any) -> None:
        self.options = options
        self.search = type("Search", (), {"threshold": 0.6, "calibration": upright(toy())})
        self.searches = {"toy": self.search}

    def __call__(self, scene: Picture, color: str = "rgb", region: object = None) -> Detections:
        ASKED.append({**self.options, "region": region})
        return Detections((), "toy", scene, 0.1)


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect_run, "Detector", _Recorder)
    ASKED.clear()


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [
        ("", {}),
        ("--rotation 10 --scale 1 1 --tilt 0", {"rotation": 10.0, "scale": (1.0, 1.0), "tilt": 0.0}),
        ("--max-instances 3 --overlap 0.25", {"max_instances": 3, "overlap": 0.25}),
        ("--polarity any", {"polarity": "any"}),
        ("--region 5 6 70 80", {"region": (5, 6, 70, 80)}),
        ("--threshold 0.7", {"threshold": MinScore(score=0.7)}),
    ],
)
def test_the_detector_gets_them(folder: Path, arguments: str, changes: dict[str, Any]) -> None:
    command = ["detect", str(folder / "toy"), str(folder / "scenes" / "a.png"), *arguments.split()]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["detections"] == []
    assert [{**DEFAULTS, "region": None, **changes}] == ASKED


def test_the_help_shows_the_defaults_of_the_detector() -> None:
    words = " ".join(CliRunner().invoke(app, ["detect", "--help"]).stdout.split())
    options = inspect.signature(Detector).parameters
    assert f"others may cover, from 0 to 1. [default: ({options['overlap'].default:g})]" in words
    assert f"or also inverted. [default: ({options['polarity'].default})]" in words


@pytest.mark.parametrize("rate", ["0.001/MP", "1e-3 / megapixel"])
def test_a_threshold_by_its_rate_of_false_alarms(folder: Path, rate: str) -> None:
    command = ["detect", str(folder / "toy"), str(folder / "scenes" / "a.png"), "--threshold", rate]
    assert CliRunner().invoke(app, command).exit_code == 0
    (asked,) = ASKED
    assert asked["threshold"] == MinScore(per_megapixel=1e-3)

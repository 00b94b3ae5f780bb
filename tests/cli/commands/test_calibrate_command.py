"""`wherein calibrate`: what it says, what it keeps, what it does not make anew, and how it exits."""

import json
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner, Result

from detecting import made_up, write_picture
from wherein.cli import calibrate_run
from wherein.cli.main import app
from wherein.detect import Calibration
from wherein.detect.calibration.measure import SCENE_SIZE
from wherein.detect.calibration.model import STORE
from wherein.detect.search_range import Range
from wherein.template import Template
from wherein.template.template_library import Library

runner = CliRunner()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[list[Tensor]]:
    """The backgrounds of every calibration that was made, in no time."""
    every: list[list[Tensor]] = []

    def calibrate(template: Template, ranges: Range, backgrounds: Sequence[Tensor], **_: Any) -> Calibration:
        every.append([*backgrounds])
        known = made_up(template, ranges.rotation, ranges.scale, chance=0.3, threshold=0.45, tilt=ranges.tilt)
        return known.model_copy(update={"confused": [("arm", "body", 0.71)]})

    monkeypatch.setattr(calibrate_run, "calibrate", calibrate)
    return every


@pytest.fixture
def backgrounds(folder: Path) -> Path:
    generator = torch.Generator().manual_seed(0)
    for name in ("b", "a"):
        write_picture(folder / "grounds" / f"{name}.png", torch.rand(3, 391, 523, generator=generator))
    return folder / "grounds"


def calibrate(folder: Path, *arguments: str | Path) -> Result:
    return runner.invoke(app, ["calibrate", str(folder / "toy"), *map(str, arguments)])


def test_what_is_kept_is_told_in_words(folder: Path, made: list[Any]) -> None:
    before = (folder / "toy" / "calibration.json").read_bytes()
    result = calibrate(folder, "--rotation", "0")
    assert (result.exit_code, result.stderr, made) == (0, "", [])
    assert result.stdout == (
        "toy: calibrated for rotation ±0°, scale 0.5 to 2, tilt up to 40°\n"
        "threshold: 0.600\n"
        "scores without the object: up to 0.300 (4 test scenes)\n"
        "scores with the object: 0.850 or more (3 test scenes)\n"
        "false alarms at score 0.60: once in 240,000,000 megapixels (extrapolated from 0.8 megapixels)\n"
        "false alarms at score 0.70: less than once in 10⁹ megapixels (extrapolated from 0.8 megapixels)\n"
        "detection limits, joints at rest: rotation ±0°, scale 0.50 to 2.00\n"
        "no two parts look alike\n"
        f"stored in {folder / 'toy' / 'calibration.json'}; use --overwrite to calibrate again\n"
    )
    assert (folder / "toy" / "calibration.json").read_bytes() == before


def test_a_new_range_is_calibrated_and_kept_beside_the_other(folder: Path, made: list[Any]) -> None:
    result = calibrate(folder, "--rotation", "30", "--scale", "0.8", "1.25", "--json")
    assert result.exit_code == 0, result.output
    assert made == [[]]
    told = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    chances = told.pop("false_alarms_per_megapixel")
    assert told == {
        "template": "toy",
        "rotation": 30.0,
        "scale": [0.8, 1.25],
        "tilt": 40.0,
        "threshold": 0.45,
        "separates": True,
        "clutter": [0.2, 0.3],
        "present": [0.85, 0.95],
        "found_within": {"rotation": 30.0, "scale": [0.8, 1.25]},
        "confused": [{"parts": ["arm", "body"], "zncc": 0.71}],
        "suspects": [],
        "kept": str(folder / "toy" / "calibration.json"),
        "new": True,
    }
    assert list(chances) == ["0.3", "0.4", "0.45", "0.5", "0.6", "0.7", "0.8", "0.9"]
    assert sorted(chances.values(), reverse=True) == list(chances.values())
    kept = json.loads((folder / "toy" / "calibration.json").read_text())
    assert [(record["rotation"], record["tilt"]) for record in kept] == [
        (0.0, 0.0),
        (0.0, 40.0),
        (30.0, 40.0),
    ]
    words = calibrate(folder, "--rotation", "30", "--scale", "0.8", "1.25").stdout
    assert "calibrated for rotation ±30°, scale 0.8 to 1.25, tilt up to 40°" in words
    assert "warning: arm and body look alike (ZNCC 0.71)" in words
    assert "no two" not in words


def test_backgrounds_are_taken_and_what_is_no_background_is_told(
    folder: Path, backgrounds: Path, made: list[list[Tensor]]
) -> None:
    (backgrounds / "broken.png").write_bytes(b"not a picture")
    write_picture(backgrounds / "small.png", torch.rand(3, SCENE_SIZE[1] - 1, SCENE_SIZE[0]))
    result = calibrate(folder, "--backgrounds", backgrounds)
    assert result.exit_code == 4
    assert [tuple(picture.shape) for picture in made[0]] == [(3, 391, 523)] * 2
    assert "broken.png: the content is not" in result.stderr
    assert "small.png is 512 × 383 pixels: a background must be at least 512 × 384" in result.stderr
    assert "calibrated for rotation ±180°" in result.stdout
    quiet = calibrate(folder, "--backgrounds", backgrounds, "--overwrite", "--quiet")
    assert (quiet.exit_code, quiet.stderr, len(made)) == (4, "", 2)


def test_a_background_that_shows_it_is_named(
    folder: Path, backgrounds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        calibrate_run,
        "calibrate",
        lambda template, ranges, *_, **__: made_up(template, ranges.rotation).model_copy(
            update={"suspects": (1,)}
        ),
    )
    result = calibrate(folder, "--backgrounds", backgrounds)
    second = sorted(backgrounds.iterdir())[1]
    assert f"{second}: something in this background scores as high as the object" in result.stderr


def test_more_backgrounds_than_are_looked_at(
    folder: Path, backgrounds: Path, made: list[list[Tensor]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate_run, "MAX_BACKGROUNDS", 1)
    result = calibrate(folder, "--backgrounds", backgrounds)
    assert (result.exit_code, len(made[0])) == (0, 1)
    assert f"{backgrounds} has more than 1 pictures: only the first 1 are used" in result.stderr


@pytest.mark.parametrize(
    ("name", "words"), [("none", "none: no pict"), ("missing", "missing: file not found")]
)
def test_what_is_wrong_with_the_folder_comes_first(
    folder: Path, made: list[Any], name: str, words: str
) -> None:
    """Also where a calibration is stored, which is another reason not to make one."""
    (folder / "none").mkdir()
    result = calibrate(folder, "--rotation", "0", "--backgrounds", folder / name)
    assert (result.exit_code, result.stdout, made) == (3, "", [])
    assert words.replace("none:", "none can be used as a background:") in result.stderr
    assert "already has a calibration" not in result.stderr


def test_nothing_is_made_anew_unless_it_may(folder: Path, backgrounds: Path, made: list[Any]) -> None:
    arguments = ("--rotation", "0", "--backgrounds", backgrounds)
    result = calibrate(folder, *arguments)
    assert (result.exit_code, result.stdout, made) == (2, "", [])
    assert f"{folder / 'toy' / 'calibration.json'} already has a calibration" in result.stderr
    assert "use --overwrite to calibrate again" in result.stderr
    assert calibrate(folder, *arguments, "--overwrite").exit_code == 0
    kept = json.loads((folder / "toy" / "calibration.json").read_text())
    assert [(record["tilt"], record["threshold"]) for record in kept] == [(0.0, 0.6), (40.0, 0.45)]
    words = calibrate(folder, "--rotation", "0", "--scale", "1", "1", "--tilt", "0").stdout
    assert words.startswith("toy: calibrated for rotation ±0°, scale 1, no tilt\nthreshold: 0.600\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["missing"], 3, "does not exist"),
        (["nothing"], 3, "template.json"),
        (["toy", "--backgrounds", "nothing"], 3, "can be used as a background"),
        (["toy", "--backgrounds", "missing"], 3, "missing: file not found"),
        (["toy", "--rotation", "200"], 2, "0 to 180"),
        (["toy", "--scale", "2", "1"], 2, "0 < LOW ≤ HIGH"),
    ],
)
def test_exit_status(folder: Path, made: list[Any], arguments: list[str], code: int, words: str) -> None:
    words_given = [str(folder / a) if a.isalpha() else a for a in arguments]
    result = runner.invoke(app, ["calibrate", *words_given])
    assert (result.exit_code, result.stdout, made) == (code, "", [])
    assert words in result.stderr


def test_one_that_cannot_be_kept_is_told_and_fails(
    folder: Path, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "broken.png"))
    (folder / "toy").chmod(0o555)
    try:
        result = calibrate(folder, "--json")
    finally:
        (folder / "toy").chmod(0o755)
    assert result.exit_code == 2
    assert json.loads(result.stdout)["kept"] is None
    assert "cannot store the calibration" in result.stderr


def test_several_templates_at_once(folder: Path, made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the job that processes get; they are stored as they come, and told in the order of the folder."""
    for name in ("cup", "key"):
        write_picture(folder / "things" / f"{name}.png", torch.rand(3, 40, 50))
    (folder / "toy").rename(folder / "things" / "toy")

    def here(job: calibrate_run.CalibrateJob, names: Sequence[str], count: int) -> Generator[Any]:
        assert (list(names), count) == (["cup", "key", "toy"], 2)
        for name in reversed(names):
            yield job()(name)
            kept = Library.of(folder / "things").by_name[name]
            assert STORE.load(kept, Range(10.0, (0.5, 2.0), 40.0)) is not None

    monkeypatch.setattr(calibrate_run, "in_processes", here)
    command = ["calibrate", str(folder / "things"), "--rotation", "10", "--json", "--workers", "2"]
    result = runner.invoke(app, command)
    assert result.exit_code == 0, result.output
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(one["template"], one["new"]) for one in told] == [("cup", True), ("key", True), ("toy", True)]
    assert len(made) == 3
    again = runner.invoke(app, command)
    assert [json.loads(line)["new"] for line in again.stdout.splitlines()] == [False] * 3

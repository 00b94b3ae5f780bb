"""The examples run as they stand; one whose package is missing is skipped, and said so."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from detecting import made_up, scene, texture, toy, write_picture
from wherein.detect.calibration import measure

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A template that needs no calibration, and a scene in which its arm is turned by 10°."""
    monkeypatch.setattr(
        measure, "calibrate", lambda template, ranges, **_: made_up(template, ranges.rotation)
    )
    toy().save(tmp_path / "toy")
    write_picture(tmp_path / "scene.png", scene(toy()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name: str, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def levels(path: Path) -> np.ndarray:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(float)


def test_with_opencv(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cv2", reason="opencv-python-headless is not installed")
    run("with_opencv.py", "toy", "scene.png", "out.png", "upright.png", monkeypatch=monkeypatch)
    (line,) = capsys.readouterr().out.splitlines()
    assert float(re.findall(r"score ([\d.]+)", line)[0]) > 0.9
    green = (levels(here / "out.png") == (0, 220, 0)).all(-1)
    assert 200 < green.sum() < 1000
    body = texture(48, 48, 1).movedim(0, -1).numpy() * 255
    off = np.abs(levels(here / "upright.png")[2:46, 2:42] - body[2:46, 2:42])
    assert np.median(off) < 8  # within the blocks; channels in a wrong order are off by some 80


def test_with_kornia(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("kornia", reason="kornia is not installed")
    ground = texture(160, 120, 5, block=10)
    write_picture(here / "scene.png", ground)
    write_picture(here / "motif.png", ground[:, 30:90, 45:115])
    run("with_kornia.py", "scene.png", "motif.png", monkeypatch=monkeypatch)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("converged: turned ")
    assert float(re.findall(r"SSIM ([\d.]+)", second)[0]) > 0.99
    assert float(second.split()[-1]) > 0


def test_with_supervision(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("supervision", reason="supervision is not installed")
    run("with_supervision.py", "toy", "scene.png", "out.png", monkeypatch=monkeypatch)
    assert capsys.readouterr().out.startswith("1 found, 2 parts: toy 1: 0.9")
    changed = (np.abs(levels(here / "out.png") - levels(here / "scene.png")) > 8).any(-1)
    assert changed[40:80, 45:85].mean() > 0.5
    assert not changed[100:, :].any()


def test_every_example_is_run() -> None:
    tests = Path(__file__).read_text()
    assert all(f'"{path.name}"' in tests for path in EXAMPLES.glob("*.py"))

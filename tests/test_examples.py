"""The examples run as they stand; one whose package is missing is skipped, and said so."""

import ast
import json
import re
import runpy
import sys
from pathlib import Path
from typing import Any

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


def shown_by(cell: str, names: dict[str, Any]) -> object:
    """Run a cell of a notebook as Jupyter does; returns the value of its last line."""
    *statements, last = ast.parse(cell).body
    if not isinstance(last, ast.Expr):
        statements.append(last)
    exec(compile(ast.Module(statements, []), "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_runs_and_shows_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for package in ("pandas", "skimage"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.setattr(
        measure,
        "calibrate",
        lambda template, ranges, *_, **__: made_up(template, ranges.rotation, ranges.scale, tilt=ranges.tilt),
    )
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    book = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    shown = [shown_by("".join(c["source"]), names) for c in book["cells"] if c["cell_type"] == "code"]
    pages = [page._repr_html_() for page in shown if hasattr(page, "_repr_html_")]
    assert len(pages) >= 4  # the template, two scenes, a table
    assert sum("data:image/png;base64," in page for page in pages) == 3
    assert len(names["found"]) == 3
    assert names["counts"] == [3, 3]
    assert abs(names["needle"].value - names["shown"].value) < 0.2
    assert names["placed"].center == pytest.approx((149.5, 109.5), abs=0.1)
    assert capsys.readouterr().out.startswith("Detection(robot, score 0.9")


def test_every_example_is_run() -> None:
    tests = Path(__file__).read_text()
    assert all(f'"{path.name}"' in tests for path in EXAMPLES.iterdir() if path.is_file())

"""`wherein detect --memory`, and scenes that are read by region."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
import zarr
from typer.testing import CliRunner

from detecting import scene, toy, write_template
from wherein.cli.main import app
from wherein.images.eight_bit import to_levels

OPTIONS = ["--rotation", "0", "--scale", "1", "1", "--tilt", "0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("giant")
    write_template(made / "toy", toy())
    return made


def pixels() -> np.ndarray:
    return to_levels(scene(toy())).movedim(0, -1).numpy()


def run(arguments: list[str]) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, the lines of JSON, and what was printed on standard error."""
    ended = CliRunner().invoke(app, ["detect", *arguments])
    return ended.exit_code, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr


def test_a_zarr_is_one_scene_also_inside_of_a_folder(folder: Path) -> None:
    zarr.create_array(folder / "scenes" / "it.zarr", data=pixels())
    drawing = folder / "drawn"
    done, (line,), _ = run([str(folder / "toy"), str(folder / "scenes"), *OPTIONS, "--draw", str(drawing)])
    assert done == 0
    assert line["scene"].endswith("it.zarr")
    assert (line["width"], line["height"]) == (160, 120)
    assert len(line["detections"]) == 1
    assert len(list(drawing.iterdir())) == 1


def test_a_scene_that_is_damaged_inside_gets_a_line_and_the_rest_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = folder / "good.tif", folder / "bad.tif"
    for path in (good, bad):
        tifffile.imwrite(path, pixels(), tile=(64, 64), photometric="rgb")
    bad.write_bytes(bad.read_bytes()[:-5000])
    monkeypatch.setattr("wherein.giant.opened.MAX_PIXELS", 1000)
    done, (first, second), _ = run([str(folder / "toy"), str(bad), str(good), *OPTIONS])
    assert done == 4
    assert "cut off" in first["error"]
    assert len(second["detections"]) == 1


def test_a_giant_tiff_without_the_package_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tifffile.imwrite(folder / "it.tif", pixels(), tile=(64, 64), photometric="rgb")
    monkeypatch.setattr("wherein.giant.opened.MAX_PIXELS", 1000)
    monkeypatch.setitem(sys.modules, "tifffile", None)
    done, (line,), _ = run([str(folder / "toy"), str(folder / "it.tif"), *OPTIONS])
    assert done == 3
    assert "pip install 'wherein[giant]'" in line["error"]


@pytest.mark.parametrize("given", ["4", "much", "-1GB"])
def test_what_is_no_amount_of_memory_is_wrong_usage(folder: Path, given: str) -> None:
    done, _, words = run([str(folder / "toy"), "a.png", "--memory", given])
    assert done == 2
    assert "memory must be at least 100 MB" in " ".join(words.split())

"""The output and exit status of every command, word for word, with and without errors."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from detecting import scene, toy, write_picture
from golden import FOLDER, run_golden
from wherein.cli import calibrate_run, inventory
from wherein.detect.calibration import measure

DETECT = {
    "detect-found": "toy scenes",
    "detect-fail-if-none": "toy scenes/b.png --fail-if-none",
    "detect-some-broken": "toy broken.png scenes/b.png --quiet",
    "detect-all-broken": "toy broken.png missing.png",
    "detect-empty-folder": "toy nothing",
    "detect-some-empty": "toy nothing *.tiff scenes/b.png",
    "detect-no-template": "missing scenes",
    "detect-broken-template": "broken scenes",
    "detect-broken-template-picture": "torn scenes",
    "detect-wrong-scale": "toy scenes --scale 2 1",
    "detect-wrong-report": "toy scenes --report found.txt",
    "detect-report-exists": "toy scenes --report old.html",
    "detect-export-exists": "toy scenes --export old.csv",
    "detect-export-unknown": "toy scenes --export found.xyz",
    "detect-draw-over-scene": "toy scenes --draw scenes --overwrite",
    "detect-draw-unwritable": "toy scenes --draw broken.png/drawn",
    "detect-report-unwritable": "toy scenes --report broken.png/found.html",
    "detect-export-unwritable": "toy scenes --export broken.png/found.csv",
    "detect-labels-unwritable": "toy scenes --export broken.png/labels --format labelme",
}

REGISTER = {
    "register-found": "scene.png motif.png --motion translation --start [[1,0,38],[0,1,31]]",
    "register-broken-scene": "broken.png motif.png",
    "register-broken-motif": "scene.png broken.png",
    "register-swapped": "motif.png scene.png",
    "register-wrong-start": "scene.png motif.png --start [[1,",
    "register-draw-exists": "scene.png motif.png --draw old.png",
    "register-draw-unwritable": "scene.png motif.png --draw broken.png/found.png",
}

OTHERS = {
    "calibrate-stored": "calibrate toy --rotation 0",
    "calibrate-stored-json": "calibrate toy --rotation 0 --json",
    "calibrate-no-overwrite": "calibrate toy --rotation 0 --backgrounds scenes",
    "calibrate-no-backgrounds": "calibrate toy --backgrounds scenes",
    "calibrate-no-template": "calibrate missing",
    "demo-exists": "demo --out old",
    "demo-no-folder": "demo --out broken.png",
    "demo-unwritable": "demo --out broken.png/demo",
    "template-new-unwritable": "template new scene.png --out broken.png/made",
    "template-check-unwritable": "template check toy --draw broken.png/sheet.png",
    "studio-unwritable": "studio --no-open --save-to broken.png/made",
}

COMMANDS = (
    {name: f"detect {line} --rotation 0" for name, line in DETECT.items()}
    | {name: f"register {line}" for name, line in REGISTER.items()}
    | OTHERS
)


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the commands run in, with things that are broken in several ways."""
    for module in (measure, calibrate_run):  # both before a command imports one from the other
        monkeypatch.setattr(module, "calibrate", lambda *_, **__: pytest.fail("a calibration was begun"))
    pixels = (np.kron(np.random.default_rng(0).random((12, 16)), np.ones((8, 8))) * 255).astype(np.uint8)
    Image.fromarray(pixels).save(folder / "scene.png")
    Image.fromarray(pixels[30:70, 40:90]).save(folder / "motif.png")
    (folder / "broken").mkdir()
    (folder / "broken" / "template.json").write_text('{"format": "wherein-template/1"')
    toy().save(folder / "torn")
    (folder / "torn" / "01.png").write_bytes(b"not a picture")
    for name in ("old.html", "old.csv", "old.png"):
        (folder / name).write_text("mine")
    write_picture(folder / "old" / "scene.png", scene(toy()))
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str, here: Path) -> None:
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    run_golden(name, COMMANDS[name].split())
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_info(monkeypatch: pytest.MonkeyPatch) -> None:
    told_here = {
        "wherein": "0",
        "python": "3",
        "platform": "Linux x86_64",
        "packages": {"torch": "2", "numpy": None},
        "kernel": {
            "built": True,
            "source": "compiled",
            "file": "kept/kernel.so",
            "reason": "",
            "compiler": "cc",
            "version": "cc 12",
            "folder": "kept",
        },
        "threads": 2,
        "cores": 4,
        "calibrations": "calibrations",
        "extras": {
            "pandas": {"packages": {"pandas": "3"}, "install": "pip install 'wherein[pandas]'"},
            "peers": {"packages": {"kornia": None}, "install": "pip install 'wherein[peers]'"},
        },
    }
    monkeypatch.setattr(inventory, "inventory", lambda: told_here)
    run_golden("info", ["info"])


def test_every_golden_file_belongs_to_a_test() -> None:
    others = {"info", "demo"}
    assert {path.stem for path in FOLDER.iterdir()} == {*COMMANDS, *others}

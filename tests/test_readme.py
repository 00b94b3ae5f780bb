"""The README's Python blocks run as they stand, in a folder with the pictures that they name."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from detecting import made_up, photo
from wherein.demo import ROBOT
from wherein.detect.finder import Range
from wherein.images.motif import Motif
from wherein.report.picture import to_image
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_blocks_run(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    picture = (np.kron(rng.random((12, 16)), np.ones((8, 8))) * 255).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "scene.png")
    Image.fromarray(picture[30:70, 40:90]).save(tmp_path / "motif.png")
    _robot(tmp_path)
    monkeypatch.chdir(tmp_path)
    scene = torch.from_numpy(picture / 255.0).float()[None]
    names = {
        "scene": scene,
        "motif": Motif.whole(scene[:, 30:70, 40:90]),
        "starts": torch.tensor([[[1.0, 0, 40], [0, 1, 30], [0, 0, 1]]]),
    }
    exec(BLOCKS[number], names)


def _robot(folder: Path) -> None:
    """The template and the photograph that the README speaks of, and a calibration that took no time."""
    shutil.copytree(ROBOT, folder / "robot")
    template = Template.load(folder / "robot")
    ranges = Range(scale=(0.8, 1.25))
    known = made_up(template, scale=ranges.scale)
    (folder / "robot" / "calibration.json").write_text(json.dumps([known.model_dump(mode="json")]))
    where = matrices(
        template.parts, placed(30.0, 1.1, (250.0, 180.0), template.centre), {"forearm_left": 20.0}
    )
    to_image(render(photo("coffee", 512, 384), template, where)).save(folder / "photograph.png")


def test_detection_prints_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _robot(tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(next(block for block in BLOCKS if "Detector" in block), {})
    score, angle = map(float, capsys.readouterr().out.split()[:2])
    assert score > 0.9
    assert angle == pytest.approx(30, abs=0.2)


def test_there_are_blocks_and_the_files_it_links_to() -> None:
    assert len(BLOCKS) == 3
    for target in re.findall(r"\]\(([\w/.]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target

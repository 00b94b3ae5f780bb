"""The README's Python blocks run as they stand, in a folder with the pictures that they name."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from wherein.images.motif import Motif

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_blocks_run(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    picture = (np.kron(rng.random((12, 16)), np.ones((8, 8))) * 255).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / "scene.png")
    Image.fromarray(picture[30:70, 40:90]).save(tmp_path / "motif.png")
    monkeypatch.chdir(tmp_path)
    scene = torch.from_numpy(picture / 255.0).float()[None]
    names = {
        "scene": scene,
        "motif": Motif.whole(scene[:, 30:70, 40:90]),
        "starts": torch.tensor([[[1.0, 0, 40], [0, 1, 30], [0, 0, 1]]]),
    }
    exec(BLOCKS[number], names)


def test_there_are_blocks_and_the_files_it_links_to() -> None:
    assert len(BLOCKS) == 2
    for target in re.findall(r"\]\(([\w/.]+)\)", README.read_text()):
        assert (README.parent / target).exists(), target

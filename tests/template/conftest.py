"""A small template with a nested group, made of numbers: no file of it is shipped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from wherein.template import Template

Spec = dict[str, Any]
Write = Callable[[Spec], Path]

SIZES = {"body": (20, 14), "arm": (9, 15), "left": (7, 11), "right": (7, 11)}
"""Width and height of the leaves."""


def picture(width: int, height: int, seed: int) -> Image.Image:
    """Smooth random colours, opaque but for the corner pixels."""
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    rgb = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
    alpha = np.full((height, width, 1), 255, np.uint8)
    alpha[[0, 0, -1, -1], [0, -1, 0, -1]] = 0
    return Image.fromarray(np.concatenate((rgb, alpha), 2))


@pytest.fixture
def spec() -> Spec:
    """What template.json of the toy says; a test may change it before it is written."""
    return {
        "format": "wherein-template/1",
        "name": "toy",
        "canvas": "toy.png",
        "paint_order": ["body", "arm"],
        "parts": {
            "left": {"parent": "pair", "image": "left.png", "at": [16, 1], "pivot": [3, 10], "turn": 20},
            "right": {"parent": "pair", "image": "right.png", "at": [26, 1], "pivot": [3, 10]},
            "pair": {"parent": "toy", "pivot": [24, 12]},
            "body": {"parent": "toy", "image": "body.png", "at": [14, 12], "static": True},
            "arm": {"parent": "toy", "image": "arm.png", "at": [3, 8.5]},
            "toy": {"parent": None},
        },
    }


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the pictures, and a description, to a folder."""

    def written(description: Spec) -> Path:
        folder = tmp_path / "toy"
        folder.mkdir(exist_ok=True)
        for seed, (name, size) in enumerate({**SIZES, "toy": (48, 30)}.items()):
            picture(*size, seed).save(folder / f"{name}.png")
        (folder / "template.json").write_text(json.dumps(description), encoding="utf-8")
        return folder

    return written


@pytest.fixture
def toy(spec: Spec, write: Write) -> Template:
    return Template.load(write(spec))

"""A small template with a calibration that nobody had to wait for, and scenes to find it in."""

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from wherein.detect import Calibration, Detector
from wherein.detect.basin import Basin
from wherein.detect.limits import Limits
from wherein.detect.pieces import Pieces
from wherein.images.load import Picture
from wherein.images.motif import Motif
from wherein.report.picture import to_image
from wherein.template import Part, Template, Tree
from wherein.template.pose import matrices, placed
from wherein.template.render import render

BODY, ARM, TURN = "body", "arm", 20.0


def texture(width: int, height: int, seed: int, block: int = 6) -> Tensor:
    """Blocks of random colours, (3, H, W)."""
    rng = np.random.default_rng(seed)
    rows, columns = -(-height // block), -(-width // block)
    blocks = np.kron(rng.random((3, rows, columns)), np.ones((1, block, block)))
    return torch.from_numpy(blocks[:, :height, :width]).float().contiguous()


def toy(name: str = "toy", body: str = BODY, arm: str = ARM) -> Template:
    """A body with an arm that turns about its left end; its parts can be called anything."""
    parts = {
        name: Part(name, None, None, (0.0, 0.0), (40.0, 24.0), 0.0, False),
        body: Part(body, name, Motif.whole(texture(48, 48, 1)), (0.0, 0.0), (23.5, 23.5), 0.0, True),
        arm: Part(arm, name, Motif.whole(texture(36, 18, 2)), (44.0, 15.0), (4.0, 8.5), TURN, False),
    }
    canvas = Picture(torch.zeros(3, 48, 80), torch.ones(48, 80))
    return Template(name, canvas, Tree(parts), (body, arm))


def made_up(
    template: Template,
    rotation: float = 0.0,
    scale: tuple[float, float] = (1.0, 1.0),
    threshold: float = 0.6,
) -> Calibration:
    """As if it had been measured."""
    homes = [piece.home for piece in Pieces.of(template).pieces]
    return Calibration(
        fingerprint=template.fingerprint,
        rotation=rotation,
        scale=scale,
        basins={home: Basin(turn=10.0, ratio=1.1) for home in homes},
        chance=dict.fromkeys(homes, 0.3),
        threshold=threshold,
        clutter=[0.2, 0.22, 0.25, 0.3],
        present=[0.85, 0.9, 0.95],
        confused=[],
        limits=Limits(rotation=rotation, scale=scale),
    )


def detector(template: Template) -> Detector:
    """That looks for it upright, at once."""
    return Detector(template, rotation=0, calibration=made_up(template), threads=1)


def scene(template: Template, at: tuple[float, float] = (80.0, 60.0), turn: float = 10.0) -> Tensor:
    """The template with its middle at a place and its arm turned, on a smooth ground."""
    ground = torch.linspace(0.3, 0.6, 160).expand(3, 120, 160)
    arm = template.paint_order[1]
    where = matrices(template.parts, placed(0.0, 1.0, at, template.centre), {arm: turn})
    return render(ground.contiguous(), template, where)


def empty() -> Tensor:
    """Where there is nothing."""
    return torch.linspace(0.3, 0.6, 160).expand(3, 120, 160).contiguous()


def write_template(folder: Path, template: Template) -> Path:
    """The template on disk, with its made-up calibration beside it, for `--rotation 0`."""
    loaded = Template.load(template.save(folder))
    (folder / "calibration.json").write_text(json.dumps([made_up(loaded).model_dump(mode="json")]))
    return folder


def write_picture(path: Path, pixels: Tensor) -> Path:
    """A picture on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image: Image.Image = to_image(pixels)
    image.save(path)
    return path

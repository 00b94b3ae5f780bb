"""From a photograph to a template to a find in another photograph, in which the parts have turned.

The scenes are put together by Pillow, not by the code that is under test.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from typer.testing import CliRunner

from benchmarks import photographs
from detecting import angle, between, ready
from wherein import Template, making
from wherein.cli.main import app
from wherein.template.pose import placed, rotation

Matrix = NDArray[np.float64]
Corners = list[tuple[float, float]]

BODY: Corners = [(120, 110), (220, 104), (232, 196), (170, 214), (112, 190)]
ARM: Corners = [(212, 126), (300, 118), (302, 148), (214, 156)]
HAND: Corners = [(290, 116), (352, 96), (366, 134), (334, 160), (292, 152)]
SHOULDER, ELBOW = (222.0, 140.0), (297.0, 133.0)
"""On the photograph, as labelme would have them: its corner is (0, 0)."""


def photo(name: str, size: tuple[int, int]) -> Image.Image:
    return Image.fromarray(photographs.load(name)).resize(size, Image.Resampling.LANCZOS).convert("RGB")


def layer(texture: str, corners: Corners) -> Image.Image:
    """Part of a toy: a piece of a photograph, smoothly cut out."""
    large = Image.new("L", (4 * 480, 4 * 320))
    ImageDraw.Draw(large).polygon([(4 * x, 4 * y) for x, y in corners], fill=255)
    made = photo(texture, (480, 320)).convert("RGBA")
    made.putalpha(large.resize((480, 320), Image.Resampling.BOX))
    return made


LAYERS = {"body": ("astronaut", BODY), "arm": ("chelsea", ARM), "hand": ("flower", HAND)}


def composed(ground: Image.Image, where: dict[str, Matrix]) -> Image.Image:
    """The toy on a ground, each part moved by a matrix of places on the photograph (pixel centres)."""
    scene = ground.copy()
    to_corner = np.array(((1, 0, 0.5), (0, 1, 0.5), (0, 0, 1)))
    for name, (texture, corners) in LAYERS.items():
        back = to_corner @ np.linalg.inv(where[name]) @ np.linalg.inv(to_corner)
        moved = layer(texture, corners).transform(
            ground.size, Image.Transform.AFFINE, back[:2].ravel().tolist(), Image.Resampling.BICUBIC
        )
        scene.paste(moved, (0, 0), moved)
    return scene


def annotated(folder: Path) -> Path:
    """The toy at rest on a photograph, outlined in labelme."""
    composed(photo("coffee", (480, 320)), dict.fromkeys(LAYERS, np.eye(3))).save(folder / "toy.png")

    def shape(label: str, points: Corners, kind: str = "polygon", description: str = "") -> dict[str, object]:
        return {
            "label": label,
            "points": points,
            "group_id": 1,
            "shape_type": kind,
            "description": description,
            "flags": {},
        }

    shapes = [
        shape("hand", HAND, description="parent=arm"),
        shape("body", BODY),
        shape("arm", ARM, description="parent=body turn=40"),
        shape("arm.pivot", [SHOULDER], "point"),
        shape("hand.pivot", [ELBOW], "point"),
    ]
    record = {"version": "5.5.0", "imagePath": "toy.png", "imageData": None, "shapes": shapes}
    (folder / "toy.json").write_text(json.dumps(record))
    return folder / "toy.json"


def test_a_jointed_toy_from_labelme(tmp_path: Path) -> None:
    made = CliRunner().invoke(
        app, ["template", "new", str(annotated(tmp_path)), "--out", str(tmp_path / "toy")]
    )
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("toy: 3 parts, 2 joints, ")
    template = Template.load(tmp_path / "toy")
    assert template.parts["hand"].parent == "arm_group"
    detector = ready(template)

    root = placed(-130.0, 1.0, (260.0, 170.0), (220.0, 150.0))
    arm = root @ rotation(-27.0, (SHOULDER[0] - 0.5, SHOULDER[1] - 0.5))
    hand = arm @ rotation(22.0, (ELBOW[0] - 0.5, ELBOW[1] - 0.5))
    truth = {"body": root, "arm": arm, "hand": hand}
    scene = composed(photo("china", (520, 380)), truth)

    (found,) = detector(scene)
    assert found.score > 0.8
    origin = np.array(SHOULDER) - 0.5 - template.parts["arm_group"].joint  # of the canvas on the photograph
    assert np.abs(origin - (112, 96)).max() <= 1
    for name, matrix in truth.items():
        part = template.parts[name]
        got = found.parts[name]
        assert got.found, name
        assert between(angle(got.matrix), angle(matrix)) < 1, name
        assert part.motif is not None
        middle = np.array(((part.motif.width - 1) / 2, (part.motif.height - 1) / 2))
        place = matrix[:2, :2] @ (middle + part.at + origin) + matrix[:2, 2]
        assert np.linalg.norm(got.matrix[:, :2] @ middle + got.matrix[:, 2] - place) < 0.5, name


@pytest.mark.parametrize("degrees", [-160.0, 47.0])
def test_a_rigid_motif_from_a_photograph(degrees: float) -> None:
    """The face of a cat, turned, on a table with a cup of coffee."""
    face: Corners = [(66, 60), (110, 30), (220, 30), (272, 70), (270, 170), (210, 226), (150, 230), (84, 180)]
    template = making.cut(photographs.load("chelsea"), [making.Outline("face", face)], "face")
    assert making.findings(template) == []
    detector = ready(template)
    at, middle = np.array((210.0, 190.0)), np.array(template.centre)
    truth = placed(degrees, 1.0, (210.0, 190.0), template.centre)

    cat = Image.fromarray(photographs.load("chelsea")).convert("RGBA")
    stencil = Image.new("L", cat.size)
    ImageDraw.Draw(stencil).polygon(face, fill=255)
    cat.putalpha(stencil)
    box = stencil.getbbox()
    assert box is not None
    turned = cat.crop(box).rotate(-degrees, Image.Resampling.BICUBIC, expand=True)  # Pillow turns y towards x
    scene = photo("coffee", (440, 381))
    scene.paste(
        turned, (round(at[0] - (turned.width - 1) / 2), round(at[1] - (turned.height - 1) / 2)), turned
    )

    (found,) = detector(scene)
    assert found.score > 0.9
    assert list(found.parts) == ["face"]
    assert between(found.angle, degrees) < 0.2
    assert np.linalg.norm(found.matrix[:, :2] @ middle + found.matrix[:, 2] - truth[:2] @ (*middle, 1)) < 1.5
    assert len(detector(photo("coffee", (440, 381)))) == 0

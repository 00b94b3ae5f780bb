"""Example pictures: a photograph of a cup, two scenes that show it, and a scene that does not."""

from pathlib import Path

import numpy as np
from jaxtyping import Float
from torch import Tensor

from wherein.detect.calibration import backgrounds
from wherein.detect.calibration.conditions import photographed
from wherein.formats.part_outline import Outline
from wherein.images.load import load_picture
from wherein.making.cutout import cut
from wherein.template.bundle import Template
from wherein.template.pose import matrices, placed, tilted
from wherein.template.render import render
from wherein.template.tree import Matrix

_PHOTOGRAPHS = Path(backgrounds.__file__).parent / "photographs"
"""The photographs in the package, which need no download; all are in the public domain."""

CUP = _PHOTOGRAPHS / "coffee.jpg"
"""The photograph of the cup, 576 × 448 pixels."""

_OUTLINE = (
    *((146, 120), (153, 78), (115, 98), (80, 130), (55, 165), (42, 205), (39, 250), (45, 290), (62, 330)),
    *((90, 368), (125, 395), (165, 418), (215, 430), (270, 434), (325, 429), (375, 415), (420, 390)),
    *((455, 355), (478, 315), (488, 270), (485, 230), (472, 190), (452, 155), (420, 119), (428, 83)),
    *((422, 76), (400, 77), (390, 65), (365, 42), (330, 28), (280, 20), (230, 26), (195, 40), (167, 62)),
)
"""The outline of the cup, its saucer and the spoon in the photograph, drawn by hand."""

_DISTANCE = 4.0
"""Distance of the camera from the cup, in widths of its saucer. A choice: a photograph from arm's length."""


def cup_scenes() -> dict[str, Float[Tensor, "3 H W"]]:
    """The scenes by file name: the cup rotated on gravel, tilted on a wall, and a photograph without it."""
    cup = cut(load_picture(CUP), [Outline("cup", _OUTLINE)], "cup")
    turned = placed(-35.0, 0.62, (250.0, 230.0), cup.centre)
    leaning = placed(12.0, 0.7, (330.0, 215.0), cup.centre)
    leaning = leaning @ tilted(30.0, 60.0, _DISTANCE * cup.size[0], cup.centre)
    return {
        "cup-on-gravel.jpg": _scene("gravel.jpg", cup, turned, seed=3),
        "cup-on-bricks.jpg": _scene("brick.jpg", cup, leaning, seed=5),
        "no-cup.jpg": load_picture(_PHOTOGRAPHS / "chelsea.jpg").pixels,
    }


def _scene(ground: str, cup: Template, root: Matrix, seed: int) -> Float[Tensor, "3 H W"]:
    """The cup painted over a photograph under random conditions; `root` is the matrix canvas → scene."""
    scene = render(load_picture(_PHOTOGRAPHS / ground).pixels, cup, matrices(cup.parts, root, {}))
    return photographed(scene, np.random.default_rng(seed))

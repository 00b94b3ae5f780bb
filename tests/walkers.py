"""Invented detections for tests of formats and drawings, without a search."""

from dataclasses import replace

import numpy as np
import torch

from detecting import group, leaf, noise, template, walker
from wherein.detect.fast.assemble import Assembler
from wherein.detect.result import Detections
from wherein.images.motif import Motif
from wherein.images.picture import Picture
from wherein.template import Reading, Template
from wherein.template.pose import frames, placed

WIDTH, HEIGHT = 233, 171
LEAVES = ["trunk", "leg", "upper", "hand"]


def found(*hidden: str, at: tuple[tuple[float, float], ...] = ((110.0, 80.0),)) -> Detections:
    """Detections of the walker at some positions; the parts in `hidden` are not found."""
    made = walker()
    leaves = {name: (0.9, name not in hidden) for name in made.parts.leaves}
    turns = {"arm": 25.0, "wrist": -15.0, "leg": 10.0}
    items = [
        Assembler(made)(frames(made.parts, placed(30.0, 0.8, place, made.centre), turns), leaves, 0.97)
        for place in at
    ]
    return Detections(tuple(items), "walker", Picture(torch.rand(3, HEIGHT, WIDTH), None), 0.08)


def renamed(some: Detections, names: dict[str, str]) -> Detections:
    items = tuple(
        replace(item, parts={names.get(name, name): part for name, part in item.parts.items()})
        for item in some
    )
    return replace(some, items=items)


def logo() -> Detections:
    """The detection of a template with a single part."""
    made = Template.rigid("logo", Motif.whole(torch.rand(3, 12, 20)))
    root = np.array([[1.0, 0, 30], [0, 1, 40], [0, 0, 1]])
    one = Assembler(made)({"logo": root}, {"logo": (0.8, True)}, 0.85)
    return Detections((one,), "logo", Picture(torch.rand(3, HEIGHT, WIDTH), None), 0.08)


def ring_mask() -> np.ndarray:
    """A ring with a notch, and a bar beside it."""
    y, x = np.mgrid[:70, :90]
    radius = np.hypot(x - 33, y - 34)
    notch = (abs(y - 34) < 6) & (x > 55)
    return (radius < 32) & (radius > 14) & ~notch | (x > 74) & (x < 84)


def ring(angle: float = 20.0, scale: float = 1.0) -> Detections:
    """The detection of a part that is concave, has a hole and has two components."""
    mask = torch.from_numpy(ring_mask())
    made = Template.rigid("ring", Motif(torch.rand(3, *mask.shape), mask.float()))
    root = placed(angle, scale, (WIDTH / 2, HEIGHT / 2), made.centre)
    one = Assembler(made)({"ring": root}, {"ring": (0.8, True)}, 0.85)
    return Detections((one,), "ring", Picture(torch.rand(3, HEIGHT, WIDTH), None), 0.08)


TILTED = np.array([(1.5, 0.25, 60.0), (-0.3, 0.9, 50.0), (3e-3, 1.5e-3, 1.0)])
"""Matrix of the gauge, canvas → scene, in strong perspective; all of it is inside the scene."""

SCALE = Reading("°C", ((-90.0, -20.0), (0.0, 20.0), (90.0, 120.0)))


def gauge() -> Template:
    """A square dial with a needle that has a reading."""
    needle = leaf("needle", "gauge", noise(8, 40, 2), (28.0, 26.0), (3.0, 3.5), turn=120.0)
    return template(
        group("gauge"),
        leaf("dial", "gauge", noise(61, 61, 1), static=True),
        replace(needle, reading=SCALE),
        size=(68, 61),
    )


def tilted(*hidden: str, turn: float = 45.0, candidates: int = 0) -> Detections:
    """The detection of the gauge in perspective, where every matrix is 3×3."""
    made = gauge()
    leaves = {name: (0.9, name not in hidden) for name in made.parts.leaves}
    one = Assembler(made, projective=True)(frames(made.parts, TILTED, {"needle": turn}), leaves, 0.93)
    close = tuple(replace(one, score=0.6 - 0.01 * number) for number in range(candidates))
    scene = Picture(torch.full((3, HEIGHT, WIDTH), 0.5), None)
    return Detections((one,), "gauge", scene, 0.08, candidates=close)

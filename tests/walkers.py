"""Detections that are made up: what formats write, without a search."""

from dataclasses import replace

import numpy as np
import torch

from detecting import walker
from wherein.detect.fast.assemble import Assembler
from wherein.detect.result import Detections
from wherein.images.load import Picture
from wherein.images.motif import Motif
from wherein.template import Template
from wherein.template.pose import frames, placed

WIDTH, HEIGHT = 233, 171
LEAVES = ["trunk", "leg", "upper", "hand"]


def found(*hidden: str, at: tuple[tuple[float, float], ...] = ((110.0, 80.0),)) -> Detections:
    """Walkers with some parts that were not found."""
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
    """One part that is the whole object."""
    made = Template.rigid("logo", Motif.whole(torch.rand(3, 12, 20)))
    root = np.array([[1.0, 0, 30], [0, 1, 40], [0, 0, 1]])
    one = Assembler(made)({"logo": root}, {"logo": (0.8, True)}, 0.85)
    return Detections((one,), "logo", Picture(torch.rand(3, HEIGHT, WIDTH), None), 0.08)

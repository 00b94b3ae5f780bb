"""How the report lists the parts of a template."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.drawing.palette import colors
from wherein.template.bundle import Template
from wherein.template.tree import Tree

_GROUP_COLOR = "#b0b0b0"
"""Grey, because groups have no image; a leaf has the colour that it has in drawings."""


@dataclass(frozen=True)
class PartEntry:
    """How the report lists a part.

    Attributes:
        name: can be any text.
        number: stands for the name in ids and CSS classes, which cannot be any text.
        color: of its outline, as CSS.
        leaf: whether it has an image; else it is a group.
        depth: how many groups it is in, the root not counted.
        centre: of the box around its outline, (x, y) in its own pixels.
    """

    name: str
    number: int
    color: str
    leaf: bool
    depth: int
    centre: tuple[float, float]


def part_entries(template: Template, first: int = 0) -> tuple[PartEntry, ...]:
    """The parts that a detection has, numbered from `first`, every group followed by its parts."""
    tree = template.parts
    leaf_colors = {name: f"#{r:02x}{g:02x}{b:02x}" for name, (r, g, b) in colors(tree.leaves).items()}
    return tuple(
        PartEntry(
            name,
            number,
            leaf_colors.get(name, _GROUP_COLOR),
            tree[name].motif is not None,
            max(tree.depth(name) - 1, 0),
            _box_centre(template.outlines[name]),
        )
        for number, name in enumerate(_depth_first(tree), first)
    )


def _box_centre(outline: NDArray[np.float64]) -> tuple[float, float]:
    x, y = (outline.min(0) + outline.max(0)) / 2
    return float(x), float(y)


def _depth_first(tree: Tree) -> list[str]:
    """All parts, the root only where it is a leaf: a group at the root is the object itself."""
    listed: list[str] = []
    waiting = [tree.root]
    while waiting:
        listed.append(waiting.pop(0))
        waiting[:0] = tree.children(listed[-1])
    return listed if tree[tree.root].motif is not None else listed[1:]

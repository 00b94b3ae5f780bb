"""The entries of a template's parts in the report."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.drawing.palette import Color, colors
from wherein.template.bundle import Template
from wherein.template.template_library import Library
from wherein.template.tree import Tree

_GROUP_COLOR = "#b0b0b0"
"""The colour of groups: grey, because they have no image. Leaves have the colours of drawings."""


@dataclass(frozen=True)
class PartEntry:
    """A part in the lists of the report.

    Attributes:
        name: its name, which can be any text.
        number: replaces the name in ids and CSS classes, which cannot be any text.
        color: the CSS colour of its outline.
        leaf: whether it has an image; otherwise it is a group.
        depth: the number of groups that it is in, without the root.
        centre: the centre (x, y) of the box around its outline, in its own pixels.
    """

    name: str
    number: int
    color: str
    leaf: bool
    depth: int
    centre: tuple[float, float]


def library_entries(library: Library) -> dict[str, tuple[PartEntry, ...]]:
    """The entries of each template's parts, by the template's name.

    All leaves of the library have different colours, since a scene may show all templates.
    """
    leaves = [(one.name, leaf) for one in library.templates for leaf in one.parts.leaves]
    # Numbers replace the names, which may be the same in two templates.
    palette = dict(zip(leaves, colors(map(str, range(len(leaves)))).values(), strict=True))
    made: dict[str, tuple[PartEntry, ...]] = {}
    for one in library.templates:
        own = {leaf: palette[one.name, leaf] for leaf in one.parts.leaves}
        # Numbers continue from template to template, since they are CSS classes of the whole page.
        made[one.name] = part_entries(one, sum(map(len, made.values())), own)
    return made


def part_entries(
    template: Template, first: int = 0, palette: Mapping[str, Color] | None = None
) -> tuple[PartEntry, ...]:
    """The entries of a template's parts, each group followed by its parts.

    Arguments:
        template: the template.
        first: the number of the first entry.
        palette: the colours of the leaves; None: those of drawings.
    """
    tree = template.parts
    chosen = colors(tree.leaves) if palette is None else palette
    leaf_colors = {name: f"#{r:02x}{g:02x}{b:02x}" for name, (r, g, b) in chosen.items()}
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
    """The names of all parts in depth-first order; without a root that is a group, since it is the object."""
    listed: list[str] = []
    waiting = [tree.root]
    while waiting:
        listed.append(waiting.pop(0))
        # Children are put before what is waiting: depth first.
        waiting[:0] = tree.children(listed[-1])
    return listed if tree[tree.root].motif is not None else listed[1:]

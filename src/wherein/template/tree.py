"""The tree of parts: the parent of each part, its joint, and how far it may turn."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.errors import TemplateError
from wherein.images.motif import Motif
from wherein.motion.homography import mapped, rotations
from wherein.template.part_limits import check_count, check_name
from wherein.template.reading import Reading

Point = tuple[float, float]
Matrix = NDArray[np.float64]
"""3×3, in homogeneous coordinates."""

MAX_DEPTH = 100
"""Maximum number of nested groups. A choice: a longer chain of joints than any object has, and far below
Python's recursion limit."""


@dataclass(frozen=True, eq=False)
class Part:
    """One node of the tree: a leaf, which has a picture, or a group, which has none.

    A part's own pixels are the pixels of its picture. For a group they are the pixels of the canvas.

    Attributes:
        name: as in template.json.
        parent: the name of the group that it belongs to; None for the root.
        motif: its picture and mask; None for a group.
        at: the position of its top-left pixel on the canvas; (0, 0) for a group.
        pivot: the point about which it turns relative to its parent, in its own pixels.
        turn: how far it may turn to each side, in degrees.
        static: whether it never moves relative to its parent.
        reading: the meaning of its turn, if it has one.
    """

    name: str
    parent: str | None
    motif: Motif | None
    at: Point
    pivot: Point
    turn: float
    static: bool
    reading: Reading | None = None

    @property
    def joint(self) -> Point:
        """The position of the pivot on the canvas."""
        return self.at[0] + self.pivot[0], self.at[1] + self.pivot[1]

    @property
    def rest(self) -> Matrix:
        """The matrix from the part's own pixels to the canvas, at rest."""
        return np.array(((1.0, 0.0, self.at[0]), (0.0, 1.0, self.at[1]), (0.0, 0.0, 1.0)))

    @property
    def moves(self) -> bool:
        """Whether the part can turn relative to its parent; False for the root, which has none."""
        return self.parent is not None and not self.static and self.turn > 0


class Tree(Mapping[str, Part]):
    """A mapping from names to parts, parents before their children.

    Arguments:
        parts: in any order.
        plane: the homography from the canvas to the plane of the object as seen from in front, at any size
            and rotation, for a template that was photographed at an angle. Parts turn in that plane. None:
            the canvas shows the object from in front.

    Raises:
        TemplateError: there are too many parts, or not exactly one root; a name is empty, too long or no
            text; a parent does not exist, has a picture or is its own ancestor; a group is empty; groups are
            nested too deeply; or a part that cannot turn has a reading.
    """

    def __init__(self, parts: Mapping[str, Part], plane: Matrix | None = None) -> None:
        check_count(len(parts))
        for name in parts:
            check_name(name, "the part")
        roots = [name for name, part in parts.items() if part.parent is None]
        if len(roots) != 1:
            raise TemplateError(
                f"a template must have one root, a part whose parent is null, but this one has {len(roots)}"
                + (f": {', '.join(sorted(roots))}" if roots else ": the parents form a cycle")
            )
        for name, part in parts.items():
            _check_parent(name, part, parts)
            # A reading gives a value by the turn: without a turn it would be a constant.
            if part.reading is not None and not part.moves:
                raise TemplateError(
                    f'the part "{name}" has a reading, but cannot turn: remove the reading, or give the part '
                    'a parent and a "turn" above 0, and do not make it static'
                )
        self._parts: dict[str, Part] = {}
        # Children keep the order of `parts`, which is the order of template.json.
        self._children: dict[str, tuple[str, ...]] = {
            name: tuple(other for other, part in parts.items() if part.parent == name) for name in parts
        }
        self._depths: dict[str, int] = {}
        # Breadth first from the root, so that parents come before their children. A cycle has no path from
        # the root: its parts are never reached, and the loop ends.
        waiting = list(roots)
        while waiting:
            name = waiting.pop(0)
            above = parts[name].parent
            self._parts[name], self._depths[name] = (
                parts[name],
                0 if above is None else self._depths[above] + 1,
            )
            waiting += self._children[name]
        cut_off = sorted(set(parts) - set(self._parts))
        if cut_off:
            raise TemplateError(f"the parents of {', '.join(cut_off)} form a cycle")
        for name, part in self._parts.items():
            if part.motif is None and not self._children[name]:
                raise TemplateError(
                    f'the part "{name}" has neither an "image" nor children: it needs one of them'
                )
        # `leaves_below`, and code elsewhere, recurse over the tree.
        deepest = max(self._depths, key=self._depths.__getitem__)
        if self._depths[deepest] > MAX_DEPTH:
            raise TemplateError(
                f'the part "{deepest}" has {self._depths[deepest]} nested parents: the maximum is {MAX_DEPTH}'
            )
        self.root, self.plane = roots[0], plane

    def __getitem__(self, name: str) -> Part:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def turned(self, name: str, degrees: float) -> Matrix:
        """The motion of the canvas when a part turns about its joint, 3×3."""
        joint, turned = self[name].joint, np.array(float(degrees))
        if self.plane is None:
            return rotations(turned, joint)
        return np.linalg.inv(self.plane) @ rotations(turned, mapped(self.plane, joint)) @ self.plane

    def children(self, name: str) -> tuple[str, ...]:
        """The names of a part's children."""
        return self._children[name]

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The names of the parts that have a picture."""
        return tuple(name for name, part in self.items() if part.motif is not None)

    @cached_property
    def bottom_up(self) -> tuple[str, ...]:
        """All names, children before their parents: the order in which the paper's network works."""
        return tuple(reversed(tuple(self)))

    def leaves_below(self, name: str) -> tuple[str, ...]:
        """The names of the leaves in a part's subtree; the part itself if it is a leaf."""
        if self[name].motif is not None:
            return (name,)
        return tuple(leaf for child in self.children(name) for leaf in self.leaves_below(child))

    def depth(self, name: str) -> int:
        """The number of ancestors of a part."""
        return self._depths[name]


def _check_parent(name: str, part: Part, parts: Mapping[str, Part]) -> None:
    """Raise `TemplateError` if the parent of a part does not exist or is a leaf."""
    if part.parent is None:
        return
    if part.parent not in parts:
        raise TemplateError(
            f'the parent of the part "{name}" is "{part.parent}", which does not exist: '
            f"the parts are {', '.join(sorted(parts))}"
        )
    if parts[part.parent].motif is not None:
        raise TemplateError(
            f'the parent of the part "{name}" is "{part.parent}", which has an "image": only groups have '
            "children. Put both into a group"
        )


def check_inside(name: str, motif: Motif, at: Point, size: tuple[int, int]) -> None:
    """Refuse a part with opaque pixels outside the canvas."""
    rows, columns = torch.nonzero(motif.mask > 0.5, as_tuple=True)
    low = at[0] + int(columns.min()), at[1] + int(rows.min())
    high = at[0] + int(columns.max()), at[1] + int(rows.max())
    if min(low) < 0 or high[0] > size[0] - 1 or high[1] > size[1] - 1:
        reach = f"({low[0]:g}, {low[1]:g}) to ({math.ceil(high[0])}, {math.ceil(high[1])})"
        raise TemplateError(
            f'the part "{name}" covers {reach}, which is not inside the canvas of {size[0]} × {size[1]}: '
            'check its "at"'
        )

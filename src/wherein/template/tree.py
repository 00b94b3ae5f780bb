"""The tree of parts: who hangs on whom, about which joint, and how far it may turn."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.errors import TemplateError
from wherein.images.motif import Motif

Point = tuple[float, float]
Matrix = NDArray[np.float64]
"""3×3, in homogeneous coordinates."""

DEEPEST = 100
"""Groups that may hang one on the other: far more than anything has joints in a row."""

DEFAULT_TURN = 30.0
"""± degrees that a part may turn where none are given: in template.json, in annotations and in the studio.
A choice, and part of the file format: to change it would change what existing templates mean."""


@dataclass(frozen=True, eq=False)
class Part:
    """One node of the tree: a leaf, which has a picture, or a group, whose pixels are the canvas.

    Attributes:
        name: as in template.json.
        parent: the name of the group that it hangs on; None for the root.
        motif: its picture and mask; None for a group.
        at: where its top-left pixel lies on the canvas; (0, 0) for a group.
        pivot: the point it turns about relative to its parent, in its own pixels.
        turn: how far it may turn, ± degrees.
        static: it never moves relative to its parent.
    """

    name: str
    parent: str | None
    motif: Motif | None
    at: Point
    pivot: Point
    turn: float
    static: bool

    @property
    def joint(self) -> Point:
        """The pivot on the canvas."""
        return self.at[0] + self.pivot[0], self.at[1] + self.pivot[1]

    @property
    def rest(self) -> Matrix:
        """Its pixels → canvas, as it is on the canvas."""
        return np.array(((1.0, 0.0, self.at[0]), (0.0, 1.0, self.at[1]), (0.0, 0.0, 1.0)))

    @property
    def moves(self) -> bool:
        """Whether there is a joint at all. The root moves with the object, not relative to anything."""
        return self.parent is not None and not self.static and self.turn > 0


class Tree(Mapping[str, Part]):
    """Parts by name, parents before their children.

    Arguments:
        parts: in any order.

    Raises:
        TemplateError: there is not one root, a parent is unknown, has a picture, or is its own ancestor;
            or groups are nested too deeply.
    """

    def __init__(self, parts: Mapping[str, Part]) -> None:
        roots = [name for name, part in parts.items() if part.parent is None]
        if len(roots) != 1:
            raise TemplateError(
                f"a template has one root, a part whose parent is null, but here are {len(roots)}"
                + (f": {', '.join(sorted(roots))}" if roots else "; the parents go round in a circle")
            )
        for name, part in parts.items():
            _check_parent(name, part, parts)
        self._parts: dict[str, Part] = {}
        self._children: dict[str, tuple[str, ...]] = {
            name: tuple(other for other, part in parts.items() if part.parent == name) for name in parts
        }
        self._depths: dict[str, int] = {}
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
            raise TemplateError(f"the parents of {', '.join(cut_off)} go round in a circle")
        for name, part in self._parts.items():
            if part.motif is None and not self._children[name]:
                raise TemplateError(f'the group "{name}" is empty: give it an "image" or a part below it')
        deepest = max(self._depths, key=self._depths.__getitem__)
        if self._depths[deepest] > DEEPEST:
            raise TemplateError(
                f'the part "{deepest}" hangs on {self._depths[deepest]} groups, one on the other: '
                f"{DEEPEST} are the most"
            )
        self.root = roots[0]

    def __getitem__(self, name: str) -> Part:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def children(self, name: str) -> tuple[str, ...]:
        """The parts that hang on this one."""
        return self._children[name]

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The parts that have pictures."""
        return tuple(name for name, part in self.items() if part.motif is not None)

    @cached_property
    def bottom_up(self) -> tuple[str, ...]:
        """Every part after its children: the order in which the network works."""
        return tuple(reversed(tuple(self)))

    def leaves_below(self, name: str) -> tuple[str, ...]:
        """The leaves of a part's subtree, itself if it is one."""
        if self[name].motif is not None:
            return (name,)
        return tuple(leaf for child in self.children(name) for leaf in self.leaves_below(child))

    def depth(self, name: str) -> int:
        """How many joints and groups lie between it and the root."""
        return self._depths[name]


def _check_parent(name: str, part: Part, parts: Mapping[str, Part]) -> None:
    if part.parent is None:
        return
    if part.parent not in parts:
        raise TemplateError(
            f'the part "{name}" hangs on "{part.parent}", which does not exist; '
            f"there are {', '.join(sorted(parts))}"
        )
    if parts[part.parent].motif is not None:
        raise TemplateError(
            f'the part "{name}" hangs on "{part.parent}", which has a picture: only groups have children; '
            "make a group of the two"
        )

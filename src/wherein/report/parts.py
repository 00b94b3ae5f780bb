"""How a page tells the parts of a template apart: by order, number and colour."""

from dataclasses import dataclass
from functools import cached_property

from wherein.drawing.palette import colors
from wherein.template.bundle import Template

_GREY = "#b0b0b0"


@dataclass(frozen=True, eq=False)
class PageParts:
    """The parts of a template as they stand in a page."""

    template: Template

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """Those that a detection tells of, each followed by those that hang on it."""
        tree = self.template.parts
        listed: list[str] = []
        waiting = [tree.root]
        while waiting:
            listed.append(waiting.pop(0))
            waiting[:0] = tree.children(listed[-1])
        return tuple(listed if tree[tree.root].motif is not None else listed[1:])

    @cached_property
    def number(self) -> dict[str, int]:
        """Of each, for classes and places: names can be anything."""
        return {name: k for k, name in enumerate(self.listed)}

    @cached_property
    def color(self) -> dict[str, str]:
        """Leaves have one of their own, the same as in drawings; groups are grey."""
        leaves = colors(self.template.parts.leaves)
        grey = dict.fromkeys(self.listed, _GREY)
        return grey | {name: f"#{r:02x}{g:02x}{b:02x}" for name, (r, g, b) in leaves.items()}

    def is_leaf(self, name: str) -> bool:
        """Whether it has a picture."""
        return self.template.parts[name].motif is not None

    def depth(self, name: str) -> int:
        """How many groups it hangs in, the root not counted."""
        return max(self.template.parts.depth(name) - 1, 0)

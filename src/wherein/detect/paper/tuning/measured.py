"""What the measuring of a node gives to the node above it."""

from collections.abc import Sequence
from dataclasses import dataclass

from wherein.detect.paper.nodes import Ends, Node
from wherein.detect.paper.tuning.paper_model import NodeCalibration
from wherein.detect.paper.tuning.rehearsal import NEAR, Rehearsal, at_home


@dataclass(frozen=True, eq=False)
class Measured:
    """A node that has been measured.

    Attributes:
        node: with its α and γ.
        known: the numbers.
        present: where its strides end in each rehearsal.
        clutter: where they would, were the template not there.
    """

    node: Node
    known: NodeCalibration
    present: list[Ends]
    clutter: list[Ends]


def apart(
    name: str, rehearsals: Sequence[Rehearsal], present: Sequence[Ends], clutter: Sequence[Ends]
) -> tuple[list[Ends], list[Ends]]:
    """In each rehearsal the ends where the part is, and all others, those of clutter with them."""
    right, wrong = [], []
    for rehearsal, seen, empty in zip(rehearsals, present, clutter, strict=True):
        pivot = rehearsal.template.parts[name].pivot
        here = at_home(seen.matrix, rehearsal.at(name), pivot, *NEAR)
        right.append(seen[here])
        wrong.append(seen[~here].and_also(empty))
    return right, wrong


def least(ends: Sequence[Ends], unit: float) -> list[float]:
    """The lowest cost of each that has any, in some unit, sorted."""
    return sorted(float(each.cost.min()) / unit for each in ends if len(each))

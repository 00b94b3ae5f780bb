"""How a part is attached, as annotations say it: `static`, `turn=40`, `parent=arm`, `pivot=120,84`.

Annotation tools have no fields for joints, so people write these into descriptions, flags or attributes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wherein.errors import TemplateError
from wherein.images.polygons import CORNER_OFFSET
from wherein.template.tree import Point

_SETTING = re.compile(
    r"""\b(?P<key>static|turn|parent|pivot)\b
        (?:\s*[=:]\s*(?: "(?P<quoted>[^"]*)" | (?P<plain>[^\s;]+) ))?""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?")
_FALSE = ("false", "no", "0")


@dataclass(frozen=True)
class JointSpec:
    """What an annotation says about the joint of one part; None where it says nothing.

    Attributes:
        parent, pivot, turn, static: as of `Outline`.
    """

    parent: str | None = None
    pivot: Point | None = None
    turn: float | None = None
    static: bool | None = None

    def or_else(self, other: "JointSpec") -> "JointSpec":
        """This one, completed by another where it says nothing."""
        return JointSpec(
            parent=other.parent if self.parent is None else self.parent,
            pivot=other.pivot if self.pivot is None else self.pivot,
            turn=other.turn if self.turn is None else self.turn,
            static=other.static if self.static is None else self.static,
        )


def from_text(text: str, what: str) -> JointSpec:
    """The settings in a text; other words may stand between them.

    Arguments:
        text: a description.
        what: it describes, for errors.

    >>> from_text("the left one, static; parent=arm", "it")
    JointSpec(parent='arm', pivot=None, turn=None, static=True)
    """
    values = {}
    for found in _SETTING.finditer(text):
        value = found["quoted"] if found["quoted"] is not None else found["plain"]
        if value is not None:
            values[found["key"].lower()] = value.rstrip(",;.")
        elif found["key"].lower() == "static":
            values["static"] = "yes"
    return from_values(values, what)


def from_values(values: Mapping[str, Any], what: str) -> JointSpec:
    """The settings in a mapping. Coordinates are those of annotation tools: half a pixel is subtracted.

    Raises:
        TemplateError: `turn` is not one number, or `pivot` is not two.
    """
    parent, pivot, turn, static = (values.get(key) for key in ("parent", "pivot", "turn", "static"))
    return JointSpec(
        parent=None if parent is None else str(parent).strip() or None,
        pivot=None if pivot is None else _point(pivot, what),
        turn=None if turn is None else _degrees(turn, what),
        static=None if static is None else str(static).strip().lower() not in _FALSE,
    )


def add_groups(joints: dict[str, JointSpec], groups: Mapping[str, JointSpec]) -> None:
    """Add the groups that parts name as their parent, and the parents of these.

    Arguments:
        joints: by part; is added to.
        groups: what is known about groups, which have no shape of their own.
    """
    waiting = [joint.parent for joint in joints.values()]
    while waiting:
        name = waiting.pop()
        if name is not None and name not in joints:
            joints[name] = groups.get(name, JointSpec())
            waiting.append(joints[name].parent)


def _degrees(value: Any, what: str) -> float:
    numbers = _NUMBER.findall(str(value))
    if len(numbers) != 1:
        raise TemplateError(f"{what} has turn={value}: use degrees, for example turn=40")
    return abs(float(numbers[0]))


def _point(value: Any, what: str) -> Point:
    numbers = _NUMBER.findall(str(value))
    if len(numbers) != 2:
        raise TemplateError(f"{what} has pivot={value}: use x,y, for example pivot=120,84")
    return float(numbers[0]) - CORNER_OFFSET, float(numbers[1]) - CORNER_OFFSET

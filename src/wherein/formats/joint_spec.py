"""The joints of parts in annotations: `static`, `turn=40`, `parent=arm`, `pivot=120,84`.

Annotation tools have no fields for joints. People write these settings into descriptions, flags or
attributes.
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
    """The settings of one part's joint in an annotation; None: not given.

    Attributes:
        parent, pivot, turn, static: as in `Outline`.
    """

    parent: str | None = None
    pivot: Point | None = None
    turn: float | None = None
    static: bool | None = None

    def or_else(self, other: "JointSpec") -> "JointSpec":
        """These settings; those that are not given are taken from `other`."""
        return JointSpec(
            parent=other.parent if self.parent is None else self.parent,
            pivot=other.pivot if self.pivot is None else self.pivot,
            turn=other.turn if self.turn is None else self.turn,
            static=other.static if self.static is None else self.static,
        )


def from_text(text: str, what: str) -> JointSpec:
    """The settings in a text, which may contain other words.

    Arguments:
        text: a description.
        what: the described part, for error messages.

    >>> from_text("the left one, static; parent=arm", "it")
    JointSpec(parent='arm', pivot=None, turn=None, static=True)
    """
    values = {}
    for found in _SETTING.finditer(text):
        # Names with spaces are quoted: parent="upper arm".
        value = found["quoted"] if found["quoted"] is not None else found["plain"]
        if value is not None:
            values[found["key"].lower()] = value.rstrip(",;.")  # the end of a sentence or of a list
        elif found["key"].lower() == "static":
            values["static"] = "yes"
    return from_values(values, what)


def from_values(values: Mapping[str, Any], what: str) -> JointSpec:
    """The settings in a mapping, converted.

    Annotation tools have the corner of the first pixel at (0, 0); here its centre is: half a pixel is
    subtracted from coordinates.

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
    """Add the groups that parts name as their parent, and the parents of these groups.

    Arguments:
        joints: the joints by part; changed in place.
        groups: the joints of groups, as far as they are given; groups have no shapes.
    """
    waiting = [joint.parent for joint in joints.values()]
    # A parent may be named by parts only, and may have a parent itself: the loop ends when all are known.
    while waiting:
        name = waiting.pop()
        if name is not None and name not in joints:
            joints[name] = groups.get(name, JointSpec())
            waiting.append(joints[name].parent)


def _degrees(value: Any, what: str) -> float:
    numbers = _NUMBER.findall(str(value))  # also in texts such as "±40°" or "40 degrees"
    if len(numbers) != 1:
        raise TemplateError(f"{what} has turn={value}: use degrees, for example turn=40")
    return abs(float(numbers[0]))


def _point(value: Any, what: str) -> Point:
    numbers = _NUMBER.findall(str(value))
    if len(numbers) != 2:
        raise TemplateError(f"{what} has pivot={value}: use x,y, for example pivot=120,84")
    return float(numbers[0]) - CORNER_OFFSET, float(numbers[1]) - CORNER_OFFSET

"""What a person tells about a part in passing: `static`, `turn=40`, `parent=arm`, `pivot=120,84`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wherein.errors import TemplateError
from wherein.template.tree import Point

HALF = 0.5
"""From the corner of a pixel, where annotation tools have (0, 0), to its centre, where it is here."""

_WORD = re.compile(
    r"""\b(?P<key>static|turn|parent|pivot)\b
        (?:\s*[=:]\s*(?: "(?P<quoted>[^"]*)" | (?P<plain>[^\s;]+) ))?""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?")
_NO = ("false", "no", "0")


@dataclass(frozen=True)
class Told:
    """About one part; None where nothing was said."""

    parent: str | None = None
    pivot: Point | None = None
    turn: float | None = None
    static: bool | None = None

    def over(self, other: "Told") -> "Told":
        """This, and where it says nothing the other."""
        return Told(
            *(
                mine if mine is not None else theirs
                for mine, theirs in zip(self._all, other._all, strict=True)
            )
        )

    @property
    def _all(self) -> tuple[Any, ...]:
        return self.parent, self.pivot, self.turn, self.static


def from_text(text: str, whose: str) -> Told:
    """What words in a text say; other words may stand between them.

    >>> from_text("the left one, static; parent=arm", "it")
    Told(parent='arm', pivot=None, turn=None, static=True)
    """
    values = {}
    for found in _WORD.finditer(text):
        value = found["quoted"] if found["quoted"] is not None else found["plain"]
        if value is not None:
            values[found["key"].lower()] = value.rstrip(",;.")
        elif found["key"].lower() == "static":
            values["static"] = "yes"
    return from_values(values, whose)


def from_values(values: Mapping[str, Any], whose: str) -> Told:
    """What a mapping says under these four words; places are those of an annotation tool.

    Raises:
        TemplateError: a turn that is no number, or a pivot that is not two.
    """
    parent, static = values.get("parent"), values.get("static")
    return Told(
        parent=None if parent is None else str(parent).strip() or None,
        pivot=None if values.get("pivot") is None else _point(values["pivot"], whose),
        turn=None if values.get("turn") is None else _degrees(values["turn"], whose),
        static=None if static is None else str(static).strip().lower() not in _NO,
    )


def add_groups(told: dict[str, Told], known: Mapping[str, Told]) -> None:
    """Add the groups that parts hang on: they have no shape of their own.

    Arguments:
        told: about each part; is added to.
        known: about groups.
    """
    waiting = [said.parent for said in told.values()]
    while waiting:
        group = waiting.pop()
        if group is not None and group not in told:
            told[group] = known.get(group, Told())
            waiting.append(told[group].parent)


def _degrees(value: Any, whose: str) -> float:
    numbers = _NUMBER.findall(str(value))
    if len(numbers) != 1:
        raise TemplateError(f"{whose} has turn={value}: give degrees, as in turn=40")
    return abs(float(numbers[0]))


def _point(value: Any, whose: str) -> Point:
    numbers = _NUMBER.findall(str(value))
    if len(numbers) != 2:
        raise TemplateError(f"{whose} has pivot={value}: give x and y, as in pivot=120,84")
    return float(numbers[0]) - HALF, float(numbers[1]) - HALF

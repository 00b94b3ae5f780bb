"""A draft: an object as it is outlined in the page, on a picture that the studio holds."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from wherein.formats.part_outline import Outline
from wherein.template.tree import DEFAULT_TURN

_PARTS, _CORNERS = 500, 20_000
"""The most of a draft, and of a part."""

Place = tuple[FiniteFloat, FiniteFloat]
"""(x, y) in the picture's pixels, whose centres are at whole numbers."""

Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DraftPart(_Message):
    """A part that was outlined.

    Attributes:
        name, parent, pivot, turn, static: as of `wherein.making.Outline`.
        points: its outline; None for a group.
        kept: the part of the opened template whose picture it has, as long as its outline is not changed.
    """

    name: Name
    parent: Name | None = None
    points: Annotated[tuple[Place, ...], Field(max_length=_CORNERS)] | None = None
    kept: Name | None = None
    pivot: Place | None = None
    turn: Annotated[FiniteFloat, Field(ge=0, le=180)] = DEFAULT_TURN
    static: bool = False

    def outline(self) -> Outline:
        """To be cut along."""
        return Outline(self.name, self.points, self.parent, self.pivot, self.turn, self.static)


class Draft(_Message):
    """An object.

    Attributes:
        name: of the template.
        picture: the id of the picture that it is outlined on.
        parts: in any order.
        order: parts that have an outline, the lowest first.
    """

    name: Name
    picture: str
    parts: Annotated[tuple[DraftPart, ...], Field(max_length=_PARTS)]
    order: tuple[Name, ...] = ()

    @model_validator(mode="after")
    def _outlined(self) -> "Draft":
        if not any(part.points is not None for part in self.parts):
            raise ValueError("nothing is outlined yet: draw around the object first")
        return self

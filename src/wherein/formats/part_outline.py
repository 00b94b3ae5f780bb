"""`Outline`: a part as a person draws it on a picture, before it is cut out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

from wherein.template.reading import Reading

if TYPE_CHECKING:
    Place: TypeAlias = Sequence[float]
    Corners: TypeAlias = Sequence[Place] | NDArray[Any]
    Scale: TypeAlias = Reading | Mapping[str, Any]
else:
    # In tests, beartype checks types at run time. It would report a wrong type before our own error does.
    Place = Corners = Scale = object


@dataclass(frozen=True, eq=False)
class Outline:
    """A part of an object, outlined on a picture.

    Coordinates are (x, y) in pixels of the picture, with pixel centres at whole numbers.

    Attributes:
        name: the name of the part.
        polygon: its corners, at least three. A polygon that crosses itself is filled by the even-odd rule:
            a region that it winds around twice is outside.
        parent: the name of the part that it is attached to; None: the object itself.
        pivot: the point about which it turns relative to its parent; None: the centre of its cut-out.
        turn: how far it may turn to each side, in degrees; None: 30°, the default of template.json.
        static: whether it never moves relative to its parent; None: it moves if it has a pivot.
        mask: instead of a polygon, an array (H, W) of the picture's size: booleans, or levels as accepted by
            `load_mask`. An outline with neither polygon nor mask is a group.
        reading: the meaning of its turn, as in template.json: {"unit": "°C", "at": [[turn, value], …]}; or a
            `wherein.template.Reading`.

    Example:
        >>> arm = Outline("arm", [(0, 0), (40, 0), (40, 12), (0, 12)], parent="body", pivot=(4, 6))
        >>> arm.static, arm.fixed, arm.group
        (None, False, False)
    """

    name: str
    polygon: Corners | None = None
    parent: str | None = None
    pivot: Place | None = None
    turn: float | None = None
    static: bool | None = None
    mask: NDArray[Any] | None = None
    reading: Scale | None = None

    @property
    def group(self) -> bool:
        """Whether it is a group: a part without pixels of its own."""
        return self.polygon is None and self.mask is None

    @property
    def fixed(self) -> bool:
        """Whether the part never moves relative to its parent."""
        return self.pivot is None if self.static is None else self.static

    @staticmethod
    def box(name: str, left: float, top: float, width: float, height: float) -> "Outline":
        """The outline of the pixels picture[top : top + height, left : left + width].

        Example:
            >>> Outline.box("all", 0, 0, 4, 3).polygon
            ((-0.5, -0.5), (3.5, -0.5), (3.5, 2.5), (-0.5, 2.5))
        """
        # Pixel centres are at whole numbers, so that edges of pixels are half a pixel further out.
        x0, y0, x1, y1 = left - 0.5, top - 0.5, left + width - 0.5, top + height - 0.5
        return Outline(name, ((x0, y0), (x1, y0), (x1, y1), (x0, y1)))

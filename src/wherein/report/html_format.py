"""Values as HTML: the jinja2 environment of the report, its filters, and images as data URIs.

Every value is escaped (`autoescape`), so names of files and parts cannot inject markup. A misspelt variable
is an error (`StrictUndefined`), not an empty cell.
"""

import base64
import io
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup
from PIL import Image

if TYPE_CHECKING:
    from jinja2 import Environment

_MAX_SIDE = 1600
"""Pixels of the longer side of a scene in the report; larger ones are reduced. A choice: twice the width at
which a 1200 px window shows them, so they stay sharp on screens with two pixels a point."""

_MAX_CUTOUT_SIDE = 480
"""The same for images with alpha. A choice: PNG takes far more space than JPEG, templates are shown small,
and maps have no more detail."""


def render(file: str, /, **data: object) -> Markup:
    """The HTML of a template, safe to be placed inside another.

    Arguments:
        file: name of the template in `templates`.
        data: its variables.

    Example:
        >>> render("laps.html", laps=(), total=1.5).splitlines()[0]
        Markup('<div class="time">')
    """
    return Markup(environment().get_template(file).render(data))


def stream(file: str, /, **data: object) -> Iterator[str]:
    """The same piece by piece: a page of thousands of scenes is never in memory as a whole."""
    return environment().get_template(file).generate(data)


@cache
def environment() -> "Environment":
    """The templates of the report and the filters that they use."""
    # Not at the top: `wherein detect` without --report imports this module and does not need jinja2.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("wherein.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # the files do not change while a report is written
    )
    made.filters |= {
        "number": number,
        "point": point,
        "matrix": matrix,
        "duration": duration,
        "decimal": decimal,
        "svg_points": svg_points,
        "svg_dots": svg_dots,
    }
    return made


def number(value: float, digits: int = 2) -> str:
    """A number to read: with a minus sign instead of a hyphen, and never −0.

    Example:
        >>> number(-1.234), number(-0.001)
        ('−1.23', '0.00')
    """
    return f"{value:z.{digits}f}".replace("-", "−")


def point(at: Iterable[float]) -> str:
    """A point as (x, y)."""
    return "(" + ", ".join(number(value, 1) for value in at) + ")"


def matrix(values: Iterable[Iterable[float]]) -> str:
    """A matrix as nested lists that can be copied into Python."""
    rows = ("[" + ", ".join(f"{value:.6g}" for value in row) + "]" for row in values)
    return "[" + ",\n ".join(rows) + "]"


def duration(seconds: float) -> str:
    """A duration with three significant digits, in the unit that is easiest to read.

    Example:
        >>> duration(0.0123), duration(125.4)
        ('12.3 ms', '2 min 5 s')
    """
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    seconds = float(f"{seconds:.3g}")
    if seconds >= 1:
        return f"{seconds:g} s"
    thousandths = seconds * 1000
    return f"{thousandths:.{3 - len(str(int(thousandths)))}f} ms"


def decimal(value: float, digits: int = 1) -> str:
    """A number for SVG and CSS, which know the hyphen only."""
    return f"{value:.{digits}f}"


def svg_points(points: Sequence[Sequence[float]]) -> str:
    """Points for the `points` attribute of SVG."""
    # One format for all points, which takes a fifth less time than one for each: outlines have hundreds.
    return " ".join(["%.1f,%.1f"] * len(points)) % tuple(value for at in points for value in at)


def svg_dots(points: str) -> str:
    """The points of `svg_points` as a path with a line of no length at each: round caps make these dots,
    all in one element.

    Example:
        >>> svg_dots("1.0,2.0 3.0,4.0")
        'M1.0,2.0h0M3.0,4.0h0'
    """
    return f"M{points.replace(' ', 'h0M')}h0"


def jpeg_uri(image: Image.Image) -> str:
    """A data URI of an RGB image."""
    return _data_uri(_reduced(image, _MAX_SIDE), "jpeg", quality=85)


def png_uri(image: Image.Image) -> str:
    """A data URI of an image with alpha."""
    return _data_uri(_reduced(image, _MAX_CUTOUT_SIDE), "png", optimize=True)


def _reduced(image: Image.Image, side: int) -> Image.Image:
    """The image, or a smaller copy whose longer side has `side` pixels."""
    if max(image.size) <= side:
        return image
    smaller = image.copy()  # `thumbnail` works in place
    smaller.thumbnail((side, side))
    return smaller


def _data_uri(image: Image.Image, kind: str, **options: int | bool) -> str:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"

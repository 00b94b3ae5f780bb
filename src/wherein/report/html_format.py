"""Formatting of values as HTML: the jinja2 environment of the report, and its filters.

Every value is escaped (`autoescape`), so that names of files and parts cannot inject markup. A misspelt
variable is an error (`StrictUndefined`), and not an empty cell.
"""

import base64
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from wherein.report.svg_path import curve

if TYPE_CHECKING:
    from jinja2 import Environment


def render(file: str, /, **data: object) -> Markup:
    """The HTML of a jinja2 template, marked as safe for inclusion in another.

    Arguments:
        file: the name of the template in `templates`.
        data: the variables of the template.

    Example:
        >>> render("laps.html", laps=(), total=1.5).splitlines()[0]
        Markup('<div class="time">')
    """
    return Markup(environment().get_template(file).render(data))


def stream(file: str, /, **data: object) -> Iterator[str]:
    """The same in pieces, so that a page of thousands of scenes is never in memory as a whole."""
    return environment().get_template(file).generate(data)


@cache
def environment() -> "Environment":
    """The jinja2 environment with the templates of the report and their filters."""
    # Imported here: `wherein detect` without --report imports this module, but does not need jinja2.
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
        "curve": curve,
        "packed": packed,
    }
    return made


def number(value: float, digits: int = 2) -> str:
    """A number for people: with a minus sign instead of a hyphen, and without −0.

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
    """A duration with three significant digits, in a suitable unit.

    Example:
        >>> duration(0.0123), duration(125.4)
        ('12.3 ms', '2 min 5 s')
    """
    if seconds >= 60:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    # Rounded before the unit is chosen, so that 0.9996 s is 1 s and not 1000 ms.
    seconds = float(f"{seconds:.3g}")
    if seconds >= 1:
        return f"{seconds:g} s"
    thousandths = seconds * 1000
    return f"{thousandths:.{3 - len(str(int(thousandths)))}f} ms"


def decimal(value: float, digits: int = 1) -> str:
    """A number for SVG and CSS, which require a hyphen as the minus sign."""
    return f"{value:.{digits}f}"


def packed(markup: str) -> str:
    """Markup compressed by deflate, as base64; `page.js` unpacks it when it is needed.

    Example:
        >>> zlib.decompress(base64.b64decode(packed("<p>plots</p>")))
        b'<p>plots</p>'
    """
    return base64.b64encode(zlib.compress(markup.encode(errors="xmlcharrefreplace"), 9)).decode()

"""A row for each part of each object: as plain rows, as CSV, and as pandas has it."""

import csv
import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wherein.extras import require_package
from wherein.images.polygons import box

if TYPE_CHECKING:
    from wherein.detect.result import Detections

COLUMNS = (
    *("scene", "template", "instance", "instance_score", "part", "found", "score", "angle"),
    *("m00", "m01", "m02", "m10", "m11", "m12", "left", "top", "right", "bottom"),
)
"""`instance` counts from 1; m00 to m12 are the part's matrix, its pixels → scene pixels."""

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell begins with that a spreadsheet would compute instead of showing."""


def rows(found: "Detections", name: str) -> list[tuple[Any, ...]]:
    """Of every object all its parts in the order of the tree, also those that were not found.

    Arguments:
        found: what was found in a scene.
        name: of the scene.
    """
    return [
        (
            *(name, found.template, instance, round(item.score, 4)),
            *(part, placed.found, round(placed.score, 4), round(placed.angle, 4)),
            *placed.matrix.round(6).ravel().tolist(),
            *(round(edge, 2) for edge in box([placed.polygon])),
        )
        for instance, item in enumerate(found, 1)
        for part, placed in item.parts.items()
    ]


def csv_text(table: Iterable[tuple[Any, ...]]) -> str:
    """Rows as RFC 4180 has them, names such that a spreadsheet shows them and runs none."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows([_cell(value) for value in row] for row in table)
    return text.getvalue()


def dataframe(found: "Detections", name: str) -> Any:
    """The rows as a `pandas.DataFrame`, names as they are."""
    pandas = require_package("pandas", "to_dataframe()", "pip install 'wherein[pandas]'")
    return pandas.DataFrame(rows(found, name), columns=list(COLUMNS))


def _cell(value: Any) -> Any:
    """A name that begins like a formula gets the apostrophe that makes it a text; booleans as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value

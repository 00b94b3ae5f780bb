"""CSV: a table with one row for each part of each detection; also as a `pandas.DataFrame`."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wherein.extras import require_package
from wherein.formats.export_target import AddScene, ExportTarget, text_file
from wherein.images.polygons import box
from wherein.motion.homography import rounded, square
from wherein.template.reading import rounded_value

if TYPE_CHECKING:
    from wherein.detect.result import Detections
    from wherein.template.template_library import Library

COLUMNS = (
    *("scene", "template", "instance", "instance_score", "part", "found", "score", "angle"),
    *("m00", "m01", "m02", "m10", "m11", "m12", "m20", "m21", "m22", "left", "top", "right", "bottom"),
    *("turn", "value", "unit", "tilt"),
)
"""`instance` counts from 1. m00 to m22 are the matrix part pixels → scene pixels; its last row is 0, 0, 1
without perspective. `value` and `unit` are empty for parts without a reading."""

_FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of cells that a spreadsheet interprets as formulas: the list of OWASP for CSV injection,
and the full-width forms."""


@contextmanager
def export(target: ExportTarget, library: "Library") -> Iterator[AddScene]:
    """Export all scenes to one file; the rows of a scene are written when it is added."""
    with text_file(target.path) as file:
        file.write(csv_text([COLUMNS]))

        def add(scene: Path, found: "Detections") -> None:
            file.write(csv_text(rows(found, str(scene))))

        yield add


def rows(found: "Detections", name: str) -> list[tuple[Any, ...]]:
    """One row for each part of each object, in the order of the tree, including parts that were not found.

    Arguments:
        found: the detections in a scene.
        name: the name of the scene.
    """
    return [
        (
            *(name, found.template_of(item), instance, round(item.score, 4)),
            *(part_name, part.found, round(part.score, 4), round(part.angle, 4)),
            *square(rounded(part.matrix)).ravel().tolist(),
            *(round(edge, 2) for edge in box(part.rings)),
            *(round(part.turn, 4) + 0.0, rounded_value(part.value), part.unit, round(part.tilt, 2)),
        )
        for instance, item in enumerate(found, 1)
        for part_name, part in item.parts.items()
    ]


def csv_text(table: Iterable[tuple[Any, ...]]) -> str:
    """Rows as CSV (RFC 4180), safe to open in a spreadsheet."""
    # RFC 4180 requires CRLF. newline="" keeps Python from translating it.
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows([_cell(value) for value in row] for row in table)
    return text.getvalue()


def dataframe(found: "Detections", name: str) -> Any:
    """The rows as a `pandas.DataFrame`; names are not escaped, since pandas does not evaluate formulas."""
    pandas = require_package("pandas", "to_dataframe()", "pip install 'wherein[pandas]'")
    return pandas.DataFrame(rows(found, name), columns=list(COLUMNS))


def _cell(value: Any) -> Any:
    """A cell: texts that a spreadsheet would evaluate get an apostrophe; booleans are written as in JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_PREFIXES) else value

"""Reports that consist of sections with one table each, on the terminal and in Markdown."""

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table

from benchmarks.report import aims, grid, preamble

NOTHING = "–"


def cell(row: Mapping[str, Any], key: str, kind: str) -> str:
    """A cell as text; kind: text | number | ms | of <the key of the total in the row>."""
    value = row.get(key)
    if value is None:
        return NOTHING
    if kind.startswith("of "):
        return f"{value}/{row[kind.removeprefix('of ')]}"
    return {"text": str, "number": number, "ms": milliseconds}[kind](value)


def number(value: float) -> str:
    """A number with three significant digits, or as an integer from 100."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def milliseconds(value: float) -> str:
    """A time in seconds as text in milliseconds."""
    return number(1e3 * value)


def rows(section: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table of a section, every cell as text."""
    return [tuple(cell(row, key, kind) for _, key, kind in section["columns"]) for row in section["rows"]]


def terminal(report: Mapping[str, Any]) -> Group:
    """The tables of all sections for a terminal, and the aims."""
    tables = [
        _table(part["name"], [title for title, _, _ in part["columns"]], rows(part)) for part in parts(report)
    ]
    return Group(*tables, _table("aims", AIMS, aims(report, "sections")))


AIMS = ("section", "measure", "aim", "value", "met")


def parts(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The sections of a report."""
    return report["sections"]


def _table(title: str, header: list[str] | tuple[str, ...], body: list[tuple[str, ...]]) -> Table:
    table = Table(*header, title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for row in body:
        table.add_row(*row)
    return table


def markdown(report: Mapping[str, Any]) -> str:
    """The report in Markdown: the machine, the tables, the aims, and a list of failures."""
    lines = [*preamble(report), *(f"- missing: {what}" for what in report["data"]["missing"])]
    for part in parts(report):
        titles = [title for title, _, _ in part["columns"]]
        lines += ["", f"## {part['name'].capitalize()}", "", part["about"], "", *grid(titles, rows(part))]
    lines += ["", "## Aims", "", *grid(AIMS, aims(report, "sections")), "", "## Missed and lost", ""]
    lost = [f"- {words}" for part in parts(report) for words in part["losses"]]
    return "\n".join([*lines, *(lost or ["Nothing."])]) + "\n"

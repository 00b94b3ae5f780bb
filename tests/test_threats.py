"""Every test that docs/threats.md and docs/faults.md name exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"threat": ROOT / "docs" / "threats.md", "fault": ROOT / "docs" / "faults.md"}


def rows(page: Path) -> list[tuple[str, str, str]]:
    """What can happen, and the file and name of the test."""
    return re.findall(r"^\| (.+?) \| .+ \| `(\S+)::(\w+)` \|$", page.read_text(), re.MULTILINE)


ROWS = [row for page in PAGES.values() for row in rows(page)]


@pytest.mark.parametrize("title", PAGES)
def test_every_row_names_a_test(title: str) -> None:
    lines = PAGES[title].read_text().splitlines()
    listed = [line for line in lines if line.startswith("| ") and not line.startswith(f"| {title} |")]
    assert len(rows(PAGES[title])) == len(listed) > 10


@pytest.mark.parametrize(("threat", "file", "name"), ROWS, ids=[row[0][:50] for row in ROWS])
def test_it_exists(threat: str, file: str, name: str) -> None:
    functions = [
        node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    assert name in functions

"""Every test that docs/threats.md names exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROWS = re.findall(
    r"^\| (.+?) \| .+ \| `(\S+)::(\w+)` \|$", (ROOT / "docs/threats.md").read_text(), re.MULTILINE
)


def test_every_row_names_a_test() -> None:
    lines = (ROOT / "docs/threats.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| threat")]
    assert len(ROWS) == len(rows) > 20


@pytest.mark.parametrize(("threat", "file", "name"), ROWS, ids=[row[0][:50] for row in ROWS])
def test_it_exists(threat: str, file: str, name: str) -> None:
    functions = [
        node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    assert name in functions

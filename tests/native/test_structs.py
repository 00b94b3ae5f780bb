"""Structs are complete wherever they are made: ctypes leaves a field that is missing at 0."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wherein
from wherein.native import structs

SOURCE = Path(wherein.__file__).parent


def test_structs_are_made_with_the_names_of_all_their_fields() -> None:
    made = [call for path in sorted(SOURCE.rglob("*.py")) for call in structs_made(path.read_text())]
    assert {name for name, _ in made} >= {struct.__name__ for struct in structs.STRUCTS}
    for name, given in made:
        assert given == [field for field, *_ in getattr(structs, name)._fields_], name


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("structs.ScreenMaps(best=1, which=2)", ["best", "which"]),
        ("structs.ScreenMaps(best=1)", ["best"]),
        ("structs.ScreenMaps(1, which=2)", ["positional", "which"]),
        ("structs.ScreenMaps(best=1, **more)", ["best", None]),
    ],
)
def test_a_field_that_is_missing_or_without_a_name_would_be_seen(call: str, given: list[str | None]) -> None:
    assert list(structs_made(call)) == [("ScreenMaps", given)]


def structs_made(source: str) -> Iterator[tuple[str, list[str | None]]]:
    """The name of every struct that a source makes, and the names of the fields that it gives."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, node.func.value
            if (
                isinstance(of, ast.Name)
                and of.id == "structs"
                and name in {s.__name__ for s in structs.STRUCTS}
            ):
                yield name, ["positional" for _ in node.args] + [word.arg for word in node.keywords]

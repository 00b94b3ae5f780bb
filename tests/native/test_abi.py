"""C and Python agree on every number that crosses between them, and a library that does not is refused."""

import ast
import ctypes
from collections.abc import Iterator
from pathlib import Path

import pytest

import wherein
from wherein.formulations.motif_side import MOTION_KINDS
from wherein.motion import MOTIONS
from wherein.native import abi, bindings
from wherein.solve.solution import Status

SOURCE = Path(wherein.__file__).parent

compiled = pytest.mark.skipif(not bindings.available(), reason=f"no native library: {bindings.reason()}")


@compiled
def test_the_library_fits() -> None:
    functions = bindings.library().functions
    abi.check(functions)
    assert dict(abi._listed(functions)).keys() <= abi.expected_facts().keys()


@compiled
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ABI", 99, "the library has ABI 1, but this version needs 99"),
        ("MAX_CHANNELS", 5, "MAX_CHANNELS is 4 in C and 5 in Python"),
        (
            "STATUSES",
            (*abi.STATUSES[:3], "FLAT", "OUTSIDE"),
            "FLAT is 4 in C and 3 in Python; OUTSIDE is 3 in C and 4",
        ),
        ("STATUSES", (*abi.STATUSES, "NEW"), "NEW is None in C and 5"),
        ("_PARAMETERS", dict.fromkeys(abi.MotionKind, 2), "parameters of AFFINE is 6 in C and 2"),
    ],
)
def test_a_number_that_differs_is_named(
    name: str, value: object, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abi, name, value)
    with pytest.raises(abi.AbiError, match=words):
        abi.check(bindings.library().functions)


@compiled
def test_fields_that_change_places_are_seen_though_the_size_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = abi.SolverRules._fields_
    swapped = (fields[1], fields[0], *fields[2:])
    struct = type("SolverRules", (ctypes.Structure,), {"_fields_": swapped})
    others = tuple(other for other in abi._STRUCTS if other is not abi.SolverRules)
    monkeypatch.setattr(abi, "_STRUCTS", (*others, struct))
    with pytest.raises(
        abi.AbiError, match=r"SolverRules.damping is 0 in C and 8 in Python; SolverRules.ease is 8 in C and 0"
    ):
        abi.check(bindings.library().functions)


def test_another_library_is_refused() -> None:
    with pytest.raises(abi.AbiError, match=r"a function is missing: .*wherein_abi"):
        abi.check(ctypes.CDLL(None))


def test_structs_are_made_with_the_names_of_all_their_fields() -> None:
    made = [call for path in sorted(SOURCE.rglob("*.py")) for call in structs_made(path.read_text())]
    assert {name for name, _ in made} >= {struct.__name__ for struct in abi._STRUCTS}
    for name, given in made:
        assert given == [field for field, *_ in getattr(abi, name)._fields_], name


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("abi.ScreenMaps(best=1, which=2)", ["best", "which"]),
        ("abi.ScreenMaps(best=1)", ["best"]),
        ("abi.ScreenMaps(1, which=2)", ["positional", "which"]),
        ("abi.ScreenMaps(best=1, **more)", ["best", None]),
    ],
)
def test_a_field_that_is_missing_or_without_a_name_would_be_seen(call: str, given: list[str | None]) -> None:
    assert list(structs_made(call)) == [("ScreenMaps", given)]


def structs_made(source: str) -> Iterator[tuple[str, list[str | None]]]:
    """The name of every struct of `abi` that a source makes, and the names of the fields that it gives."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, of = node.func.attr, node.func.value
            if isinstance(of, ast.Name) and of.id == "abi" and name in {s.__name__ for s in abi._STRUCTS}:
                yield name, ["positional" for _ in node.args] + [word.arg for word in node.keywords]


def test_every_motion_and_status_has_its_like_in_c() -> None:
    assert {type(motion) for motion in MOTIONS.values()} == MOTION_KINDS.keys()
    assert len(set(MOTION_KINDS.values())) == len(MOTION_KINDS) == len(abi.MotionKind)
    for motion in MOTIONS.values():
        kind = MOTION_KINDS[type(motion)]
        assert (kind.name.lower(), kind.parameters) == (motion.name, motion.size)
    assert max(motion.size for motion in MOTIONS.values()) == abi.MAX_PARAMETERS
    assert {status.name for status in Status} == set(abi.STATUSES)

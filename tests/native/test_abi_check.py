"""A library that does not agree with Python on every number that crosses between them is refused."""

import ctypes

import pytest

from wherein.native import abi, abi_check, kernel, structs

compiled = pytest.mark.skipif(not kernel.available(), reason=f"no native library: {kernel.reason()}")


@compiled
def test_the_library_fits() -> None:
    functions = kernel.library().functions
    abi_check.check(functions)
    assert dict(abi_check._listed(functions)).keys() <= abi_check.expected_facts().keys()


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
    with pytest.raises(abi_check.AbiError, match=words):
        abi_check.check(kernel.library().functions)


@compiled
def test_fields_that_change_places_are_seen_though_the_size_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = structs.SolverRules._fields_
    swapped = (fields[1], fields[0], *fields[2:])
    struct = type("SolverRules", (ctypes.Structure,), {"_fields_": swapped})
    others = tuple(other for other in structs.STRUCTS if other is not structs.SolverRules)
    monkeypatch.setattr(structs, "STRUCTS", (*others, struct))
    with pytest.raises(
        abi_check.AbiError,
        match=r"SolverRules.damping is 0 in C and 8 in Python; SolverRules.ease is 8 in C and 0",
    ):
        abi_check.check(kernel.library().functions)


def test_another_library_is_refused() -> None:
    with pytest.raises(abi_check.AbiError, match=r"a function is missing: .*wherein_abi"):
        abi_check.check(ctypes.CDLL(None))

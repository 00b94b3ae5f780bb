"""The functions of abi.h, and a check that a library fits this version of the package.

`check` compares every number of `abi` and `structs` with those that a library reports, so that a library of
another version is refused instead of reading wrong numbers. Only the standard library is imported, because
the build of a wheel uses this module, too.
"""

import ctypes
from collections.abc import Iterator
from typing import Any

from wherein.native import abi, structs


class AbiError(Exception):
    """The library does not fit this version of the package; the message names the differences."""


class _Fact(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("value", ctypes.c_int64))


_I32, _F32, _POINTER = ctypes.c_int32, ctypes.c_float, ctypes.c_void_p

_FITS = (structs.PlaneMotifArrays, structs.PlaneRules, structs.PlaneFits)

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "wherein_parameters": (ctypes.c_int,),
    "wherein_cpu_level": (),
    "wherein_align": (structs.Planes, structs.SideArrays, structs.SolverRules, structs.FitArrays),
    "wherein_motif_side": (structs.Planes, structs.Planes, structs.SideRules, structs.SideArrays),
    "wherein_pool": (structs.Planes, _I32, _POINTER),
    "wherein_grey_plane": (_POINTER, _I32, _I32, _POINTER, _POINTER),
    "wherein_halve_bytes": (_POINTER, _I32, _I32, _I32, _POINTER),
    "wherein_screen": (structs.Planes, structs.ScreenKernels, _F32, structs.ScreenMaps),
    "wherein_channels": (structs.Planes, structs.ChannelRules, _POINTER),
    "wherein_fit_planes": (structs.Planes, *_FITS),
    "wherein_uncover": (structs.Planes, *_FITS[:2], structs.CoverRules, structs.PlaneFits),
    "wherein_distinct": (structs.DistinctPoses, _I32, _POINTER, _POINTER),
    "wherein_rate_poses": (structs.ChannelPicture, *_FITS),
    "wherein_refine_poses": (structs.ChannelPicture, *_FITS),
    "wherein_rate_many": (structs.PoseKinds, *_FITS[1:]),
    "wherein_refine_many": (structs.PoseKinds, *_FITS[1:]),
    "wherein_rectify": (structs.Planes, _POINTER, _I32, _I32, _POINTER, _POINTER),
    "wherein_features": (structs.Planes, structs.ChannelRules, _F32, structs.FeatureMaps),
    "wherein_look": (_POINTER, structs.LookPlaces, _POINTER, _I32, _I32, _POINTER, _POINTER),
    "wherein_energy": (structs.FeatureMaps, _I32, _I32, _POINTER),
    "wherein_rate_places": (structs.LookPlaces, _POINTER, _POINTER, _I32, _F32, _POINTER),
    "wherein_peaks": (_POINTER, _I32, _I32, _POINTER, _POINTER),
    "wherein_look_many": (_POINTER, structs.LookPlaces, _POINTER, structs.ManyMotifs, structs.BestPlaces),
    "wherein_separable": (structs.Planes, _POINTER, _I32, _POINTER),
}
"""The arguments of each function of abi.h that returns an int. Structs are passed by address."""


def check(library: ctypes.CDLL) -> None:
    """Compare a library with `abi` and `structs`, and declare its functions.

    Raises:
        AbiError: the library is of another version, or is a different library.
    """
    try:
        found = library.wherein_abi()
        if found != abi.ABI:
            raise AbiError(f"the library has ABI {found}, but this version needs {abi.ABI}")
        library.wherein_facts.argtypes, library.wherein_facts.restype = (), ctypes.POINTER(_Fact)
        for name, arguments in _FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = tuple(map(_as_passed, arguments)), ctypes.c_int
    except AttributeError as error:
        raise AbiError(f"a function is missing: {error}") from error
    wrong = _differences(_facts(library), expected_facts())
    if wrong:
        raise AbiError(f"C and Python disagree: {wrong}")


def _as_passed(argument: Any) -> Any:
    return ctypes.POINTER(argument) if issubclass(argument, ctypes.Structure) else argument


def expected_facts() -> dict[str, int]:
    """Every number on which C and Python must agree, by its name in C."""
    facts = {
        "MAX_CHANNELS": abi.MAX_CHANNELS,
        "MAX_PARAMETERS": abi.MAX_PARAMETERS,
        "SCREEN_SPAN": abi.SCREEN_SPAN,
        "DIRECTIONS": abi.DIRECTIONS,
        "LOOK_SPAN": abi.LOOK_SPAN,
        "LOOK_ROWS": abi.LOOK_ROWS,
        "STEERING": abi.STEERING,
        "DONE": abi.DONE,
        "NO_MEMORY": abi.NO_MEMORY,
        **{kind.name: kind.value for kind in abi.MotionKind},
        **{f"parameters of {kind.name}": kind.parameters for kind in abi.MotionKind},
        **{name: number for number, name in enumerate(abi.STATUSES)},
    }
    for struct in structs.STRUCTS:
        facts[f"sizeof {struct.__name__}"] = ctypes.sizeof(struct)
        facts |= {
            f"{struct.__name__}.{field[0]}": getattr(struct, field[0]).offset for field in struct._fields_
        }
    return facts


def _facts(library: ctypes.CDLL) -> dict[str, int]:
    parameters = {
        f"parameters of {kind.name}": int(library.wherein_parameters(kind)) for kind in abi.MotionKind
    }
    return dict(_listed(library)) | parameters


def _listed(library: ctypes.CDLL) -> Iterator[tuple[str, int]]:
    facts = library.wherein_facts()
    index = 0
    while facts[index].name is not None:
        yield facts[index].name.decode(), facts[index].value
        index += 1


def _differences(found: dict[str, int], expected: dict[str, int]) -> str:
    """The differences in words; empty if there are none."""
    names = [name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)]
    return "; ".join(
        f"{name} is {found.get(name)} in C and {expected.get(name)} in Python" for name in sorted(names)
    )

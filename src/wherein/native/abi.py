"""The interface of the C library, as in abi.h: its constants, enumerations, structs and functions.

`check` compares all of it with what a library says of itself, so that a library of another version is refused
instead of reading the wrong numbers. Only the standard library is imported: the build of a wheel uses it too.

Structs are made with the names of all their fields. `ctypes` takes any other name too, and leaves what is
missing at 0. A search makes a thousand structs for a scene, so nothing checks them here: a test reads the
sources instead.
"""

import ctypes
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

ABI = 1
"""Raised with a change that neither names nor sizes show, say of a unit."""

MAX_CHANNELS = 4
"""Of a scene that is aligned with: C keeps arrays of this size on its stack."""

MAX_PARAMETERS = 8
"""Of a motion, likewise."""

SCREEN_SPAN = 32
"""How many floats `screen` may read from a place on: a picture must be padded by so many to the right."""

DIRECTIONS = 8
"""Channels of oriented gradients."""

LOOK_SPAN = 64
"""How many bytes `look` may read from a place on."""

LOOK_ROWS = 8
"""Tiles of a look are `LOOK_ROWS` × `LOOK_SPAN` places."""

STEERING = 64
"""Steps of a full turn to which a pose is rounded when it is rated: 6°, far less than a direction."""

STATUSES = ("CONVERGED", "STEP_LIMIT", "DIVERGED", "OUTSIDE", "FLAT")
"""Names of how a fit ended, in the order of C's numbers: names of `wherein.solve.result.Status`."""

DONE, NO_MEMORY = 0, -1
"""What a function returns."""


class AbiError(Exception):
    """A library that does not fit this version of the package; the message says what differs."""


class MotionKind(IntEnum):
    """A motion model that C knows."""

    TRANSLATION = 0
    EUCLIDEAN = 1
    SIMILARITY = 2
    AFFINE = 3
    HOMOGRAPHY = 4

    @property
    def parameters(self) -> int:
        """How many parameters it has."""
        return _PARAMETERS[self]


_PARAMETERS = {
    MotionKind.TRANSLATION: 2,
    MotionKind.EUCLIDEAN: 3,
    MotionKind.SIMILARITY: 4,
    MotionKind.AFFINE: 6,
    MotionKind.HOMOGRAPHY: 8,
}

_I32, _I64, _F32, _F64, _POINTER = (
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_float,
    ctypes.c_double,
    ctypes.c_void_p,
)


class Planes(ctypes.Structure):
    """A picture in float32; strides are counted in floats."""

    _fields_ = (
        ("pixels", _POINTER),
        ("plane_stride", _I64),
        ("row_stride", _I64),
        ("channels", _I32),
        ("height", _I32),
        ("width", _I32),
    )


class SideArrays(ctypes.Structure):
    """The motif's side: `MotifSide`, with one row of `count` floats for each coordinate and column."""

    _fields_ = (
        ("centre", _POINTER),
        ("radius", _POINTER),
        ("unit", _POINTER),
        ("points", _POINTER),
        ("known", _POINTER),
        ("motion", _I32),
        ("count", _I32),
    )


class SideRules(ctypes.Structure):
    """What decides which pixels of a motif are compared."""

    _fields_ = (
        ("pure", _F32),
        ("half", _F32),
        ("share", _F32),
        ("inside", _F32),
        ("min_weight", _F32),
        ("limit", _I32),
    )


class SolverRules(ctypes.Structure):
    """What decides about a descent."""

    _fields_ = (
        ("damping", _F64),
        ("ease", _F64),
        ("tighten", _F64),
        ("tolerance", _F64),
        ("slack", _F64),
        ("noise", _F64),
        ("min_visible", _F64),
        ("edge", _F64),
        ("max_step", _F64),
        ("min_variance", _F64),
        ("occluded", _F64),
        ("min_scale", _F64),
        ("min_gain", _F64),
        ("rounds", _I32),
        ("max_steps", _I32),
    )


class FitArrays(ctypes.Structure):
    """`count` poses to start from, and what became of them."""

    _fields_ = (
        ("poses", _POINTER),
        ("costs", _POINTER),
        ("steps", _POINTER),
        ("evaluations", _POINTER),
        ("statuses", _POINTER),
        ("count", _I32),
    )


class ScreenKernels(ctypes.Structure):
    """Correlation kernels as lists of points, one kernel after the other."""

    _fields_ = (
        ("offsets", _POINTER),
        ("values", _POINTER),
        ("counts", _POINTER),
        ("count", _I32),
        ("first", _I32),
    )


class ScreenMaps(ctypes.Structure):
    """The best ZNCC so far at every place, and the number of the kernel that has it."""

    _fields_ = (("best", _POINTER), ("which", _POINTER))


class ChannelRules(ctypes.Structure):
    """How a picture becomes channels of oriented gradients."""

    _fields_ = (
        ("taps", _POINTER),
        ("floor", _F32),
        ("noise", _F32),
        ("window", _I32),
        ("count", _I32),
    )


class PlaneMotifArrays(ctypes.Structure):
    """A flat motif at one resolution: `PlaneMotif`."""

    _fields_ = (
        ("points", _POINTER),
        ("weights", _POINTER),
        ("unsigned_points", _POINTER),
        ("target", _POINTER),
        ("dx", _POINTER),
        ("dy", _POINTER),
        ("hessian", _POINTER),
        ("with_1", _POINTER),
        ("with_t", _POINTER),
        ("weight", _F64),
        ("centre_x", _F64),
        ("centre_y", _F64),
        ("radius", _F64),
        ("count", _I32),
        ("height", _I32),
        ("width", _I32),
        ("margin", _I32),
    )


class PlaneRules(ctypes.Structure):
    """What decides about the fit of a flat motif."""

    _fields_ = (
        ("channels", ChannelRules),
        ("damping", _F64),
        ("ease", _F64),
        ("tighten", _F64),
        ("tolerance", _F64),
        ("max_step", _F64),
        ("min_visible", _F64),
        ("min_variance", _F64),
        ("parameters", _I32),
        ("rounds", _I32),
        ("steps", _I32),
        ("levels", _I32),
        ("unchecked", _I32),
    )


class PlaneFits(ctypes.Structure):
    """`count` poses to start from, and what became of them."""

    _fields_ = (
        ("poses", _POINTER),
        ("zncc", _POINTER),
        ("visible", _POINTER),
        ("count", _I32),
    )


class ChannelPicture(ctypes.Structure):
    """The channels of a picture, and which of its pixels lie in the scene."""

    _fields_ = (
        ("channels", _POINTER),
        ("inside", _POINTER),
        ("height", _I32),
        ("width", _I32),
    )


class FeatureMaps(ctypes.Structure):
    """Responses of a scene, for each direction and phase."""

    _fields_ = (
        ("responses", _POINTER),
        ("height", _I32),
        ("width", _I32),
        ("margin", _I32),
    )


class LookPlaces(ctypes.Structure):
    """The places of a first look."""

    _fields_ = (
        ("tiles", _POINTER),
        ("stride", _I64),
        ("height", _I32),
        ("width", _I32),
        ("row", _I32),
    )


class ManyMotifs(ctypes.Structure):
    """Motifs that are looked for together."""

    _fields_ = (
        ("offsets", _POINTER),
        ("windows", _POINTER),
        ("count", _I32),
        ("templates", _I32),
        ("features", _I32),
        ("quiet", _F32),
    )


class BestPlaces(ctypes.Structure):
    """The best places of each motif."""

    _fields_ = (
        ("ratings", _POINTER),
        ("at", _POINTER),
        ("which", _POINTER),
        ("keep", _I32),
    )


class _Fact(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("value", _I64))


_STRUCTS = (
    Planes,
    SideArrays,
    SideRules,
    SolverRules,
    FitArrays,
    ScreenKernels,
    ScreenMaps,
    ChannelRules,
    PlaneMotifArrays,
    PlaneRules,
    PlaneFits,
    ChannelPicture,
    FeatureMaps,
    LookPlaces,
    ManyMotifs,
    BestPlaces,
)

_pointer = ctypes.POINTER
_FUNCTIONS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "wherein_facts": ((), _pointer(_Fact)),
    "wherein_parameters": ((ctypes.c_int,), ctypes.c_int),
    "wherein_cpu_level": ((), ctypes.c_int),
    "wherein_align": (
        (_pointer(Planes), _pointer(SideArrays), _pointer(SolverRules), _pointer(FitArrays)),
        ctypes.c_int,
    ),
    "wherein_motif_side": (
        (_pointer(Planes), _pointer(Planes), _pointer(SideRules), _pointer(SideArrays)),
        ctypes.c_int,
    ),
    "wherein_pool": ((_pointer(Planes), _I32, _POINTER), ctypes.c_int),
    "wherein_screen": (
        (_pointer(Planes), _pointer(ScreenKernels), _F32, _pointer(ScreenMaps)),
        ctypes.c_int,
    ),
    "wherein_channels": ((_pointer(Planes), _pointer(ChannelRules), _POINTER), ctypes.c_int),
    "wherein_fit_planes": (
        (_pointer(Planes), _pointer(PlaneMotifArrays), _pointer(PlaneRules), _pointer(PlaneFits)),
        ctypes.c_int,
    ),
    "wherein_rate_poses": (
        (_pointer(ChannelPicture), _pointer(PlaneMotifArrays), _pointer(PlaneRules), _pointer(PlaneFits)),
        ctypes.c_int,
    ),
    "wherein_refine_poses": (
        (_pointer(ChannelPicture), _pointer(PlaneMotifArrays), _pointer(PlaneRules), _pointer(PlaneFits)),
        ctypes.c_int,
    ),
    "wherein_rectify": ((_pointer(Planes), _POINTER, _I32, _I32, _POINTER, _POINTER), ctypes.c_int),
    "wherein_features": (
        (_pointer(Planes), _pointer(ChannelRules), _F32, _pointer(FeatureMaps)),
        ctypes.c_int,
    ),
    "wherein_look": (
        (_POINTER, _pointer(LookPlaces), _POINTER, _I32, _I32, _POINTER, _POINTER),
        ctypes.c_int,
    ),
    "wherein_energy": ((_pointer(FeatureMaps), _I32, _I32, _POINTER), ctypes.c_int),
    "wherein_rate_places": (
        (_pointer(LookPlaces), _POINTER, _POINTER, _I32, _F32, _POINTER),
        ctypes.c_int,
    ),
    "wherein_peaks": ((_POINTER, _I32, _I32, _POINTER, _POINTER), ctypes.c_int),
    "wherein_look_many": (
        (_POINTER, _pointer(LookPlaces), _POINTER, _pointer(ManyMotifs), _pointer(BestPlaces)),
        ctypes.c_int,
    ),
    "wherein_separable": ((_pointer(Planes), _POINTER, _I32, _POINTER), ctypes.c_int),
}
"""Arguments and result of each function of abi.h."""


def check(library: ctypes.CDLL) -> None:
    """Compare a library with this module, and declare its functions.

    Raises:
        AbiError: it is of another version, or not ours at all.
    """
    try:
        found = library.wherein_abi()
        if found != ABI:
            raise AbiError(f"the library has ABI {found}, but this version needs {ABI}")
        for name, (arguments, result) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, result
    except AttributeError as error:
        raise AbiError(f"a function is missing: {error}") from error
    wrong = _differences(_facts(library), expected_facts())
    if wrong:
        raise AbiError(f"C and Python disagree: {wrong}")


def expected_facts() -> dict[str, int]:
    """Every number that C and Python have to agree on, by its name in C."""
    facts = {
        "MAX_CHANNELS": MAX_CHANNELS,
        "MAX_PARAMETERS": MAX_PARAMETERS,
        "SCREEN_SPAN": SCREEN_SPAN,
        "DIRECTIONS": DIRECTIONS,
        "LOOK_SPAN": LOOK_SPAN,
        "LOOK_ROWS": LOOK_ROWS,
        "STEERING": STEERING,
        "DONE": DONE,
        "NO_MEMORY": NO_MEMORY,
        **{kind.name: kind.value for kind in MotionKind},
        **{f"parameters of {kind.name}": kind.parameters for kind in MotionKind},
        **{name: number for number, name in enumerate(STATUSES)},
    }
    for struct in _STRUCTS:
        facts[f"sizeof {struct.__name__}"] = ctypes.sizeof(struct)
        facts |= {
            f"{struct.__name__}.{field[0]}": getattr(struct, field[0]).offset for field in struct._fields_
        }
    return facts


def _facts(library: ctypes.CDLL) -> dict[str, int]:
    parameters = {f"parameters of {kind.name}": int(library.wherein_parameters(kind)) for kind in MotionKind}
    return dict(_listed(library)) | parameters


def _listed(library: ctypes.CDLL) -> Iterator[tuple[str, int]]:
    facts = library.wherein_facts()
    index = 0
    while facts[index].name is not None:
        yield facts[index].name.decode(), facts[index].value
        index += 1


def _differences(found: dict[str, int], expected: dict[str, int]) -> str:
    """In words; empty where there are none."""
    names = [name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)]
    return "; ".join(
        f"{name} is {found.get(name)} in C and {expected.get(name)} in Python" for name in sorted(names)
    )

"""The special CPU path: the same functions in C, where there is a compiler; None where there is not.

`WHEREIN_NATIVE=0` turns it off, `reason()` says why it is off.
"""

import ctypes
from functools import cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from wherein.native import build

CHANNELS = 4
"""The most channels that the C takes."""

_INT, _LONG, _FLOAT, _DOUBLE, _POINTER = (
    ctypes.c_int,
    ctypes.c_int64,
    ctypes.c_float,
    ctypes.c_double,
    ctypes.c_void_p,
)
_PICTURE = (_POINTER, _LONG, _LONG, _INT, _INT, _INT)
_SIGNATURES = {
    "wherein_align": (
        *(*_PICTURE, _FLOAT),
        *(_POINTER, _POINTER, _INT, _INT, _POINTER, _FLOAT),
        *(_POINTER, _INT, _INT, *(_DOUBLE,) * 6),
        *(_POINTER, _POINTER, _POINTER),
    ),
}


@cache
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    try:
        library = build.load()
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, _INT
    except (build.UnavailableError, AttributeError) as error:
        return None, str(error)
    return library, ""


def library() -> ctypes.CDLL | None:
    """The compiled library, made at the first call; None where there is none."""
    return _loaded()[0]


def reason() -> str:
    """Why there is no library; empty where there is one."""
    return _loaded()[1]


def serves(*tensors: Tensor) -> bool:
    """Whether these tensors can go to C: float32 on the CPU, and no gradient is asked for."""
    plain = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors)
    graph = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return plain and not graph and library() is not None


def align(
    scene: Float[Tensor, "C H W"],
    a: float,
    side: tuple[Float[Tensor, "N 2"], Float[Tensor, "N C K"], Float[Tensor, " P"], float],
    poses: Float[Tensor, "B 3 3"],
    steps: int,
    damping: tuple[float, float, float],
    tolerance: float,
    slack: tuple[float, float],
) -> tuple[Float[Tensor, "B 3 3"], Float[Tensor, " B"], Int[Tensor, " B"], Int[Tensor, " B"]]:
    """`gauss_newton` of a `CorrelationObjective`.

    Arguments:
        scene, a: of the surface.
        side: the motif's points, its columns (J, x), the units and the radius.
        poses: where to start.
        steps: how many at most; 0 only looks at the cost.
        damping: where it starts, and how it eases and tightens.
        tolerance: of the solver.
        slack: the objective's slack and noise.

    Returns:
        Poses, costs, steps taken and the statuses' numbers.
    """
    points, known, unit, radius = side
    by_row, by_column = points.mT.contiguous(), known.permute(1, 2, 0).contiguous()
    found = poses.clone(memory_format=torch.contiguous_format)
    batch = len(found)
    cost, taken = found.new_empty(batch), torch.empty(batch, dtype=torch.int64)
    status = torch.empty(batch, dtype=torch.int32)
    scene, unit = _rows(scene), unit.contiguous()
    full = _loaded_library().wherein_align(
        *(*_picture(scene), a),
        *(by_row.data_ptr(), by_column.data_ptr(), len(points), len(unit), unit.data_ptr(), radius),
        *(found.data_ptr(), batch, steps, *damping, tolerance, *slack),
        *(cost.data_ptr(), taken.data_ptr(), status.data_ptr()),
    )
    if full:
        raise MemoryError
    return found, cost, taken, status


def _loaded_library() -> ctypes.CDLL:
    found = library()
    assert found is not None, "ask serves() first"
    return found


def _rows(picture: Tensor) -> Tensor:
    """The picture itself, or a copy where the pixels of a row do not lie side by side."""
    return picture if picture.stride(-1) == 1 else picture.contiguous()


def _picture(pixels: Tensor) -> tuple[int, ...]:
    return pixels.data_ptr(), pixels.stride(0), pixels.stride(1), *pixels.shape

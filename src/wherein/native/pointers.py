"""The addresses of tensors and arrays, for C.

Each of them is checked before its address is passed to C, which cannot check it: a tensor on another device,
of another type or size, or not contiguous would crash the process, or silently give wrong numbers.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.native import structs

CPU = torch.device("cpu")
"""The device of tensors that are allocated for C: the caller's default device may be another one."""

FLOAT = 4
"""Size of a float32 in bytes."""


def pointer(values: "Tensor | NDArray[Any]", shape: tuple[int, ...], dtype: Any = torch.float32) -> int:
    """The address of a tensor or an array, for C.

    Arguments:
        values: the memory that C reads or writes; keep it alive as long as C uses it.
        shape, dtype: what C assumes.

    Raises:
        ArgumentError: it is of another shape or type, not contiguous, or not in the memory of the CPU.
    """
    if isinstance(values, np.ndarray):
        right, address = values.flags.c_contiguous, values.ctypes.data
    else:
        right = values.device.type == "cpu" and values.layout == torch.strided and values.is_contiguous()
        address = values.data_ptr() if right else 0
    if not right or values.dtype != dtype or tuple(values.shape) != shape:
        where = "" if isinstance(values, np.ndarray) else f" on {values.device}"
        raise ArgumentError(
            f"the C kernel needs {dtype} of shape {shape}, contiguous and on the CPU, but got {values.dtype} "
            f"of shape {tuple(values.shape)}{where}"
        )
    return address


def planes_of(picture: Float[Tensor, "C H W"]) -> structs.Planes:
    """A picture for C, which reads it in place: keep it alive as long as C uses it.

    Raises:
        ArgumentError: it is not float32, not in the memory of the CPU, or its rows are not contiguous.
    """
    channels, height, width = picture.shape
    # A crop of a larger picture is allowed: only the pixels of a row must be contiguous. In a row of one
    # pixel the stride has no meaning, and torch may give any number.
    side_by_side = picture.stride(2) == 1 or width <= 1
    if picture.dtype != torch.float32 or picture.device.type != "cpu" or not side_by_side:
        raise ArgumentError(
            f"the C kernel needs rows of float32 on the CPU, but got {picture.dtype} on {picture.device} "
            f"with strides {picture.stride()}"
        )
    return structs.Planes(
        pixels=picture.data_ptr(),
        plane_stride=picture.stride(0),
        row_stride=picture.stride(1),
        channels=channels,
        height=height,
        width=width,
    )


def with_contiguous_rows(*pictures: Tensor) -> tuple[Tensor, ...]:
    """The pictures themselves; copies of those in which the pixels of a row are not contiguous."""
    return tuple(picture if picture.stride(-1) == 1 else picture.contiguous() for picture in pictures)


def check_reach(length: int, first: int, last: int, offsets: Int[Tensor, "..."]) -> None:
    """Check that offsets from a range of places stay inside a buffer.

    Arguments:
        length: of the buffer, in elements.
        first: index of the first place.
        last: distance from the first to the last place.
        offsets: are added to every place.

    Raises:
        ArgumentError: an offset leads out of the buffer.
    """
    if not offsets.numel():
        return
    low, high = (int(value) for value in offsets.aminmax())
    if first + low < 0 or first + last + high >= length:
        raise ArgumentError(
            f"offsets of {low} to {high} from places {first} to {first + last} lead out of {length} elements"
        )

"""The C library of this process: its availability, the tensors that it accepts, and calls of its functions.

The library is loaded on first use. Check `accepts` before a call.
"""

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from wherein.native import abi

if TYPE_CHECKING:
    from wherein.native.library import Library


@cache
def _loaded() -> "tuple[Library | None, str]":
    # Imported here, since the modules that find, compile and check the library are needed only once.
    from wherein.native.library import UnavailableError, load

    try:
        return load(), ""
    except UnavailableError as error:
        return None, str(error)


def library() -> "Library | None":
    """The library, or None; the first call loads it, and compiles it if need be."""
    return _loaded()[0]


def available() -> bool:
    """Whether the library is available."""
    return library() is not None


def reason() -> str:
    """The reason why the library is not available; empty if it is."""
    return _loaded()[1]


def accepts(*tensors: Tensor) -> bool:
    """Whether C can process these tensors: float32, on the CPU, and without gradients."""
    plain = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors)
    # A tensor that requires gradients is fine inside `no_grad`: nothing is recorded there.
    graph = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return plain and not graph and available()


def call(name: str, *arguments: "ctypes.Structure | ctypes.Array[Any] | float | None") -> None:
    """Call a function of the library; structs are passed by address.

    Raises:
        MemoryError: C could not allocate memory.
    """
    loaded = library()
    assert loaded is not None, "ask accepts() first"
    values = (ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments)
    if getattr(loaded.functions, name)(*values) == abi.NO_MEMORY:
        raise MemoryError

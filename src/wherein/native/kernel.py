"""The C library of this process: whether there is one, what it accepts, and calls of its functions.

It is loaded on first use. Ask `accepts` before a call.
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
    # Here and not above: what finds, compiles and checks the library is needed once, on first use.
    from wherein.native.library import UnavailableError, load

    try:
        return load(), ""
    except UnavailableError as error:
        return None, str(error)


def library() -> "Library | None":
    """The library, or None; the first call loads it, and compiles it if need be."""
    return _loaded()[0]


def available() -> bool:
    """Whether there is a library."""
    return library() is not None


def reason() -> str:
    """Why there is no library; empty where there is one."""
    return _loaded()[1]


def accepts(*tensors: Tensor) -> bool:
    """Whether C can take these tensors: float32, on the CPU, and no gradient is asked for."""
    plain = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors)
    graph = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return plain and not graph and available()


def call(name: str, *arguments: "ctypes.Structure | ctypes.Array[Any] | float | None") -> None:
    """Call a function of the library; structs go to it by their address.

    Raises:
        MemoryError: C got no memory.
    """
    loaded = library()
    assert loaded is not None, "ask accepts() first"
    values = (ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments)
    if getattr(loaded.functions, name)(*values) == abi.NO_MEMORY:
        raise MemoryError

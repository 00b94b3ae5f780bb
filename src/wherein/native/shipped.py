"""The libraries in a wheel: compiled for all processors of its platform instead of one machine.

`build_shipped` builds them for the wheel (hatch_build.py), `open_shipped` selects one after installation.
"""

import ctypes
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from wherein.native import abi_check
from wherein.native.compiler import CompilerError, compile_library, find_compiler

FOLDER = Path(__file__).parent
"""The folder of the libraries in a wheel."""


@dataclass(frozen=True)
class Variant:
    """A library for all processors from one level on.

    Attributes:
        name: of the file.
        flags: the instruction sets beyond the platform's baseline.
        level: the minimum level of the processor, as returned by `wherein_cpu_level` in abi.c.
    """

    name: str
    flags: tuple[str, ...] = ()
    level: int = 1


def variants(machine: str | None = None) -> tuple[Variant, ...]:
    """The libraries for a kind of machine; the first runs on every processor."""
    machine = machine or platform.machine()
    if machine not in ("x86_64", "AMD64"):
        return (Variant(f"kernel-{machine}.so"),)
    # Time relative to -march=native, on a processor with AVX-512 (EPYC, Zen 4; GCC 12):
    #                       align             screen   separable
    #     x86-64-v4         1.0               1.0      1.0       not worth a third library
    #     x86-64-v3         1.0 to 1.1        1.1      1.05
    #     x86-64-v2         1.5 to 1.6        1.7      1.6
    #     x86-64            1.5 to 1.6        1.8      1.5
    # Results differ in the last bits: the compiler decides which products and sums are fused into one
    # instruction. The four flags give the same code as -march=x86-64-v3, and older compilers accept them.
    return (
        Variant("kernel-x86-64.so"),
        Variant("kernel-x86-64-v3.so", ("-mavx2", "-mfma", "-mbmi", "-mbmi2"), 3),
    )


def build_shipped(folder: Path) -> list[Path]:
    """Compile the libraries for this platform into a folder, and check them.

    Raises:
        CompilerError: there is no compiler, it failed, or nothing is shipped for this platform.
        AbiError: C and Python do not agree.
    """
    if sys.platform != "linux":
        raise CompilerError(f"wheels include a kernel on Linux only, and this is {sys.platform}")
    command, files = find_compiler(), []
    for variant in variants():
        files.append(folder / variant.name)
        compile_library(command, files[-1], [variant.flags])
    try:
        open_shipped(folder)
    except OSError as error:  # a cross-compiler: Python cannot load its libraries
        raise CompilerError(f"{command[0]} compiles for another platform: {error}") from error
    return files


def open_shipped(folder: Path) -> tuple[ctypes.CDLL, Path]:
    """The best library of a folder that this processor can run, and its file.

    Raises:
        OSError: there is no library for this platform.
        AbiError: the library is of another version.
    """
    baseline, *others = variants()
    file = folder / baseline.name
    if not file.exists():
        raise FileNotFoundError(f"this installation has no {baseline.name}")
    library = ctypes.CDLL(str(file))
    abi_check.check(library)
    level = library.wherein_cpu_level()  # the baseline library asks the processor
    for variant in reversed(others):
        if variant.level <= level and (folder / variant.name).exists():
            file = folder / variant.name
            library = ctypes.CDLL(str(file))
            abi_check.check(library)
            break
    return library, file

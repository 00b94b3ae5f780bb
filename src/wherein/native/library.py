"""Load the C library: compiled for this very machine, else the one that the package was shipped with.

A machine with a C compiler compiles the library on first use and keeps it in the user's cache: it is then
as fast as this processor allows. A machine without one uses the library of the wheel. If neither works,
everything runs in torch; the reason is kept, and nothing fails.

The environment variable WHEREIN_NATIVE chooses: 0 turns C off, `compile` and `shipped` allow only that one.
"""

import ctypes
import hashlib
import os
import platform
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wherein import files
from wherein.files import atomic_file
from wherein.native import abi_check, compiler, shipped

SETTINGS = ("0", "1", "compile", "shipped")
"""Of WHEREIN_NATIVE; 1 is the default."""

_TUNINGS = (("-march=native",), ("-mcpu=native",), ())
"""For this very processor, if the compiler knows how to say so."""


class UnavailableError(Exception):
    """There is no library; the message says why."""


@dataclass(frozen=True)
class Library:
    """A library that was loaded and checked.

    Attributes:
        functions: those of abi.h.
        source: where it comes from.
        file: it was loaded from; of a library that could not be kept, nothing is there any more.
        reason: why it was not compiled; empty if it was.
    """

    functions: ctypes.CDLL
    source: Literal["compiled", "shipped"]
    file: Path
    reason: str = ""


def load() -> Library:
    """The library, by the setting of WHEREIN_NATIVE.

    Raises:
        UnavailableError: there is none, or it is turned off; the message says why.
    """
    setting = os.environ.get("WHEREIN_NATIVE") or "1"
    if setting not in SETTINGS:
        raise UnavailableError(f"WHEREIN_NATIVE must be one of {', '.join(SETTINGS)}, but is {setting!r}")
    if setting == "0":
        raise UnavailableError("turned off by WHEREIN_NATIVE=0")
    if setting == "shipped":
        return _load_shipped("WHEREIN_NATIVE=shipped")
    try:
        return _load_compiled()
    except UnavailableError as error:
        if setting == "compile":
            raise
        try:
            return _load_shipped(str(error))
        except UnavailableError as other:
            raise UnavailableError(f"{error}; {other}") from error


def _load_shipped(reason: str) -> Library:
    try:
        functions, file = shipped.open_shipped(shipped.FOLDER)
    except (OSError, abi_check.AbiError) as error:
        raise UnavailableError(f"no shipped kernel: {error}") from error
    return Library(functions, "shipped", file, reason)


def _load_compiled() -> Library:
    try:
        command = compiler.find_compiler()
        name = f"kernel-{_fingerprint(command)}.so"
        try:
            folder = private_folder(cache_folder())
            _remove_unsafe(folder)
        except OSError:
            # Nowhere to keep it: compiled for this process alone, and gone as soon as it is loaded.
            with tempfile.TemporaryDirectory(prefix="wherein-") as temporary:
                return _open(command, Path(temporary) / name)
        return _open(command, folder / name)
    except (compiler.CompilerError, abi_check.AbiError) as error:
        raise UnavailableError(str(error)) from error
    except (OSError, UnicodeError) as error:
        raise UnavailableError(f"{type(error).__name__}: {error}") from error


def _open(command: list[str], library: Path) -> Library:
    if _is_ours(library):
        try:
            return _checked(library)
        except (OSError, abi_check.AbiError):
            library.unlink(missing_ok=True)  # damaged, or from an older system: compiled again
    with atomic_file(library) as partial:  # two processes at once each put a complete file in place
        compiler.compile_library(command, partial, _TUNINGS)
        partial.chmod(0o600)  # the compiler leaves it as the umask allows
    return _checked(library)


def _checked(file: Path) -> Library:
    functions = ctypes.CDLL(str(file))
    abi_check.check(functions)
    return Library(functions, "compiled", file)


def _fingerprint(command: list[str]) -> str:
    """Changes with the sources, the compiler and the processor: several machines may share a home folder."""
    settings = repr((command, compiler.FLAGS, _TUNINGS)) + _processor()
    sources = (source.read_bytes() for source in compiler.SOURCES)
    parts = (*sources, settings.encode(), compiler.compiler_version(command))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]


def _processor() -> str:
    """What the compiler may make use of: the model and its instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    keys = ("model name", "flags", "Features", "isa")
    used = {line for line in lines if line.split("\t")[0].strip() in keys}
    return "\n".join((platform.machine(), platform.processor(), *sorted(used)))


def cache_folder() -> Path:
    """Where compiled libraries are kept."""
    return files.cache_folder("native")


def private_folder(folder: Path) -> Path:
    """Make a folder that no one else can put a library into.

    Raises:
        OSError: it cannot be made or written to, or belongs to someone else.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if hasattr(os, "getuid") and about.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        folder.chmod(0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} is not writable")
    return folder


def _remove_unsafe(folder: Path) -> None:
    """Remove compiled libraries that another user could have changed: to load one is to run it."""
    # By the whole name, so that files that other processes are about to write stay.
    for file in folder.glob("kernel-*.so"):
        mode = file.lstat().st_mode
        if not stat.S_ISREG(mode) or mode & (stat.S_IWGRP | stat.S_IWOTH):
            file.unlink()


def _is_ours(library: Path) -> bool:
    try:
        about = library.stat()
    except OSError:
        return False
    return about.st_size > 0 and (not hasattr(os, "getuid") or about.st_uid == os.getuid())

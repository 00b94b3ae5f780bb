"""Load the C library: compiled for this machine, else the one that the package was shipped with.

If there is a C compiler, the library is compiled on first use and kept in the user's cache: it is then as
fast as the processor allows. Without a compiler, the library of the wheel is used. If neither works,
everything runs in torch; the reason is kept, and no error is raised.

The environment variable WHEREIN_NATIVE selects: 0 turns C off, `compile` and `shipped` allow only that one.
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
"""The values of WHEREIN_NATIVE; 1 is the default."""

_TUNINGS = (("-march=native",), ("-mcpu=native",), ())
"""Flags that optimise for this processor, in the spelling of different compilers; the last is none."""


class UnavailableError(Exception):
    """The library is not available; the message says why."""


@dataclass(frozen=True)
class Library:
    """A library that was loaded and checked.

    Attributes:
        functions: the functions of abi.h.
        source: whether it was compiled here or shipped with the package.
        file: from which it was loaded; if the library could not be kept, the file no longer exists.
        reason: why it was not compiled; empty if it was.
    """

    functions: ctypes.CDLL
    source: Literal["compiled", "shipped"]
    file: Path
    reason: str = ""


def load() -> Library:
    """Load the library as WHEREIN_NATIVE says.

    Raises:
        UnavailableError: there is no library, or it is turned off; the message says why.
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
            # No writable cache: compiled for this process only, and deleted as soon as it is loaded.
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
    with atomic_file(library) as partial:  # two simultaneous processes each write a complete file
        compiler.compile_library(command, partial, _TUNINGS)
        partial.chmod(0o600)  # the compiler uses the umask, which may let others write
    return _checked(library)


def _checked(file: Path) -> Library:
    functions = ctypes.CDLL(str(file))
    abi_check.check(functions)
    return Library(functions, "compiled", file)


def _fingerprint(command: list[str]) -> str:
    """A hash of the sources, the compiler and the processor: several machines may share a home folder."""
    settings = repr((command, compiler.FLAGS, _TUNINGS)) + _processor()
    sources = (source.read_bytes() for source in compiler.SOURCES)
    # All of it is in the file name, so a library of other sources is never loaded.
    parts = (*sources, settings.encode(), compiler.compiler_version(command))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]


def _processor() -> str:
    """The model and the instruction sets of the processor, for which the compiler optimises."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    keys = ("model name", "flags", "Features", "isa")
    used = {line for line in lines if line.split("\t")[0].strip() in keys}
    return "\n".join((platform.machine(), platform.processor(), *sorted(used)))


def cache_folder() -> Path:
    """The folder of compiled libraries."""
    return files.cache_folder("native")


def private_folder(folder: Path) -> Path:
    """Create a folder that only its owner can write to.

    Raises:
        OSError: the folder cannot be created or written to, or belongs to another user.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    # The folder may have existed before, so owner and mode are checked.
    if hasattr(os, "getuid") and about.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        folder.chmod(0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} is not writable")
    return folder


def _remove_unsafe(folder: Path) -> None:
    """Remove compiled libraries that another user could have changed: loading a library runs its code."""
    # By the full name, so that temporary files of other processes are not removed.
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

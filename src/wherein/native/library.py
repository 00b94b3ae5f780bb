"""Compile the C of this folder on first use, and load it; every failure is a reason, never an exception.

The library is kept in a folder of the user's own, under a name that changes with the source, the compiler and
the processor, so that a home shared by several machines is safe.
"""

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from wherein import files
from wherein.files import atomic_file

SOURCES = tuple(sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in (".c", ".h")))

_FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
"""Nothing of -ffast-math that lets the compiler reorder sums or forget that there are NaNs."""

_TUNINGS = (("-march=native",), ("-mcpu=native",), ())
"""For this very processor where the compiler knows how to say so."""

_SECONDS = 60.0
"""A compiler that takes longer is given up."""


class UnavailableError(Exception):
    """Why there is no library."""


def load() -> ctypes.CDLL:
    """The library, from the cache or freshly compiled.

    Raises:
        UnavailableError: there is none; the message says why.
    """
    if os.environ.get("WHEREIN_NATIVE", "1") == "0":
        raise UnavailableError("turned off by WHEREIN_NATIVE=0")
    try:
        return _load()
    except (OSError, subprocess.SubprocessError, UnicodeError) as error:
        raise UnavailableError(f"{type(error).__name__}: {error}") from error


def _load() -> ctypes.CDLL:
    command = compiler()
    name = f"align-{_fingerprint(command)}.so"
    try:
        folder = private_folder(cache_folder())
    except OSError:
        # Nowhere to keep it: a compilation for this process alone, gone as soon as it is loaded.
        with tempfile.TemporaryDirectory(prefix="wherein-") as temporary:
            return _open(command, Path(temporary) / name)
    return _open(command, folder / name)


def _open(command: list[str], library: Path) -> ctypes.CDLL:
    if _ours(library):
        try:
            return ctypes.CDLL(str(library))
        except OSError:
            library.unlink(missing_ok=True)  # damaged, or from an older system: made anew
    _compile(command, library)
    return ctypes.CDLL(str(library))


def _compile(command: list[str], library: Path) -> None:
    """Two processes that come at once each put a whole file in place."""
    sources = [str(source) for source in SOURCES if source.suffix == ".c"]
    with atomic_file(library) as partial:
        for tuning in _TUNINGS:
            result = subprocess.run(
                [*command, *_FLAGS, *tuning, "-o", str(partial), *sources, "-lm"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
            if result.returncode == 0 and partial.stat().st_size:
                return
        words = result.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise UnavailableError(f"{command[0]} failed: {words[0]}")


def compiler() -> list[str]:
    """The command that compiles C here: $CC, or the first of cc, gcc and clang that there is.

    Raises:
        UnavailableError: there is none.
    """
    wanted = shlex.split(os.environ.get("CC", ""))
    for command in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        found = shutil.which(command[0])
        if found:
            return [found, *command[1:]]
    raise UnavailableError(f"no C compiler: looked for {wanted[0] if wanted else 'cc, gcc and clang'}")


def version(command: list[str]) -> bytes:
    """What a compiler says of itself."""
    return subprocess.run(
        [*command, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=True
    ).stdout


def _fingerprint(command: list[str]) -> str:
    settings = repr((command, _FLAGS, _TUNINGS)) + _processor()
    parts = (*(source.read_bytes() for source in SOURCES), settings.encode(), version(command))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]


def _processor() -> str:
    """What the compiler may make use of: the model and its instruction sets."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    told = {
        line for line in lines if line.split("\t")[0].strip() in ("model name", "flags", "Features", "isa")
    }
    return "\n".join((platform.machine(), platform.processor(), *sorted(told)))


def cache_folder() -> Path:
    """Where the library is kept."""
    return files.cache_folder("native")


def private_folder(folder: Path) -> Path:
    """Make sure that no one else can put a library there.

    Raises:
        OSError: it cannot be made, written to, or is someone else's.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if hasattr(os, "getuid") and about.st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to someone else")
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        folder.chmod(0o700)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written to")
    return folder


def _ours(library: Path) -> bool:
    try:
        about = library.stat()
    except OSError:
        return False
    return about.st_size > 0 and (not hasattr(os, "getuid") or about.st_uid == os.getuid())

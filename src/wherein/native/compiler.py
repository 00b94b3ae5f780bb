"""Find a C compiler and compile the C sources of this folder into a library.

Only the standard library is imported, so that the build of a wheel can use this module.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

SOURCES = tuple(sorted(path for path in Path(__file__).parent.iterdir() if path.suffix in (".c", ".h")))

FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
"""Without the parts of -ffast-math that reorder sums or ignore NaNs, which would change results."""

_TIMEOUT = 60.0
"""Seconds after which compilation is aborted. A choice: it takes about 4."""


class CompilerError(Exception):
    """There is no compiler, or it failed; the message says why."""


def find_compiler() -> list[str]:
    """The command of the C compiler: $CC, or the first of cc, gcc and clang that is installed.

    Raises:
        CompilerError: there is no compiler, or $CC cannot be parsed.
    """
    asked = os.environ.get("CC", "")
    try:
        wanted = shlex.split(asked)
    except ValueError as error:
        raise CompilerError(f"CC={asked}: {error}") from error
    for command in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        found = shutil.which(command[0])
        if found:
            return [found, *command[1:]]
    raise CompilerError(f"no C compiler found (looked for {wanted[0] if wanted else 'cc, gcc and clang'})")


def compiler_version(command: Sequence[str]) -> bytes:
    """The output of the compiler's --version.

    Raises:
        CompilerError: the compiler cannot be run.
    """
    return _run([*command, "--version"], check=True).stdout


def compile_library(command: Sequence[str], library: Path, tunings: Sequence[tuple[str, ...]]) -> None:
    """Compile all sources into one shared library.

    Arguments:
        command: the command of the compiler.
        library: the file to write.
        tunings: alternatives of further flags; the first that the compiler accepts is used.

    Raises:
        CompilerError: no alternative works.
    """
    sources = [str(source) for source in SOURCES if source.suffix == ".c"]
    for tuning in tunings:
        result = _run([*command, *FLAGS, *tuning, "-o", str(library), *sources, "-lm"])
        if result.returncode == 0 and library.exists() and library.stat().st_size:
            return
    lines = result.stderr.decode(errors="replace").strip().splitlines() or ["no error message"]
    raise CompilerError(f"{command[0]} failed: {lines[0]}")


def _run(command: Sequence[str], check: bool = False) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=check
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CompilerError(f"{type(error).__name__}: {error}") from error

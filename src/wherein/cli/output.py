"""What the commands say, where, and what happens when nobody can hear it."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

NONE_FOUND, USAGE, UNREADABLE, SOME_UNREADABLE, STOPPED = 1, 2, 3, 4, 130
"""Exit statuses; the second also where something cannot be written, the last as shells tell of Ctrl-C."""


def say(record: dict[str, Any]) -> None:
    """One JSON object on a line of standard output."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    # A file's name that is no proper text has lone surrogates, which JSON writes as it writes them here.
    typer.echo(line.encode("utf-8", "backslashreplace").decode("utf-8"))


def stop(message: str, code: int) -> NoReturn:
    """One line on standard error, and the exit status."""
    with suppress(OSError):  # the status says it too
        typer.echo(f"wherein: {message}", err=True)
    sys.exit(code)


@contextmanager
def heard() -> Iterator[None]:
    """Around the whole program: standard output that cannot be written ends it in a line, not a traceback.

    A reader that went away, as `head` does, ends it quietly, by the signal that ends other programs then.
    """
    if sys.stdout is None:  # Before any work: the next file to be opened would take its place.
        stop("standard output is closed", USAGE)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        yield
    except OSError as error:
        if error.filename is not None:  # a file's, so not ours
            raise
        # What is still buffered would fail once more as Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        stop(f"standard output cannot be written: {error.strerror}", USAGE)

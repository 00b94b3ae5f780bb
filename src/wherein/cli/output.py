"""What the commands say, where, and what happens when nobody can hear it."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

NONE_FOUND, USAGE, UNREADABLE, SOME_UNREADABLE = 1, 2, 3, 4
"""Exit statuses; the second also where something cannot be written."""

INTERRUPTED = 130
"""As shells have it for a program that Ctrl-C ended."""


def say(record: dict[str, Any]) -> None:
    """One JSON object on a line of standard output, which Ctrl-C does not cut."""
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    # A file's name that is no proper text has lone surrogates, which JSON writes as it writes them here.
    text = line.encode("utf-8", "backslashreplace").decode("utf-8")
    with undisturbed():
        typer.echo(text)


def stop(message: str, code: int) -> NoReturn:
    """One line on standard error, and the exit status."""
    with suppress(OSError):  # the status says it too
        typer.echo(f"wherein: {message}", err=True)
    sys.exit(code)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits until the block is over; pressed twice, it waits no longer."""
    if threading.current_thread() is not threading.main_thread():  # which alone hears it
        yield
        return
    pressed = False

    def later(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def heard() -> Iterator[None]:
    """Around the whole program: Ctrl-C, or standard output that cannot be written, ends it in a line, not a
    traceback.

    A reader that went away, as `head` does, ends it quietly, by the signal that ends other programs then.
    """
    if sys.stdout is None:  # Before any work: the next file to be opened would take its place.
        stop("standard output is closed", USAGE)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        yield
    except SystemExit as ended:  # which is what typer makes of Ctrl-C
        if ended.code != INTERRUPTED:
            raise
        stop("interrupted", INTERRUPTED)
    except OSError as error:
        if error.filename is not None:  # a file's, so not ours
            raise
        # What is still buffered would fail once more as Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        stop(f"standard output cannot be written: {error.strerror}", USAGE)

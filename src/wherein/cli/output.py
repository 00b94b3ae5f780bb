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

INTERRUPTED, GONE = 130, 141
"""As shells have it for a program that was ended by Ctrl-C, or because no one reads it any more."""

_SIGPIPE = getattr(signal, "SIGPIPE", None)
"""Windows has none."""


def say(record: dict[str, Any]) -> None:
    """One JSON object on a line of standard output, which Ctrl-C does not cut.

    Where no one reads it, the program ends from here, so that files in the making are not left behind.
    """
    line = json.dumps(record, ensure_ascii=False, allow_nan=False)
    # A file's name that is no proper text has lone surrogates, which JSON writes as it writes them here.
    text = line.encode("utf-8", "backslashreplace").decode("utf-8")
    with undisturbed():
        try:
            typer.echo(text)
        except BrokenPipeError:
            sys.exit(GONE)


def stop(message: str, code: int) -> NoReturn:
    """One line on standard error, and the exit status."""
    with suppress(OSError):  # the status says it too
        typer.echo(f"wherein: {message}", err=True)
    sys.exit(code)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits until the block is over, and a reader that went away is an error, not the end.

    Pressed twice, Ctrl-C waits no longer.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone hears of either
        yield
        return
    pressed = False

    def later(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    handlers = {signal.SIGINT: later} | ({_SIGPIPE: signal.SIG_IGN} if _SIGPIPE else {})
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
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
    if _SIGPIPE:
        signal.signal(_SIGPIPE, signal.SIG_DFL)
    try:
        yield
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # which is what typer makes of Ctrl-C
            stop("interrupted", INTERRUPTED)
        if ended.code == GONE:
            _silence()
            if _SIGPIPE:
                signal.raise_signal(_SIGPIPE)
        raise
    except OSError as error:
        if error.filename is not None:  # a file's, so not ours
            raise
        _silence()
        stop(f"standard output cannot be written: {error.strerror}", USAGE)


def _silence() -> None:
    """What is still buffered would fail once more as Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""What the commands say, where, and what happens when nobody can hear it."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

import typer

NONE_FOUND, USAGE, UNREADABLE, SOME_UNREADABLE = 1, 2, 3, 4
"""Exit statuses; the second also where something cannot be written."""

INTERRUPTED, GONE, TERMINATED = 130, 141, 143
"""As shells have it for a program that was ended by Ctrl-C, for want of a reader, or by SIGTERM."""

_SIGPIPE = getattr(signal, "SIGPIPE", None)
"""Windows has none."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, which ends everything in the way that Ctrl-C does; only the exit status differs."""


def say(record: dict[str, Any]) -> None:
    """One JSON object on a line of standard output, which neither Ctrl-C nor SIGTERM cuts.

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
    """Ctrl-C and SIGTERM wait until the block is over, and a reader that went away is an error, not the end.

    The second of them waits no longer.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone hears of any
        yield
        return
    waiting: list[int] = []

    def later(number: int, _: object) -> None:
        waiting.append(number)
        _restore(ends)

    # What is ignored, as by a job in the background, stays so.
    heeded = [end for end in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(end) != signal.SIG_IGN]
    ends = {end: signal.signal(end, later) for end in heeded}
    pipe = {_SIGPIPE: signal.signal(_SIGPIPE, signal.SIG_IGN)} if _SIGPIPE else {}
    try:
        yield
    finally:
        _restore(ends | pipe)
    for number in waiting:
        signal.raise_signal(number)


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


@contextmanager
def heard() -> Iterator[None]:
    """Around the whole program: Ctrl-C, SIGTERM, or standard output that cannot be written, ends it in a
    line, not a traceback.

    A reader that went away, as `head` does, ends it quietly, by the signal that ends other programs then.
    """
    if sys.stdout is None:  # Before any work: the next file to be opened would take its place.
        stop("standard output is closed", USAGE)
    if _SIGPIPE:
        signal.signal(_SIGPIPE, signal.SIG_DFL)
    terminated = False

    def terminate(*_: object) -> NoReturn:
        nonlocal terminated
        terminated = True
        raise TerminatedError

    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except SystemExit as ended:
        if ended.code == INTERRUPTED:  # which is what typer makes of both
            stop(*(("terminated", TERMINATED) if terminated else ("interrupted", INTERRUPTED)))
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

"""What commands print and how they end: standard output and error, exit statuses, signals."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from wherein.errors import WhereinError

if TYPE_CHECKING:
    from wherein.cli.terminal.progress import SceneBar

NONE_FOUND, USAGE, UNREADABLE, SOME_UNREADABLE = 1, 2, 3, 4
"""Exit statuses. USAGE also stands for a file that cannot be written."""

INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
"""128 + the number of the signal, as shells report it: SIGINT (Ctrl-C), SIGPIPE, SIGTERM."""

FEW_SCENES = 5
"""A choice: up to so many scenes are done before a progress bar helps anyone."""

_SIGPIPE = getattr(signal, "SIGPIPE", None)
"""Windows does not have it."""


class UnreadableError(WhereinError):
    """A file that the user named cannot be read.

    Attributes:
        role: what the file is for, such as "scene" or "template".
        path: the file.
    """

    def __init__(self, role: str, path: Path, reason: Exception | str) -> None:
        super().__init__(str(reason))
        self.role, self.path = role, path


class TerminatedError(KeyboardInterrupt):
    """SIGTERM. It unwinds the program as Ctrl-C does, so that temporary files are deleted."""


class Console:
    """Prints results on standard output, and messages and progress on standard error.

    Attributes:
        quiet: whether to leave out messages and progress.
        readable: whether results are text to read instead of JSON: on a terminal, unless JSON was asked for.
        json_on_terminal: whether they are JSON on a terminal, where errors would be seen twice.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.readable = sys.stdout.isatty() and not as_json
        self.json_on_terminal = sys.stdout.isatty() and as_json
        self._bar: SceneBar | None = None

    def result(self, record: dict[str, Any]) -> None:
        """Print one JSON object on a line, which neither Ctrl-C nor SIGTERM cuts.

        If the reader went away, the program exits from here and is not killed by SIGPIPE, so that temporary
        files are deleted.
        """
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        # A file name that is not valid UTF-8 has lone surrogates: write them as JSON escapes.
        text = line.encode("utf-8", "backslashreplace").decode("utf-8")
        self._hide_bar()
        with deferred_signals():
            try:
                typer.echo(text)
            except BrokenPipeError:
                sys.exit(BROKEN_PIPE)

    def text(self, line: str) -> None:
        """Print a line of text on standard output."""
        self._hide_bar()
        typer.echo(line)

    def unreadable(self, role: str, path: str, reason: str) -> None:
        """Report a file that cannot be read: once on a terminal; in JSON for programs, and to read if that
        goes elsewhere."""
        if not self.readable:
            self.result({role: path, "error": reason})
        line = reason if path in reason else f"{path}: {reason}"
        if self.readable:
            self._hide_bar()
            typer.echo(line, err=True)  # even if quiet: nothing else says it
        elif not self.json_on_terminal:
            self.message(line)

    def message(self, line: str) -> None:
        """Print a line on standard error, unless quiet."""
        if not self.quiet:
            self._hide_bar()
            typer.echo(line, err=True)

    def warning(self, line: str) -> None:
        """Print a message that begins, as errors do, with the name of the program."""
        self.message(f"wherein: {line}")

    @contextmanager
    def progress(self, task: str) -> Iterator[Callable[[float, str], None]]:
        """Yield a function that shows the share of a task that is done, 0 to 1, and the current stage."""
        self._hide_bar()
        with ExitStack() as stack:
            shown: list[Callable[[float, str], None]] = []

            def report(share: float, stage: str) -> None:
                if self.quiet:
                    return
                if not shown:
                    # Not earlier: rich is slow to import, and a stored calibration reports nothing.
                    from wherein.cli.terminal.progress import task_progress

                    shown.append(stack.enter_context(task_progress(task)))
                shown[0](share, stage)

            yield report

    @contextmanager
    def scene_bar(self, total: int) -> Iterator[None]:
        """Show a bar of how many scenes are done, if there are many; `scenes_done` advances it."""
        if self.quiet or total <= FEW_SCENES:
            yield
            return
        from wherein.cli.terminal.progress import SceneBar

        self._bar = SceneBar(total)
        try:
            yield
        finally:
            self._hide_bar()
            self._bar = None

    def scenes_done(self, count: int) -> None:
        """Count more scenes."""
        if self._bar is not None:
            self._bar.advance(count)

    def _hide_bar(self) -> None:
        if self._bar is not None:
            self._bar.hide()


def stop(message: str, status: int) -> NoReturn:
    """Print an error on standard error and exit with `status`."""
    with suppress(OSError):  # standard error may be closed; the exit status remains
        typer.echo(f"wherein: {message}", err=True)
    sys.exit(status)


@contextmanager
def errors_as_exit_status() -> Iterator[None]:
    """Turn the errors of this package into a line on standard error and an exit status.

    Only here: commands let errors pass. Other exceptions are bugs and keep their traceback.
    """
    try:
        yield
    except UnreadableError as error:
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the block ends; a second one does not wait.

    SIGPIPE is ignored inside, so that a write to a closed pipe raises `BrokenPipeError`.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    received: list[int] = []

    def defer(number: int, _: object) -> None:
        received.append(number)
        _restore(ends)

    # A signal that is ignored, as in a background job, stays ignored.
    heeded = [end for end in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(end) != signal.SIG_IGN]
    ends = {end: signal.signal(end, defer) for end in heeded}
    pipe = {_SIGPIPE: signal.signal(_SIGPIPE, signal.SIG_IGN)} if _SIGPIPE else {}
    try:
        yield
    finally:
        _restore(ends | pipe)
    for number in received:
        signal.raise_signal(number)


def _restore(handlers: Mapping[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


@contextmanager
def clean_exit() -> Iterator[None]:
    """Around the whole program: end with one line instead of a traceback after Ctrl-C, SIGTERM, or if
    standard output cannot be written.

    If the reader of standard output went away, as `head` does, end silently by SIGPIPE, like other programs.
    """
    if sys.stdout is None:  # checked before any work: the next file to be opened would become standard output
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
        if ended.code == INTERRUPTED:  # typer exits so after any KeyboardInterrupt
            stop(*(("terminated", TERMINATED) if terminated else ("interrupted", INTERRUPTED)))
        if ended.code == BROKEN_PIPE:
            _discard_output()
            if _SIGPIPE:
                signal.raise_signal(_SIGPIPE)
        raise
    except OSError as error:
        if error.filename is not None:  # of another file, so not standard output
            raise
        _discard_output()
        stop(f"cannot write standard output: {error.strerror}", USAGE)


def _discard_output() -> None:
    """Send what is still buffered to nowhere: Python flushes it at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

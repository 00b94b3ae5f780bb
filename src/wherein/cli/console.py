"""Output and termination of commands: standard output and standard error, exit statuses, signals."""

import json
import os
import re
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
"""Exit statuses. USAGE is also used if a file cannot be written."""

INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
"""Exit statuses after signals: 128 + the number of SIGINT (Ctrl-C), SIGPIPE or SIGTERM, as in shells."""

FEW_SCENES = 5
"""Maximum number of scenes without a progress bar. A choice: so few are done before a bar is useful."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters, except the ends of lines and tabs."""

_SIGPIPE = getattr(signal, "SIGPIPE", None)
"""SIGPIPE; None on Windows, which does not have it."""


class UnreadableError(WhereinError):
    """A file that the user named cannot be read.

    Attributes:
        role: the purpose of the file, such as "scene" or "template".
        path: the file.
    """

    def __init__(self, role: str, path: Path, reason: Exception | str) -> None:
        super().__init__(str(reason))
        self.role, self.path = role, path


class TerminatedError(KeyboardInterrupt):
    """SIGTERM was received. Like Ctrl-C, it unwinds the stack, so that temporary files are deleted."""


class Console:
    """Prints results on standard output, and messages and progress on standard error.

    Attributes:
        quiet: whether to omit messages and progress.
        readable: whether results are text for people: on a terminal, unless JSON was requested.
        json_on_terminal: whether results are JSON on a terminal. Errors are in the JSON, so that messages
            about them would repeat them.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.readable = sys.stdout.isatty() and not as_json
        self.json_on_terminal = sys.stdout.isatty() and as_json
        self._bar: SceneBar | None = None

    def result(self, record: dict[str, Any]) -> None:
        """Print one JSON object on one line, which neither Ctrl-C nor SIGTERM interrupts.

        If the reader has closed the pipe, the program exits from here. SIGPIPE would kill it, and temporary
        files would remain.
        """
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        # A file name that is not valid UTF-8 contains lone surrogates, which are written as JSON escapes.
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
        typer.echo(_shown(line))

    def unreadable(self, role: str, path: str, reason: str) -> None:
        """Report a file that cannot be read.

        On a terminal it is reported once, as text or as JSON. If standard output goes elsewhere, it is
        reported there as JSON, and as a message on standard error.
        """
        if not self.readable:
            self.result({role: path, "error": reason})
        line = reason if path in reason else f"{path}: {reason}"
        if self.readable:
            self._hide_bar()
            typer.echo(_shown(line), err=True)  # even if quiet: otherwise it would not be reported at all
        elif not self.json_on_terminal:
            self.message(line)

    def message(self, line: str) -> None:
        """Print a line on standard error, unless quiet."""
        if not self.quiet:
            self._hide_bar()
            typer.echo(_shown(line), err=True)

    def warning(self, line: str) -> None:
        """Print a message that begins with the name of the program, as errors do."""
        self.message(f"wherein: {line}")

    @contextmanager
    def progress(self, task: str) -> Iterator[Callable[[float, str], None]]:
        """Yield a function that shows the share of a task that is done, 0 to 1, and its current stage."""
        self._hide_bar()
        with ExitStack() as stack:
            shown: list[Callable[[float, str], None]] = []

            def report(share: float, stage: str) -> None:
                if self.quiet:
                    return
                if not shown:
                    # Imported on the first report: rich is slow, and a stored calibration reports nothing.
                    from wherein.cli.terminal.progress import task_progress

                    shown.append(stack.enter_context(task_progress(task)))
                shown[0](share, stage)

            yield report

    @contextmanager
    def scene_bar(self, total: int) -> Iterator[None]:
        """Show a progress bar over scenes, if there are many; `scenes_done` advances it."""
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
        """Advance the progress bar by a number of scenes."""
        if self._bar is not None:
            self._bar.advance(count)

    def _hide_bar(self) -> None:
        if self._bar is not None:
            self._bar.hide()


def _shown(text: str) -> str:
    """A text with visible control characters: in the name of a file they could command the terminal."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def stop(message: str, status: int) -> NoReturn:
    """Print an error on standard error and exit with `status`."""
    with suppress(OSError):  # standard error may be closed; the exit status remains
        typer.echo(f"wherein: {_shown(message)}", err=True)
    sys.exit(status)


@contextmanager
def errors_as_exit_status() -> Iterator[None]:
    """Convert errors of this package to a line on standard error and an exit status.

    Commands do not handle these errors, so that this is the only place. Other exceptions are bugs, and keep
    their traceback.
    """
    try:
        yield
    except UnreadableError as error:
        stop(str(error), UNREADABLE)
    except WhereinError as error:
        stop(str(error), USAGE)


@contextmanager
def deferred_signals() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM to the end of the block; a second signal is not deferred.

    SIGPIPE is ignored inside, so that a write to a closed pipe raises `BrokenPipeError`.
    """
    if threading.current_thread() is not threading.main_thread():  # Python handles signals in the main thread
        yield
        return
    received: list[int] = []

    def defer(number: int, _: object) -> None:
        received.append(number)
        _restore(ends)  # so that a second signal takes effect at once, if the block hangs

    # A signal that is ignored, as in a background job, remains ignored.
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

    If the reader closes standard output, as `head` does, end silently by SIGPIPE, like other programs.
    """
    # Checked first: with descriptor 1 closed, the next file to be opened would become standard output.
    if sys.stdout is None:
        stop("standard output is closed", USAGE)
    # Python ignores SIGPIPE by default, and raises BrokenPipeError.
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
        if ended.code == INTERRUPTED:  # typer converts every KeyboardInterrupt to this, TerminatedError too
            stop(*(("terminated", TERMINATED) if terminated else ("interrupted", INTERRUPTED)))
        if ended.code == BROKEN_PIPE:
            _discard_output()
            if _SIGPIPE:
                signal.raise_signal(_SIGPIPE)
        raise
    except OSError as error:
        if error.filename is not None:  # an error of a named file, and not of standard output
            raise
        _discard_output()
        stop(f"cannot write standard output: {error.strerror}", USAGE)


def _discard_output() -> None:
    """Discard buffered output: Python flushes it at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Progress on standard error, for work that takes longer than a blink."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

HANDFUL = 5
"""So many scenes are soon done: no bar."""


@contextmanager
def progress(title: str, quiet: bool = False) -> Iterator[Callable[[float, str], None]]:
    """A bar that appears with the first call of what is yielded: the share done, and what is being done.

    Where standard error is a file or a pipe a bar would be litter: there each thing that is done is a line.
    """
    if quiet:
        yield lambda share, what: None
        return
    console = Console(stderr=True)
    with _bar(console, title) if console.is_terminal else _lines(console, title) as show:
        yield show


class Counted:
    """A bar of how many scenes are done and how long the rest will take; none for a handful.

    It is only where standard error is a terminal: lines about scenes that others print are progress enough.
    """

    def __init__(self, total: int, quiet: bool = False) -> None:
        console = Console(stderr=True)
        self._shown = not quiet and total > HANDFUL and console.is_terminal
        columns = (TextColumn("scenes"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # Standard output stays what it is: rich would lead it to the bar's own console.
        self._bar = Progress(
            *columns, console=console, transient=True, auto_refresh=False, redirect_stdout=False
        )
        self._task = self._bar.add_task("scenes", total=total)

    def step(self) -> None:
        """One more is done."""
        self._bar.advance(self._task)
        if self._shown:
            self._bar.start()
            self._bar.refresh()

    def hide(self) -> None:
        """Off the screen, for others to write there; it is back with the next step."""
        if self._shown:
            self._bar.stop()


@contextmanager
def counted(total: int, quiet: bool = False) -> Iterator[Counted]:
    """A bar that is gone when the block ends, however it does."""
    bar = Counted(total, quiet)
    try:
        yield bar
    finally:
        bar.hide()


@contextmanager
def _bar(console: Console, title: str) -> Iterator[Callable[[float, str], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(title, total=1.0)

    def show(share: float, what: str) -> None:
        bar.start()
        bar.update(task, completed=share, description=f"{title}: {what}")

    try:
        yield show
    finally:
        bar.stop()


@contextmanager
def _lines(console: Console, title: str) -> Iterator[Callable[[float, str], None]]:
    told: dict[str, tuple[float, float]] = {}

    def show(share: float, what: str) -> None:
        if what not in told:
            told[what] = share, monotonic()
            left = _left(next(iter(told.values())), told[what])
            console.print(f"{title}: {what}, {share:.0%} done{left}", soft_wrap=True, highlight=False)

    yield show


def _left(first: tuple[float, float], last: tuple[float, float]) -> str:
    """How long the rest will take, from a share and a time at first and at last; empty if unknown."""
    (before, began), (share, now) = first, last
    if not before < share < 1:
        return ""
    seconds = round((now - began) * (1 - share) / (share - before))
    return f", about {timedelta(seconds=seconds)} left"

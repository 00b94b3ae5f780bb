"""Progress on standard error, for work that takes longer than a blink."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress(title: str) -> Iterator[Callable[[float, str], None]]:
    """A bar that appears with the first call of what is yielded: the share done, and what is being done.

    Where standard error is a file or a pipe a bar would be litter: there each thing that is done is a line.
    """
    console = Console(stderr=True)
    with _bar(console, title) if console.is_terminal else _lines(console, title) as show:
        yield show


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

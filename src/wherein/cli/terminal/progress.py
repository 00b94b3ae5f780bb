"""Progress bars on standard error, drawn by rich."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from time import monotonic

from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

_BAR_WIDTH, _TIME_WIDTH = 12, len("0:00:00")
"""Widths in characters. The first is a choice: the text fits beside the bar in 80 columns."""


class SceneBar:
    """A progress bar over scenes, with the remaining time.

    It is shown on a terminal only. In a log file, the messages about scenes show the progress.
    """

    def __init__(self, total: int) -> None:
        console = RichConsole(stderr=True)
        self._shown = console.is_terminal
        columns = (TextColumn("scenes"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # By default rich redirects standard output to the bar's console: results would go to standard error.
        self._bar = Progress(
            *columns, console=console, transient=True, auto_refresh=False, redirect_stdout=False
        )
        self._task = self._bar.add_task("scenes", total=total)

    def advance(self, count: int = 1) -> None:
        """Advance by a number of scenes and show the bar."""
        self._bar.advance(self._task, count)
        if self._shown:
            self._bar.start()
            self._bar.refresh()

    def hide(self) -> None:
        """Remove the bar, so that other text can be printed; `advance` shows it again."""
        if self._shown:
            self._bar.stop()


def task_progress(task: str) -> AbstractContextManager[Callable[[float, str], None]]:
    """A context manager with a function that shows the share of a task that is done, 0 to 1, and the stage.

    On a terminal it shows a bar. In a file or a pipe, where a bar would be unreadable, each stage is a line.
    """
    console = RichConsole(stderr=True)
    return _bar(console, task) if console.is_terminal else _lines(console, task)


@contextmanager
def _bar(console: RichConsole, task: str) -> Iterator[Callable[[float, str], None]]:
    # With minimum widths, a narrow terminal shortens the text; by default rich shortens the bar and the time.
    columns = (
        BarColumn(_BAR_WIDTH, table_column=Column(min_width=_BAR_WIDTH)),
        TimeRemainingColumn(table_column=Column(min_width=_TIME_WIDTH)),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    bar = Progress(*columns, console=console, transient=True)
    number = bar.add_task(task, total=1.0)

    def show(share: float, stage: str) -> None:
        bar.start()
        bar.update(number, completed=share, description=f"{task}: {stage}")

    try:
        yield show
    finally:
        bar.stop()


@contextmanager
def _lines(console: RichConsole, task: str) -> Iterator[Callable[[float, str], None]]:
    stages: dict[str, tuple[float, float]] = {}  # the share that was done and the time at each stage's start

    def show(share: float, stage: str) -> None:
        if stage not in stages:
            # One line per stage: reports within a stage would fill a log.
            stages[stage] = share, monotonic()
            left = _time_left(next(iter(stages.values())), stages[stage])
            console.print(f"{task}: {stage}, {share:.0%} done{left}", soft_wrap=True, highlight=False)

    yield show


def _time_left(first: tuple[float, float], last: tuple[float, float]) -> str:
    """The remaining time as text, extrapolated from the first and last (share, time); empty if unknown."""
    (before, began), (share, now) = first, last
    if not before < share < 1:
        return ""
    seconds = round((now - began) * (1 - share) / (share - before))
    return f", about {timedelta(seconds=seconds)} left"

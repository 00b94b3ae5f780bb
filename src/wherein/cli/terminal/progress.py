"""Progress bars on standard error, drawn by rich."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from time import monotonic

from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

_BAR_WIDTH, _TIME_WIDTH = 12, len("0:00:00")
"""Characters. The first is a choice: the words fit beside it on a terminal of 80 columns."""


class SceneBar:
    """A bar of how many scenes are done and how long the rest will take.

    It is shown on a terminal only: in a log file, the messages about scenes are progress enough.
    """

    def __init__(self, total: int) -> None:
        console = RichConsole(stderr=True)
        self._shown = console.is_terminal
        columns = (TextColumn("scenes"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        # Without redirect_stdout=False rich would send the results to the bar's own console.
        self._bar = Progress(
            *columns, console=console, transient=True, auto_refresh=False, redirect_stdout=False
        )
        self._task = self._bar.add_task("scenes", total=total)

    def advance(self, count: int = 1) -> None:
        """Count more scenes and show the bar."""
        self._bar.advance(self._task, count)
        if self._shown:
            self._bar.start()
            self._bar.refresh()

    def hide(self) -> None:
        """Remove the bar, so that others can print there; `advance` shows it again."""
        if self._shown:
            self._bar.stop()


def task_progress(task: str) -> AbstractContextManager[Callable[[float, str], None]]:
    """Give a function that shows the share of a task that is done, 0 to 1, and the current stage.

    On a terminal this is a bar. In a file or a pipe a bar would be unreadable: there each stage is a line.
    """
    console = RichConsole(stderr=True)
    return _bar(console, task) if console.is_terminal else _lines(console, task)


@contextmanager
def _bar(console: RichConsole, task: str) -> Iterator[Callable[[float, str], None]]:
    # On a narrow terminal the words are cut: rich would rather cut the bar and the time.
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
    stages: dict[str, tuple[float, float]] = {}  # the share done and the time when each stage began

    def show(share: float, stage: str) -> None:
        if stage not in stages:
            stages[stage] = share, monotonic()
            left = _time_left(next(iter(stages.values())), stages[stage])
            console.print(f"{task}: {stage}, {share:.0%} done{left}", soft_wrap=True, highlight=False)

    yield show


def _time_left(first: tuple[float, float], last: tuple[float, float]) -> str:
    """Extrapolate the remaining time from the first and the last (share, time); empty if unknown."""
    (before, began), (share, now) = first, last
    if not before < share < 1:
        return ""
    seconds = round((now - began) * (1 - share) / (share - before))
    return f", about {timedelta(seconds=seconds)} left"

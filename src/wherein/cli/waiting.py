"""Progress on standard error, for work that takes longer than a blink."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress(title: str) -> Iterator[Callable[[float, str], None]]:
    """A bar that appears with the first call of what is yielded: the share done, and what is being done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(title, total=1.0)

    def show(share: float, what: str) -> None:
        bar.start()
        bar.update(task, completed=share, description=f"{title}: {what}")

    try:
        yield show
    finally:
        bar.stop()

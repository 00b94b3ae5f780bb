"""Workers that do tasks side by side, whatever they are, and what happens when one of them dies.

A task whose worker died, or that raised an exception which is not a `WhereinError`, may be the cause, or may
have been unlucky: the system takes memory from whichever process it likes. So it is tried again at the end,
on its own, with nothing beside it; if that fails too, it is reported, and the others are not affected.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from wherein.errors import WhereinError, WorkerError

_MAX_FAILED_STARTS = 3
"""In a row, before one is given up. A choice: a worker that dies while it starts will hardly do better the
fourth time."""


@dataclass(frozen=True)
class Ready:
    """A worker has started."""

    worker: int


@dataclass(frozen=True)
class Done:
    """A worker has done its task."""

    worker: int
    result: Any


@dataclass(frozen=True)
class Raised:
    """The task of a worker raised an exception; the worker goes on."""

    worker: int
    error: Exception


@dataclass(frozen=True)
class Died:
    """A worker is no more; the reason is for people."""

    worker: int
    reason: str


Event: TypeAlias = Ready | Done | Raised | Died


@runtime_checkable
class Workers(Protocol):
    """Where tasks are done: processes of this machine, or of others."""

    def start(self) -> int:
        """Start a worker, which says `Ready` later; returns its number."""

    def send(self, worker: int, task: Any) -> None:
        """Give a task to a worker that has none."""

    def wait(self) -> list[Event]:
        """Wait until something happens."""

    def close(self) -> None:
        """End all workers at once."""


@runtime_checkable
class Splittable(Protocol):
    """A task that can be divided."""

    def split(self) -> "list[Any]":
        """Its parts, each of which can fail without the others; itself, if it cannot be divided."""


Task = TypeVar("Task", bound=Splittable)


@dataclass(frozen=True)
class Finished(Generic[Task]):
    """A task that is done, or given up.

    Attributes:
        task: the task, or a part of it.
        result: what the work returned.
        failure: why it was given up; None: it is done.
    """

    task: Task
    result: Any = None
    failure: str | None = None


class Supervisor(Generic[Task]):
    """Keeps workers busy until all tasks are done.

    Arguments:
        workers: where tasks are done.
        tasks: what is to be done; they are begun in this order.
        count: number of workers.
    """

    def __init__(self, workers: Workers, tasks: Sequence[Task], count: int) -> None:
        self.workers, self.count = workers, count
        self._waiting, self._suspects = deque(tasks), deque[Task]()
        self._busy: dict[int, tuple[Task, bool]] = {}
        self._idle, self._starting = list[int](), set[int]()
        self._failed_starts = 0

    def __call__(self) -> Generator[Finished[Task]]:
        """The tasks as they are finished.

        Raises:
            WhereinError: a task raised it. It is about what the user asked for, such as a file that cannot be
                written, so the others would fail too.
            WorkerError: workers cannot start.
        """
        try:
            while self._waiting or self._suspects or self._busy:
                self._start()
                self._send()
                for event in self.workers.wait():
                    yield from self._handle(event)
        finally:
            self.workers.close()

    def _start(self) -> None:
        """Have as many workers as there are tasks for them."""
        tasks = len(self._waiting) + len(self._busy) + bool(self._suspects)
        missing = min(self.count, tasks) - len(self._busy) - len(self._idle) - len(self._starting)
        for _ in range(missing):
            self._starting.add(self.workers.start())

    def _send(self) -> None:
        while self._idle and self._waiting:
            self._give(self._waiting.popleft(), False)
        if self._idle and self._suspects and not self._busy:
            self._give(self._suspects.popleft(), True)

    def _give(self, task: Task, again: bool) -> None:
        worker = self._idle.pop()
        self._busy[worker] = task, again
        self.workers.send(worker, task)

    def _handle(self, event: Event) -> Generator[Finished[Task]]:
        if isinstance(event, Ready):
            self._failed_starts = 0
            self._starting.discard(event.worker)
            self._idle.append(event.worker)
        elif isinstance(event, Done):
            self._failed_starts = 0
            task, _ = self._busy.pop(event.worker)
            self._idle.append(event.worker)
            yield Finished(task, event.result)
        elif isinstance(event, Raised):
            if isinstance(event.error, WhereinError) or event.worker in self._starting:
                raise event.error
            self._idle.append(event.worker)
            yield from self._failed(event.worker, f"{type(event.error).__name__}: {event.error}")
        else:
            yield from self._died(event)

    def _died(self, event: Died) -> Generator[Finished[Task]]:
        if event.worker in self._starting:
            self._starting.remove(event.worker)
            self._failed_starts += 1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                self._give_up_one(event.reason)
        elif event.worker in self._busy:
            yield from self._failed(event.worker, f"its worker process died ({event.reason})")
        else:
            self._idle.remove(event.worker)

    def _give_up_one(self, reason: str) -> None:
        """Go on with one worker less, if there is another."""
        if not self._busy and not self._idle:
            raise WorkerError(f"workers cannot start: {reason}")
        self.count, self._failed_starts = max(1, self.count - 1), 0

    def _failed(self, worker: int, reason: str) -> Generator[Finished[Task]]:
        task, again = self._busy.pop(worker)
        if again:
            yield Finished(task, failure=f"the search failed twice: {reason}")
        else:
            self._suspects.extend(task.split())


def supervised(workers: Workers, tasks: Sequence[Task], count: int) -> Generator[Finished[Task]]:
    """The tasks as they are finished: `Supervisor`."""
    return Supervisor(workers, tasks, count)()


Make: TypeAlias = Callable[[], Callable[[Any], Any]]
"""Makes the function that is applied to every task, once in each worker; it is sent there."""

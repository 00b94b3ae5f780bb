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
        """Give a task to a worker, which does its tasks in the order in which it gets them."""

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

    A worker has its next task before it has done the one before: on a machine whose cores are all busy this
    process may have to wait for its turn, and no worker should wait for it.

    Arguments:
        workers: where tasks are done.
        tasks: what is to be done; they are begun in this order.
        count: number of workers.
    """

    def __init__(self, workers: Workers, tasks: Sequence[Task], count: int) -> None:
        self.workers, self.count = workers, count
        self._waiting, self._suspects = deque(tasks), deque[Task]()
        self._given: dict[int, deque[Task]] = {}
        """What each worker that has started has to do; it is doing the first."""
        self._starting = set[int]()
        self._trying_again = False
        """Whether the only task that is given is one that has failed before."""
        self._failed_starts = 0

    def __call__(self) -> Generator[Finished[Task]]:
        """The tasks as they are finished.

        Raises:
            WhereinError: a task raised it. It is about what the user asked for, such as a file that cannot be
                written, so the others would fail too.
            WorkerError: workers cannot start.
        """
        try:
            while self._waiting or self._suspects or self._in_work():
                self._start()
                self._send()
                for event in self.workers.wait():
                    yield from self._handle(event)
        finally:
            self.workers.close()

    def _in_work(self) -> int:
        return sum(map(len, self._given.values()))

    def _start(self) -> None:
        """Have as many workers as there are tasks for them."""
        tasks = len(self._waiting) + self._in_work() + bool(self._suspects)
        for _ in range(min(self.count, tasks) - len(self._given) - len(self._starting)):
            self._starting.add(self.workers.start())

    def _send(self) -> None:
        if self._trying_again:
            return
        self._fill(1)
        # In the end there is one for each: nothing is gained if a worker has two and another has none.
        if len(self._waiting) >= self.count:
            self._fill(2)
        if self._suspects and self._given and not self._in_work():
            self._trying_again = True
            self._give(next(iter(self._given)), self._suspects.popleft())

    def _fill(self, most: int) -> None:
        """Give each worker up to so many tasks."""
        for worker, tasks in self._given.items():
            if self._waiting and len(tasks) < most:
                self._give(worker, self._waiting.popleft())

    def _give(self, worker: int, task: Task) -> None:
        self._given[worker].append(task)
        self.workers.send(worker, task)

    def _handle(self, event: Event) -> Generator[Finished[Task]]:
        if isinstance(event, Ready):
            self._failed_starts = 0
            self._starting.discard(event.worker)
            self._given[event.worker] = deque()
        elif isinstance(event, Done):
            self._failed_starts, self._trying_again = 0, False
            yield Finished(self._given[event.worker].popleft(), event.result)
        elif isinstance(event, Raised):
            if isinstance(event.error, WhereinError) or event.worker in self._starting:
                raise event.error
            task = self._given[event.worker].popleft()
            yield from self._failed(task, f"{type(event.error).__name__}: {event.error}")
        else:
            yield from self._died(event)

    def _died(self, event: Died) -> Generator[Finished[Task]]:
        if event.worker in self._starting:
            self._starting.remove(event.worker)
            self._failed_starts += 1
            if self._failed_starts >= _MAX_FAILED_STARTS:
                self._give_up_one(event.reason)
            return
        tasks = self._given.pop(event.worker)
        if tasks:
            task = tasks.popleft()
            self._waiting.extendleft(tasks)  # not begun, so not to blame
            yield from self._failed(task, f"its worker process died ({event.reason})")

    def _give_up_one(self, reason: str) -> None:
        """Go on with one worker less, if there is another."""
        if not self._given:
            raise WorkerError(f"workers cannot start: {reason}")
        self.count, self._failed_starts = max(1, self.count - 1), 0

    def _failed(self, task: Task, reason: str) -> Generator[Finished[Task]]:
        if self._trying_again:
            self._trying_again = False
            yield Finished(task, failure=f"the search failed twice: {reason}")
        else:
            self._suspects.extend(task.split())


def supervised(workers: Workers, tasks: Sequence[Task], count: int) -> Generator[Finished[Task]]:
    """The tasks as they are finished: `Supervisor`."""
    return Supervisor(workers, tasks, count)()


Make: TypeAlias = Callable[[], Callable[[Any], Any]]
"""Makes the function that is applied to every task, once in each worker; it is sent there."""

"""Workers that do tasks in parallel, and the supervisor that handles the death of a worker.

If a worker dies, or a task raises an exception that is not a `WhereinError`, the task may be the cause or may
have been unlucky: when memory runs out, the system may kill any process. Therefore the task is tried again at
the end, alone, with no other task running. If it fails again, it is reported; other tasks are not affected.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from wherein.errors import WhereinError, WorkerError

_MAX_FAILED_STARTS = 3
"""Number of consecutive failed starts after which a worker is given up. A choice: a worker that died three
times while it started will hardly succeed the fourth time."""


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
    """The task of a worker raised an exception; the worker continues with its next task."""

    worker: int
    error: Exception


@dataclass(frozen=True)
class Died:
    """A worker has died; `reason` is a text for messages."""

    worker: int
    reason: str


Event: TypeAlias = Ready | Done | Raised | Died


@runtime_checkable
class Workers(Protocol):
    """A set of processes that do tasks, on this machine or on several."""

    def start(self) -> int:
        """Start a worker, which reports `Ready` later; returns its number."""

    def send(self, worker: int, task: Any) -> bool:
        """Send a task to a worker, which does its tasks in the order in which they are sent.

        Returns False if the worker is known to have died, which `wait` will report.
        """

    def wait(self) -> list[Event]:
        """Wait until there are events, and return them."""

    def close(self) -> None:
        """End all workers at once."""


@runtime_checkable
class Splittable(Protocol):
    """A task that can be divided."""

    def split(self) -> "list[Any]":
        """The parts of the task, each of which can fail by itself; the task itself if it has one part."""


Task = TypeVar("Task", bound=Splittable)


@dataclass(frozen=True)
class Finished(Generic[Task]):
    """A task that is done or given up.

    Attributes:
        task: the task, or a part of it.
        result: the return value of the function that was applied to the task.
        failure: why the task was given up; None: it is done.
    """

    task: Task
    result: Any = None
    failure: str | None = None


class Supervisor(Generic[Task]):
    """Keeps workers busy until all tasks are done.

    A worker gets its next task before it has finished the current one: if all cores of a machine are busy,
    this process may have to wait for a core, and no worker should wait for this process.

    Arguments:
        workers: the processes that do the tasks.
        tasks: the tasks; they are started in this order.
        count: number of workers.
    """

    def __init__(self, workers: Workers, tasks: Sequence[Task], count: int) -> None:
        self.workers, self.count = workers, count
        self._waiting, self._suspects = deque(tasks), deque[Task]()
        self._given: dict[int, deque[Task]] = {}
        """The tasks of each worker that has started; it is doing the first of them."""
        self._starting = set[int]()
        self._trying_again = False
        """Whether the only task in progress is one that has failed before."""
        self._failed_starts = 0

    def __call__(self) -> Generator[Finished[Task]]:
        """Yield each task when it is finished.

        Raises:
            WhereinError: a task raised it. Such an error concerns the user's request, for example a file that
                cannot be written, so that other tasks would fail too.
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
        """Start workers up to `count`, but not more than there are tasks."""
        # Failed tasks are tried one at a time: however many there are, they occupy one worker.
        tasks = len(self._waiting) + self._in_work() + bool(self._suspects)
        for _ in range(min(self.count, tasks) - len(self._given) - len(self._starting)):
            self._starting.add(self.workers.start())

    def _send(self) -> None:
        if self._trying_again:
            return
        self._fill(1)
        # Second tasks only while enough tasks are left for everyone: near the end, a task that waits behind
        # another one could be done by a worker that has none.
        if len(self._waiting) >= self.count:
            self._fill(2)
        if self._suspects and self._given and not self._in_work():
            self._trying_again = self._give(next(iter(self._given)), self._suspects)

    def _fill(self, most: int) -> None:
        """Send waiting tasks to workers that have fewer than `most`, one to each."""
        for worker, tasks in self._given.items():
            if self._waiting and len(tasks) < most:
                self._give(worker, self._waiting)

    def _give(self, worker: int, tasks: deque[Task]) -> bool:
        """Send the first task to a worker; a worker that has died gets none, which would then be blamed."""
        sent = self.workers.send(worker, tasks[0])
        if sent:
            self._given[worker].append(tasks.popleft())
        return sent

    def _handle(self, event: Event) -> Generator[Finished[Task]]:
        if isinstance(event, Ready):
            self._failed_starts = 0
            self._starting.discard(event.worker)
            self._given[event.worker] = deque()
        elif isinstance(event, Done):
            self._failed_starts, self._trying_again = 0, False
            yield Finished(self._given[event.worker].popleft(), event.result)
        elif isinstance(event, Raised):
            # An exception at the start concerns every worker, for example a template that cannot be loaded.
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
        # `_start` replaces the worker in the next round.
        tasks = self._given.pop(event.worker)
        if tasks:
            task = tasks.popleft()
            # Its other tasks had not been started, and cannot be the cause. It has at most one of them, so
            # that `extendleft`, which reverses, keeps the order.
            self._waiting.extendleft(tasks)
            yield from self._failed(task, f"its worker process died ({event.reason})")

    def _give_up_one(self, reason: str) -> None:
        """Continue with one worker less, if another one has started."""
        if not self._given:
            raise WorkerError(f"workers cannot start: {reason}")
        # Memory may suffice for fewer workers only.
        self.count, self._failed_starts = max(1, self.count - 1), 0

    def _failed(self, task: Task, reason: str) -> Generator[Finished[Task]]:
        """Give up a task that fails for the second time; otherwise keep its parts for another try."""
        if self._trying_again:
            self._trying_again = False
            yield Finished(task, failure=f"the search failed twice: {reason}")
        else:
            self._suspects.extend(task.split())


def supervised(workers: Workers, tasks: Sequence[Task], count: int) -> Generator[Finished[Task]]:
    """Do tasks by `count` workers, and yield each when it is finished; see `Supervisor`."""
    return Supervisor(workers, tasks, count)()


Make: TypeAlias = Callable[[], Callable[[Any], Any]]
"""A picklable function that is sent to each worker, and called there once to make the function for tasks."""

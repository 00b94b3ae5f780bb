"""Workers that are processes of this machine.

Not threads: between thousands of short torch operations they wait for each other, and two of them get no more
done than one and a half. Processes are spawned, since a fork of a process with threads may hang; and all end
with the process that started them, however it ends.
"""

import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pickle import PicklingError, UnpicklingError
from typing import Any, NoReturn, TypeVar

import torch

from wherein.engine.workers import Died, Done, Event, Make, Raised, Ready
from wherein.errors import WorkerError

Result = TypeVar("Result")

_MAX_PROCESSES = 61
"""Windows waits for at most 63 handles at once; two are left for others."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SIGPIPE = getattr(signal, "SIGPIPE", None)

_READY, _DONE, _RAISED = "ready", "done", "raised"
"""The kinds of messages from a process."""

_GONE = (EOFError, OSError, UnpicklingError)
"""What reading from a process raises that has died, perhaps in the middle of a message."""

_EXIT_TIME = 5.0
"""Seconds for a process to end after it has closed its pipe, so that its exit status is known. A choice."""


_CLEANUP_TIME = 3.0
"""Seconds for processes to delete their temporary files when they are to end. A choice: a call of C, which
cannot be interrupted, takes less."""


def usable_cores() -> int:
    """The number of cores that this process may use."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(known, _MAX_PROCESSES)


def threads_each(workers: int) -> int:
    """The number of torch threads of each of so many workers on this machine, at least one."""
    return max(1, usable_cores() // workers)


@dataclass
class _Process:
    """A process, the pipe to it, and whether it has said that it is ready."""

    process: BaseProcess
    pipe: Connection
    ready: bool = False


class LocalWorkers:
    """Spawned processes. `close` them in any case: they end at once, whatever they are doing.

    Arguments:
        make: makes the function to apply, once in each process; it, the tasks and the results must be
            picklable.
        threads: of torch, in each process.
    """

    def __init__(self, make: Make, threads: int = 1) -> None:
        self._make, self._threads = make, threads
        self._known: dict[int, _Process] = {}
        self._count = 0
        self._stack = ExitStack()
        # The command line lets SIGPIPE end it, as `head` expects. Here a pipe to a process that has died must
        # be an error that can be reported instead.
        self._stack.enter_context(_ignoring(*([_SIGPIPE] if _SIGPIPE else [])))

    def start(self) -> int:
        """Start a process, which says `Ready` later; returns its number."""
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._make, self._threads), daemon=True)
        # A process inherits that it ignores these signals, so that none can reach it before `_serve` runs.
        with _ignoring(*_STOP_SIGNALS):
            process.start()
        theirs.close()  # so that ours says when the process, the only other owner, is gone
        self._count += 1
        self._known[self._count] = _Process(process, ours)
        return self._count

    def send(self, worker: int, task: Any) -> None:
        """Give a task to a process, which does them in order; if it has died meanwhile, `wait` says so."""
        with suppress(OSError):
            self._known[worker].pipe.send(task)

    def wait(self) -> list[Event]:
        """Wait until something happens."""
        numbers = {id(known.pipe): number for number, known in self._known.items()}
        readable = wait([known.pipe for known in self._known.values()])
        return [self._event(numbers[id(pipe)]) for pipe in readable]

    def _event(self, number: int) -> Event:
        try:
            kind, value = self._known[number].pipe.recv()
        except _GONE:
            return Died(number, self._end(number))
        if kind == _READY:
            self._known[number].ready = True
            return Ready(number)
        return Done(number, value) if kind == _DONE else Raised(number, value)

    def _end(self, number: int) -> str:
        """Remove a process that has died; returns why it did."""
        known = self._known.pop(number)
        known.pipe.close()
        known.process.join(_EXIT_TIME)
        status = known.process.exitcode
        if status is None:
            known.process.kill()
            return "it does not answer"
        with suppress(ValueError):
            return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return f"killed by signal {-status}"

    def close(self) -> None:
        """End all processes: those that may be writing have a moment to delete what they have not
        finished."""
        for known in self._known.values():
            if known.ready:
                known.process.terminate()
            else:
                known.process.kill()
        deadline = time.monotonic() + _CLEANUP_TIME
        for known in self._known.values():
            known.process.join(max(0.0, deadline - time.monotonic()))
            known.process.kill()
            known.process.join()
            known.pipe.close()
        self._known.clear()
        self._stack.close()


def in_processes(
    make: Callable[[], Callable[[str], Result]], names: Sequence[str], count: int
) -> Generator[Result]:
    """The result for each name, in the order in which they are finished; names are started in order.

    Each process has one torch thread.

    Arguments:
        make: makes the function to apply, once in each process; it and the results must be picklable.
        names: what to apply it to.
        count: number of processes.

    Raises:
        WorkerError: a process died, for example for lack of memory.
        Exception: what the function raised.
    """
    workers, waiting, left = LocalWorkers(make), iter(names), len(names)
    try:
        for _ in range(min(count, left)):
            workers.start()
        while left:
            for event in workers.wait():
                if isinstance(event, Died):
                    raise WorkerError("a worker process died: is there enough memory?")
                if isinstance(event, Raised):
                    raise event.error
                name = next(waiting, None)
                if name is not None:
                    workers.send(event.worker, name)
                if isinstance(event, Done):
                    left -= 1
                    yield event.result
    finally:
        workers.close()


@contextmanager
def _ignoring(*signals: signal.Signals) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _serve(pipe: Connection, make: Make, threads: int) -> None:
    """In a spawned process: apply the function to one task after the other."""
    # The parent answers Ctrl-C; not every system lets a child inherit that.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # As an exception, so that temporary files are deleted.
    signal.signal(signal.SIGTERM, _stop)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        work = make()
    except Exception as error:
        _send_error(pipe, error)
        return
    pipe.send((_READY, None))
    with suppress(EOFError):  # nobody is left to work for
        while True:
            task = pipe.recv()
            try:
                pipe.send((_DONE, work(task)))
            except Exception as error:
                _send_error(pipe, error)


def _stop(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once: a second exception would interrupt the cleaning up
    raise SystemExit(1)


def _send_error(pipe: Connection, error: Exception) -> None:
    """Send an exception, with where it was raised as a note."""
    where = "".join(traceback.format_exception(error))
    error.add_note(where)
    try:
        pipe.send((_RAISED, error))
    except (PicklingError, TypeError, AttributeError):
        pipe.send((_RAISED, RuntimeError(where)))


def _end_with_parent() -> None:
    """Exit when the parent does: if it was killed, nothing else would end this process."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        if os.name == "posix":  # elsewhere this signal ends a process at once too
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_CLEANUP_TIME)
        os._exit(1)

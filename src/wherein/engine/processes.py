"""Workers that are processes on this machine.

They are not threads, because threads wait for each other between thousands of short torch operations: two of
them do the work of one and a half. Processes are spawned and not forked, because a fork of a process with
threads may hang. All end with the process that started them, however it ends.
"""

import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pickle import UnpicklingError
from typing import Any, NoReturn, TypeVar

import torch

from wherein.engine.workers import Died, Done, Event, Make, Raised, Ready
from wherein.errors import WorkerError

Result = TypeVar("Result")

_MAX_PROCESSES = 61
"""Maximum number of processes. Windows waits for at most 63 handles at once; two are reserved for others."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SIGPIPE = getattr(signal, "SIGPIPE", None)

_READY, _DONE, _RAISED = "ready", "done", "raised"
"""The kinds of messages from a process."""

_GONE = (EOFError, OSError, UnpicklingError)
"""The exceptions of reading from a process that has died, perhaps in the middle of a message."""

_EXIT_TIME = 5.0
"""Seconds to wait for the exit status of a process that has closed its pipe. A choice."""

_CLEANUP_TIME = 3.0
"""Seconds for processes to delete their temporary files before they are killed. A choice: a call of the C
kernel, which cannot be interrupted, takes less."""


def usable_cores() -> int:
    """The number of cores that this process may use."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(known, _MAX_PROCESSES)


def threads_each(workers: int) -> int:
    """The number of torch threads per worker if `workers` of them share this machine, at least one."""
    return max(1, usable_cores() // workers)


@dataclass
class _Process:
    """A process, the pipe to it, and whether it has reported that it is ready."""

    process: BaseProcess
    pipe: Connection
    ready: bool = False


class LocalWorkers:
    """Spawned processes. Always call `close`: it ends them at once, whatever they are doing.

    Arguments:
        make: makes the function to apply, once in each process; `make`, tasks and results must be picklable.
        threads: number of torch threads in each process.
    """

    def __init__(self, make: Make, threads: int = 1) -> None:
        self._make, self._threads = make, threads
        self._known: dict[int, _Process] = {}
        self._count = 0
        self._stack = ExitStack()
        # The command line is ended by SIGPIPE, so that `wherein … | head` stops it. While there are workers
        # the signal is ignored: writing to a worker that has died must raise an error that can be reported.
        self._stack.enter_context(_ignoring(*([_SIGPIPE] if _SIGPIPE else [])))

    def start(self) -> int:
        """Start a process, which reports `Ready` later; returns its number."""
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._make, self._threads), daemon=True)
        with _not_interrupted():
            process.start()
            # The process is now the only owner of its end: when it dies, reading from `ours` raises EOFError.
            theirs.close()
            self._count += 1
            self._known[self._count] = _Process(process, ours)
        return self._count

    def send(self, worker: int, task: Any) -> bool:
        """Send a task to a process, which does tasks in order; False if it has died: `wait` reports it."""
        try:
            self._known[worker].pipe.send(task)
        except OSError:
            return False
        return True

    def wait(self) -> list[Event]:
        """Wait until there are events, and return them."""
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
        """Remove a process that has died; returns the reason."""
        known = self._known.pop(number)
        known.pipe.close()
        known.process.join(_EXIT_TIME)
        status = known.process.exitcode
        if status is None:
            known.process.kill()
            return "it does not answer"
        with suppress(ValueError):  # a signal without a name
            return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return f"killed by signal {-status}"

    def close(self) -> None:
        """End all processes; those that may be writing get `_CLEANUP_TIME` to delete unfinished files."""
        # A process that is not ready has written nothing yet, and may still block SIGTERM.
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
    """Apply a function to names in several processes; yields results in the order in which they are finished.

    Names are started in order. Each process has one torch thread.

    Arguments:
        make: makes the function to apply, once in each process; `make` and results must be picklable.
        names: the arguments of the function.
        count: number of processes.

    Raises:
        WorkerError: a process died, for example because it ran out of memory.
        Exception: the function raised it.
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
                # The event is `Ready` or `Done`: in both cases the worker is idle. Its next name is sent
                # before the result is yielded, so that it works while the caller does.
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
    """Ignore signals inside the block; without effect in other threads than the main thread."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _not_interrupted() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM to the end of the block, also in processes that it starts: see `_serve`."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows, where signals are not inherited
        with _ignoring(*_STOP_SIGNALS):
            yield
        return
    # The first process also starts the resource tracker of Python, which unblocks these signals.
    resource_tracker.ensure_running()
    # Blocked and not ignored: what arrives meanwhile takes effect later.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, make: Make, threads: int) -> None:
    """In a spawned process: apply the function to one task after the other."""
    # Ctrl-C reaches all processes of a terminal; the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # An exception unwinds the stack, so that temporary files are deleted.
    signal.signal(signal.SIGTERM, _stop)
    # Blocked signals are inherited: until here, none could end this process.
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        work = make()
    except Exception as error:
        _send_error(pipe, error)
        return
    pipe.send((_READY, None))
    with suppress(EOFError):  # the parent has closed the pipe
        while True:
            task = pipe.recv()
            try:
                pipe.send((_DONE, work(task)))
            except Exception as error:
                _send_error(pipe, error)


def _stop(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second exception would interrupt the cleanup
    raise SystemExit(1)


def _send_error(pipe: Connection, error: Exception) -> None:
    """Send an exception, with its traceback as a note: pickling drops the traceback."""
    where = "".join(traceback.format_exception(error))
    error.add_note(where)
    try:
        # Unpickled here as a trial: an exception whose `__init__` has other arguments than its message can be
        # pickled, but raises a TypeError where it is received.
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class does
        error = RuntimeError(where)
    pipe.send((_RAISED, error))


def _end_with_parent() -> None:
    """Exit when the parent does. If it was killed, nothing else would end this process."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        if os.name == "posix":  # on Windows, os.kill ends a process at once, as `_exit` does
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(_CLEANUP_TIME)
        os._exit(1)

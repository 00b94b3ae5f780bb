"""Parallel work in processes.

Not in threads: between thousands of short torch operations they wait for each other, and two of them get no
more done than one and a half. Processes are spawned, since a fork of a process with threads may hang; each
has one torch thread; and all end with the process that started them, however it ends.
"""

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import Any, TypeVar

import torch

from wherein.errors import WorkerError

Result = TypeVar("Result")

_MAX_PROCESSES = 61
"""The limit of `ProcessPoolExecutor` on Windows, which waits for at most 63 handles and needs two itself."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SIGPIPE = getattr(signal, "SIGPIPE", None)


class _Worker:
    """In a spawned process: the function that it applies to every name."""

    work: Callable[[str], Any]


def usable_cores() -> int:
    """The number of cores that this process may use."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(known, _MAX_PROCESSES)


def in_processes(
    make: Callable[[], Callable[[str], Result]], names: Sequence[str], count: int
) -> Generator[Result]:
    """The result for each name, in the order in which they are finished; names are started in order.

    Arguments:
        make: makes the function to apply, once in each process; it and the results must be picklable.
        names: what to apply it to.
        count: number of processes.

    Raises:
        WorkerError: a process died, for example for lack of memory.
    """
    with _pool(make, count) as pool:
        # A process inherits that it ignores these signals, so that none can reach it before `_begin` runs.
        with _ignoring(*_STOP_SIGNALS):
            futures = [pool.submit(_apply, name) for name in names]
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool as error:
                raise WorkerError("a worker process died: is there enough memory?") from error


@contextmanager
def _pool(make: Callable[[], Callable[[str], Any]], count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes. On any exception, Ctrl-C included, they are killed at once."""
    others = set(active_children())
    pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin, initargs=(make,))
    # The command line lets SIGPIPE end it, as `head` expects. Here a pipe to a process that has died must be
    # an error that the pool can report instead.
    with _ignoring(*([_SIGPIPE] if _SIGPIPE else [])):
        try:
            yield pool
        except BaseException:
            for process in set(active_children()) - others:
                process.kill()
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()


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


def _begin(make: Callable[[], Callable[[str], Any]]) -> None:
    """Initialise a spawned process."""
    for number in _STOP_SIGNALS:  # the parent answers these; not every system lets a child inherit it
        signal.signal(number, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Worker.work = make()


def _apply(name: str) -> Any:
    return _Worker.work(name)


def _end_with_parent() -> None:
    """Exit when the parent does: if it was killed, nothing else would end this process."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

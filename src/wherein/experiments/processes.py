"""Work side by side in processes: threads would wait for each other between thousands of short operations,
and two of them get no more done than one and a half.

They begin anew, since a copy of a process that has threads may hang; with one torch thread each; and they end
with the one that began them, whatever ends it.
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

_MOST = 61
"""Windows waits for no more."""

_ENDS = (signal.SIGINT, signal.SIGTERM)
_SIGPIPE = getattr(signal, "SIGPIPE", None)


class _Here:
    """What a process that was begun here does with each name."""

    work: Callable[[str], Any]


def usable_cores() -> int:
    """Of this machine, those that this process may use."""
    known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(known, _MOST)


def side_by_side(
    make: Callable[[], Callable[[str], Result]], names: Sequence[str], count: int
) -> Generator[Result]:
    """The result for each name, as they are finished; those that come first are begun first.

    Arguments:
        make: gives the work, once in each process; it can be sent there, as can the results from there.
        names: what to work on.
        count: of processes.

    Raises:
        WorkerError: a process has died, as where the memory is not enough.
    """
    with _pool(make, count) as pool:
        with _ignoring(*_ENDS):  # what is begun here inherits it, and hears of neither before it can say so
            futures = [pool.submit(_on, name) for name in names]
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool as error:
                words = "a process that did a part of the work has died: is there enough memory for all?"
                raise WorkerError(words) from error


@contextmanager
def _pool(make: Callable[[], Callable[[str], Any]], count: int) -> Iterator[ProcessPoolExecutor]:
    """When something goes wrong, Ctrl-C too, the processes are ended at once."""
    others = set(active_children())
    pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin, initargs=(make,))
    # A pipe to a process that has died is an error there, and not, as for `head`, the end of all.
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
    if threading.current_thread() is not threading.main_thread():  # which alone may say so
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _begin(make: Callable[[], Callable[[str], Any]]) -> None:
    """In each process, first of all."""
    for number in _ENDS:  # for who began it all to answer; not every system lets it be inherited
        signal.signal(number, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _Here.work = make()


def _on(name: str) -> Any:
    return _Here.work(name)


def _end_with_parent() -> None:
    """Where that was killed, no one else would say so."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

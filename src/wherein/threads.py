"""Torch settings for the duration of a block, and work on several threads of the package's own."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import torch

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _Calls:
    """The number of calls inside `one_thread`, and torch's number of threads before the first of them."""

    def __init__(self) -> None:
        self.lock, self.inside, self.before = threading.Lock(), 0, 1


class _Own(threading.local):
    """Whether this thread is inside `one_thread`."""

    inside = False


_calls, _own = _Calls(), _Own()


def renewed_after_fork(renew: Callable[[], None]) -> None:
    """Call `renew` in every forked process: a copied lock may be held by a thread that the copy lacks."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)


renewed_after_fork(lambda: setattr(_calls, "lock", threading.Lock()))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with one torch thread, then restore the number.

    For thousands of small operations, threads that wait for each other cost more than they save, and twenty
    times as much when another process uses a core. A forked process has none of torch's threads and would
    wait for them forever; so functions that load and write pictures use it, too. It is also a decorator.

    Calls may overlap. Torch keeps the number per thread, and a new thread starts with the number that was set
    last in any thread. So all overlapping calls restore the number that the first of them found. Of nested
    calls, only the outermost has an effect.
    """
    if _own.inside:
        yield
        return
    with _calls.lock:
        found = torch.get_num_threads()  # read in any case, since reading fixes the number for this thread
        _calls.before = _calls.before if _calls.inside else found
        _calls.inside += 1
        torch.set_num_threads(1)
    _own.inside = True
    try:
        yield
    finally:
        _own.inside = False
        with _calls.lock:
            _calls.inside -= 1
            torch.set_num_threads(_calls.before)


def allowed_threads() -> int:
    """Torch's number of threads as set by the caller, also inside `one_thread`."""
    with _calls.lock:
        return _calls.before if _calls.inside else torch.get_num_threads()


def cpu_by_default() -> AbstractContextManager[object]:
    """Make the CPU the default device, whatever the caller's default device is."""
    # Only if the default is another device: inside this context every torch call passes through Python.
    return nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")


@contextmanager
def plain_torch() -> Iterator[None]:
    """Run the block without gradients, with one thread and with the CPU as the default device."""
    with torch.no_grad(), one_thread(), cpu_by_default():
        yield


class _Pools:
    """Thread pools by their number of threads; kept, since starting threads may cost more than the work."""

    def __init__(self) -> None:
        self.lock, self.by_count = threading.Lock(), dict[int, ThreadPoolExecutor]()

    def of(self, count: int) -> ThreadPoolExecutor:
        with self.lock:
            if count not in self.by_count:
                self.by_count[count] = ThreadPoolExecutor(count, "wherein")
            return self.by_count[count]


_pools = _Pools()
# A forked process has none of its parent's threads: tasks that are submitted to them would never run.
renewed_after_fork(_pools.__init__)  # type: ignore[misc]


def shared_out(work: Callable[[_Item], _Result], items: Sequence[_Item], threads: int) -> list[_Result]:
    """The results of `work` for every item, in the order of the items, computed by several threads.

    The calling thread takes part. `work` must not call this function itself: threads could then wait for each
    other.

    Arguments:
        work: called for each item, by any of the threads.
        items: the arguments; the most expensive first, if they differ much.
        threads: number of threads; with 1, only the calling thread is used.
    """
    threads = min(threads, len(items))
    if threads <= 1:
        return [work(item) for item in items]
    results: list[_Result | None] = [None] * len(items)
    numbers = iter(range(len(items)))

    def take() -> None:
        # Each thread takes the next item until there is none. The interpreter's lock makes it safe to share
        # the iterator of a range.
        for number in numbers:
            results[number] = work(items[number])

    pool = _pools.of(threads - 1)
    others = [pool.submit(take) for _ in range(threads - 1)]
    try:
        take()
    finally:
        # Also if `take` raised: no thread may still run `work` after this function has ended. Tasks that
        # have not started are cancelled.
        for other in others:
            if not other.cancel():
                other.result()
    return results  # type: ignore[return-value]

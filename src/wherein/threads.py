"""Torch with settings of our own for a while; work shared out among threads of our own."""

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
    """How many calls are inside `one_thread`, and torch's number of threads before the first of them."""

    def __init__(self) -> None:
        self.lock, self.inside, self.before = threading.Lock(), 0, 1


class _Own(threading.local):
    """Whether this thread is inside `one_thread`."""

    inside = False


_calls, _own = _Calls(), _Own()


def renewed_after_fork(renew: Callable[[], None]) -> None:
    """Call `renew` in every forked process: locks may be held there by threads that it does not have."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)


renewed_after_fork(lambda: setattr(_calls, "lock", threading.Lock()))


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with one torch thread, then restore the number.

    For thousands of small operations, threads that wait for each other cost more than they save, and twenty
    times as much when another process uses a core. A forked process has none of torch's threads, and would
    wait for them for ever: so this also guards what loads and writes pictures. It decorates functions, too.

    Calls may overlap. Torch keeps the number per thread, and a new thread starts with the number that was set
    last anywhere; so all overlapping calls restore the number that the first of them found. Of calls inside
    each other, only the outermost does.
    """
    if _own.inside:
        yield
        return
    with _calls.lock:
        found = torch.get_num_threads()  # always: reading it makes the number this thread's own
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
    """Torch's number of threads as the caller set it, inside `one_thread` as well."""
    with _calls.lock:
        return _calls.before if _calls.inside else torch.get_num_threads()


def cpu_by_default() -> AbstractContextManager[object]:
    """Make tensors on the CPU where no device is said, whatever the caller's default device is."""
    # Only where it is another: inside of it, every call of torch passes through Python.
    return nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")


@contextmanager
def plain_torch() -> Iterator[None]:
    """Run the block without gradients, with one thread and with the CPU as the default device."""
    with torch.no_grad(), one_thread(), cpu_by_default():
        yield


class _Pools:
    """The threads that work is shared out among, by their number; kept, since starting them costs more than
    many a piece of work."""

    def __init__(self) -> None:
        self.lock, self.by_count = threading.Lock(), dict[int, ThreadPoolExecutor]()

    def of(self, count: int) -> ThreadPoolExecutor:
        with self.lock:
            if count not in self.by_count:
                self.by_count[count] = ThreadPoolExecutor(count, "wherein")
            return self.by_count[count]


_pools = _Pools()
# A forked process has none of its parent's threads: work that is given to them would never be done.
renewed_after_fork(_pools.__init__)  # type: ignore[misc]


def shared_out(work: Callable[[_Item], _Result], items: Sequence[_Item], threads: int) -> list[_Result]:
    """The results of `work` for every item, in their order.

    The calling thread does its share. `work` must not share out work of its own: it could wait for threads
    that wait for it.

    Arguments:
        work: called for each item, by any of the threads.
        items: what is to be done; the largest first, if they differ much.
        threads: number of threads; with 1, nothing but the calling one is used.
    """
    threads = min(threads, len(items))
    if threads <= 1:
        return [work(item) for item in items]
    results: list[_Result | None] = [None] * len(items)
    numbers = iter(range(len(items)))

    def take() -> None:
        # Each thread takes the next item; the iterator of a range is safe to share under the interpreter's
        # lock.
        for number in numbers:
            results[number] = work(items[number])

    pool = _pools.of(threads - 1)
    others = [pool.submit(take) for _ in range(threads - 1)]
    try:
        take()
    finally:
        for other in others:
            if not other.cancel():
                other.result()
    return results  # type: ignore[return-value]

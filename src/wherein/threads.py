"""Limit torch to one thread for a while."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class _Calls:
    """How many calls are inside `one_thread`, and torch's number of threads before the first of them."""

    def __init__(self) -> None:
        self.lock, self.inside, self.before = threading.Lock(), 0, 1


_calls = _Calls()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with one torch thread, then restore the number.

    For thousands of small operations, threads that wait for each other cost more than they save, and twenty
    times as much when another process uses a core.

    Calls may overlap. Torch keeps the number per thread, and a new thread starts with the number that was set
    last anywhere; so all overlapping calls restore the number that the first of them found.
    """
    with _calls.lock:
        found = torch.get_num_threads()  # always: reading it makes the number this thread's own
        _calls.before = _calls.before if _calls.inside else found
        _calls.inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _calls.lock:
            _calls.inside -= 1
            torch.set_num_threads(_calls.before)

"""How many threads torch takes for itself."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class _Count:
    """How many calls are within `one_thread`, and torch's number of threads where none is."""

    def __init__(self) -> None:
        self.lock, self.inside, self.outside = threading.Lock(), 0, 1


_calls = _Count()


@contextmanager
def one_thread() -> Iterator[None]:
    """Thousands of small operations: threads that wait for each other between them cost more than they give,
    and twenty times as much where another process holds a core.

    Calls may overlap. Torch keeps a number for each thread, which begins as the one that was set last
    anywhere; so that what is set in the end is what the first of the calls that overlap has found.
    """
    with _calls.lock:
        found = torch.get_num_threads()  # always: from then on it is this thread's own
        _calls.outside = _calls.outside if _calls.inside else found
        _calls.inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _calls.lock:
            _calls.inside -= 1
            torch.set_num_threads(_calls.outside)

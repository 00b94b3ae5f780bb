"""How many threads torch takes for itself."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Thousands of small operations: threads that wait for each other between them cost more than they give,
    and twenty times as much where another process holds a core."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

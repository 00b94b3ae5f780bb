"""Torch's threads, as they were before."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
import torch

from wherein.threads import one_thread


@pytest.fixture(autouse=True)
def two() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_one_and_afterwards_as_before() -> None:
    with pytest.raises(ValueError, match="something"), one_thread():
        assert torch.get_num_threads() == 1
        raise ValueError("something")
    assert torch.get_num_threads() == 2


def test_calls_that_overlap_leave_nothing_behind() -> None:
    second_in, first_out = Event(), Event()

    def first() -> int:
        with one_thread():
            started.set()
            second_in.wait(60)
        first_out.set()
        return torch.get_num_threads()

    def second() -> int:
        started.wait(60)
        with one_thread():
            second_in.set()
            first_out.wait(60)
            assert torch.get_num_threads() == 1
        return torch.get_num_threads()

    started = Event()
    with ThreadPoolExecutor(2) as pool:
        assert [call.result() for call in (pool.submit(first), pool.submit(second))] == [2, 2]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(torch.get_num_threads).result() == 2
    assert torch.get_num_threads() == 2

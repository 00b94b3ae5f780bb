"""Torch's threads, as they were before."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
import torch

from wherein.images import decode
from wherein.threads import _calls, allowed_threads, one_thread, shared_out


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


def test_a_call_inside_another_does_not_end_it() -> None:
    with one_thread():
        assert allowed_threads() == 2
        with one_thread():
            pass
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == allowed_threads() == 2


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


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_work_is_shared_out_and_results_keep_their_order(threads: int) -> None:
    names = set()

    def work(number: int) -> int:
        names.add(threading.current_thread().name)
        time.sleep(0.002)
        return number**2

    assert shared_out(work, range(30), threads) == [number**2 for number in range(30)]
    assert len(names) <= threads
    assert shared_out(work, [], threads) == []


def test_an_error_in_shared_work_is_raised_after_all_threads_are_done() -> None:
    def work(number: int) -> int:
        if number == 3:
            raise ValueError("number three")
        return number

    with pytest.raises(ValueError, match="number three"):
        shared_out(work, range(20), 3)
    assert shared_out(work, [1, 2], 3) == [1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_has_threads_of_its_own() -> None:
    shared_out(str, range(8), 2)
    child = os.fork()
    if child == 0:
        os._exit(0 if shared_out(str, range(8), 2) == [str(k) for k in range(8)] else 1)
    assert _status(child) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_worker_does_not_wait_for_the_threads_of_torch(tmp_path: Path) -> None:
    script = Path(__file__).with_name("forked.py")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run([sys.executable, script, tmp_path], env=environment, timeout=120, check=False)
    assert done.returncode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_that_is_forked_while_another_thread_works_has_free_locks() -> None:
    with _calls.lock, decode._decoding.lock:
        child = os.fork()
        if child == 0:
            with one_thread(), decode.strict_pillow():
                os._exit(0)
        assert _status(child) == 0


def _status(child: int) -> int:
    """The exit status of a forked process, which is killed if it does not end."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    pytest.fail("the child waits for something that it does not have")

"""Processes that work side by side: their results, and that none outlives who began it."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from wherein.engine.processes import LocalWorkers, in_processes, usable_cores
from wherein.errors import WorkerError
from wherein.files import atomic_file


def adding(more: int) -> Callable[[str], tuple[str, int, int]]:
    return lambda name: (f"{name}{more}", os.getpid(), torch.get_num_threads())


def sleeping(begun: Path) -> Callable[[str], None]:
    """Each marks that it has begun; the first ends, the others would take minutes."""

    def sleep(name: str) -> None:
        (begun / name).touch()
        if name != "first":
            time.sleep(600)

    return sleep


def writing(folder: Path) -> Callable[[str], None]:
    """Each begins a file that it does not finish."""

    def write(name: str) -> None:
        with atomic_file(folder / name):
            (folder / f"{name}.begun").touch()
            time.sleep(600)

    return write


def failing() -> Callable[[str], int]:
    return int


def dying() -> Callable[[str], None]:
    return lambda name: os._exit(3)


def test_results_come_from_processes_with_one_thread_each() -> None:
    told = list(in_processes(partial(adding, 7), ["a", "b", "c"], 2))
    assert sorted(name for name, _, _ in told) == ["a7", "b7", "c7"]
    assert os.getpid() not in {process for _, process, _ in told}
    assert {threads for *_, threads in told} == {1}


def test_who_is_stopped_ends_them_at_once(tmp_path: Path) -> None:
    before, begun = set(multiprocessing.active_children()), []
    with pytest.raises(KeyboardInterrupt):
        work = in_processes(partial(sleeping, tmp_path), ["first", "second", "third"], 2)
        next(work)
        while not (tmp_path / "second").exists():
            time.sleep(0.01)
        begun += set(multiprocessing.active_children()) - before
        work.throw(KeyboardInterrupt)
    assert len(begun) == 2
    assert not any(process.is_alive() for process in begun)


@pytest.mark.skipif(os.name != "posix", reason="a process cannot be asked to end here")
def test_what_a_process_has_not_finished_writing_is_deleted(tmp_path: Path) -> None:
    workers = LocalWorkers(partial(writing, tmp_path))
    workers.start()
    (ready,) = workers.wait()
    workers.send(ready.worker, "drawing.png")
    while not (tmp_path / "drawing.png.begun").exists():
        time.sleep(0.01)
    assert len(list(tmp_path.iterdir())) == 2
    workers.close()
    assert [path.name for path in tmp_path.iterdir()] == ["drawing.png.begun"]


def test_an_error_is_the_callers() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(in_processes(failing, ["1", "x"], 2))


class PeculiarError(Exception):
    """Pickled with its message alone, and so made without its other argument."""

    def __init__(self, what: str, place: int) -> None:
        super().__init__(f"{what} at {place}")


def peculiar() -> Callable[[str], None]:
    def fail(name: str) -> None:
        raise PeculiarError(name, 3)

    return fail


def test_an_error_that_cannot_be_unpickled_is_told_in_words() -> None:
    with pytest.raises(RuntimeError, match="PeculiarError: a at 3"):
        list(in_processes(peculiar, ["a"], 1))


@pytest.mark.skipif(os.name != "posix", reason="signals cannot be deferred here")
def test_ctrl_c_while_a_process_starts_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    process = multiprocessing.get_context("spawn").Process
    start = process.start

    def interrupted(self: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        start(self)

    monkeypatch.setattr(process, "start", interrupted)
    workers = LocalWorkers(partial(adding, 7))
    try:
        with pytest.raises(KeyboardInterrupt):
            workers.start()
    finally:
        workers.close()
    assert not multiprocessing.active_children()


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(WorkerError, match="died: is there enough memory"):
        list(in_processes(dying, ["a", "b"], 2))


def test_there_is_a_core() -> None:
    assert 1 <= usable_cores() <= 61

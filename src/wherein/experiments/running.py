"""Run an experiment: its pieces side by side, each kept as it is finished."""

import os
import platform
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from importlib.metadata import version
from multiprocessing import active_children, get_context, parent_process
from time import perf_counter

import torch

import wherein
from wherein.experiments.experiment import Json, Piece
from wherein.experiments.journal import Journal
from wherein.threads import one_thread

Progress = Callable[[float, str], None]
"""Is told which share of the work is done, and what was done last."""


def run(pieces: Sequence[Piece], journal: Journal, progress: Progress, cores: int) -> dict[str, Json]:
    """The result of every piece, in their order; those that the journal has are not made again.

    However many pieces run side by side, each has one torch thread: sums, and so the numbers, do not depend
    on the machine's cores.

    Arguments:
        pieces: the work.
        journal: what was done before, and where this goes.
        progress: is told of every piece.
        cores: how many run side by side; with 1, in this process.
    """
    left = [piece for piece in pieces if piece.name not in journal.entries]
    left.sort(key=lambda piece: -piece.weight)  # the longest first: at the end no core is to wait for one
    progress(_share(pieces, journal), f"{len(left)} of {len(pieces)} pieces to do")
    cores = min(cores, len(left))
    with closing(_side_by_side(left, cores) if cores > 1 else _in_turn(left)) as done:
        for name, result, seconds in done:
            journal.keep(name, result, seconds)
            progress(_share(pieces, journal), name)
    return {piece.name: journal.entries[piece.name].result for piece in pieces}


def _share(pieces: Sequence[Piece], journal: Journal) -> float:
    """Which share of the work is done."""
    left = sum(piece.weight for piece in pieces if piece.name not in journal.entries)
    return 1 - left / sum(piece.weight for piece in pieces)


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    packages = {package: version(package) for package in ("torch", "numpy", "pillow")}
    return {"wherein": wherein.__version__, "python": platform.python_version(), **packages}


def _in_turn(pieces: Sequence[Piece]) -> Generator[tuple[str, Json, float]]:
    with one_thread():
        for piece in pieces:
            yield piece.name, *_timed(piece.work)


def _side_by_side(pieces: Sequence[Piece], cores: int) -> Generator[tuple[str, Json, float]]:
    """As they are finished.

    In processes: threads would wait for each other between thousands of short operations, and two of them get
    no more done than one and a half.
    """
    with _workers(cores) as pool:
        futures = {pool.submit(_timed, piece.work): piece.name for piece in pieces}
        for future in as_completed(futures):
            yield futures[future], *future.result()


def _timed(work: Callable[[], Json]) -> tuple[Json, float]:
    began = perf_counter()
    result = work()
    return result, perf_counter() - began


@contextmanager
def _workers(cores: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that begin anew, since a copy of one that has threads may hang; when something goes wrong,
    Ctrl-C too, they are ended at once."""
    others = set(active_children())
    pool = ProcessPoolExecutor(cores, get_context("spawn"), initializer=_begin)
    try:
        yield pool
    except BaseException:
        for process in set(active_children()) - others:
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _begin() -> None:
    """In each process, first of all."""
    for end in (signal.SIGINT, signal.SIGTERM):  # for who began it all to answer, and not for all at once
        signal.signal(end, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with, daemon=True).start()


def _end_with() -> None:
    """End where the process that began this one was killed: no one else would say so."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

"""Run an experiment: its pieces side by side, each kept as it is finished."""

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from importlib.metadata import version
from time import perf_counter

import torch

import wherein
from wherein.experiments.experiment import Json, Piece
from wherein.experiments.journal import Journal

Progress = Callable[[float, str], None]
"""Is told which share of the work is done, and what was done last."""


def run(pieces: Sequence[Piece], journal: Journal, progress: Progress) -> dict[str, Json]:
    """The result of every piece, in their order; those that the journal has are not made again.

    However many pieces run side by side, each has one torch thread: sums, and so the numbers, do not depend
    on the machine's cores.
    """
    left = [piece for piece in pieces if piece.name not in journal.entries]
    left.sort(key=lambda piece: -piece.weight)  # the longest first: at the end no core is to wait for one
    progress(_share(pieces, journal), f"{len(left)} of {len(pieces)} pieces to do")
    with _one_thread_each(), _workers() as pool:
        futures = {pool.submit(_timed, piece.work): piece for piece in left}
        for future in as_completed(futures):
            piece, (result, seconds) = futures[future], future.result()
            journal.keep(piece.name, result, seconds)
            progress(_share(pieces, journal), piece.name)
    return {piece.name: journal.entries[piece.name].result for piece in pieces}


def _share(pieces: Sequence[Piece], journal: Journal) -> float:
    """Which share of the work is done."""
    left = sum(piece.weight for piece in pieces if piece.name not in journal.entries)
    return 1 - left / sum(piece.weight for piece in pieces)


def versions() -> dict[str, str]:
    """What the numbers were computed with."""
    packages = {package: version(package) for package in ("torch", "numpy", "pillow")}
    return {"wherein": wherein.__version__, "python": platform.python_version(), **packages}


def _timed(work: Callable[[], Json]) -> tuple[Json, float]:
    began = perf_counter()
    result = work()
    return result, perf_counter() - began


@contextmanager
def _workers() -> Iterator[ThreadPoolExecutor]:
    """A thread for each core; when something goes wrong, Ctrl-C too, nothing more is begun or waited for."""
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

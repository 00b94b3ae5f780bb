"""Run an experiment: its pieces side by side, each kept as it is finished."""

import platform
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from importlib.metadata import version
from time import perf_counter

import wherein
from wherein.experiments.experiment import Json, Piece
from wherein.experiments.journal import Journal
from wherein.experiments.processes import side_by_side
from wherein.threads import one_thread

Progress = Callable[[float, str], None]
"""Is told which share of the work is done, and what was done last."""

Timed = tuple[str, Json, float]
"""The name of a piece, its result, and the seconds that it took."""


def run(
    pieces: Sequence[Piece],
    again: Callable[[], Sequence[Piece]],
    journal: Journal,
    progress: Progress,
    cores: int,
) -> dict[str, Json]:
    """The result of every piece, in their order; those that the journal has are not made again.

    However many pieces run side by side, each has one torch thread: sums, and so the numbers, do not depend
    on the machine's cores.

    Arguments:
        pieces: the work.
        again: gives the same pieces in another process, to which it can be sent.
        journal: what was done before, and where this goes.
        progress: is told of every piece.
        cores: how many run side by side; with 1, in this process.
    """
    left = [piece for piece in pieces if piece.name not in journal.entries]
    left.sort(key=lambda piece: -piece.weight)  # the longest first: at the end no core is to wait for one
    progress(_share(pieces, journal), f"{len(left)} of {len(pieces)} pieces to do")
    several = min(cores, len(left)) > 1
    with closing(_in_processes(left, again, cores) if several else _in_turn(left)) as done:
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


def _in_turn(pieces: Sequence[Piece]) -> Generator[Timed]:
    with one_thread():
        for piece in pieces:
            yield _timed(piece)


def _in_processes(
    pieces: Sequence[Piece], again: Callable[[], Sequence[Piece]], cores: int
) -> Generator[Timed]:
    """As they are finished. Only names go to the processes: photographs and networks they make themselves."""
    names, workers = [piece.name for piece in pieces], min(cores, len(pieces))
    with closing(side_by_side(partial(_one_of, again), names, workers)) as done:
        yield from done


def _one_of(again: Callable[[], Sequence[Piece]]) -> Callable[[str], Timed]:
    """Works on one of the pieces, by its name."""
    pieces = {piece.name: piece for piece in again()}
    return lambda name: _timed(pieces[name])


def _timed(piece: Piece) -> Timed:
    began = perf_counter()
    result = piece.work()
    return piece.name, result, perf_counter() - began

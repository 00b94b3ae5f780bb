"""What an experiment is: settings, independent pieces of work, what their results say, and how it looks.

The frame (`running`, `writing`) knows nothing else of a figure, and a figure knows nothing of files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from zlib import crc32

import numpy as np

from wherein.experiments import Name
from wherein.experiments.data import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Json = Any
"""What JSON can hold: numbers that are finite, words, lists, dictionaries, None."""

Results = Mapping[str, Json]
"""By the names of the pieces, in their order."""

Settings = TypeVar("Settings")
"""A frozen dataclass of numbers, words and tuples of them; they all go into the JSON file."""


@dataclass(frozen=True)
class Piece:
    """Work that depends on nothing but its settings and seed, and whose result is kept.

    Attributes:
        name: unlike all others of its experiment; people see it.
        work: gives the result. Pieces run side by side in processes, with one torch thread each; it
            is the result that is sent from there.
        weight: how long it takes against the others, about: for the time that is left.
    """

    name: str
    work: Callable[[], Json]
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Outcome(Generic[Settings]):
    """A finished run.

    Attributes:
        settings, subject, seed: what it was run with.
        numbers: what goes into the JSON file.
    """

    settings: Settings
    subject: Subject
    seed: int
    numbers: dict[str, Json]


@dataclass(frozen=True)
class Experiment(Generic[Settings]):
    """One figure of the paper.

    Attributes:
        name: of the command and of the files.
        title: a line about it.
        full: its settings.
        quick: settings for under a minute.
        pieces: the work, from settings, subject and seed.
        numbers: what the results say, from settings and results; these are the file's own keys.
        draw: the picture of an outcome; without the template where the second argument is False.
        pictured: whether templates and photographs are used at all.
        shows_template: whether the picture shows them; a second one, of the numbers alone, is then written.
    """

    name: Name
    title: str
    full: Settings
    quick: Settings
    pieces: Callable[[Settings, Subject, int], Sequence[Piece]]
    numbers: Callable[[Settings, Results], dict[str, Json]]
    draw: Callable[[Outcome[Settings], bool], "Figure"]
    pictured: bool = True
    shows_template: bool = False


def experiment_named(name: Name) -> Experiment[Any]:
    """The experiment of that name."""
    found: Experiment[Any] = import_module(f"wherein.experiments.{name}").EXPERIMENT
    return found


def brief(value: Json) -> Json:
    """A number, or every number of a list, to six digits: what differs beyond them between machines is noise.

    >>> brief([0.12345678, [1e-9 / 3]])
    [0.123457, [3.33333e-10]]
    """
    return [brief(each) for each in value] if isinstance(value, list) else float(f"{value:.6g}")


def generator(seed: int, *name: object) -> np.random.Generator:
    """The random numbers of one thing, which no other thing shares, whatever was drawn before.

    >>> generator(0, "affine", 3).uniform() == generator(0, "affine", 3).uniform()
    True
    """
    return np.random.default_rng([seed, crc32(" ".join(map(str, name)).encode())])

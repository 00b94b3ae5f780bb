"""The definition of an experiment: its settings, independent tasks, numbers of its results, and its picture.

`runner` and `reproduction` depend on nothing else of a figure, and a figure does not depend on files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from zlib import crc32

import numpy as np

from wherein.experiments import Name
from wherein.experiments.subject import Subject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Json = Any
"""Any value that JSON can represent: finite numbers, strings, lists, dictionaries, None."""

Results = Mapping[str, Json]
"""The result of each task by the task's name, in the order of the tasks."""

Settings = TypeVar("Settings")
"""A frozen dataclass of numbers, strings and tuples of them. All of them go into the JSON file."""


@dataclass(frozen=True)
class Task:
    """A part of an experiment that depends only on settings and seed, and whose result is kept.

    Attributes:
        name: unique within its experiment; it is shown as progress, and is the key of the result.
        work: computes the result. Tasks run in parallel in processes, with one torch thread each; only the
            result is sent back.
        weight: approximate duration relative to the other tasks, for the estimate of the time left.
    """

    name: str
    work: Callable[[], Json]
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class FinishedRun(Generic[Settings]):
    """A finished run, with everything that is needed to draw its picture.

    Attributes:
        settings, subject, seed: the inputs of the run.
        numbers: the experiment's own part of the JSON file.
    """

    settings: Settings
    subject: Subject
    seed: int
    numbers: dict[str, Json]


@dataclass(frozen=True)
class Experiment(Generic[Settings]):
    """One figure of the paper.

    Attributes:
        name: the argument of `wherein reproduce`, and the stem of the files.
        title: one line that describes it.
        full: its settings.
        quick: settings that take less than a minute.
        tasks: the work, from settings, subject and seed.
        numbers: the experiment's own keys of the JSON file, from settings and results.
        draw: the picture of a finished run; the second argument says whether it may show the template.
        pictured: whether templates and photographs are used at all.
        shows_template: whether the picture shows them; then a second one, of the numbers alone, is written.
    """

    name: Name
    title: str
    full: Settings
    quick: Settings
    tasks: Callable[[Settings, Subject, int], Sequence[Task]]
    numbers: Callable[[Settings, Results], dict[str, Json]]
    draw: Callable[[FinishedRun[Settings], bool], "Figure"]
    pictured: bool = True
    shows_template: bool = False


def experiment_named(name: Name) -> Experiment[Any]:
    """The experiment of that name."""
    # Imported on demand: `wherein --help` must not wait for torch.
    found: Experiment[Any] = import_module(f"wherein.experiments.figures.{name}").EXPERIMENT
    return found


def six_digits(value: Json) -> Json:
    """A number, or every number of a nested list, rounded to six significant digits.

    Machines differ beyond that, so more digits would only make the files differ.

    >>> six_digits([0.12345678, [1e-9 / 3]])
    [0.123457, [3.33333e-10]]
    """
    return [six_digits(each) for each in value] if isinstance(value, list) else float(f"{value:.6g}")


def generator(seed: int, *name: object) -> np.random.Generator:
    """The random generator of one named thing: its numbers do not depend on what was drawn before.

    So a task gives the same result in any process and in any order.

    >>> generator(0, "affine", 3).uniform() == generator(0, "affine", 3).uniform()
    True
    """
    return np.random.default_rng([seed, crc32(" ".join(map(str, name)).encode())])

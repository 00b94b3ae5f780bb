"""Runs the tasks of an experiment in parallel, and saves each result as soon as it is computed."""

import platform
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from importlib.metadata import version
from time import perf_counter

import wherein
from wherein.engine.processes import in_processes
from wherein.experiments.runs.experiment import Json, Task
from wherein.experiments.runs.journal import Journal
from wherein.threads import one_thread

Progress = Callable[[float, str], None]
"""Called with the fraction of the work that is done, and the name of the last finished task."""

Timed = tuple[str, Json, float]
"""The name of a task, its result, and the seconds that it took."""


def run(
    tasks: Sequence[Task],
    make_tasks: Callable[[], Sequence[Task]],
    journal: Journal,
    progress: Progress,
    cores: int,
) -> dict[str, Json]:
    """The result of every task, in their order; tasks in the journal are not run again.

    Every task has one torch thread, however many run in parallel: so sums, and with them the numbers, do not
    depend on the number of cores.

    Arguments:
        tasks: the work.
        make_tasks: makes the same tasks in another process; it must be picklable.
        journal: the results of earlier runs; new results are added to it.
        progress: called after every task.
        cores: the number of tasks that run in parallel; with 1, they run in this process.
    """
    left = [task for task in tasks if task.name not in journal.entries]
    left.sort(key=lambda task: -task.weight)  # the longest first: at the end, no core waits long for another
    progress(_fraction_done(tasks, journal), f"{len(left)} of {len(tasks)} tasks to do")
    parallel = min(cores, len(left)) > 1
    with closing(_run_in_processes(left, make_tasks, cores) if parallel else _run_here(left)) as done:
        for name, result, seconds in done:
            journal.add(name, result, seconds)
            progress(_fraction_done(tasks, journal), name)
    return {task.name: journal.entries[task.name].result for task in tasks}


def _fraction_done(tasks: Sequence[Task], journal: Journal) -> float:
    left = sum(task.weight for task in tasks if task.name not in journal.entries)
    return 1 - left / sum(task.weight for task in tasks)


def versions() -> dict[str, str]:
    """The versions of the packages that compute the numbers."""
    packages = {package: version(package) for package in ("torch", "numpy", "pillow")}
    return {"wherein": wherein.__version__, "python": platform.python_version(), **packages}


def _run_here(tasks: Sequence[Task]) -> Generator[Timed]:
    with one_thread():
        for task in tasks:
            yield _timed(task)


def _run_in_processes(
    tasks: Sequence[Task], make_tasks: Callable[[], Sequence[Task]], cores: int
) -> Generator[Timed]:
    """Yield results in the order in which they are finished.

    Only names are sent to the processes. Each process makes its own photographs and networks once, which is
    cheaper than sending them with every task.
    """
    names, workers = [task.name for task in tasks], min(cores, len(tasks))
    with closing(in_processes(partial(_worker, make_tasks), names, workers)) as done:
        yield from done


def _worker(make_tasks: Callable[[], Sequence[Task]]) -> Callable[[str], Timed]:
    """A function that runs the task of a given name."""
    tasks = {task.name: task for task in make_tasks()}
    return lambda name: _timed(tasks[name])


def _timed(task: Task) -> Timed:
    began = perf_counter()
    result = task.work()
    return task.name, result, perf_counter() - began

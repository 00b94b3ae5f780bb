"""From the arguments of `wherein reproduce` to the files of a figure."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from wherein.engine.processes import usable_cores
from wherein.errors import require
from wherein.experiments import Name, plots
from wherein.experiments.runs.experiment import Experiment, FinishedRun, Task, experiment_named
from wherein.experiments.runs.journal import Journal
from wherein.experiments.runs.runner import Progress, run, versions
from wherein.experiments.subject import Subject
from wherein.files import atomic_file


@dataclass(frozen=True)
class Request:
    """The arguments of `wherein reproduce`.

    Attributes:
        name: the experiment.
        out: the folder for its files.
        data: a folder with another template; None: the robot of the demonstration.
        seed: of everything random.
        quick: use the settings that take less than a minute.
        images: number of images, if the experiment has this setting; None: as in its settings.
        overwrite: replace existing files, and a journal that belongs to another run.
    """

    name: Name
    out: Path
    data: Path | None = None
    seed: int = 0
    quick: bool = False
    images: int | None = None
    overwrite: bool = False

    def path(self, ending: str) -> Path:
        """A file of this experiment."""
        return self.out / f"{self.name}{ending}"

    @property
    def journal(self) -> Path:
        """The file that keeps the finished tasks of an unfinished run."""
        return self.path(".journal")


def reproduce(request: Request, progress: Progress, cores: int | None = None) -> list[Path]:
    """Run an experiment, or its unfinished tasks, and write its numbers and pictures.

    Arguments:
        request: what to run.
        progress: called after every task.
        cores: the number of tasks that run in parallel, each in its own process; None: one for each core.

    Returns:
        The files: figN.json, figN.png and, if that shows the template, figN-numbers.png, which does not.

    Raises:
        ArgumentError: an argument is wrong, a file exists, or matplotlib is missing; before any work.
    """
    experiment = experiment_named(request.name)
    settings = _settings(experiment, request)
    pictures = dict(_pictures(experiment, request))
    written = [request.path(".json"), *pictures]
    for path in () if request.overwrite else written:
        require(not path.exists(), f"{path} already exists: choose another --out or use --overwrite")
    plots.require_matplotlib()
    subject = Subject.load(request.data)
    about = _description(experiment, settings, subject, request)
    journal = Journal.open(request.journal, about, request.overwrite)
    tasks = experiment.tasks(settings, subject, request.seed)
    make_tasks = partial(_tasks, request.name, settings, request.data, request.seed)
    cores = cores or usable_cores()
    results = run(tasks, make_tasks, journal, progress, cores)
    numbers = json.loads(json.dumps(experiment.numbers(settings, results), allow_nan=False))
    seconds = {name: journal.entries[name].seconds for name in results}
    with atomic_file(request.path(".json")) as target:
        target.write_text(_text({**about, **numbers, "timing": _timing(seconds, cores)}), encoding="utf-8")
    finished = FinishedRun(settings, subject, request.seed, numbers)
    for path, template in pictures.items():
        plots.save(experiment.draw(finished, template), path)
    request.journal.unlink()
    return written


def _tasks(name: Name, settings: Any, data: Path | None, seed: int) -> Sequence[Task]:
    """The same tasks in another process."""
    return experiment_named(name).tasks(settings, Subject.load(data), seed)


def _settings(experiment: Experiment[Any], request: Request) -> Any:
    require(request.seed >= 0, f"--seed must be 0 or more, but is {request.seed}")
    chosen = experiment.quick if request.quick else experiment.full
    if request.images is None:
        return chosen
    has_images = any(each.name == "images" for each in fields(chosen))
    require(has_images, f"--images cannot be used with {request.name}: omit it")
    require(request.images >= 1, f"--images must be 1 or more, but is {request.images}")
    return replace(chosen, images=request.images)


def _pictures(experiment: Experiment[Any], request: Request) -> Iterator[tuple[Path, bool]]:
    """The picture files, and whether each may show the template."""
    yield request.path(".png"), experiment.shows_template
    if experiment.shows_template:
        yield request.path("-numbers.png"), False


def _description(
    experiment: Experiment[Any], settings: Any, subject: Subject, request: Request
) -> dict[str, Any]:
    """The head of the JSON file: everything that the results depend on.

    The results of a journal are used again only if it has the same description.
    """
    data = {
        "template": subject.template.name,
        "background": subject.origin,
        "fingerprint": subject.fingerprint,
    }
    return {
        "experiment": str(request.name),
        "title": experiment.title,
        "settings": described_settings(settings, request.quick),
        "seed": request.seed,
        "data": data if experiment.pictured else None,
        "versions": versions(),
    }


def described_settings(settings: Any, quick: bool) -> dict[str, Any]:
    """All settings as in the JSON file: tuples become lists, as they are when a journal is read."""
    plain: dict[str, Any] = json.loads(json.dumps({"quick": quick, **asdict(settings)}))
    return plain


def _text(report: dict[str, Any]) -> str:
    """JSON with one line for each key, and each list of numbers on one line."""
    text = json.dumps(report, indent=1, ensure_ascii=False)
    return re.sub(r"\[\n([^][{}]*?)\n *\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def _timing(seconds: dict[str, float], cores: int) -> dict[str, Any]:
    """The only part of the file that differs between runs of the same request."""
    return {"seconds": round(sum(seconds.values()), 2), "cores": cores, "pieces": seconds}

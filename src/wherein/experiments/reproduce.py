"""From a command's arguments to the files of a figure."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from wherein.errors import require
from wherein.experiments import Name, plots
from wherein.experiments.data import Subject
from wherein.experiments.experiment import Experiment, Outcome, Piece, experiment_named
from wherein.experiments.journal import Journal
from wherein.experiments.processes import usable_cores
from wherein.experiments.running import Progress, run, versions
from wherein.files import atomic_file


@dataclass(frozen=True)
class Request:
    """What was asked for.

    Attributes:
        name: the experiment.
        out: the folder for its files.
        data: a folder with another template; None: our own robot.
        seed: of everything random.
        quick: with the settings that take under a minute.
        images: how many, where the experiment is over images; None: as its settings say.
        overwrite: let it replace files, and a journal of another run.
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
        """Where unfinished work is kept."""
        return self.path(".journal")


def reproduce(request: Request, progress: Progress, cores: int | None = None) -> list[Path]:
    """Run an experiment, or what is left of it, and write its numbers and pictures.

    Arguments:
        request: what is asked for.
        progress: is told how far it is.
        cores: how many pieces run side by side, each in a process of its own; None: as many as there are.

    Returns:
        The files: figN.json, figN.png and, where that shows the template, figN-numbers.png, which does not.

    Raises:
        ArgumentError: an argument is wrong, a file exists, or matplotlib is missing; before any work.
    """
    experiment = experiment_named(request.name)
    settings = _settings(experiment, request)
    pictures = dict(_pictures(experiment, request))
    written = [request.path(".json"), *pictures]
    for path in () if request.overwrite else written:
        require(not path.exists(), f"{path} exists: give another --out, or --overwrite")
    plots.require_matplotlib()
    subject = Subject.load(request.data)
    about = _about(experiment, settings, subject, request)
    journal = Journal.open(request.journal, about, request.overwrite)
    pieces = experiment.pieces(settings, subject, request.seed)
    again = partial(_pieces, request.name, settings, request.data, request.seed)
    cores = cores or usable_cores()
    results = run(pieces, again, journal, progress, cores)
    numbers = json.loads(json.dumps(experiment.numbers(settings, results), allow_nan=False))
    seconds = {name: journal.entries[name].seconds for name in results}
    with atomic_file(request.path(".json")) as target:
        target.write_text(_text({**about, **numbers, "timing": _timing(seconds, cores)}), encoding="utf-8")
    outcome = Outcome(settings, subject, request.seed, numbers)
    for path, template in pictures.items():
        plots.save(experiment.draw(outcome, template), path)
    request.journal.unlink()
    return written


def _pieces(name: Name, settings: Any, data: Path | None, seed: int) -> Sequence[Piece]:
    """The same pieces in another process."""
    return experiment_named(name).pieces(settings, Subject.load(data), seed)


def _settings(experiment: Experiment[Any], request: Request) -> Any:
    require(request.seed >= 0, f"--seed {request.seed}: it must be 0 or more")
    chosen = experiment.quick if request.quick else experiment.full
    if request.images is None:
        return chosen
    over_images = any(each.name == "images" for each in fields(chosen))
    require(over_images, f"--images is not for {request.name}: it is not over images; leave it out")
    require(request.images >= 1, f"--images {request.images}: it must be 1 or more")
    return replace(chosen, images=request.images)


def _pictures(experiment: Experiment[Any], request: Request) -> Iterator[tuple[Path, bool]]:
    """The pictures, and whether each shows the template."""
    yield request.path(".png"), experiment.shows_template
    if experiment.shows_template:
        yield request.path("-numbers.png"), False


def _about(experiment: Experiment[Any], settings: Any, subject: Subject, request: Request) -> dict[str, Any]:
    """What heads the JSON file, and what a journal must agree with for its results to be taken over."""
    data = {
        "template": subject.template.name,
        "background": subject.origin,
        "fingerprint": subject.fingerprint,
    }
    about = {
        "experiment": str(request.name),
        "title": experiment.title,
        "settings": {"quick": request.quick, **asdict(settings)},
        "seed": request.seed,
        "data": data if experiment.pictured else None,
        "versions": versions(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(about))  # tuples as lists, as a journal gives them back
    return plain


def _text(report: dict[str, Any]) -> str:
    """JSON with a line for each thing, and lists of numbers on one."""
    text = json.dumps(report, indent=1, ensure_ascii=False)
    return re.sub(r"\[\n([^][{}]*?)\n *\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n"


def _timing(seconds: dict[str, float], cores: int) -> dict[str, Any]:
    """What differs from run to run, apart from the numbers, which do not."""
    return {"seconds": round(sum(seconds.values()), 2), "cores": cores, "pieces": seconds}

"""What `wherein detect` does, between its arguments and its lines of JSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wherein.cli import watching
from wherein.cli.output import SOME_UNREADABLE, UNREADABLE
from wherein.cli.scenes import Given
from wherein.cli.targets import Outputs
from wherein.cli.work import UnreadableError, read
from wherein.cli.writers import Writers, writers
from wherein.detect.detector import Detector
from wherein.detect.score import rounded_down
from wherein.errors import TemplateError
from wherein.report.stopwatch import SEARCH, Stopwatch
from wherein.template.bundle import Template


@dataclass
class Outcome:
    """What the exit status depends on."""

    read: int = 0
    unreadable: int = 0
    found: int = 0

    @property
    def status(self) -> int:
        """0 done, 3 every scene is unreadable, 4 some are."""
        if not self.unreadable:
            return 0
        return SOME_UNREADABLE if self.read else UNREADABLE


def load_template(path: str) -> Template:
    """The template, or `UnreadableError`."""
    try:
        return Template.load(path)
    except TemplateError as error:
        raise UnreadableError("template", Path(path), error) from error


@dataclass
class Detecting:
    """Looks at scenes one by one.

    Attributes:
        template: what to look for.
        make: makes the detector, which may take a calibration; asked once, when a scene has been read, so
            that a slip in a file's name is told at once.
        say: is given the record of each scene.
        outputs: what is written besides.
        done: is called after each scene.
        note: is told what cannot be read, what came close where nothing was found, and how many frames a
            second there were.
    """

    template: Template
    make: Callable[[], Detector]
    say: Callable[[dict[str, Any]], None]
    outputs: Outputs
    done: Callable[[], None]
    note: Callable[[str], None]

    @cached_property
    def detector(self) -> Detector:
        """Made on first use."""
        return self.make()

    def __call__(self, scenes: Sequence[Given]) -> Outcome:
        """A record a scene, in their order; one that cannot be read gets a record that says why."""
        outcome = Outcome()
        with writers(self.outputs, self.template, scenes) as told:
            for scene in scenes:
                self._one(scene, told, outcome)
                self.done()
        return outcome

    def _one(self, scene: Given, told: Writers, outcome: Outcome) -> None:
        try:
            if scene.error is not None:
                raise UnreadableError("scene", scene.path, scene.error)
            look = self._video if scene.video else self._picture
            look(scene.path, told, outcome)
        except UnreadableError as error:
            outcome.unreadable += 1
            path, reason = str(scene.path), str(error)
            self.say({"scene": path, "error": reason})
            self.note(reason if path in reason else f"{path}: {reason}")
            told.unreadable(scene.path, reason)

    def _picture(self, path: Path, told: Writers, outcome: Outcome) -> None:
        watch = Stopwatch()
        with watch("reading"):
            picture = read(path, "scene")
        found = self.detector(picture)
        watch.laps[SEARCH] = found.seconds
        outcome.read += 1
        outcome.found += len(found)
        self.say({"scene": str(path), **found.to_dict()})
        told.add(path, found, self.detector, watch)
        if found.missed is not None:
            self.note(_nearly(path, found.missed.score, self.detector.threshold))

    def _video(self, path: Path, told: Writers, outcome: Outcome) -> None:
        seen = watching.watched(path, lambda: self.detector, told.drawings.get(path), self.say)
        if not seen.frames:
            raise UnreadableError("scene", path, "there is no frame that can be read")
        outcome.read += 1
        outcome.found += seen.found
        told.watched(path, seen.frames)
        self.note(str(seen))


def _nearly(path: Path, score: float, threshold: float) -> str:
    """What to know of a scene in which nothing was found, but something was close."""
    shown = rounded_down(score)
    return (
        f"{path}: nothing found; what came nearest has score {shown:.3f}, below the least of "
        f"{threshold:.3f}: --threshold {shown:.3f} shows it"
    )

"""What `wherein detect` does, between its arguments and its lines of JSON."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wherein.cli.output import SOME_UNREADABLE, UNREADABLE
from wherein.cli.scenes import Given, given
from wherein.cli.work import UnreadableError, read, save
from wherein.detect import Detections, Detector
from wherein.errors import TemplateError, WhereinError
from wherein.template import Template


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


def detect(
    detector: Detector,
    scenes: Sequence[str],
    say: Callable[[dict[str, Any]], None],
    draw: Path | None,
) -> Outcome:
    """A record a scene, in their order; one that cannot be read gets a record that says why."""
    outcome = Outcome()
    for scene in given(scenes):
        try:
            found = _look(detector, scene)
        except WhereinError as error:
            outcome.unreadable += 1
            say({"scene": str(scene.path), "error": str(error)})
            continue
        outcome.read += 1
        outcome.found += len(found)
        say({"scene": str(scene.path), **found.to_dict()})
        if draw is not None:
            save(found.draw(), draw / f"{scene.path.stem}.png")
    return outcome


def _look(detector: Detector, scene: Given) -> Detections:
    if scene.error is not None:
        raise UnreadableError("scene", scene.path, scene.error)
    return detector(read(scene.path, "scene"))

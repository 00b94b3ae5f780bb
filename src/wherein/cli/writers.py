"""What `wherein detect` writes besides its lines, while the scenes come."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from wherein.cli.places import writing
from wherein.cli.scenes import Given
from wherein.cli.targets import Outputs
from wherein.cli.work import save
from wherein.detect.detector import Detector
from wherein.detect.result import Detections
from wherein.formats.export_target import AddScene, ExportTarget
from wherein.report.page import Page, page
from wherein.report.stopwatch import Stopwatch
from wherein.template.bundle import Template

T = TypeVar("T")


@dataclass(frozen=True)
class Writers:
    """What is told of each scene.

    Attributes:
        outputs: where it all goes.
        drawings: of each scene its drawing, where they are wanted.
        report: the page, if one is wanted.
        export: adds a scene to the export, if one is wanted.
        scene_files: the file of each scene in the export, where its format has a file for each.
    """

    outputs: Outputs
    drawings: Mapping[Path, Path]
    report: Page | None
    export: AddScene | None
    scene_files: Mapping[Path, Path]

    def add(self, scene: Path, found: Detections, detector: Detector, watch: Stopwatch) -> None:
        """Of a scene what was found in it, by whom, and what was done with it so far."""
        if scene in self.drawings:
            with watch("drawing"):
                save(found.draw(), self.drawings[scene])
        if self.export is not None and self.outputs.export is not None:
            with writing(self.scene_files.get(scene, self.outputs.export)):
                self.export(scene, found)
        if self.report is not None and self.outputs.report is not None:
            with writing(self.outputs.report):
                self.report.add(str(scene), found, detector, self.outputs.maps, watch)

    def watched(self, scene: Path, frames: int) -> None:
        """Of a video that it was watched: its frames have their own lines, and are no pictures to export."""
        if self.report is not None:
            self.report.unreadable(str(scene), f"a video of {frames} frames: see its lines, or --draw")

    def unreadable(self, scene: Path, error: str) -> None:
        """Of a scene why it was not looked at; drawings and exports are of pictures, so not of this."""
        if self.report is not None:
            self.report.unreadable(str(scene), error)


@contextmanager
def writers(outputs: Outputs, template: Template, scenes: Sequence[Given]) -> Iterator[Writers]:
    """All that is wanted, to be told of each scene. Pages and exports are whole when the block ends, or not
    there at all.

    Raises:
        ArgumentError: before anything is written: a file exists and may not be replaced, or is a scene.
    """
    drawings, files = outputs.drawings(scenes), outputs.files(scenes)
    with _export(outputs, template, files) as exported, _report(outputs, template) as report:
        yield Writers(outputs, drawings, report, exported, files)


def _report(outputs: Outputs, template: Template) -> AbstractContextManager[Page | None]:
    path = outputs.report
    return nullcontext() if path is None else _about(path, page(path, template))


def _export(
    outputs: Outputs, template: Template, files: Mapping[Path, Path]
) -> AbstractContextManager[AddScene | None]:
    path, chosen = outputs.export, outputs.format
    if path is None or chosen is None:
        return nullcontext()
    return _about(path, chosen.export(ExportTarget(path, files), template))


@contextmanager
def _about(path: Path, manager: AbstractContextManager[T]) -> Iterator[T]:
    """What a manager gives; only what goes wrong with its own file is told as being about it."""
    with writing(path):
        made = manager.__enter__()
    try:
        yield made
    except BaseException as error:
        with suppress(OSError):  # a disk that is full fails once more as the file is closed
            manager.__exit__(type(error), error, error.__traceback__)
        raise
    with writing(path):
        manager.__exit__(None, None, None)

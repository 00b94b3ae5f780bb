"""Writes the drawings, the report and the export of `wherein detect`, scene by scene."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from wherein.cli.input_files import SceneFile
from wherein.cli.output_files import OutputFiles, save, write_errors
from wherein.detect.detector import Detector
from wherein.detect.result import Detections
from wherein.formats.export_target import AddScene, ExportTarget
from wherein.report.page import Page, page
from wherein.report.stopwatch import Stopwatch
from wherein.template.template_library import Library

T = TypeVar("T")


@dataclass(frozen=True)
class SceneWriters:
    """Writes what the user asked for about each scene.

    Attributes:
        outputs: the files.
        drawings: the drawing of each scene, by scene; empty if there are none.
        report: the report, if any.
        export: adds a scene to the export, if any.
        scene_files: the file of each scene in the export, where its format has a file for each.
    """

    outputs: OutputFiles
    drawings: Mapping[Path, Path]
    report: Page | None
    export: AddScene | None
    scene_files: Mapping[Path, Path]

    def add(self, scene: Path, found: Detections, detector: Detector, stopwatch: Stopwatch) -> None:
        """Write about a picture: its detections, the detector that made them, and the times so far."""
        if scene in self.drawings:
            with stopwatch("drawing"):
                save(found.draw(), self.drawings[scene])
        if self.export is not None and self.outputs.export is not None:
            with write_errors(self.scene_files.get(scene, self.outputs.export)):
                self.export(scene, found)
        if self.report is not None and self.outputs.report is not None:
            with write_errors(self.outputs.report):
                self.report.add(str(scene), found, detector, self.outputs.maps, stopwatch)

    def add_video(self, scene: Path, frames: int) -> None:
        """Write about a video; a report and an export are about pictures, so the report just mentions it."""
        if self.report is not None:
            self.report.add_video(
                str(scene), f"video of {frames} frames, not shown here: see standard output, or use --draw"
            )

    def add_unreadable(self, scene: Path, error: str) -> None:
        """Write about a scene that could not be read: only the report mentions it."""
        if self.report is not None:
            self.report.unreadable(str(scene), error)


@contextmanager
def open_writers(
    outputs: OutputFiles, library: Library, scenes: Sequence[SceneFile]
) -> Iterator[SceneWriters]:
    """Open the report and the export; both are complete when the block ends, or not there at all.

    Raises:
        ArgumentError: a file exists and must not be replaced, or is a scene; nothing has been written then.
    """
    drawings, files = outputs.drawings(scenes), outputs.files(scenes)
    with _export(outputs, library, files) as exported, _report(outputs, library, len(scenes)) as report:
        yield SceneWriters(outputs, drawings, report, exported, files)


def _report(outputs: OutputFiles, library: Library, scenes: int) -> AbstractContextManager[Page | None]:
    path = outputs.report
    return nullcontext() if path is None else _own_errors(path, page(path, library, scenes))


def _export(
    outputs: OutputFiles, library: Library, files: Mapping[Path, Path]
) -> AbstractContextManager[AddScene | None]:
    path, chosen = outputs.export, outputs.format
    if path is None or chosen is None:
        return nullcontext()
    return _own_errors(path, chosen.export(ExportTarget(path, files), library))


@contextmanager
def _own_errors(path: Path, manager: AbstractContextManager[T]) -> Iterator[T]:
    """Turn the `OSError`s of `manager` itself into errors about `path`, not those of the block inside.

    A plain `with write_errors(path), manager` would blame this file for a full disk under another one.
    """
    with write_errors(path):
        opened = manager.__enter__()
    try:
        yield opened
    except BaseException as error:
        with suppress(OSError):  # a full disk fails once more when the file is closed
            manager.__exit__(type(error), error, error.__traceback__)
        raise
    with write_errors(path):
        manager.__exit__(None, None, None)

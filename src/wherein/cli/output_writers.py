"""Writing the report and the export of `wherein detect`, scene by scene."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from wherein.cli.output_files import OutputFiles
from wherein.detect.detector import Detector
from wherein.engine.manifest import SceneFile
from wherein.engine.scene_events import PictureDone, VideoDone
from wherein.files import write_errors
from wherein.formats.export_target import AddScene, ExportTarget
from wherein.report.page import Page, page
from wherein.template.template_library import Library

T = TypeVar("T")


class _NothingExportedError(Exception):
    """No picture was exported. The exception ends the block that writes the export: none is created."""


@dataclass
class SceneWriters:
    """Writes each scene to the requested report and export.

    Attributes:
        outputs: the files.
        report: the report, if any.
        export: a function that adds a scene to the export, if any.
        scene_files: the file of each scene in the export, if its format has one file per scene.
        exported: the number of exported scenes.
    """

    outputs: OutputFiles
    report: Page | None
    export: AddScene | None
    scene_files: Mapping[Path, Path]
    exported: int = 0

    def add(self, scene: Path, done: PictureDone, detector: Detector) -> None:
        """Add a picture; `detector` found its detections, or is equal to the one that did."""
        # Errors are reported with the path of the file that could not be written.
        if self.export is not None and self.outputs.export is not None and done.detections is not None:
            with write_errors(self.scene_files.get(scene, self.outputs.export)):
                self.export(scene, done.detections)
            self.exported += 1
        self._add_rendered(done, detector)

    def add_video(self, done: VideoDone, detector: Detector) -> None:
        """Add a video to the report. Exports contain pictures only."""
        self._add_rendered(done, detector)

    def _add_rendered(self, done: PictureDone | VideoDone, detector: Detector) -> None:
        if self.report is not None and self.outputs.report is not None and done.rendered is not None:
            with write_errors(self.outputs.report):
                self.report.add_rendered(done.rendered, detector)

    def add_unreadable(self, scene: Path, error: str) -> None:
        """Add a scene that could not be searched. Only the report mentions it."""
        if self.report is not None:
            self.report.unreadable(str(scene), error)


@contextmanager
def open_writers(
    outputs: OutputFiles, library: Library, scenes: Sequence[SceneFile], searched: Sequence[SceneFile]
) -> Iterator[SceneWriters]:
    """Open the report and the export. They appear, complete, at the end of the block; not after an error.

    There is no export if all scenes are videos: it would be empty.

    Arguments:
        outputs: the files.
        library: the templates that are searched for.
        scenes: all scenes, after which files are named.
        searched: the scenes that are searched in this run.

    Raises:
        ArgumentError: a file exists and must not be replaced, or is itself a scene. Nothing has been written.
    """
    files = outputs.files(scenes, searched)
    with suppress(_NothingExportedError), _export(outputs, library, files) as export:
        with _report(outputs, library, len(scenes)) as report:
            writers = SceneWriters(outputs, report, export, files)
            yield writers
        if export is not None and not writers.exported:
            raise _NothingExportedError


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
    """Report an `OSError` of the context manager itself as an error about `path`, but not one of the block.

    With `with write_errors(path), manager:`, an error in writing another file inside the block would be
    reported as an error of this file.
    """
    with write_errors(path):
        opened = manager.__enter__()
    try:
        yield opened
    except BaseException as error:
        with suppress(OSError):  # after an error such as a full disk, closing the file fails again
            manager.__exit__(type(error), error, error.__traceback__)
        raise
    with write_errors(path):
        manager.__exit__(None, None, None)

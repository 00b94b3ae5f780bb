"""Writes the report and the export of `wherein detect`, scene by scene."""

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


@dataclass(frozen=True)
class SceneWriters:
    """Writes what the user asked for about each scene.

    Attributes:
        outputs: the files.
        report: the report, if any.
        export: adds a scene to the export, if any.
        scene_files: the file of each scene in the export, where its format has a file for each.
    """

    outputs: OutputFiles
    report: Page | None
    export: AddScene | None
    scene_files: Mapping[Path, Path]

    def add(self, scene: Path, done: PictureDone, detector: Detector) -> None:
        """Write about a picture: what was found in it, by this detector or one that is the same."""
        if self.export is not None and self.outputs.export is not None and done.detections is not None:
            with write_errors(self.scene_files.get(scene, self.outputs.export)):
                self.export(scene, done.detections)
        if self.report is not None and self.outputs.report is not None and done.rendered is not None:
            with write_errors(self.outputs.report):
                self.report.add_rendered(done.rendered, detector)

    def add_video(self, scene: Path, done: VideoDone, drawing: Path | None) -> None:
        """Write about a video, and where it is drawn.

        A report and an export are about pictures, so the report just mentions it.
        """
        if self.report is not None:
            where = "use --draw" if drawing is None else f"the annotated video {drawing}"
            self.report.add_video(
                str(scene), f"video of {done.length}, not shown here: see standard output, or {where}"
            )

    def add_unreadable(self, scene: Path, error: str) -> None:
        """Write about a scene that could not be read: only the report mentions it."""
        if self.report is not None:
            self.report.unreadable(str(scene), error)


@contextmanager
def open_writers(
    outputs: OutputFiles, library: Library, scenes: Sequence[SceneFile], searched: Sequence[SceneFile]
) -> Iterator[SceneWriters]:
    """Open the report and the export; both are complete when the block ends, or not there at all.

    Arguments:
        outputs: the files.
        library: the templates that are searched for.
        scenes: all scenes, after which files are named.
        searched: those of them that are searched in this run.

    Raises:
        ArgumentError: a file exists and must not be replaced, or is a scene; nothing has been written then.
    """
    files = outputs.files(scenes, searched)
    with _export(outputs, library, files) as exported, _report(outputs, library, len(scenes)) as report:
        yield SceneWriters(outputs, report, exported, files)


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

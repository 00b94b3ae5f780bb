"""The work of `wherein detect`: search scenes one by one, print the results, write the files."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wherein.cli.console import Console, UnreadableError
from wherein.cli.input_files import SceneFile, SceneList, read_picture
from wherein.cli.options import Box
from wherein.cli.output_files import OutputFiles, write_errors
from wherein.cli.output_writers import SceneWriters, open_writers
from wherein.cli.scene_totals import FrameTotals, Totals
from wherein.cli.terminal.scene_table import SceneTable
from wherein.detect.calibration.model import Calibration
from wherein.detect.detector import Detector
from wherein.detect.result import Detections
from wherein.detect.score import rounded_down
from wherein.errors import MissingError, PictureError
from wherein.report.stopwatch import SEARCH, Stopwatch
from wherein.template.template_library import Library
from wherein.thresholds import MinScore
from wherein.video.source import Video, camera_index, open_video
from wherein.video.video_writer import CODECS


@dataclass(frozen=True)
class SearchOptions:
    """The options of `wherein detect` that the detector gets, under the same names; None: its default."""

    rotation: float
    scale: tuple[float, float]
    tilt: float
    max_instances: int | None = None
    overlap: float | None = None
    polarity: str | None = None

    def given(self) -> dict[str, Any]:
        """The options that are not left to the detector."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class _NothingReadError(Exception):
    """No scene could be read. It ends the block in which files are written, so that none appears."""


class DetectRun:
    """Searches scenes for a template, or several.

    Arguments:
        library: what to search for.
        options: how to search.
        outputs: files to write besides the lines of JSON.
        console: where results and messages go.
        threshold: of the score, or of its rate of false alarms; None: the calibrated one.
        region: x, y, width and height of the part of each scene that is searched; None: all of it.
    """

    def __init__(
        self,
        library: Library,
        options: SearchOptions,
        outputs: OutputFiles,
        console: Console,
        threshold: MinScore | None = None,
        region: Box | None = None,
    ) -> None:
        self.library, self.options, self.outputs, self.console = library, options, outputs, console
        self.threshold, self.region = threshold, region
        self.totals, self._has_header = Totals(), False
        self.table = SceneTable(())

    def __call__(self, listed: SceneList) -> Totals:
        """Search all scenes: print a line of JSON for each picture, each frame and each unreadable scene, or
        a table of them; then a summary."""
        self.table = SceneTable(str(scene.path) for scene in listed.scenes)
        # A report or an export about nothing would only replace an older one.
        with suppress(_NothingReadError):
            self._search_all(listed.scenes)
        if self.totals.read and not self.totals.found:
            for line in self._expectations():
                self.console.message(line)
        self.console.message(self.totals.summary(listed.skipped_summary))
        return self.totals

    def _expectations(self) -> Iterator[str]:
        """A line for each template of which the calibration has warned, where nothing is found at all."""
        for name, known in self.detector.calibrations.items():
            if isinstance(known, Calibration) and known.warnings:
                yield f"{name}: {known.warnings[0]}. `wherein template check` says more."

    def _search_all(self, scenes: Sequence[SceneFile]) -> None:
        with (
            self.console.scene_bar(len(scenes)),
            open_writers(self.outputs, self.library, scenes) as writers,
        ):
            for scene in scenes:
                self._search(scene, writers)
                self.console.scene_done()
            if not self.totals.read:
                raise _NothingReadError

    @cached_property
    def detector(self) -> Detector:
        """The detector, made when the first scene has been read: it may have to calibrate for a minute, and a
        misspelled file name should be reported before that.
        """
        these = "these templates" if len(self.library) > 1 else "this template"
        with self.console.progress(f"Calibrating (first use of {these})") as progress:
            return Detector(self.library, threshold=self.threshold, progress=progress, **self.options.given())

    def _search(self, scene: SceneFile, writers: SceneWriters) -> None:
        try:
            if scene.error is not None:
                raise UnreadableError("scene", scene.path, scene.error)
            search = self._search_video if scene.is_video else self._search_picture
            search(scene.path, writers)
        except UnreadableError as error:
            self.totals.unreadable += 1
            self.console.unreadable("scene", str(scene.path), str(error))
            writers.add_unreadable(scene.path, str(error))

    def _print(
        self, name: str, found: Detections, record: dict[str, Any], tracks: Sequence[int] = ()
    ) -> None:
        """Print a scene or a frame: as JSON, or on a terminal as rows of a table."""
        if not self.console.readable:
            self.console.result(record)
        elif found or "frame" not in record:  # most frames of a video show nothing
            if not self._has_header:
                self.console.text(self.table.header)
            self._has_header = True
            for row in self.table.rows(name, found, tracks):
                self.console.text(row)

    def _search_picture(self, path: Path, writers: SceneWriters) -> None:
        stopwatch = Stopwatch()
        with stopwatch("reading"):
            picture = read_picture(path, "scene")
        found = self.detector(picture, region=self.region)
        stopwatch.laps[SEARCH] = found.seconds
        self.totals.count(len(found))
        self._print(str(path), found, {"scene": str(path), **found.to_dict()})
        writers.add(path, found, self.detector, stopwatch)
        if not found and found.candidates:
            best = found.candidates[0]
            self.console.message(_nothing_found(path, best.score, self.detector.thresholds[best.template]))

    def _search_video(self, path: Path, writers: SceneWriters) -> None:
        counts, drawing = FrameTotals(), writers.drawings.get(path)
        try:
            with open_video(str(path)) as video:
                self._search_frames(path, video, drawing, counts)
        except (PictureError, MissingError) as error:
            raise UnreadableError("scene", path, error) from error
        except KeyboardInterrupt:
            if camera_index(str(path)) is None:  # Ctrl-C is the usual way to stop a camera
                raise
        if not counts.frames:
            raise UnreadableError("scene", path, "no frame can be read")
        self.totals.count(counts.found)
        writers.add_video(path, counts.frames)
        drawn = "" if drawing is None else f"; drawn to {drawing} ({CODECS[drawing.suffix.lower()].name})"
        self.console.message(f"{path}: {counts}{drawn}")

    def _search_frames(self, path: Path, video: Video, drawing: Path | None, counts: FrameTotals) -> None:
        """Print a line for each frame, and count in `counts`, which so survives Ctrl-C."""
        from wherein.video.tracking import track_frames  # only videos need it

        detector = self.detector  # made before the clock starts
        began = time.perf_counter()
        errors = write_errors(drawing) if drawing is not None else nullcontext()
        with errors, closing(track_frames(video, detector, drawing, region=self.region)) as frames:
            for frame in frames:
                found = len(frame.frame.found)
                name, record = f"{path}: {frame.index}", {"scene": str(path), **frame.to_dict()}
                self._print(name, frame.frame.found, record, frame.frame.tracks)
                counts.frames += 1
                counts.frames_with_detections += found > 0
                counts.found += found
                counts.seconds = time.perf_counter() - began


def _nothing_found(path: Path, score: float, threshold: float) -> str:
    """Describe a scene without detections, but with a candidate below the threshold."""
    shown = rounded_down(score)  # rounded down, so that this threshold does show the candidate
    return (
        f"{path}: Nothing found. Best candidate: {shown:.3f} (threshold {threshold:.3f}). "
        f"Use --threshold {shown:.3f} to see it."
    )

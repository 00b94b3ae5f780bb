"""The work of `wherein detect`: search scenes one by one, print the results, write the files."""

import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wherein.cli.console import NONE_FOUND, SOME_UNREADABLE, UNREADABLE, Console, UnreadableError
from wherein.cli.input_files import SceneFile, read_picture
from wherein.cli.options import Box
from wherein.cli.output_files import OutputFiles, write_errors
from wherein.cli.output_writers import SceneWriters, open_writers
from wherein.detect.detector import Detector
from wherein.detect.score import rounded_down
from wherein.errors import MissingError, PictureError
from wherein.report.stopwatch import SEARCH, Stopwatch
from wherein.template.template_library import Library
from wherein.thresholds import MinScore
from wherein.video.source import Video, camera_index, open_video


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


@dataclass
class Totals:
    """Counts over all scenes, which the exit status depends on."""

    read: int = 0
    unreadable: int = 0
    found: int = 0

    def exit_status(self, fail_if_none: bool) -> int:
        """Return 0 done, 1 nothing found (where that is a failure), 3 all scenes unreadable, 4 some."""
        if self.unreadable:
            return SOME_UNREADABLE if self.read else UNREADABLE
        return NONE_FOUND if fail_if_none and not self.found else 0


@dataclass
class FrameTotals:
    """Counts over the frames of one video; `seconds` includes decoding, drawing and encoding."""

    frames: int = 0
    frames_with_detections: int = 0
    found: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        rate = self.frames / max(self.seconds, 1e-9)
        found = f"{self.frames_with_detections} with detections"
        return f"{self.frames} frames, {found}, {rate:.1f} frames per second"


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
        self.totals = Totals()

    def __call__(self, scenes: Sequence[SceneFile]) -> Totals:
        """Search all scenes: print a line of JSON for each picture, each frame and each unreadable scene."""
        with (
            self.console.scene_bar(len(scenes)),
            open_writers(self.outputs, self.library, scenes) as writers,
        ):
            for scene in scenes:
                self._search(scene, writers)
                self.console.scene_done()
        return self.totals

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
            path, reason = str(scene.path), str(error)
            self.totals.unreadable += 1
            self.console.result({"scene": path, "error": reason})
            self.console.message(reason if path in reason else f"{path}: {reason}")
            writers.add_unreadable(scene.path, reason)

    def _search_picture(self, path: Path, writers: SceneWriters) -> None:
        stopwatch = Stopwatch()
        with stopwatch("reading"):
            picture = read_picture(path, "scene")
        found = self.detector(picture, region=self.region)
        stopwatch.laps[SEARCH] = found.seconds
        self.totals.read += 1
        self.totals.found += len(found)
        self.console.result({"scene": str(path), **found.to_dict()})
        writers.add(path, found, self.detector, stopwatch)
        if not found and found.candidates:
            best = found.candidates[0]
            self.console.message(_nothing_found(path, best.score, self.detector.thresholds[best.template]))

    def _search_video(self, path: Path, writers: SceneWriters) -> None:
        counts = FrameTotals()
        try:
            with open_video(str(path)) as video:
                self._search_frames(path, video, writers.drawings.get(path), counts)
        except (PictureError, MissingError) as error:
            raise UnreadableError("scene", path, error) from error
        except KeyboardInterrupt:
            if camera_index(str(path)) is None:  # Ctrl-C is the usual way to stop a camera
                raise
        if not counts.frames:
            raise UnreadableError("scene", path, "no frame can be read")
        self.totals.read += 1
        self.totals.found += counts.found
        writers.add_video(path, counts.frames)
        self.console.message(f"{path}: {counts}")

    def _search_frames(self, path: Path, video: Video, drawing: Path | None, counts: FrameTotals) -> None:
        """Print a line for each frame, and count in `counts`, which so survives Ctrl-C."""
        from wherein.video.tracking import track_frames  # only videos need it

        detector = self.detector  # made before the clock starts
        began = time.perf_counter()
        errors = write_errors(drawing) if drawing is not None else nullcontext()
        with errors, closing(track_frames(video, detector, drawing, region=self.region)) as frames:
            for frame in frames:
                self.console.result({"scene": str(path), **frame.to_dict()})
                found = len(frame.frame.found)
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

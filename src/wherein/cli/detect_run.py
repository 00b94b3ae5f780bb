"""The work of `wherein detect`: search scenes, print the results, write the files."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wherein.cli.console import Console
from wherein.cli.input_files import SceneList, load_library
from wherein.cli.options import Box
from wherein.cli.output_files import OutputFiles
from wherein.cli.output_writers import SceneWriters, open_writers
from wherein.cli.scene_totals import Totals
from wherein.cli.terminal.scene_table import SceneTable
from wherein.detect.calibration.model import Calibration
from wherein.detect.detector import Detector
from wherein.detect.score import rounded_down
from wherein.engine.engine_options import EngineOptions
from wherein.engine.manifest import Entry, SceneFile, manifest
from wherein.engine.scene_events import (
    Failed,
    OutsideRegion,
    PictureDone,
    SceneEvent,
    SceneLine,
    Unreadable,
    VideoDone,
)
from wherein.engine.scene_work import SceneWork, WorkSettings, is_searchable
from wherein.engine.shared_run import SharedRun
from wherein.thresholds import MinScore
from wherein.video.video_writer import CODECS


@dataclass(frozen=True)
class SearchOptions:
    """The options of `wherein detect` that are arguments of the detector; None: the detector's default."""

    rotation: float
    scale: tuple[float, float]
    tilt: float
    max_instances: int | None = None
    overlap: float | None = None
    polarity: str | None = None
    memory: int | None = None

    def given(self) -> dict[str, Any]:
        """The options that are not None, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class _NothingReadError(Exception):
    """No scene could be read. The exception ends the block that writes files, so that none is created."""


class DetectRun:
    """Searches scenes for one or more templates.

    Arguments:
        template: a template, or a folder of templates.
        options: the options of the search.
        outputs: the files to write besides the lines of JSON.
        console: prints results and messages.
        threshold: the minimum score, or the maximum false-alarm rate; None: the calibrated threshold.
        region: x, y, width and height of the part of each scene that is searched; None: the whole scene.
        engine: the workers, and the portion of the scenes.
    """

    def __init__(
        self,
        template: Path,
        options: SearchOptions,
        outputs: OutputFiles,
        console: Console,
        threshold: MinScore | None = None,
        region: Box | None = None,
        engine: EngineOptions = EngineOptions(),
    ) -> None:
        self.template, self.library = template, load_library(str(template))
        self.options, self.outputs, self.console = options, outputs, console
        self.threshold, self.region, self.engine = threshold, region, engine
        self.totals, self._has_header = Totals(), False
        self.table = SceneTable(())

    def __call__(self, listed: SceneList) -> Totals:
        """Search all scenes, and print the results: lines of JSON or a table, then a summary.

        There is one line of JSON for each picture, each frame of a video, and each unreadable scene.
        """
        self.table = SceneTable(str(scene.path) for scene in listed.scenes)
        # Without a readable scene, no report or export is written, which would replace an older one.
        with suppress(_NothingReadError):
            self._search_all(listed.scenes)
        if self.totals.read and not self.totals.found:
            for line in self._expectations():
                self.console.message(line)
        elif self.totals.found:
            for line in self._doubts():
                self.console.message(line)
        self.console.message(self.totals.summary(listed.skipped_summary))
        return self.totals

    def _expectations(self) -> Iterator[str]:
        """Messages if nothing was found: raised thresholds, the searched sizes, warnings of calibrations."""
        yield from self._raised_thresholds()
        yield self._searched_sizes()
        for name, known in self.detector.calibrations.items():
            if isinstance(known, Calibration) and known.warnings:
                yield f"{name}: {known.warnings[0]}. `wherein template check` says more."

    def _raised_thresholds(self) -> Iterator[str]:
        for name, known in self.detector.calibrations.items():
            threshold = self.detector.thresholds[name]
            given = self.threshold is not None and self.threshold.score is not None
            if given and isinstance(known, Calibration) and threshold > known.threshold:
                yield (
                    f"{name}: the threshold is {threshold:.2f}, the calibrated one {known.threshold:.2f}. "
                    "Omit --threshold to use that."
                )

    def _doubts(self) -> Iterator[str]:
        """Messages if something was found: a line for each template whose clutter reached the threshold."""
        for name, known in self.detector.calibrations.items():
            threshold = self.detector.thresholds[name]
            if isinstance(known, Calibration) and known.clutter[-1] >= threshold:
                yield (
                    f"{name}: scenes without it scored up to {known.clutter[-1]:.2f} in the calibration, and "
                    f"the threshold is {threshold:.2f}: expect false alarms. `wherein template check` says "
                    "more."
                )

    def _searched_sizes(self) -> str:
        """A message about the searched sizes: in pixels for a single template, otherwise as scales.

        Wrong sizes are a common reason why nothing is found: in photographs of phones, most objects are
        larger than in a template that was cut out of a smaller picture.
        """
        low, high = self.options.scale
        if len(self.library) > 1:
            sizes = f"the templates at {'scale' if low == high else 'scales'} {span(f'{low:g}', f'{high:g}')}"
        else:
            (template,) = self.library.templates
            small, large = (
                " × ".join(f"{scale * side:.0f}" for side in template.size) for scale in (low, high)
            )
            sizes = f"{template.name} at {span(small, large)} pixels"
        return f"Searched for {sizes}. Use --scale for other sizes."

    def _search_all(self, scenes: Sequence[SceneFile]) -> None:
        part = self.engine.portion.of_scenes(len(scenes))
        checked = scenes[part]
        drawings = self.outputs.drawings(scenes, checked)
        renamed = self.outputs.renamed(self.outputs.files(scenes, checked))
        if renamed:
            self.console.message(renamed)
        with (
            self.console.scene_bar(len(checked)),
            open_writers(self.outputs, self.library, scenes, checked) as writers,
            closing(self._results(scenes, drawings, part)) as results,  # ends the workers in any case
        ):
            for entry, events in results:
                self._report(entry, events, writers)
            if not self.totals.read:
                raise _NothingReadError
        if self.outputs.export is not None and not writers.exported:
            self.console.message(f"{self.outputs.export}: not written, because no picture was searched.")

    def _results(
        self, scenes: Sequence[SceneFile], drawings: Mapping[Path, Path], part: slice
    ) -> Generator[tuple[Entry, Iterator[SceneEvent]]]:
        """Each scene of the portion with its events."""
        settings = WorkSettings(
            self.region,
            None if self.outputs.report is None else len(scenes),
            self.outputs.maps,
            self.outputs.export is not None,
            self.options.memory,
        )
        # Numbered in the whole run and then cut to the portion, so that keys of scenes do not depend on the
        # portion: portions may share the folder of a run.
        entries = manifest(scenes, drawings, settings.page is not None)[part]
        here = SceneWork(lambda: self.detector, settings)
        # If no scene can be searched, workers are not needed, and nothing is calibrated: `here` asks for the
        # detector only when it has read a scene.
        if not self.engine.shared or not any(is_searchable(entry, self.region) for entry in entries):
            for entry in entries:
                yield entry, here(entry)
                self.console.scenes_done(1)
            return
        run = SharedRun(
            self.engine,
            self.template,
            self.options.given(),
            self.threshold,
            settings,
            self.outputs.draw,
            self.outputs.overwrite,
        )
        run.check_folder(self.library)
        yield from run(entries, len(scenes), self.detector, self.console.scenes_done)

    @cached_property
    def detector(self) -> Detector:
        """The detector, made (and calibrated) when the first scene has been read, or before workers start."""
        with self.console.progress("Calibrating (first use)") as progress:
            return Detector(self.library, threshold=self.threshold, progress=progress, **self.options.given())

    def _report(self, entry: Entry, events: Iterator[SceneEvent], writers: SceneWriters) -> None:
        """Print and write the events of a scene."""
        event = next(events, None)
        while event is not None:
            try:
                self._handle(entry, event, writers)
            except KeyboardInterrupt as interrupt:
                if not isinstance(events, Generator):
                    raise
                # Inside the generator, Ctrl-C ends a camera regularly. Other scenes raise it again.
                event = events.throw(interrupt)
            else:
                event = next(events, None)

    def _handle(self, entry: Entry, event: SceneEvent, writers: SceneWriters) -> None:
        path = entry.scene.path
        if isinstance(event, SceneLine):
            self._print(event)
        elif isinstance(event, PictureDone):
            self.totals.count(event.found)
            writers.add(path, event, self.detector)
            if event.note is not None:
                self.console.message(f"{path}: {event.note}.")
            if event.best is not None:
                template, score = event.best
                nearest = _nearest(score, self.detector.thresholds[template])
                # On a terminal, the row above already has the scene and "nothing found".
                shown = nearest if self.console.readable else f"{path}: Nothing found. {nearest}"
                self.console.message(shown)
        elif isinstance(event, VideoDone):
            self.totals.count_video(event.found, event.frames_with_detections)
            writers.add_video(event, self.detector)
            self.console.message(f"{path}: {event}{_drawn(entry.drawing)}")
            if self.outputs.export is not None:
                self.console.message(
                    f"{path}: not exported. Exports have pictures only; use --json for frames."
                )
        else:
            self.totals.failed += isinstance(event, Failed)
            missing = entry.scene.error is not None  # there is no file, or none in the folder
            self.totals.missing += missing
            self.totals.unreadable += isinstance(event, Unreadable) and not missing
            self.totals.outside += isinstance(event, OutsideRegion)
            self.console.unreadable("scene", str(path), event.reason)
            writers.add_unreadable(path, event.reason)

    def _print(self, line: SceneLine) -> None:
        """Print a scene or a frame: as JSON or, on a terminal, as rows of a table."""
        if not self.console.readable:
            self.console.result(line.record)
        elif line.rows or "frame" not in line.record:  # frames without detections, often most, have no row
            if not self._has_header:
                self.console.text(self.table.header)
            self._has_header = True
            for row in self.table.rows(line.name, line.rows):
                self.console.text(row)


def _drawn(drawing: Path | None) -> str:
    return "" if drawing is None else f"; drawn to {drawing} ({CODECS[drawing.suffix.lower()].name})"


def _nearest(score: float, threshold: float) -> str:
    """A message about the best candidate in a scene without detections."""
    shown = rounded_down(score)  # rounded down, so that this threshold does show the candidate
    return f"Best candidate: {shown:.3f} (threshold {threshold:.3f}). Use --threshold {shown:.3f} to see it."


def span(low: str, high: str) -> str:
    """A range as text; one value if both ends are the same."""
    return low if low == high else f"{low} to {high}"

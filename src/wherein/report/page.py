"""The report: one HTML file about many scenes, with everything in it.

Scenes are written to a temporary file as they come, so a page of thousands needs no more memory than a page
of one. No script runs in it: layers are switched by checkboxes and style alone, and the content security
policy in `templates/page.html` forbids scripts and requests.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING

from markupsafe import Markup

from wherein.detect.result import Detections
from wherein.files import atomic_file
from wherein.report.convergence_plot import MAX_SCORED_ZNCC
from wherein.report.html_format import render, stream
from wherein.report.scene_view import SceneViewer
from wherein.report.stopwatch import SEARCH, Stopwatch
from wherein.report.template_view import PartEntry, ScoreView, part_entries, score_view, template_view
from wherein.report.times import SceneTimes, laps_of, summarize
from wherein.template.bundle import Template
from wherein.template.template_library import Library

if TYPE_CHECKING:
    from wherein.detect.detector import Detector

_ERRORS = "xmlcharrefreplace"
"""Names of files may contain bytes that are not text. Python keeps these as lone surrogates, which UTF-8
cannot encode. As character references they can be written, and browsers show them as U+FFFD."""

_CHUNK = 1 << 16
"""Characters of the scenes that are copied at once. A choice: as `shutil.copyfileobj` has it."""


@dataclass(frozen=True)
class ContentsRow:
    """A scene in the table of contents.

    Attributes:
        name: of its file.
        anchor: of its section; None where it has none.
        count: how many detections it has.
        best_score: of these; None where there are none.
        seconds: of the search.
        note: about a video, which is searched but not shown; None for a picture.
        error: why it could not be read; None where it was.
    """

    name: str
    anchor: str | None = None
    count: int = 0
    best_score: float | None = None
    seconds: float = 0.0
    note: str | None = None
    error: str | None = None


@dataclass
class Page:
    """A report that scenes can be added to.

    Attributes:
        library: the templates that are searched for.
        body: where the scenes are written.
        rows: the table of contents so far.
        times: of the scenes so far.
        detector: of the last scene; None where no scene was read.
        map_count: the largest number of occurrence maps of a scene.
    """

    library: Library
    body: IO[str]
    rows: list[ContentsRow] = field(default_factory=list)
    times: list[SceneTimes] = field(default_factory=list)
    detector: "Detector | None" = None
    map_count: int = 0

    @cached_property
    def entries(self) -> dict[str, tuple[PartEntry, ...]]:
        """The parts of each template, by its name."""
        made: dict[str, tuple[PartEntry, ...]] = {}
        for template in self.library.templates:
            made[template.name] = part_entries(template, sum(map(len, made.values())))
        return made

    def add(
        self,
        name: str,
        found: Detections,
        detector: "Detector",
        maps: bool = False,
        watch: Stopwatch | None = None,
    ) -> None:
        """Write a scene.

        Arguments:
            name: of its file.
            found: its detections.
            detector: that found them; it also replays how each fit converged.
            maps: whether to add occurrence maps, as layers that can be switched on.
            watch: has measured the work on the scene so far; by default the search alone.
        """
        watch, anchor = watch or Stopwatch({SEARCH: found.seconds}), f"s{len(self.rows)}"
        occurrence = {}
        if maps:
            with watch("occurrence maps"):
                occurrence = detector.occurrence(found.scene)
        with watch("convergence plots"):
            traces = detector.fit_traces(found)
        with watch("page"):
            viewer = SceneViewer(self.library, self.entries, _scores(detector))
            content = render("scene.html", scene=viewer(anchor, name, found, occurrence, traces))
        # The content first and the section around it after: its time bar includes the time for the content.
        self.body.write(render("scene_section.html", anchor=anchor, content=content, **_time_bar(watch)))
        self.detector, self.map_count = detector, max(self.map_count, len(occurrence))
        self.times.append(SceneTimes(anchor, name, watch.laps))
        best = found[0].score if len(found) else None
        self.rows.append(ContentsRow(name, anchor, len(found), best, found.seconds))

    def add_video(self, name: str, note: str) -> None:
        """List a video that was searched; the page shows pictures only."""
        self.rows.append(ContentsRow(name, note=note))

    def unreadable(self, name: str, error: str) -> None:
        """List a scene that could not be read, and why."""
        self.rows.append(ContentsRow(name, error=error))

    def html(self) -> Iterator[str]:
        """The page, piece by piece, once all scenes were added."""
        return stream(
            "page.html",
            name=self.library.name,
            templates=list(map(template_view, self.library.templates)),
            all_scores={} if self.detector is None else _scores(self.detector),
            times=summarize(self.times),
            max_scored_zncc=MAX_SCORED_ZNCC,
            rows=self.rows,
            found_count=sum(row.count for row in self.rows),
            read_count=len(self.times),
            part_count=sum(map(len, self.entries.values())),
            map_count=self.map_count,
            scenes=self._scenes(),
        )

    def _scenes(self) -> Iterator[Markup]:
        """What was written so far; it is markup already."""
        self.body.seek(0)
        while chunk := self.body.read(_CHUNK):
            yield Markup(chunk)


@contextmanager
def page(path: Path, library: Library | Template) -> Iterator[Page]:
    """A report to add scenes to. When the block ends it is at `path`; where the block fails, nothing is."""
    with (
        atomic_file(path) as target,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors=_ERRORS, dir=path.parent) as body,
    ):
        made = Page(Library.of(library), body)
        yield made
        with target.open("w", encoding="utf-8", errors=_ERRORS) as file:
            file.writelines(made.html())


def _scores(detector: "Detector") -> dict[str, ScoreView]:
    return {name: score_view(detector, name) for name in detector.thresholds}


def _time_bar(watch: Stopwatch) -> dict[str, object]:
    return {"laps": laps_of(watch.laps), "total": sum(watch.laps.values())}

"""The report: one HTML file about many scenes, with everything in it.

Scenes are written to a temporary file as they come, so a page of thousands needs no more memory than a page
of one. They are cards in a grid; a card that is opened shows its details. Filters and layers work by style
alone. The only script, `templates/page.js`, sorts the cards and handles keys; the content security policy in
`templates/page.html` forbids all others, and requests.
"""

import base64
import hashlib
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
from wherein.images.eight_bit import to_image
from wherein.report.convergence_plot import AXES, MAX_SCORED_ZNCC
from wherein.report.html_format import render, stream
from wherein.report.image_uri import picture_uri
from wherein.report.scene_card import Card, Kind, common_folder, filters, scene_card
from wherein.report.scene_view import SceneView, SceneViewer
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

_PAGE_SIZE = 4_500_000
"""Characters that all scenes together may take; pictures are reduced as far as it needs. A choice: a browser
opens such a page at once, and it can be sent by mail."""

_CHUNK = 1 << 16
"""Characters of the scenes that are copied at once. A choice: as `shutil.copyfileobj` has it."""


@dataclass
class Page:
    """A report that scenes can be added to.

    Attributes:
        library: the templates that are searched for.
        body: where the scenes are written.
        share: characters that a scene should take.
        cards: the scenes so far.
        times: of the scenes so far.
        detector: of the last scene; None where no scene was read.
        map_count: the largest number of occurrence maps of a scene.
    """

    library: Library
    body: IO[str]
    share: int = _PAGE_SIZE
    cards: list[Card] = field(default_factory=list)
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
        watch, card = watch or Stopwatch({SEARCH: found.seconds}), scene_card(self._anchor, name, found)
        occurrence = {}
        if maps:
            with watch("occurrence maps"):
                occurrence = detector.occurrence(found.scene)
        with watch("convergence plots"):
            traces = detector.fit_traces(found)
        with watch("page"):
            viewer = SceneViewer(self.library, self.entries, _scores(detector))
            shown = viewer(card.anchor, name, found, occurrence, traces)
            numbers = render("numbers.html", scene=shown)
            # The picture gets the room that the rest leaves: many parts need much of it.
            image = picture_uri(to_image(found.scene.pixels), self._room(shown, numbers))
            picture = render("scene_image.html", scene=shown, image=image)
        # The card is rendered last: its time bar includes the time for what is in it.
        self.body.write(render("card.html", card=card, picture=picture, numbers=numbers, **_time_bar(watch)))
        self.detector, self.map_count = detector, max(self.map_count, len(occurrence))
        self.times.append(SceneTimes(card.anchor, name, watch.laps))
        self.cards.append(card)

    def add_video(self, name: str, note: str) -> None:
        """List a video that was searched; the page shows pictures only."""
        self._add_note(Card(name, self._anchor, Kind.VIDEO, note))

    def unreadable(self, name: str, error: str) -> None:
        """List a scene that could not be read, and why."""
        self._add_note(Card(name, self._anchor, Kind.ERROR, error))

    def _add_note(self, card: Card) -> None:
        self.body.write(render("note_card.html", card=card))
        self.cards.append(card)

    @property
    def _anchor(self) -> str:
        """Of the next scene."""
        return f"s{len(self.cards)}"

    def _room(self, shown: SceneView, numbers: str) -> int:
        """Characters that are left for the picture of a scene, at least one."""
        return max(1, self.share - len(numbers) - sum(len(layer.image) for layer in shown.maps))

    def html(self) -> Iterator[str]:
        """The page, piece by piece, once all scenes were added."""
        script = render("page.js")
        return stream(
            "page.html",
            name=self.library.name,
            templates=list(map(template_view, self.library.templates)),
            all_scores={} if self.detector is None else _scores(self.detector),
            times=summarize(self.times),
            max_scored_zncc=MAX_SCORED_ZNCC,
            axes=AXES,
            filters=filters(self.cards),
            folder=common_folder(self.cards),
            found_count=sum(card.count for card in self.cards),
            read_count=len(self.times),
            entries=[entry for entries in self.entries.values() for entry in entries],
            map_count=self.map_count,
            scenes=self._scenes(),
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )

    def _scenes(self) -> Iterator[Markup]:
        """What was written so far; it is markup already."""
        self.body.seek(0)
        while chunk := self.body.read(_CHUNK):
            yield Markup(chunk)


@contextmanager
def page(path: Path, library: Library | Template, scenes: int = 1) -> Iterator[Page]:
    """A report to add scenes to. When the block ends it is at `path`; where the block fails, nothing is.

    Arguments:
        path: of the file.
        library: what is searched for.
        scenes: how many will be added, about: the more, the smaller are their pictures.
    """
    with (
        atomic_file(path) as target,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors=_ERRORS, dir=path.parent) as body,
    ):
        made = Page(Library.of(library), body, _PAGE_SIZE // max(1, scenes))
        yield made
        with target.open("w", encoding="utf-8", errors=_ERRORS) as file:
            file.writelines(made.html())


def _scores(detector: "Detector") -> dict[str, ScoreView]:
    return {name: score_view(detector, name) for name in detector.thresholds}


def _time_bar(watch: Stopwatch) -> dict[str, object]:
    return {"laps": laps_of(watch.laps), "total": sum(watch.laps.values())}

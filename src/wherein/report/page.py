"""The report: a single, self-contained HTML file about many scenes.

Each scene is written to a temporary file when it is added, so that a page of thousands of scenes needs no
more memory than a page of one. Scenes are cards in a grid; an open card shows details. Filters and layers
work by CSS only. The only script, `templates/page.js`, sorts the cards, unpacks plots and handles keys. The
content security policy in `templates/page.html` forbids all other scripts, and all requests.
"""

import base64
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

from markupsafe import Markup

from wherein.detect.result import Detections
from wherein.files import atomic_file
from wherein.report.convergence_plot import AXES, MAX_SCORED_ZNCC
from wherein.report.html_format import render, stream
from wherein.report.rendered_scene import RenderedScene, SceneRenderer, anchor, score_views
from wherein.report.scene_card import Card, Kind, common_folder, filters, found_text
from wherein.report.stopwatch import Stopwatch
from wherein.report.template_view import template_view
from wherein.report.times import SceneTimes, summarize
from wherein.template.bundle import Template
from wherein.template.template_library import Library

if TYPE_CHECKING:
    from wherein.detect.detector import Detector

_ERRORS = "xmlcharrefreplace"
"""Encoding of file names that are not valid text. Python represents such bytes as lone surrogates, which
UTF-8 cannot encode. They are written as character references, which browsers show as U+FFFD."""

_CHUNK = 1 << 16
"""Number of characters of the scenes that are copied at once. A choice: the default of
`shutil.copyfileobj`."""


@dataclass
class Page:
    """A report to which scenes are added.

    Attributes:
        renderer: makes the HTML of scenes.
        body: the temporary file with the HTML of the scenes.
        cards: the cards of the scenes added so far.
        times: the run times of these scenes, without videos.
        detector: the detector of the last scene; None if no scene was read.
        map_count: the maximum number of occurrence maps of a scene.
    """

    renderer: SceneRenderer
    body: IO[str]
    cards: list[Card] = field(default_factory=list)
    times: list[SceneTimes] = field(default_factory=list)
    detector: "Detector | None" = None
    map_count: int = 0

    @property
    def library(self) -> Library:
        """The templates that are searched for."""
        return self.renderer.library

    def add(
        self,
        name: str,
        found: Detections,
        detector: "Detector",
        maps: bool = False,
        watch: Stopwatch | None = None,
    ) -> None:
        """Render a scene and add it; arguments as in `SceneRenderer`."""
        self.add_rendered(self.renderer(len(self.cards), name, found, detector, maps, watch), detector)

    def add_rendered(self, scene: RenderedScene, detector: "Detector") -> None:
        """Add a rendered scene. Its number must be its position in this page.

        Arguments:
            scene: the scene.
            detector: the detector that found its detections, or an equal one (workers have their own).
        """
        self.body.write(scene.html)
        self.detector, self.map_count = detector, max(self.map_count, scene.maps)
        if scene.laps:  # those of a video are not comparable
            self.times.append(SceneTimes(scene.card.anchor, scene.card.name, scene.laps))
        # Without the HTML: only cards and times stay in memory.
        self.cards.append(scene.card)

    def unreadable(self, name: str, error: str) -> None:
        """List a scene that could not be searched, and why."""
        card = Card(name, anchor(len(self.cards)), Kind.ERROR, error)
        self.body.write(render("note_card.html", card=card))
        self.cards.append(card)

    def html(self) -> Iterator[str]:
        """The page in pieces; to be called when all scenes have been added."""
        # The browser compares the script's text with this hash: both must come from the same rendering.
        script = render("page.js")
        return stream(
            "page.html",
            name=self.library.name,
            templates=list(map(template_view, self.library.templates)),
            all_scores={} if self.detector is None else score_views(self.detector),
            times=summarize(self.times),
            max_scored_zncc=MAX_SCORED_ZNCC,
            axes=AXES,
            filters=filters(self.cards),
            folder=common_folder(self.cards),
            found=self._found_text(),
            entries=[entry for entries in self.renderer.entries.values() for entry in entries],
            map_count=self.map_count,
            scenes=self._scenes(),
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )

    def _found_text(self) -> str:
        cards, videos = self.cards, [card for card in self.cards if card.frames]
        return found_text(
            sum(card.count for card in cards),
            len(cards),
            sum(card.count > 0 for card in cards),
            sum(card.count for card in videos),
            sum(card.frames for card in videos),
        )

    def _scenes(self) -> Iterator[Markup]:
        """The HTML of the scenes in chunks, marked as safe, because it was escaped when it was rendered."""
        self.body.seek(0)
        while chunk := self.body.read(_CHUNK):
            yield Markup(chunk)


@contextmanager
def page(path: Path, library: Library | Template, scenes: int = 1) -> Iterator[Page]:
    """A report to which scenes are added. It appears at `path` at the end of the block; not after an error.

    Arguments:
        path: the path of the file.
        library: the templates that are searched for.
        scenes: the approximate number of scenes: the more there are, the smaller are their pictures.
    """
    with (
        atomic_file(path) as target,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors=_ERRORS, dir=path.parent) as body,
    ):
        # The header has totals over all scenes, so it is rendered after them, from the temporary file.
        made = Page(SceneRenderer(Library.of(library), scenes), body)
        yield made
        with target.open("w", encoding="utf-8", errors=_ERRORS) as file:
            file.writelines(made.html())

"""A page that shows what was found: one file with everything in it, and nothing in it from elsewhere.

Scenes are written as they come, so a page of thousands needs no more memory than a page of one. No script
runs in it: the switches are style alone, and the policy in its head forbids all else, so what a file or a
part is called cannot do anything.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import IO

from wherein.detect.detector import Detector
from wherein.detect.result import Detections
from wherein.files import atomic_file
from wherein.report import fits, times
from wherein.report.about import about_search, about_template, fast_calibration
from wherein.report.markup import number, text
from wherein.report.parts import PageParts
from wherein.report.scene import SceneWriter
from wherein.report.stage import rules
from wherein.report.stopwatch import SEARCH, Stopwatch
from wherein.template.bundle import Template

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Nothing is fetched, run or sent: style and pictures are in the page itself."""


@dataclass
class Page:
    """A page in the making.

    Attributes:
        template: what is looked for.
        body: where the scenes are written.
        rows: the table of contents so far.
        detector: whose results they are, from the first of them on.
        maps: the most occurrence maps that a scene had.
        found: how many, in all scenes together.
        timed: what each scene took.
    """

    template: Template
    body: IO[str]
    rows: list[str] = field(default_factory=list)
    detector: Detector | None = None
    maps: int = 0
    found: int = 0
    timed: list[times.Timed] = field(default_factory=list)

    @cached_property
    def parts(self) -> PageParts:
        """Of the template."""
        return PageParts(self.template)

    def add(
        self,
        name: str,
        found: Detections,
        detector: Detector,
        maps: bool = False,
        watch: Stopwatch | None = None,
    ) -> None:
        """Write a scene.

        Arguments:
            name: what it is called.
            found: what was found in it.
            detector: by whom; it is asked for how each fit converged.
            maps: whether it is asked for occurrence maps too, as layers that can be switched on.
            watch: has counted what was done with the scene so far; by default the search alone.
        """
        watch, index = watch or Stopwatch({SEARCH: found.seconds}), len(self.rows)
        seen = {}
        if maps:
            with watch("occurrence maps"):
                seen = detector.occurrence(found.scene)
        with watch("replay of the fits"):
            ways = detector.fit_traces(found)
        with watch("page"):
            told = SceneWriter(self.parts, fast_calibration(detector))(index, name, found, seen, ways)
        self.body.write(f"{told}{times.bar(watch.laps)}</section>\n")
        self.detector, self.maps = detector, max(self.maps, len(seen))
        self.found += len(found)
        self.timed.append(times.Timed(f"s{index}", name, watch.laps))
        best = number(found[0].score) if len(found) else ""
        self.rows.append(
            f'<tr><th><a href="#s{index}">{text(name)}</a><td>{len(found)}<td>{best}'
            f"<td>{times.seconds(found.seconds)}</tr>\n"
        )

    def unreadable(self, name: str, error: str) -> None:
        """Tell of a scene that could not be read."""
        self.rows.append(f'<tr class="error"><th>{text(name)}<td colspan="3">{text(error)}</tr>\n')

    def head(self) -> str:
        """What stands above the scenes, once all of them are known."""
        style = resources.files("wherein.report").joinpath("page.css").read_text(encoding="utf-8")
        read = len(self.timed)
        failed = len(self.rows) - read
        facts = f"{self.found} found in {_scenes(read)}"
        unread = f"; {_scenes(failed)} could not be read" if failed else ""
        search = about_search(self.detector) if self.detector is not None else ""
        columns = "".join(f"<th>{title}" for title in ("scene", "found", "best score", "search"))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{text(self.template.name)}: {facts}</title>\n"
            f"<style>\n{style}{rules(len(self.parts.listed), self.maps)}</style></head><body>\n"
            f"<header><h1>{text(self.template.name)}</h1>"
            f"<p>{facts}{unread}</p></header>\n<main>"
            f'<div class="about">{about_template(self.template)}{search}{times.summary(self.timed)}'
            f"{fits.ABOUT if self.timed else ''}</div>\n"
            '<section><h2>Scenes</h2><div class="wide"><table class="contents">'
            f"<thead><tr>{columns}</tr></thead><tbody>\n{''.join(self.rows)}</tbody></table></div></section>\n"
        )


@contextmanager
def page(path: Path, template: Template) -> Iterator[Page]:
    """A page to add scenes to; it is at `path`, whole, when the block ends, or not at all."""
    with atomic_file(path) as target, tempfile.TemporaryFile("w+", encoding="utf-8", dir=path.parent) as body:
        made = Page(template, body)
        yield made
        body.seek(0)
        with target.open("w", encoding="utf-8") as file:
            file.write(made.head())
            shutil.copyfileobj(body, file)
            file.write("</main><footer><p>Made by wherein.</p></footer></body></html>\n")


def _scenes(count: int) -> str:
    return f"{count} scene" if count == 1 else f"{count} scenes"

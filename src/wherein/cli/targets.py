"""Where `wherein detect` writes, and what it must not write over."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wherein.cli.scenes import Given
from wherein.cli.work import writing
from wherein.errors import ArgumentError, require
from wherein.report.page import Page, page
from wherein.template import Template

PAGES = (".html", ".htm")


@dataclass(frozen=True)
class Outputs:
    """What is written besides the lines.

    Attributes:
        draw: the folder for a picture of each scene.
        report: the file of the page about all scenes.
        maps: whether the page has occurrence maps.
        overwrite: whether files that exist are replaced.
    """

    draw: Path | None = None
    report: Path | None = None
    maps: bool = False
    overwrite: bool = False

    def check(self) -> None:
        """Before any work.

        Raises:
            ArgumentError: what is wrong with them, in words.
        """
        report, draw = self.report, self.draw
        require(not self.maps or report is not None, "--maps go into the page: give --report FILE.html too")
        if report is not None:
            require(report.suffix.lower() in PAGES, f"--report {report} must end in {' or '.join(PAGES)}")
            require(not report.is_dir(), f"--report {report} is a folder; give a file in it")
            require(self.overwrite or not report.exists(), _exists(report))
        if draw is not None and draw.exists() and not draw.is_dir():
            raise ArgumentError(f"--draw {draw} is a file; give a folder")


def drawings(scenes: Sequence[Given], outputs: Outputs) -> list[Path | None]:
    """Of each scene the picture that is drawn of it: by the scene's name, and a number where another has it.

    Raises:
        ArgumentError: one of them exists and may not be replaced, or is a scene itself.
    """
    if outputs.draw is None:
        return [None] * len(scenes)
    given = {scene.path.resolve() for scene in scenes}
    taken: set[str] = set()
    targets: list[Path | None] = []
    for scene in scenes:
        target = outputs.draw / f"{_free(scene.path.stem, taken)}.png"
        require(target.resolve() not in given, f"{target} is a scene itself; give another folder to --draw")
        require(outputs.overwrite or not target.exists(), _exists(target))
        targets.append(target)
    return targets


def _free(stem: str, taken: set[str]) -> str:
    """The stem, or the stem with the first number that nobody has; small and capital letters are one, as
    they are for some file systems."""
    name, number = stem, 1
    while name.casefold() in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name.casefold())
    return name


def _exists(path: Path) -> str:
    return f"{path} exists; give another name or --overwrite"


@contextmanager
def reporting(path: Path | None, template: Template) -> Iterator[Page | None]:
    """The page, if one is wanted; only what goes wrong with its own file is told as being about it."""
    if path is None:
        yield None
        return
    manager = page(path, template)
    with writing(path):
        made = manager.__enter__()
    try:
        yield made
    except BaseException as error:
        manager.__exit__(type(error), error, error.__traceback__)
        raise
    with writing(path):
        manager.__exit__(None, None, None)

"""Where `wherein detect` writes, and what it must not write over."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wherein.cli.options import SUFFIXES, Format
from wherein.cli.places import check_file, check_folder
from wherein.cli.scenes import Given
from wherein.errors import ArgumentError, require

PAGES = (".html", ".htm")


@dataclass(frozen=True)
class Outputs:
    """What is written besides the lines.

    Attributes:
        draw: the folder for a picture of each scene.
        report: the file of the page about all scenes.
        maps: whether the page has occurrence maps.
        overwrite: whether files that exist are replaced.
        export: the file, or labelme's folder, for another program.
        kind: the format of that; by the end of the file's name where it is left out.
    """

    draw: Path | None = None
    report: Path | None = None
    maps: bool = False
    overwrite: bool = False
    export: Path | None = None
    kind: Format | None = None

    def check(self) -> None:
        """Before any work.

        Raises:
            ArgumentError, UnwritableError: what is wrong with them, in words.
        """
        require(
            self.report is not None or not self.maps, "--maps go into the page: give --report FILE.html too"
        )
        require(self.export is not None or self.kind is None, "--format is of the export: give --export too")
        if self.report is not None:
            self._check_file("--report", self.report, PAGES)
        if self.export is not None and self.format in SUFFIXES:
            self._check_file("--export", self.export, (SUFFIXES[self.format],))
        folders = {"--draw": self.draw, "--export": self.export if self.format is Format.LABELME else None}
        for option, folder in folders.items():
            if folder is not None:
                require(folder.is_dir() or not folder.exists(), f"{option} {folder} is a file; give a folder")
                check_folder(folder)

    @property
    def format(self) -> Format | None:
        """Of the export, if there is one."""
        if self.kind is not None or self.export is None:
            return self.kind
        kinds = {suffix: kind for kind, suffix in SUFFIXES.items()}
        if self.export.suffix.lower() not in kinds:
            known = ", ".join(f"{suffix} for {kind}" for suffix, kind in kinds.items())
            raise ArgumentError(f"--export {self.export} has no known end: {known}, or give --format labelme")
        return kinds[self.export.suffix.lower()]

    def _check_file(self, option: str, path: Path, ends: Sequence[str]) -> None:
        require(path.suffix.lower() in ends, f"{option} {path} must end in {' or '.join(ends)}")
        require(not path.is_dir(), f"{option} {path} is a folder; give a file in it")
        require(self.overwrite or not path.exists(), _exists(path))
        check_file(path)

    def drawings(self, scenes: Sequence[Given]) -> dict[Path, Path]:
        """Of each scene the picture or video that is drawn of it, if one is."""
        return self._named(scenes, "--draw", self.draw, ".png")

    def files(self, scenes: Sequence[Given]) -> dict[Path, Path]:
        """Of each scene its own file of the export, if it has one."""
        folder = self.export if self.format is Format.LABELME else None
        return self._named([scene for scene in scenes if not scene.video], "--export", folder, ".json")

    def _named(
        self, scenes: Sequence[Given], option: str, folder: Path | None, suffix: str
    ) -> dict[Path, Path]:
        """By the scene's name, and a number where another has it.

        Raises:
            ArgumentError: one of them exists and may not be replaced, or is a scene itself.
        """
        if folder is None:
            return {}
        given = {scene.path.resolve() for scene in scenes}
        taken: set[str] = set()
        targets: dict[Path, Path] = {}
        for scene in scenes:
            stem = scene.path.stem.replace(":", "-")  # of a camera
            target = folder / f"{_free(stem, taken)}{'.mp4' if scene.video else suffix}"
            require(
                target.resolve() not in given, f"{target} is a scene itself; give another folder to {option}"
            )
            require(self.overwrite or not target.exists(), _exists(target))
            targets[scene.path] = target
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

"""Where `wherein detect` writes, and what it must not write over."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wherein.cli.places import check_file, check_folder
from wherein.cli.scenes import Given
from wherein.errors import ArgumentError, require
from wherein.formats.table import BY_EXTENSION, FORMATS, Format

PAGES = (".html", ".htm")


@dataclass(frozen=True)
class Outputs:
    """What is written besides the lines.

    Attributes:
        draw: the folder for a picture of each scene.
        report: the file of the page about all scenes.
        maps: whether the page has occurrence maps.
        overwrite: whether files that exist are replaced.
        export: the file, or the folder, of the export.
        format_name: of the export; by default its file extension decides.
    """

    draw: Path | None = None
    report: Path | None = None
    maps: bool = False
    overwrite: bool = False
    export: Path | None = None
    format_name: str | None = None

    def check(self) -> None:
        """Before any work.

        Raises:
            ArgumentError, UnwritableError: what is wrong with them, in words.
        """
        require(
            self.report is not None or not self.maps, "--maps go into the page: give --report FILE.html too"
        )
        require(
            self.export is not None or self.format_name is None, "--format needs an export: give --export too"
        )
        if self.report is not None:
            self._check_file("--report", self.report, PAGES)
        if self.export is not None and self.format is not None and not self.format.file_per_scene:
            self._check_file("--export", self.export, (self.format.extension,))
        for option, folder in {"--draw": self.draw, "--export": self._export_folder}.items():
            if folder is not None:
                require(folder.is_dir() or not folder.exists(), f"{option} {folder} is a file; give a folder")
                check_folder(folder)

    @property
    def format(self) -> Format | None:
        """The format of the export, if there is one."""
        if self.format_name is not None:
            return FORMATS[self.format_name]
        if self.export is None:
            return None
        extension = self.export.suffix.lower()
        if extension not in BY_EXTENSION:
            files = ", ".join(f"{known} for {entry.name}" for known, entry in BY_EXTENSION.items())
            folders = " or ".join(entry.name for entry in FORMATS.values() if entry.file_per_scene)
            raise ArgumentError(
                f"--export {self.export}: unknown file extension. Use {files}, or a folder with "
                f"--format {folders}"
            )
        return BY_EXTENSION[extension]

    @property
    def _export_folder(self) -> Path | None:
        """The folder of the export, if its format has a file for each scene."""
        return self.export if self.format is not None and self.format.file_per_scene else None

    def _check_file(self, option: str, path: Path, ends: Sequence[str]) -> None:
        require(path.suffix.lower() in ends, f"{option} {path} must end in {' or '.join(ends)}")
        require(not path.is_dir(), f"{option} {path} is a folder; give a file in it")
        require(self.overwrite or not path.exists(), _exists(path))
        check_file(path)

    def drawings(self, scenes: Sequence[Given]) -> dict[Path, Path]:
        """Of each scene the picture or video that is drawn of it, if one is."""
        return self._named(scenes, "--draw", self.draw, ".png")

    def files(self, scenes: Sequence[Given]) -> dict[Path, Path]:
        """The file of each scene in the export, by the scene's path, if its format has a file for each."""
        if self.format is None:
            return {}
        pictures = [scene for scene in scenes if not scene.video]
        return self._named(pictures, "--export", self._export_folder, self.format.extension)

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

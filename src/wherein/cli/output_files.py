"""Files that commands write; their paths are checked before any work."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wherein.errors import ArgumentError, require
from wherein.files import check_writable, write_errors
from wherein.formats.registry import BY_EXTENSION, FORMATS, Format
from wherein.video.source import VIDEOS
from wherein.video.video_writer import CODECS

if TYPE_CHECKING:  # not at run time, so that a wrong --draw is reported before torch is loaded
    from wherein.engine.manifest import SceneFile

DRAWINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
"""Extensions of drawings: pictures that Pillow can write."""

VIDEO_DRAWINGS = tuple(CODECS)
_DRAWN = DRAWINGS + VIDEO_DRAWINGS

_NOT_DRAWN = (".gif", ".svg", ".pdf", ".eps", ".html", ".json", ".avif", ".heic", *VIDEOS)
"""Extensions of unsupported drawings. Without this list, `--draw x.avi` would create a folder of that
name."""

_DRAW_NAMES = f"use a folder, or a picture that ends in {' or '.join(DRAWINGS)}"
_DRAW_VIDEOS = f", or for a video {' or '.join(VIDEO_DRAWINGS)}"

PAGES = (".html", ".htm")


def check_file(path: Path) -> None:
    """Raise `UnwritableError` if a file cannot be created; its folders need not exist yet."""
    with write_errors(path):
        check_writable(path.parent)


def check_folder(path: Path) -> None:
    """Raise `UnwritableError` if files cannot be created in a folder; the folder need not exist yet."""
    with write_errors(path):
        check_writable(path)


def check_new(path: Path, overwrite: bool) -> None:
    """Raise `ArgumentError` if `path` exists and must not be replaced."""
    require(overwrite or not path.exists(), f"{path} already exists: choose another name or use --overwrite")


def check_template(out: Path, overwrite: bool) -> None:
    """Check, before torch is loaded, that a template can be written to `out`.

    Raises:
        ArgumentError: it exists and must not be replaced.
        UnwritableError: it cannot be written.
    """
    check_new(out, overwrite)
    check_file(out)  # for a folder too: it is written beside `out` and then renamed


def check_named(option: str, path: Path, extensions: Sequence[str], overwrite: bool) -> None:
    """Check the file that an option names.

    Raises:
        ArgumentError: it has a wrong extension, is a folder, or exists and must not be replaced.
        UnwritableError: it cannot be written.
    """
    known = path.suffix.lower() in extensions
    require(known, f"{option} {path} must end in {' or '.join(extensions)}")
    require(not path.is_dir(), f"{option} {path} is a folder: use a file name")
    check_new(path, overwrite)
    check_file(path)


def is_file_name(path: Path, extensions: Sequence[str] = DRAWINGS) -> bool:
    """Whether the path of `--draw` is a file name; otherwise it is a folder."""
    return path.suffix.lower() in extensions and not path.is_dir()


def check_drawing(path: Path | None, stem: str, overwrite: bool) -> Path | None:
    """Check the path of `--draw` for a single picture, if it is given; returns the picture file to write.

    Arguments:
        path: a picture file, or a folder.
        stem: the name of the picture in a folder, without its extension.
        overwrite: whether an existing picture may be replaced.

    Raises:
        ArgumentError, UnwritableError: as in `check_named`.
    """
    if path is None:
        return None
    # Without a known extension, the path is a folder, which is created.
    target = path if is_file_name(path) else path / f"{stem}.png"
    _check_draw_folder(path if target != path else None, _DRAW_NAMES)
    check_named("--draw", target, DRAWINGS, overwrite)
    return target


def _check_draw_folder(folder: Path | None, advice: str) -> None:
    """Raise `ArgumentError` if a path is a file, or is named like one."""
    if folder is not None and not folder.is_dir():
        named = folder.suffix.lower() in _NOT_DRAWN
        require(not folder.exists() and not named, f"--draw {folder} is not a folder: {advice}")


@dataclass(frozen=True)
class OutputFiles:
    """The files that `wherein detect` writes besides its lines of JSON.

    Attributes:
        draw: a folder for the drawing of each scene, or the file for a single drawing.
        report: the HTML file about all scenes.
        maps: whether the report has occurrence maps.
        overwrite: whether existing files are replaced.
        export: a file or folder for another program.
        format_name: the format of the export; None: by the file extension.
        resumed: whether a run is resumed: then files of single scenes are replaced.
    """

    draw: Path | None = None
    report: Path | None = None
    maps: bool = False
    overwrite: bool = False
    export: Path | None = None
    format_name: str | None = None
    resumed: bool = False

    def check(self) -> None:
        """Check all files before any work.

        Raises:
            ArgumentError: an option needs another one, a name is wrong, or a file must not be replaced.
            UnwritableError: a file cannot be written.
        """
        require(self.report is not None or not self.maps, "--maps needs a report: add --report FILE.html")
        require(
            self.export is not None or self.format_name is None, "--format needs an export: add --export PATH"
        )
        if self.report is not None:
            check_named("--report", self.report, PAGES, self.overwrite)
        if self.export is not None and self.format is not None and not self.format.file_per_scene:
            check_named("--export", self.export, (self.format.extension,), self.overwrite)
        _check_draw_folder(self._draw_folder, _DRAW_NAMES + _DRAW_VIDEOS)
        if self.draw is not None and is_file_name(self.draw, _DRAWN):
            check_named("--draw", self.draw, _DRAWN, self.overwrite)
        for option, folder in {"--draw": self._draw_folder, "--export": self._export_folder}.items():
            if folder is not None:
                require(
                    folder.is_dir() or not folder.exists(), f"{option} {folder} is a file: choose a folder"
                )
                check_folder(folder)
        if self._export_folder is not None:
            named = self._export_folder.suffix.lower() in {entry.extension for entry in FORMATS.values()}
            message = f"--export {self.export} is named like a file, but {self.format_name} writes a folder"
            require(self._export_folder.is_dir() or not named, f"{message}: use a name without extension")
        for path in self._more_files:
            check_new(path, self.overwrite)

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
            folders = ", ".join(entry.name for entry in FORMATS.values() if entry.file_per_scene)
            raise ArgumentError(
                f"--export {self.export}: unknown file extension. Use {files}, or a folder with "
                f"--format {folders}"
            )
        return BY_EXTENSION[extension]

    @property
    def _draw_folder(self) -> Path | None:
        """The folder of drawings, unless `--draw` names a file."""
        return None if self.draw is None or is_file_name(self.draw, _DRAWN) else self.draw

    @property
    def _export_folder(self) -> Path | None:
        """The folder of the export, if its format has one file per scene."""
        return self.export if self.format is not None and self.format.file_per_scene else None

    @property
    def _more_files(self) -> list[Path]:
        """The files of the export that do not belong to a scene."""
        folder = self._export_folder
        return [] if folder is None or self.format is None else [folder / n for n in self.format.more_files]

    def drawings(self, scenes: Sequence["SceneFile"], searched: Sequence["SceneFile"]) -> dict[Path, Path]:
        """The path of each scene's drawing, a picture or video, by the scene's path; empty without `--draw`.

        Arguments:
            scenes: all scenes. Files are named after them, so that names do not depend on the portion.
            searched: the scenes that are searched in this run.
        """
        if self.draw is None or self._draw_folder is not None:
            return self._named(scenes, searched, "--draw", self._draw_folder, ".png")
        pictures = [scene for scene in scenes if scene.error is None]
        count = len(pictures)
        require(count == 1, f"--draw {self.draw} is one file, but there are {count} scenes: use a folder")
        kinds = VIDEO_DRAWINGS if pictures[0].is_video else DRAWINGS
        known = self.draw.suffix.lower() in kinds
        require(known, f"--draw {self.draw} must end in {' or '.join(kinds)}")
        # Even with --overwrite: drawing over the scene would destroy it.
        same = self.draw.resolve() == pictures[0].path.resolve()
        require(not same, f"--draw {self.draw} would replace the scene: choose another name")
        return {pictures[0].path: self.draw}

    def files(self, scenes: Sequence["SceneFile"], searched: Sequence["SceneFile"]) -> dict[Path, Path]:
        """The file of each scene in the export, by the scene's path, if the format has one file per scene.

        Arguments as in `drawings`.
        """
        if self.format is None:
            return {}
        pictures = [scene for scene in scenes if not scene.is_video]
        return self._named(pictures, searched, "--export", self._export_folder, self.format.extension)

    def _named(
        self,
        scenes: Sequence["SceneFile"],
        searched: Sequence["SceneFile"],
        option: str,
        folder: Path | None,
        suffix: str,
    ) -> dict[Path, Path]:
        """A file in `folder` for each scene, named after it, with a number if two scenes have the same name.

        Files of scenes that are searched in other runs (portions) may exist already.

        Raises:
            ArgumentError: a file exists and must not be replaced, or is itself a scene.
        """
        if folder is None:
            return {}
        # Names are chosen for all scenes, so that each portion of a run chooses the same names.
        given, written = {scene.path.resolve() for scene in scenes}, {scene.path for scene in searched}
        taken: dict[str, int] = {}
        targets: dict[Path, Path] = {}
        for scene in scenes:
            stem = scene.path.stem.replace(":", "-")  # of "camera:0": Windows does not allow colons
            target = folder / f"{_free(stem, taken)}{VIDEO_DRAWINGS[0] if scene.is_video else suffix}"
            message = f"{option} {folder} would replace the scene {target}: choose another folder"
            require(target.resolve() not in given, message)
            if scene.path in written:
                check_new(target, self.overwrite or self.resumed)
            targets[scene.path] = target
        return targets


def _free(stem: str, taken: dict[str, int]) -> str:
    """The stem, with the first free number if it is taken.

    Case is ignored, because A.png and a.png are the same file on Windows and macOS.

    Arguments:
        stem: of a file.
        taken: the last number of each stem; the result is added.
    """
    key = stem.casefold()
    # From the last number, and not from 1: in a data set, 100,000 folders may have a file of the same name.
    name, number = stem, taken.get(key, 0) + 1
    while number > 1 and (name := f"{stem}-{number}").casefold() in taken:
        number += 1
    taken[key] = number
    taken.setdefault(name.casefold(), 1)
    return name

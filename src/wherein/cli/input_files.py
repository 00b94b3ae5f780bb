"""Files that commands read: scenes by file, folder or glob pattern, pictures, templates.

This module imports nothing slow: a path that does not exist is reported before torch is loaded.
"""

import glob
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from wherein.cli.console import UnreadableError
from wherein.engine.manifest import SceneFile
from wherein.errors import ArgumentError, PictureError, TemplateError, require
from wherein.files import is_zarr_folder
from wherein.video.source import VIDEOS, is_video

if TYPE_CHECKING:
    from wherein.images.picture import Picture
    from wherein.template.bundle import Template
    from wherein.template.template_library import Library

PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")
"""Extensions of files that count as pictures in a folder. A file that the user names may have any
extension."""

_OPTIONAL = {".avif": "AVIF", ".heic": "HEIC", ".heif": "HEIC"}
"""Pictures that can only be read if Pillow supports them, or with an extra."""

_UNSUPPORTED = {
    **{".pdf": "PDF", ".svg": "SVG", ".psd": "PSD", ".jxl": "JPEG XL", ".jp2": "JPEG 2000"},
    **dict.fromkeys((".dng", ".cr2", ".cr3", ".nef", ".arw", ".raf", ".orf", ".rw2"), "RAW"),
}
"""Files that users may expect to be scenes: they get a message. Others, such as .txt, are ignored
silently."""

SUBFOLDER = "subfolder"
"""The kind of folders that are skipped without --recursive."""

BROKEN, UNNAMED = "broken link", "no extension"
"""The kinds of links whose file does not exist, and of pictures whose name does not say that they are."""

_REMEDIES = {
    BROKEN: "their files do not exist",
    UNNAMED: "add the extension to their names, or give them one by one",
    "HEIC": "pip install 'wherein[heic]' to read them",
    "AVIF": "this build of Pillow cannot read them: convert them to PNG or JPEG",
    SUBFOLDER: "use --recursive to search them",
}
_ADDRESS = re.compile(r"(https?|ftp|file|s3|gs):/", re.IGNORECASE)

_NAMED = 5
"""Maximum number of files that a message names. A choice: a line or two."""


@dataclass
class SceneList:
    """The scenes that a command searches.

    Attributes:
        scenes: each file once, even if its path was given in several spellings, in the order of the
        arguments;
            the files of a folder or pattern are sorted by name.
        skipped: the kind of each file and folder in the given folders that may show scenes, but is not read.
    """

    scenes: list[SceneFile] = field(default_factory=list)
    skipped: dict[Path, str] = field(default_factory=dict)

    @property
    def skipped_summary(self) -> str:
        """The number and the kinds of skipped files; empty if there are none."""
        kinds = ", ".join(dict.fromkeys(self.skipped.values()))
        return f"{len(self.skipped)} skipped: {kinds}" if self.skipped else ""

    @property
    def skipped_messages(self) -> Iterator[str]:
        """A line for each skipped kind, with the names of files and a remedy."""
        for kind, count in Counter(self.skipped.values()).items():
            paths = [str(path) for path, other in self.skipped.items() if other == kind]
            listed = ", ".join(paths[:_NAMED]) + (f" and {count - _NAMED} more" if count > _NAMED else "")
            remedy = _REMEDIES.get(kind, "this format is not supported: convert them to PNG or JPEG")
            yield f"skipped {listed} ({kind}): {remedy}"


def list_scenes(arguments: Sequence[str], recursive: bool = False) -> SceneList:
    """The scenes that are given by files, folders and glob patterns.

    Arguments:
        arguments: the arguments of the user.
        recursive: whether subfolders are searched too.
    """
    found, seen, place = SceneList(), set[Path](), cache(Path.resolve)
    for argument in arguments:
        for scene in _expand(argument, recursive, found.skipped):
            # Only the folder is resolved: different paths to one file are the same scene, but a link to a
            # file is a scene of its own, with its own name.
            file = place(scene.path.parent) / scene.path.name
            if scene.error is not None or file not in seen:
                seen.add(file)
                found.scenes.append(scene)
    return found


def _expand(argument: str, recursive: bool, skipped: dict[Path, str]) -> list[SceneFile]:
    path = Path(argument)
    _refuse_stream(argument)
    if is_zarr_folder(path):
        return [SceneFile(path)]
    if path.is_dir():
        found = _in_folder(path, recursive, skipped)
        pictures, videos = ", ".join((*PICTURES, ".avif")), ", ".join(VIDEOS)
        none = f"no pictures ({pictures}) or videos ({videos}) in this folder"
        return [SceneFile(one) for one in found] or [SceneFile(path, none)]
    # A camera is not a file. An existing file may have the characters of a pattern in its name.
    if path.exists() or (is_video(argument) and not glob.has_magic(argument)):
        return [SceneFile(path, None if path.exists() or ":" in argument else "file not found")]
    if not glob.has_magic(argument):
        return [SceneFile(path, "file not found")]
    # Path.glob does not support absolute patterns.
    names = glob.glob(argument, recursive=True)  # noqa: PTH207
    found = sorted(Path(name) for name in names if Path(name).is_file())
    return [SceneFile(one) for one in found] or [SceneFile(path, "no file matches this pattern")]


def _refuse_stream(argument: str | Path) -> None:
    """Raise `ArgumentError` for an address, which may have lost a slash as a path, and for standard input."""
    if Path(argument).exists():
        return
    address = _ADDRESS.match(str(argument)) is not None
    require(not address, f"{argument} is an address, and only files on this computer are read: download it")
    require(str(argument) != "-", "standard input is not read: write the picture to a file, and give that")


def _in_folder(folder: Path, recursive: bool, skipped: dict[Path, str]) -> list[Path]:
    """The scenes in a folder, sorted by name; what may be a scene, but is not read, is added to `skipped`."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):  # as in glob patterns: macOS writes ._photo.jpg beside photo.jpg
            continue
        kind = _kind(path)
        if is_zarr_folder(path):
            found.append(path)
        elif path.is_dir():
            if recursive:
                found += _in_folder(path, recursive, skipped)
            elif _has_scenes(path):
                skipped[path] = SUBFOLDER
        elif path.is_symlink() and not path.exists():
            if kind is not None:
                skipped[path] = BROKEN
        elif path.is_file():
            kind = UNNAMED if not path.suffix and _is_picture(path) else kind
            if kind is None:
                continue
            if kind:
                skipped[path] = kind
            else:
                found.append(path)
    return found


def _kind(path: Path) -> str | None:
    """The kind of a picture that cannot be read; empty for a scene, None for any other file."""
    extension = path.suffix.lower()
    if extension in PICTURES + VIDEOS:
        return ""
    optional = _OPTIONAL.get(extension)
    if optional is not None:
        return "" if _is_readable(optional) else optional
    return _UNSUPPORTED.get(extension)


def _is_picture(path: Path) -> bool:
    """Whether a file begins like a picture."""
    from wherein.images.decode import begins_like_picture

    try:
        with path.open("rb") as file:
            return begins_like_picture(file.read(32))
    except OSError:
        return False


def _is_readable(optional: str) -> bool:
    if optional == "HEIC":
        return find_spec("pi_heif") is not None
    from PIL import features

    return bool(features.check("avif"))


def _has_scenes(folder: Path) -> bool:
    """Whether a folder or its subfolders contain a picture or a video."""
    names = (name for _, _, files in os.walk(folder) for name in files if not name.startswith("."))
    return any(_kind(Path(name)) == "" for name in names)


def read_picture(path: Path, role: str) -> "Picture":
    """Read a picture, or raise `UnreadableError` with a message that begins with `role`."""
    from wherein.images.load import load_picture

    try:
        return load_picture(path, role=role)
    except PictureError as error:
        raise UnreadableError(role, path, error) from error


def check_template_path(path: str) -> None:
    """Raise `UnreadableError` if a path does not exist, before torch is loaded."""
    _refuse_stream(path)
    if not Path(path).exists():
        remedy = "use a folder with template.json, a .zip of one, or a picture"
        raise UnreadableError("template", Path(path), f"the template {path} does not exist: {remedy}")


def check_order(template: str, scenes: Sequence[str]) -> None:
    """Raise `ArgumentError` if the template and a scene are swapped.

    Otherwise the pictures in a folder of scenes would be calibrated as if they were templates.
    """
    given = Path(template)
    if any(_is_template_folder(one) or _is_archive(one) for one in (given, *given.glob("*"))):
        return
    # Among several scenes, a .zip may be any archive. A single one is probably meant to be the template.
    swapped = _is_archive if len(scenes) == 1 else _is_template_folder
    for scene in scenes:
        if _is_template_folder(Path(scene)) or swapped(Path(scene)):
            raise ArgumentError(
                f"{scene} is a template, and {template} is not: the template comes first, "
                f"as in wherein detect {scene} {template}"
            )


def _is_template_folder(path: Path) -> bool:
    return (path / "template.json").is_file()


def _is_archive(path: Path) -> bool:
    """Whether a path is a .zip, and not that of an OME-Zarr picture."""
    return path.suffix == ".zip" and ".zarr" not in path.name and path.is_file()


def check_exists(role: str, path: Path) -> None:
    """Raise `UnreadableError` if there is no file or folder at a path, before torch is loaded."""
    _refuse_stream(path)
    if not path.exists():
        raise UnreadableError(role, path, f"{role}: {path}: file not found")


def check_backgrounds(folder: Path) -> None:
    """Raise `UnreadableError` if there is no picture in a folder of backgrounds, before torch is loaded."""
    check_exists("background", folder)
    missing = [scene.error for scene in list_scenes([str(folder)]).scenes if scene.error is not None]
    if missing:
        reason = f"no picture in {folder} can be used as a background: {missing[0]}"
        raise UnreadableError("background", folder, reason)


def load_template(path: str, role: str = "template") -> "Template":
    """Load a template, or raise `UnreadableError`, which a folder of several templates does too."""
    check_template_path(path)
    from wherein.template.template_library import Library

    try:
        return Library.of(path).only
    except (ArgumentError, TemplateError) as error:
        raise UnreadableError(role, Path(path), error) from error


def load_library(path: str) -> "Library":
    """Load a template, or a folder of templates, or raise `UnreadableError`."""
    check_template_path(path)
    from wherein.template.template_library import Library

    try:
        return Library.of(path)
    except (ArgumentError, TemplateError) as error:
        raise UnreadableError("template", Path(path), error) from error

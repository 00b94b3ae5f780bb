"""Files that commands read: scenes by file, folder or glob pattern, pictures, templates."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wherein.cli.console import UnreadableError
from wherein.errors import ArgumentError, PictureError, TemplateError
from wherein.images.decode import PICTURES
from wherein.images.load import Picture, load_picture
from wherein.template.bundle import Template
from wherein.template.template_library import Library
from wherein.video.source import VIDEOS, is_video


@dataclass(frozen=True)
class SceneFile:
    """A scene that the user asked for.

    Attributes:
        path: the file, or the camera.
        error: why there is no scene here, such as an empty folder; None if there may be one.
    """

    path: Path
    error: str | None = None

    @property
    def is_video(self) -> bool:
        """Whether it is a video or a camera."""
        return is_video(str(self.path))


def list_scenes(arguments: Sequence[str]) -> Iterator[SceneFile]:
    """Yield the scenes that files, folders and glob patterns stand for.

    Each file comes once, in the order of the arguments; those of a folder or a pattern are sorted by name.
    """
    seen: set[Path] = set()
    for argument in arguments:
        for scene in _expand(argument):
            if scene.error is not None or scene.path not in seen:
                seen.add(scene.path)
                yield scene


def _expand(argument: str) -> Iterator[SceneFile]:
    path = Path(argument)
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.suffix.lower() in PICTURES + VIDEOS and p.is_file())
        none = f"no pictures ({', '.join(PICTURES)}) or videos ({', '.join(VIDEOS)}) in this folder"
    elif path.exists() or not glob.has_magic(argument):
        found, none = [path], ""  # reading it will tell whether it exists
    else:
        # Not Path.glob, which does not take absolute patterns.
        names = glob.glob(argument, recursive=True)  # noqa: PTH207
        found, none = (
            sorted(Path(name) for name in names if Path(name).is_file()),
            "no file matches this pattern",
        )
    yield from map(SceneFile, found) if found else [SceneFile(path, none)]


def read_picture(path: Path, role: str) -> Picture:
    """Read a picture, or raise `UnreadableError`; the message begins with `role`."""
    try:
        return load_picture(path, role=role)
    except PictureError as error:
        raise UnreadableError(role, path, error) from error


def load_template(path: str) -> Template:
    """Load a template, or raise `UnreadableError`."""
    try:
        return Template.load(path)
    except TemplateError as error:
        raise UnreadableError("template", Path(path), error) from error


def load_library(path: str) -> Library:
    """Load a template, or a folder of templates, or raise `UnreadableError`."""
    try:
        return Library.of(path)
    except (ArgumentError, TemplateError) as error:
        raise UnreadableError("template", Path(path), error) from error

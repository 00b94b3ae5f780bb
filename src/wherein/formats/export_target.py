"""The target of an export: one file for all scenes, or one file for each scene."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from wherein.files import atomic_file

if TYPE_CHECKING:
    from wherein.detect.result import Detections

AddScene: TypeAlias = Callable[[Path, "Detections"], None]
"""A function that adds a scene to an export: its arguments are the path of the scene and its detections."""


@dataclass(frozen=True)
class ExportTarget:
    """The files of an export.

    Attributes:
        path: the file; or the folder, for a format with a file for each scene.
        scene_files: for such a format, the file of each scene by the scene's path. The caller chooses them,
            and has checked that no file is overwritten by accident.
    """

    path: Path
    scene_files: Mapping[Path, Path] = field(default_factory=dict)


@contextmanager
def text_file(path: Path) -> Iterator[IO[str]]:
    """A text file to write to. It appears at `path`, complete, at the end of the block; not after an error.

    File names may contain bytes that are not valid Unicode. They are written as JSON escapes.
    """
    with (
        atomic_file(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


def json_text(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

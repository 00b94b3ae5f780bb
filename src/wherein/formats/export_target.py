"""Where an export is written to: one file for all scenes, or one for each."""

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
"""Takes the path of a scene and what was found in it."""


@dataclass(frozen=True)
class ExportTarget:
    """The files of an export.

    Attributes:
        path: the file; or the folder, for a format with a file for each scene.
        scene_files: for such a format, the file of each scene by the scene's path. Whoever starts the export
            names them, and has checked beforehand that nothing is overwritten by accident.
    """

    path: Path
    scene_files: Mapping[Path, Path] = field(default_factory=dict)


@contextmanager
def text_file(path: Path) -> Iterator[IO[str]]:
    """A text file to write to. It appears at `path`, complete, when the block ends, or not at all.

    A scene's name that is not valid Unicode (its bytes are what the file system says) is written with the
    escapes that JSON has.
    """
    with (
        atomic_file(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        yield file


def json_text(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)

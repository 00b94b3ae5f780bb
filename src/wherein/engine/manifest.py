"""The scenes of a run in the order of their results, and the shards in which they are given to workers.

This module imports nothing slow: the command line lists scenes before torch is loaded.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from wherein.errors import ArgumentError
from wherein.video.source import has_frames, is_video

_MAX_SHARD, _FINE_SHARDS = 16, 1024
"""Maximum number of scenes in a shard, and maximum number of shards of one scene. Choices: single scenes
balance the load best, so shards have one scene up to 1,024 scenes; with 16 scenes in each, a million scenes
make 62,500 files, which every file system can hold."""

RUN_FILE = "run.json"
"""The file in the folder of a run that records what its results depend on."""

_PORTION = re.compile(r"(\d{1,9})/(\d{1,9})")


@dataclass(frozen=True)
class SceneFile:
    """A scene that the user named.

    Attributes:
        path: the file, or the camera.
        error: why it is not a scene, for example an empty folder; None if it may be one.
    """

    path: Path
    error: str | None = None

    @cached_property
    def is_video(self) -> bool:
        """Whether the scene has many frames: a video, a camera, an animated picture, or a TIFF of
        several pages."""
        return is_video(str(self.path)) or (self.error is None and has_frames(self.path))


@dataclass(frozen=True)
class Entry:
    """A scene of a run.

    Attributes:
        number: its position in the run, from 0.
        scene: its file.
        drawing: the path of the annotated picture or video; None: none.
        key: identifies its results in a resumed run; it changes if the file changes.
    """

    number: int
    scene: SceneFile
    drawing: Path | None = None
    key: str = ""


@dataclass(frozen=True)
class Shard:
    """Scenes that a worker gets as one task, and whose results are written to one file."""

    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """The name of its file. It depends on the keys of its scenes only, and not on who searches them."""
        return _digest([entry.key for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)

    def split(self) -> list["Shard"]:
        """One shard for each scene."""
        return [Shard((entry,)) for entry in self.entries]


@dataclass(frozen=True)
class Portion:
    """One of several equal portions of the scenes, for schedulers that start one command per portion.

    Attributes:
        number: the number of the portion, from 1.
        count: the number of portions.
    """

    number: int = 1
    count: int = 1

    @staticmethod
    def of(text: str) -> "Portion":
        """The portion from a text such as "2/3".

        Raises:
            ArgumentError: it is not I/N with 1 ≤ I ≤ N.

        Example:
            >>> Portion.of("2/3").of_scenes(10)
            slice(3, 6, None)
        """
        # At most nine digits: converting a very long number would take time, or fail.
        match = _PORTION.fullmatch(text)
        number, count = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= count:
            raise ArgumentError(f"{text} is not allowed: use I/N with 1 ≤ I ≤ N, as in 1/8 to 8/8.")
        return Portion(number, count)

    def of_scenes(self, total: int) -> slice:
        """The slice of scenes in the portion.

        Slices are contiguous, so that the concatenated results of all portions are those of the whole run.
        """
        return slice(total * (self.number - 1) // self.count, total * self.number // self.count)


ALL = Portion()
"""All scenes."""


def manifest(
    scenes: Sequence[SceneFile], drawings: Mapping[Path, Path], numbered: bool = False
) -> list[Entry]:
    """The entries of the scenes of a run.

    Arguments:
        scenes: the scenes, in the order of their results.
        drawings: the path of the drawing by the path of the scene.
        numbered: whether the results of a scene depend on its number, and on the number of scenes.
    """
    return [
        Entry(number, scene, drawings.get(scene.path), _key(scene, number, len(scenes) if numbered else None))
        for number, scene in enumerate(scenes)
    ]


def shards(entries: Sequence[Entry], total: int) -> Iterator[Shard]:
    """The entries in shards, in the same order.

    Arguments:
        entries: the scenes that are not finished.
        total: number of scenes of the whole run, from which the size of shards is computed.
    """
    # From the total and not from what is left: a resumed run makes shards of the same size.
    size = min(_MAX_SHARD, max(1, -(-total // _FINE_SHARDS)))
    for first in range(0, len(entries), size):
        yield Shard(tuple(entries[first : first + size]))


def has_begun(folder: Path) -> bool:
    """Whether a folder contains a run."""
    return (folder / RUN_FILE).is_file()


def _key(scene: SceneFile, number: int, total: int | None) -> str:
    """The key of a scene: a hash of its path, its size and its time, and of its number if results need it."""
    # A path with an error may be listed twice. Its number makes the keys differ even so.
    place = None if total is None and scene.error is None else number
    try:
        # Size and time and not the content: reading a million scenes for their keys would take hours.
        known = scene.path.stat()
        state = [known.st_size, known.st_mtime_ns]
    except OSError:
        state = []
    return _digest([str(scene.path), scene.error, state, place, total])


def _digest(value: object) -> str:
    """A hash of 32 digits. Unlike `hash()`, it is the same in every process."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]

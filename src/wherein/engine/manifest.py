"""The scenes of a run in the order of their results, and the shards in which workers get them.

Nothing slow is imported here: the command line lists scenes before torch is loaded.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from wherein.errors import ArgumentError
from wherein.video.source import is_animated, is_video

_MAX_SHARD, _FINE_SHARDS = 16, 1024
"""Scenes of a shard at most, and shards of a run before they have several scenes. A choice: as long as there
are few files, a worker gets one scene at a time, which shares out best; with 16 scenes in each, a million
scenes are 62,500 files, which every file system can hold."""

RUN_FILE = "run.json"
"""In the folder of a run: what its results depend on."""

_PORTION = re.compile(r"(\d{1,9})/(\d{1,9})")


@dataclass(frozen=True)
class SceneFile:
    """A scene that the user asked for.

    Attributes:
        path: the file, or the camera.
        error: why there is no scene here, such as an empty folder; None if there may be one.
    """

    path: Path
    error: str | None = None

    @cached_property
    def is_video(self) -> bool:
        """Whether it has many frames: a video, a camera or an animated GIF."""
        return is_video(str(self.path)) or (self.error is None and is_animated(self.path))


@dataclass(frozen=True)
class Entry:
    """A scene of a run.

    Attributes:
        number: its place in the run, from 0.
        scene: its file.
        drawing: the picture or video to draw of it; None: none.
        key: by which its results are known again; another if its file has changed.
    """

    number: int
    scene: SceneFile
    drawing: Path | None = None
    key: str = ""


@dataclass(frozen=True)
class Shard:
    """Scenes that a worker gets at once, and whose results are one file."""

    entries: tuple[Entry, ...]

    @property
    def name(self) -> str:
        """The name of its file, which depends on the keys of its scenes alone."""
        return _digest([entry.key for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)

    def split(self) -> list["Shard"]:
        """A shard for each of its scenes."""
        return [Shard((entry,)) for entry in self.entries]


@dataclass(frozen=True)
class Portion:
    """One of several equal parts of the scenes, for schedulers that start one command for each.

    Attributes:
        number: which of them, from 1.
        count: how many there are.
    """

    number: int = 1
    count: int = 1

    @staticmethod
    def of(text: str) -> "Portion":
        """A portion as people give it.

        Raises:
            ArgumentError: it is not I/N with 1 ≤ I ≤ N.

        Example:
            >>> Portion.of("2/3").of_scenes(10)
            slice(3, 6, None)
        """
        match = _PORTION.fullmatch(text)
        number, count = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= count:
            raise ArgumentError(f"{text} is not allowed: use I/N with 1 ≤ I ≤ N, as in 1/8 to 8/8.")
        return Portion(number, count)

    def of_scenes(self, total: int) -> slice:
        """Which scenes it has. They follow each other, so that the results of all portions do, too."""
        return slice(total * (self.number - 1) // self.count, total * self.number // self.count)


ALL = Portion()
"""All scenes."""


def manifest(
    scenes: Sequence[SceneFile], drawings: Mapping[Path, Path], numbered: bool = False
) -> list[Entry]:
    """The entries of scenes.

    Arguments:
        scenes: in the order of their results.
        drawings: the drawing of each scene by its path, where there is one.
        numbered: whether the results of a scene depend on its number, and on how many there are.
    """
    return [
        Entry(number, scene, drawings.get(scene.path), _key(scene, number, len(scenes) if numbered else None))
        for number, scene in enumerate(scenes)
    ]


def shards(entries: Sequence[Entry], total: int) -> Iterator[Shard]:
    """The entries in shards, in their order.

    Arguments:
        entries: what is left to do.
        total: scenes of the whole run, by which the size of the shards is chosen.
    """
    size = min(_MAX_SHARD, max(1, -(-total // _FINE_SHARDS)))
    for first in range(0, len(entries), size):
        yield Shard(tuple(entries[first : first + size]))


def has_begun(folder: Path) -> bool:
    """Whether a run is kept in a folder."""
    return (folder / RUN_FILE).is_file()


def _key(scene: SceneFile, number: int, total: int | None) -> str:
    # What is no scene may be listed twice; keys must differ even so.
    place = None if total is None and scene.error is None else number
    try:
        known = scene.path.stat()
        state = [known.st_size, known.st_mtime_ns]
    except OSError:
        state = []
    return _digest([str(scene.path), scene.error, state, place, total])


def _digest(value: object) -> str:
    """32 digits that are the same for the same value, in every process."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]

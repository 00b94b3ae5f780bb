"""The folder of a run: the results of finished scenes, so that an interrupted run can be resumed.

    run.json          what the results depend on
    shards/*.jsonl    the results of finished scenes

Files in `shards` are written atomically. The first line contains the keys of the scenes. Each further line is
`[number of the scene in the file, event]`. The last line marks the file as complete, and has the numbers of
the scenes that could not be read. Several runs may share the folder at the same time: if two of them search
the same scene, the results are identical.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wherein.engine.manifest import RUN_FILE, Entry, Shard
from wherein.engine.scene_events import Failed, OutsideRegion, SceneEvent, Unreadable, event_of, event_record
from wherein.errors import ArgumentError, require
from wherein.files import atomic_file, write_errors
from wherein.template.template_library import Library

FORMAT = "wherein-run/3"
_SHARDS = "shards"
_END = 256
"""Maximum size in bytes of the last line of a complete file, with at most 16 numbers. After a power failure,
a file may be truncated or contain zeros."""


@dataclass
class RunFolder:
    """The results of a run.

    Attributes:
        path: the folder.
        library: the templates that are searched for.
        kept: whether results are kept after they were read.
        finished: the file with the results of each scene, by the key of the scene.
        failed: why no worker could search a scene, by its key. Not stored: a resumed run tries it again.
    """

    path: Path
    library: Library
    kept: bool = True
    finished: dict[str, Path] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def open(path: Path, library: Library, about: dict[str, Any], overwrite: bool = False) -> "RunFolder":
        """The folder of a run with its finished scenes; created if it does not exist.

        Arguments:
            path: the folder.
            library: the templates that are searched for.
            about: everything that the results of a scene depend on.
            overwrite: whether to delete the results of another run in the folder, and start again.

        Raises:
            ArgumentError: the folder belongs to another run, or contains other files.
            UnwritableError: it cannot be written.
        """
        # Through JSON and back, so that it compares equal to the stored values: tuples become lists.
        about = json.loads(json.dumps({"format": FORMAT, **about}))
        check_same_run(path, about, overwrite, partly=False)
        known = _read_about(path)
        differing = known is None or known != about
        folder = RunFolder(path, library)
        with write_errors(path):
            (path / _SHARDS).mkdir(parents=True, exist_ok=True)
            # Old results are deleted before run.json is replaced: if this is interrupted, the folder still
            # belongs to the old run, and its missing results would be searched again.
            if differing and known is not None:
                for file in (path / _SHARDS).glob("*.jsonl"):
                    file.unlink()
            if differing:
                with atomic_file(path / RUN_FILE) as target:
                    target.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        folder._find_finished()
        return folder

    @staticmethod
    @contextmanager
    def temporary(library: Library) -> Iterator["RunFolder"]:
        """A run in a temporary folder, which is deleted at the end of the block."""
        with TemporaryDirectory(prefix="wherein-") as name:
            path = Path(name)
            (path / _SHARDS).mkdir()
            yield RunFolder(path, library, kept=False)

    def _find_finished(self) -> None:
        # Names that begin with a dot are temporary files of a process that is writing, or was killed.
        for file in (self.path / _SHARDS).glob("[!.]*.jsonl"):
            keys, unread = _contents(file)
            # What could not be read may be readable now, with the same size and time: a disk was not mounted,
            # a package was not installed.
            read = (key for number, key in enumerate(keys) if number not in unread)
            self.finished.update(dict.fromkeys(read, file))

    def has(self, entry: Entry) -> bool:
        """Whether a scene is finished."""
        return entry.key in self.finished or entry.key in self.failed

    def forget_undrawn(self, entries: Iterable[Entry]) -> None:
        """Forget finished scenes whose drawing does not exist, so that they are searched again.

        Scenes outside of the region, which have no drawing, stay finished.
        """
        for entry in entries:
            lacking = entry.drawing is not None and not entry.drawing.exists()
            if lacking and entry.key in self.finished:
                *_, end = self.read(entry)
                if not isinstance(end, OutsideRegion):
                    del self.finished[entry.key]

    def add(self, shard: Shard) -> None:
        """Record that `write_shard` has written the results of a shard."""
        file = shard_file(self.path, shard)
        self.finished.update((entry.key, file) for entry in shard.entries)

    def read(self, entry: Entry) -> Iterator[SceneEvent]:
        """The results of a finished scene."""
        if entry.key in self.failed:
            yield Failed(self.failed[entry.key])
            return
        file = self.finished[entry.key]
        keys, _ = _contents(file)
        prefix = f"[{keys.index(entry.key)}, ["
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if line.startswith(prefix):  # the first line is no list, and the last one has numbers only
                    yield self._event(line, file)
        if not self.kept and keys[-1] == entry.key:  # scenes are read in order: this was the last of the file
            file.unlink()

    def _event(self, line: str, file: Path) -> SceneEvent:
        try:
            return event_of(json.loads(line)[1], self.library)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            # Only its ends were checked before, and scenes that were printed already cannot be taken back.
            words = f"{file} is damaged: delete it, and run the same command again to search its scenes"
            raise ArgumentError(words) from error


def write_shard(folder: Path, shard: Shard, work: Callable[[Entry], Iterable[SceneEvent]]) -> None:
    """Search the scenes of a shard by `work`, and write their results to the folder of a run.

    Raises:
        UnwritableError: the file cannot be written.
    """
    path = shard_file(folder, shard)
    unread = []
    with write_errors(path), atomic_file(path) as target, target.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"scenes": [entry.key for entry in shard.entries]}) + "\n")
        for number, entry in enumerate(shard.entries):
            for event in work(entry):
                file.write(f"[{number}, {json.dumps(event_record(event), allow_nan=False)}]\n")
                if isinstance(event, Unreadable):
                    unread.append(number)
        file.write(json.dumps(unread) + "\n")


def shard_file(folder: Path, shard: Shard) -> Path:
    """The file of a shard."""
    return folder / _SHARDS / f"{shard.name}.jsonl"


def _contents(file: Path) -> tuple[list[str], list[int]]:
    """The keys of the scenes in a file, none if it is incomplete; and the numbers of the unreadable ones."""
    with suppress(OSError, ValueError, KeyError, TypeError), file.open("rb") as lines:
        keys = json.loads(lines.readline())["scenes"]
        # Only the first and the last line are read: a shard with a report may be large.
        lines.seek(max(0, lines.seek(0, 2) - _END))
        *_, last, after = lines.read().split(b"\n")
        unread = json.loads(last)
        if not after and all(isinstance(number, int) for number in unread):
            return [str(key) for key in keys], unread
    return [], []


def check_same_run(path: Path, about: Mapping[str, Any], overwrite: bool, partly: bool = True) -> None:
    """Raise `ArgumentError` if a folder has other files, or belongs to another run that must be kept.

    Arguments:
        path: the folder, which need not exist.
        about: what results depend on.
        overwrite: whether an earlier run may be replaced.
        partly: whether `about` is only a part of it, so that the rest of the earlier run is not compared.
    """
    known = _read_about(path)
    require(
        known is not None or not _has_others(path),
        f"--resume {path} has other files: choose a new folder, or one of an earlier run",
    )
    # Through JSON and back, so that it compares equal to the stored values: tuples become lists.
    now, before = json.loads(json.dumps(about)), {} if known is None else known
    keys = () if known is None else now.keys() if partly else now.keys() | before.keys()
    differing = sorted(key for key in keys if now.get(key) != before.get(key))
    require(
        overwrite or not differing,
        f"--resume {path} belongs to another run (different {', '.join(differing)}): choose another "
        "folder, or use --overwrite to start again",
    )


def _read_about(path: Path) -> dict[str, Any] | None:
    try:
        known = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) and known.get("format") == FORMAT else None


def _has_others(path: Path) -> bool:
    """Whether a folder that is no run contains files.

    Names that begin with a dot are ignored, and empty folders for shards: another process may be starting the
    same run. Files in a folder of that name belong to another program, or to a run that is damaged.
    """
    if not path.is_dir():
        return False
    names = {one.name for folder in (path, path / _SHARDS) if folder.is_dir() for one in folder.iterdir()}
    return any(name not in (_SHARDS, RUN_FILE) and name[0] != "." for name in names)

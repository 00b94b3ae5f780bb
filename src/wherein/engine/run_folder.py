"""The folder of a run: what has been searched so far, so that a run that was stopped can be continued.

    run.json          what the results depend on
    shards/*.jsonl    the results of finished scenes

A file of `shards` is there as a whole or not at all. Its first line has the keys of its scenes; each other
line is `[number of the scene in the file, event]`; its last line says that it is complete. Runs at the same
time may share the folder: a scene that two of them search has the same results.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wherein.engine.manifest import RUN_FILE, Entry, Shard
from wherein.engine.scene_events import Failed, OutsideRegion, SceneEvent, Unreadable, event_of, event_record
from wherein.errors import require
from wherein.files import atomic_file, write_errors
from wherein.template.template_library import Library

FORMAT = "wherein-run/1"
_SHARDS = "shards"
_END = b"[]\n"
"""The last line. After a power cut a file may be there with only a part of its content, or with zeros."""


@dataclass
class RunFolder:
    """The results of a run.

    Attributes:
        path: the folder.
        library: the templates that are searched for.
        kept: whether results stay after they were read.
        finished: the file with the results of each scene, by its key.
        failed: why no worker could search a scene, by its key. Not on disk: a resumed run tries it again.
    """

    path: Path
    library: Library
    kept: bool = True
    finished: dict[str, Path] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def open(path: Path, library: Library, about: dict[str, Any], overwrite: bool = False) -> "RunFolder":
        """The folder of a run, with what is finished; created where there is none.

        Arguments:
            path: the folder.
            library: the templates that are searched for.
            about: everything that the results of a scene depend on.
            overwrite: start again where the folder belongs to another run.

        Raises:
            ArgumentError: the folder belongs to another run, or has other files.
            UnwritableError: it cannot be written.
        """
        about = json.loads(json.dumps({"format": FORMAT, **about}))
        known = _read_about(path)
        require(
            known is not None or not _has_others(path),
            f"--resume {path} has other files: choose a new folder, or one of an earlier run",
        )
        differing = sorted(key for key in about.keys() | (known or {}).keys() if _differ(key, about, known))
        require(
            known is None or not differing or overwrite,
            f"--resume {path} belongs to another run (different {', '.join(differing)}): choose another "
            "folder, or use --overwrite to start again",
        )
        folder = RunFolder(path, library)
        with write_errors(path):
            (path / _SHARDS).mkdir(parents=True, exist_ok=True)
            if differing and known is not None:
                for file in (path / _SHARDS).iterdir():
                    file.unlink()
            if differing:
                with atomic_file(path / RUN_FILE) as target:
                    target.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        folder._find_finished()
        return folder

    @staticmethod
    @contextmanager
    def temporary(library: Library) -> Iterator["RunFolder"]:
        """A folder that is deleted when the block ends."""
        with TemporaryDirectory(prefix="wherein-") as name:
            path = Path(name)
            (path / _SHARDS).mkdir()
            yield RunFolder(path, library, kept=False)

    def _find_finished(self) -> None:
        for file in (self.path / _SHARDS).glob("[!.]*.jsonl"):
            self.finished.update(dict.fromkeys(_keys(file), file))

    def has(self, entry: Entry) -> bool:
        """Whether a scene is finished."""
        return entry.key in self.finished or entry.key in self.failed

    def forget_undrawn(self, entries: Iterable[Entry]) -> None:
        """Forget finished scenes whose drawing is not there, so that they are searched again."""
        for entry in entries:
            lacking = entry.drawing is not None and not entry.drawing.exists()
            if lacking and entry.key in self.finished:
                *_, end = self.read(entry)
                if not isinstance(end, Unreadable | OutsideRegion):
                    del self.finished[entry.key]

    def add(self, shard: Shard) -> None:
        """Note that `write_shard` has written the results of a shard."""
        file = shard_file(self.path, shard)
        self.finished.update((entry.key, file) for entry in shard.entries)

    def read(self, entry: Entry) -> Iterator[SceneEvent]:
        """The results of a finished scene."""
        if entry.key in self.failed:
            yield Failed(self.failed[entry.key])
            return
        file = self.finished[entry.key]
        keys = _keys(file)
        prefix = f"[{keys.index(entry.key)}, "
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                if line.startswith(prefix):  # the first line is no list, and the last has no number
                    yield event_of(json.loads(line)[1], self.library)
        if not self.kept and keys[-1] == entry.key:
            file.unlink()


def write_shard(folder: Path, shard: Shard, work: Callable[[Entry], Iterable[SceneEvent]]) -> None:
    """Do the work on the scenes of a shard and write their results into the folder of a run.

    Raises:
        UnwritableError: the file cannot be written.
    """
    path = shard_file(folder, shard)
    with write_errors(path), atomic_file(path) as target, target.open("w", encoding="utf-8") as file:
        file.write(json.dumps({"scenes": [entry.key for entry in shard.entries]}) + "\n")
        for number, entry in enumerate(shard.entries):
            for event in work(entry):
                file.write(f"[{number}, {json.dumps(event_record(event), allow_nan=False)}]\n")
        file.write(_END.decode())


def shard_file(folder: Path, shard: Shard) -> Path:
    """The file of a shard."""
    return folder / _SHARDS / f"{shard.name}.jsonl"


def _keys(file: Path) -> list[str]:
    """The keys of the scenes in a file; none if it is not complete."""
    with suppress(OSError, ValueError, KeyError, TypeError), file.open("rb") as lines:
        keys = json.loads(lines.readline())["scenes"]
        lines.seek(-len(_END), 2)
        if lines.read() == _END:
            return [str(key) for key in keys]
    return []


def _read_about(path: Path) -> dict[str, Any] | None:
    try:
        known = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) and known.get("format") == FORMAT else None


def _has_others(path: Path) -> bool:
    """Whether a folder has files that are not of a run; another process may just begin one there."""
    ours = (_SHARDS, RUN_FILE)
    return path.is_dir() and any(p.name not in ours and p.name[0] != "." for p in path.iterdir())


def _differ(key: str, about: dict[str, Any], known: dict[str, Any] | None) -> bool:
    return known is None or about.get(key) != known.get(key)

"""The journal of a run: each finished task is a line of a file, so that a stopped run can be resumed."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wherein.errors import require
from wherein.files import atomic_file


@dataclass(frozen=True)
class Entry:
    """The result of a finished task, and the seconds that it took."""

    result: Any
    seconds: float


@dataclass
class Journal:
    """The finished tasks of one run.

    Attributes:
        path: the file. Its first line describes the run, each other line is a task.
        entries: the results by the names of the tasks.
    """

    path: Path
    entries: dict[str, Entry] = field(default_factory=dict)

    @staticmethod
    def open(path: Path, run: dict[str, Any], overwrite: bool) -> "Journal":
        """Open the journal of a run with its finished tasks, or create it.

        Arguments:
            path: the file.
            run: everything that results depend on: settings, seed, data, versions.
            overwrite: start again if the file belongs to another run.

        Raises:
            ArgumentError: the file belongs to another run.
        """
        lines = _complete_lines(path)
        header = lines[0] if lines else None
        if header != run:
            differences = ", ".join(sorted(_differing_keys(header, run)))
            require(
                header is None or overwrite,
                f"{path} belongs to another run (different {differences}): choose another --out, or use "
                "--overwrite to start again",
            )
            lines = [run]
        journal = Journal(path, {line["task"]: Entry(line["result"], line["seconds"]) for line in lines[1:]})
        # Written again without a last line that a crash has cut off: the next line would be appended to it.
        with atomic_file(path) as target:
            target.write_text("".join(map(_line, lines)), encoding="utf-8")
        return journal

    def add(self, task: str, result: Any, seconds: float) -> None:
        """Append a finished task to the file immediately.

        The entry is the result after a round trip through JSON, so it is the same whether the task was run
        now or read from the file.
        """
        line = _line({"task": task, "seconds": round(seconds, 4), "result": result})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)
        entry = json.loads(line)
        self.entries[task] = Entry(entry["result"], entry["seconds"])


def _line(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _complete_lines(path: Path) -> list[Any]:
    """The records of all lines that end with a newline; none if there is no file."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _differing_keys(header: Any, run: dict[str, Any]) -> set[str]:
    header = header if isinstance(header, dict) else {}
    return {key for key in header.keys() | run.keys() if header.get(key) != run.get(key)}

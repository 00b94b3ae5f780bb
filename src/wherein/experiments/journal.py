"""Results on the way: each finished piece is a line of a file, so that a run that was stopped goes on."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wherein.errors import require
from wherein.files import atomic_file


@dataclass(frozen=True)
class Entry:
    """A finished piece: its result, and how long it took."""

    result: Any
    seconds: float


@dataclass
class Journal:
    """The finished pieces of one run.

    Attributes:
        path: the file; its first line says what the run is, each other one is a piece.
        entries: by the names of the pieces.
    """

    path: Path
    entries: dict[str, Entry] = field(default_factory=dict)

    @staticmethod
    def open(path: Path, run: dict[str, Any], overwrite: bool) -> "Journal":
        """The journal of that run, with what it holds already.

        Arguments:
            path: of the file.
            run: what makes results exchangeable: settings, seed, data, versions.
            overwrite: begin anew where the file is of another run.

        Raises:
            ArgumentError: the file is of another run.
        """
        lines = _whole_lines(path)
        told = lines[0] if lines else None
        if told != run:
            differs = ", ".join(sorted(_different(told, run)))
            require(
                told is None or overwrite,
                f"{path} is of a run with other {differs}: give another --out, or --overwrite to begin anew",
            )
            lines = [run]
        journal = Journal(path, {line["piece"]: Entry(line["result"], line["seconds"]) for line in lines[1:]})
        # Anew and whole: a line that was cut off when the machine went down would spoil the next.
        with atomic_file(path) as target:
            target.write_text("".join(map(_line, lines)), encoding="utf-8")
        return journal

    def keep(self, piece: str, result: Any, seconds: float) -> None:
        """Write a finished piece down, at once.

        What is kept is what JSON makes of it, so that it is the same whether it was read or computed.
        """
        line = _line({"piece": piece, "seconds": round(seconds, 4), "result": result})
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)
        told = json.loads(line)
        self.entries[piece] = Entry(told["result"], told["seconds"])


def _line(record: Any) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def _whole_lines(path: Path) -> list[Any]:
    """The lines of the file that end, as records; none where there is no file."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _different(told: Any, run: dict[str, Any]) -> set[str]:
    told = told if isinstance(told, dict) else {}
    return {key for key in told.keys() | run.keys() if told.get(key) != run.get(key)}

"""What a command printed and how it exited, held to a file; `UPDATE_GOLDEN=1` writes the files anew."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from typer.testing import CliRunner, Result

from wherein.cli.main import app

FOLDER = Path(__file__).parent / "cli" / "golden"


def ran(name: str, arguments: Sequence[str]) -> Result:
    """Run a command here and hold what it says and its status to the golden file of that name."""
    result = CliRunner().invoke(app, arguments)
    held(name, f"$ wherein {' '.join(arguments)}\n{told(result)}")
    return result


def told(result: Result) -> str:
    """Status and both outputs; numbers with a point are left to other tests, for they differ by machine."""
    text = f"exit {result.exit_code}\n--- standard output\n{result.stdout}--- standard error\n{result.stderr}"
    return re.sub(r"-?\d+\.\d+(e-?\d+)?|-?\d+e-?\d+|(?<=\"steps\": )\d+", "#", text)


def held(name: str, text: str) -> None:
    """Compare with the golden file."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is missing: UPDATE_GOLDEN=1 writes it"
    assert text == path.read_text(encoding="utf-8")

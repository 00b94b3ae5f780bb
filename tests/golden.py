"""Compare the output and exit status of commands with golden files; `UPDATE_GOLDEN=1` rewrites the files."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from typer.testing import CliRunner, Result

from wherein.cli.main import app

FOLDER = Path(__file__).parent / "cli" / "golden"


def run_golden(name: str, arguments: Sequence[str]) -> Result:
    """Run a command in the current folder and compare it with the golden file of that name."""
    result = CliRunner().invoke(app, arguments)
    check_golden(name, f"$ wherein {' '.join(arguments)}\n{transcript(result)}")
    return result


def transcript(result: Result) -> str:
    """Return exit status and both outputs; decimals become #, because they differ between machines."""
    text = f"exit {result.exit_code}\n--- standard output\n{result.stdout}--- standard error\n{result.stderr}"
    return re.sub(r"-?\d+\.\d+(e-?\d+)?|-?\d+e-?\d+|(?<=\"steps\": )\d+", "#", text)


def check_golden(name: str, text: str) -> None:
    """Compare a text with the golden file of that name."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is missing: UPDATE_GOLDEN=1 writes it"
    assert text == path.read_text(encoding="utf-8")

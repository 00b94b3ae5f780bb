"""What people see on a terminal, which programs that read a pipe do not; and how soon."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")


def on_terminal(*arguments: str, cwd: Path) -> tuple[list[str], list[str], int]:
    """The lines of standard output, which is a terminal, and of standard error; and the exit status."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "wherein", *arguments]
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, cwd=cwd, text=True)
    os.close(theirs)
    _, errors = process.communicate(timeout=300)
    output = b""
    try:
        while chunk := os.read(ours, 65536):
            output += chunk
    except OSError:  # at the end, on Linux
        pass
    finally:
        os.close(ours)
    return output.decode().splitlines(), errors.splitlines(), process.returncode


def test_a_table_on_a_terminal_and_json_on_request(folder: Path) -> None:
    arguments = ("detect", "toy", "scenes", "broken.png", "--rotation", "0")
    table, errors, status = on_terminal(*arguments, cwd=folder)
    assert status == 4
    header, first, second = table
    assert header.split() == ["scene", "score", "x", "y", "angle", "scale", "tilt"]
    assert first.startswith("scenes/a.png") and second.split(maxsplit=1) == ["scenes/b.png", "nothing found"]
    broken, summary = errors
    assert broken.startswith("broken.png: the content is not PNG")
    assert summary == "1 found in 1 of 3 scenes; 1 unreadable"
    lines, errors, _ = on_terminal(*arguments, "--json", cwd=folder)
    assert [json.loads(line)["scene"] for line in lines] == ["scenes/a.png", "scenes/b.png", "broken.png"]
    assert errors == ["1 found in 1 of 3 scenes; 1 unreadable"]  # the error was shown, as JSON


def test_a_near_miss_is_one_row_and_one_message(folder: Path) -> None:
    arguments = ("detect", "toy", "scenes/a.png", "--rotation", "0", "--threshold", "0.9999")
    (_, row), (nearest, raised, _, summary), status = on_terminal(*arguments, cwd=folder)
    assert status == 0
    assert row.split(maxsplit=1) == ["scenes/a.png", "nothing found"]
    assert nearest.startswith("Best candidate: 0.") and "(threshold 1.000). Use --threshold 0." in nearest
    assert raised.startswith("toy: the threshold is 1.00, the calibrated one 0.")
    assert summary == "Nothing found in 1 scene"


@pytest.mark.parametrize(
    "arguments",
    [
        ["detect", "nowhere", "scenes"],
        ["detect", "toy", "nowhere.png"],
        ["detect", "toy", "scenes", "--scale", "80", "125"],
        ["register", "nowhere.png", "scenes/a.png"],
        ["calibrate", "nowhere"],
        ["calibrate", "toy", "--backgrounds", "nowhere"],
        ["detect", "scenes", "toy"],
        ["studio", "nowhere", "--no-open"],
        ["template", "check", "nowhere"],
        ["template", "new", "nowhere.png", "--out", "made"],
        ["template", "new", "scenes/a.png", "--out", "toy"],
    ],
)
def test_what_is_not_there_is_said_before_torch_is_loaded(folder: Path, arguments: list[str]) -> None:
    code = (
        "import sys\nfrom wherein.cli.main import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit as ended:\n"
        "    print(ended.code, sorted({'torch', 'numpy', 'rich'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.stdout.splitlines()[-1] in ("3 []", "2 []"), result


def test_a_run_that_fails_on_its_arguments_leaves_no_file(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    for scenes in (["nowhere.png"], ["broken.png"], ["scenes", "--region", "900", "900", "5", "5"]):
        outputs = ["--report", "found.html", "--export", "found.csv", "--draw", "drawn"]
        result = subprocess.run(
            [sys.executable, "-m", "wherein", "detect", "toy", *scenes, *outputs, "--rotation", "0"],
            check=False,
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert result.returncode in (2, 3), result
        assert sorted(folder.rglob("*")) == before, scenes

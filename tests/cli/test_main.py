"""What every command has in common: its help, at once and with an example; `--quiet`; completion."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from detecting import made_up, texture, write_picture
from wherein.cli import calibrate_run
from wherein.cli.commands import detect_command
from wherein.cli.main import app
from wherein.detect.calibration import measure

HEAVY = ("torch", "numpy", "rich", "PIL")


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its path, those of groups too."""
    for name, command in group.commands.items():
        here = (*path, name)
        yield from commands(command, here) if hasattr(command, "commands") else [(here, command)]


ALL = dict(commands(typer.main.get_command(app)))


def help_of(path: tuple[str, ...]) -> str:
    result = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert result.exit_code == 0
    return result.stdout


def examples(path: tuple[str, ...]) -> list[list[str]]:
    """The examples in a command's help, as words; those that are broken over two lines are none."""
    return [line.split() for line in re.findall(r"^ +Example: wherein (.+)$", help_of(path), re.MULTILINE)]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_says_what_it_does_and_has_an_example_that_it_understands(
    path: tuple[str, ...],
) -> None:
    (example,) = examples(path)
    assert example[: len(path)] == list(path)
    context = ALL[path].make_context(path[-1], example[len(path) :])
    assert context.params
    for parameter in ALL[path].params:
        assert getattr(parameter, "help", None), f"{parameter.name} has no help"


@pytest.mark.parametrize("group", [(), ("template",)], ids=str)
def test_lists_of_commands_show_whole_sentences(group: tuple[str, ...]) -> None:
    assert "..." not in help_of(group).partition("Commands:")[2]


@pytest.mark.parametrize("name", ["detect", "register", "calibrate", "info"])  # the demo has its own tests
def test_examples_work(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate_run, "calibrate", lambda of, ranges, *_, **__: made_up(of, ranges.rotation))
    monkeypatch.setattr(measure, "calibrate", lambda of, ranges, **_: made_up(of, ranges.rotation))
    (folder / "toy").rename(folder / "robot")
    ground = texture(523, 391, 3, block=40)
    ground[:, 100:148, 200:248] = texture(48, 48, 1)
    write_picture(folder / "photographs" / "a.png", ground)
    write_picture(folder / "scene.png", ground)
    write_picture(folder / "motif.png", ground[:, 150:240, 210:330])
    monkeypatch.chdir(folder)
    (example,) = examples((name,))
    result = CliRunner().invoke(app, example)
    assert result.exit_code == 0, result.output
    assert result.stdout
    assert (folder / "found.html").exists() == ("found.html" in example)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_can_be_quiet(path: tuple[str, ...]) -> None:
    assert re.search(r"^ +(-q, --quiet|--quiet, -q|--quiet)\b", help_of(path), re.MULTILINE)


def test_two_numbers_are_shown_as_they_are_typed() -> None:
    """As "0.5, 2.0", whoever copies them types a comma, which is refused."""
    assert inspect.signature(detect_command.detect).parameters["scale"].default == (0.5, 2.0)
    for path in (("detect",), ("calibrate",), ("template", "check")):
        assert "[default: (0.5 2)]" in re.sub(r"\s+", " ", help_of(path))


def test_calibrate_speaks_of_no_detections() -> None:
    assert "each is calibrated" in re.sub(r"\s+", " ", help_of(("calibrate",)))
    assert "detection then says" not in re.sub(r"\s+", " ", help_of(("calibrate",)))


def test_help_imports_nothing_that_is_slow() -> None:
    code = (
        "import sys\n"
        "from wherein.cli.main import app\n"
        f"for words in (['--help'], *([*path, '--help'] for path in {list(ALL)!r})):\n"
        "    app(words, standalone_mode=False)\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stdout.count("Usage: ") == 1 + len(ALL)


def asked(arguments: list[str], **environment: str) -> str:
    """What the program prints."""
    command, surroundings = [sys.executable, "-m", "wherein", *arguments], {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=surroundings).stdout


@pytest.mark.parametrize(("words", "status"), [("--help", 0), ("detetc", 2)])
def test_the_package_runs_as_the_command_does(words: str, status: int) -> None:
    ways = (["-m", "wherein"], ["-c", "from wherein.cli.main import main; main()"])
    ends = [
        subprocess.run([sys.executable, *way, words], capture_output=True, text=True, check=False)
        for way in ways
    ]
    assert [end.returncode for end in ends] == [status, status]
    assert ends[0].stdout == ends[1].stdout
    assert ends[0].stderr == ends[1].stderr
    assert "Usage: wherein " in ends[0].stdout + ends[0].stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [("det", ["detect"]), ("detect --for", ["--format"]), ("detect --format c", ["coco", "csv"])],
)
def test_completion(words: str, expected: list[str]) -> None:
    number = str(len(words.split()))
    said = asked([], _WHEREIN_COMPLETE="complete_bash", COMP_WORDS=f"wherein {words}", COMP_CWORD=number)
    assert said.split() == expected


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_for_every_shell(shell: str) -> None:
    said = asked(["--show-completion", shell], _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert f"_WHEREIN_COMPLETE=complete_{shell}" in said


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_once_it_is_installed(tmp_path: Path) -> None:
    """As a person does it: install, then open a shell and press the tab key."""
    name = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    assert "bash completion installed" in asked(["--install-completion", "bash"], **name)
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert written == [".bash_completions/wherein.sh", ".bashrc"]
    script = tmp_path / "wherein"  # the shell runs what it is called
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m wherein "$@"\n')
    script.chmod(0o755)
    tab = (
        "source ~/.bashrc && complete -p wherein && COMP_WORDS=(wherein det) COMP_CWORD=1 && "
        "_wherein_completion wherein && echo completed: ${COMPREPLY[@]}"
    )
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    told = subprocess.run(
        ["bash", "--norc", "-c", tab],
        env={**os.environ, **name, **path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines()[-1] == "completed: detect"

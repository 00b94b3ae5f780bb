"""Results, messages and exit statuses; standard output that is full, closed or no longer read; signals.

Each error is one line at most, and never a traceback.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from wherein.cli.console import Console, UnreadableError, deferred_signals, errors_as_exit_status
from wherein.errors import ArgumentError, TemplateError, UnwritableError, WhereinError

PROGRAM = [sys.executable, "-c", "from wherein.cli.main import main; main()"]
FULL = Path("/dev/full")


@pytest.fixture
def register(tmp_path: Path) -> list[str]:
    pixels = (np.kron(np.random.default_rng(0).random((12, 16)), np.ones((8, 8))) * 255).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "scene.png")
    Image.fromarray(pixels[30:70, 40:90]).save(tmp_path / "motif.png")
    return ["register", str(tmp_path / "scene.png"), str(tmp_path / "motif.png")]


def ended(command: list[str], stdout: object = None) -> tuple[int, str]:
    """The exit status and what came on standard error."""
    done = subprocess.run(command, check=False, stdout=stdout, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
def test_full(register: list[str], tmp_path: Path) -> None:
    words = "wherein: cannot write standard output: No space left on device\n"
    unreadable = [*register[:2], str(tmp_path / "nowhere.png")]
    for arguments in (register, unreadable, ["--version"], ["--help"]):
        with FULL.open("w") as full:
            assert ended([*PROGRAM, *arguments], full) == (2, words)


def test_closed(register: list[str]) -> None:
    for arguments in (register, ["--version"]):
        closing = ["sh", "-c", 'exec "$@" >&-', "sh", *PROGRAM, *arguments]
        assert ended(closing) == (2, "wherein: standard output is closed\n")


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="there is no such signal here")
def test_a_reader_that_went_away(register: list[str]) -> None:
    for arguments in (register, ["--help"]):
        reader, writer = os.pipe()
        os.close(reader)
        assert ended([*PROGRAM, *arguments], writer) == (-signal.SIGPIPE, "")
        os.close(writer)


Handler = Callable[[int, object], None] | int


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def handling(request: pytest.FixtureRequest) -> Iterator[tuple[signal.Signals, Callable[[Handler], object]]]:
    """A signal, and how to say what is to be done about it, for this test alone."""
    before = signal.getsignal(request.param)
    yield request.param, lambda handler: signal.signal(request.param, handler)
    signal.signal(request.param, before)


def test_a_signal_waits_until_the_line_is_out(
    handling: tuple[signal.Signals, Callable[[Handler], object]],
) -> None:
    number, handle = handling
    handle(signal.default_int_handler)
    said = []
    with pytest.raises(KeyboardInterrupt), deferred_signals():
        signal.raise_signal(number)
        said.append("a line")
    assert said == ["a line"]
    with pytest.raises(KeyboardInterrupt), deferred_signals():
        signal.raise_signal(number)
        signal.raise_signal(number)
        said.append("the second is not waited for")
    assert said == ["a line"]
    assert signal.getsignal(number) is signal.default_int_handler


def test_a_signal_that_is_ignored_stays_so(
    handling: tuple[signal.Signals, Callable[[Handler], object]],
) -> None:
    number, handle = handling
    handle(signal.SIG_IGN)
    with deferred_signals():
        signal.raise_signal(number)
    assert signal.getsignal(number) == signal.SIG_IGN


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UnreadableError("scene", Path("a.png"), "unreadable"), 3),
        (ArgumentError("wrong"), 2),
        (UnwritableError("full"), 2),
        (TemplateError("no parts"), 2),
    ],
)
def test_errors_become_exit_statuses(
    error: WhereinError, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended, errors_as_exit_status():
        raise error
    assert ended.value.code == status
    assert capsys.readouterr() == ("", f"wherein: {error}\n")


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), errors_as_exit_status():
        raise ZeroDivisionError


def test_quiet_leaves_results(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        console = Console(quiet)
        console.result({"scene": "ä.png"})
        console.text("text")
        console.message("message")
        console.warning("warning")
    result = '{"scene": "ä.png"}\ntext\n'
    assert capsys.readouterr() == (2 * result, "message\nwherein: warning\n")


def test_names_do_not_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A file name may have any character: these would change colours, the title, or what is on the screen."""
    console, name = Console(), "a\x1b[31m\x9b2J\rb.png"
    console.text(name)
    console.message(f"{name}: file not found")
    shown = r"a\x1b[31m\x9b2J\rb.png"
    assert capsys.readouterr() == (f"{shown}\n", f"{shown}: file not found\n")

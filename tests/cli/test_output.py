"""Standard output that is full, closed or no longer read: one line at most, and never a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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
    words = "wherein: standard output cannot be written: No space left on device\n"
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

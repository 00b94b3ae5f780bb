"""`wherein studio`: where it is, what it refuses to start with, and how it ends."""

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import wherein.studio
from wherein.cli.commands.studio_command import show_qr_code
from wherein.cli.console import Console
from wherein.cli.main import app
from wherein.demo import ROBOT

runner = CliRunner()
PROGRAM = [sys.executable, "-c", "from wherein.cli.main import main; main()"]


def test_it_says_where_it_is_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    command = [*PROGRAM, "studio", str(ROBOT), "--no-open", "--save-to", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = running.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)#(\S{43})\n", said)
        assert found, said
        request = urllib.request.Request(f"{found[1]}api/session", headers={"X-Wherein-Token": found[2]})
        with urllib.request.urlopen(request) as answer:
            session = json.load(answer)
        assert (session["first"]["draft"]["name"], session["save"]) == ("robot", {"name": "out"})
        running.send_signal(signal.SIGINT)
        out, rest = running.communicate(timeout=60)
    words = (
        "Press Ctrl-C to stop the studio. Keep its address secret: anyone who has it can use the studio.\n"
    )
    assert (running.returncode, out, rest) == (0, "", words)
    assert not (tmp_path / "out").exists()


def test_a_template_that_cannot_be_read(tmp_path: Path) -> None:
    result = runner.invoke(app, ["studio", str(tmp_path / "nothing"), "--no-open"])
    assert result.exit_code == 3
    assert "nothing does not exist" in result.stderr


def test_a_port_that_is_taken_or_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        for port, words in ((taken, "Address already in use"), (99999, "it must be 0 to 65535")):
            result = runner.invoke(app, ["studio", "--no-open", "--port", str(port)])
            assert result.exit_code == 2
            assert f"cannot use port {port} on 127.0.0.1 ({words}" in result.stderr


def test_a_host_that_cannot_be_used() -> None:
    for host, words in (("0.0.0.0", "not the address of one computer"), ("phone", "not an IPv4 address")):
        result = runner.invoke(app, ["studio", "--no-open", "--host", host])
        assert result.exit_code == 2
        assert words in result.stderr


BLOCKS = {"█": (255, 255), "▀": (255, 0), "▄": (0, 255), " ": (0, 0)}
"""The upper and the lower module of a letter."""


def decoded(text: str) -> str:
    """The content of a QR code of half blocks, as a camera would see it."""
    cv2 = pytest.importorskip("cv2")
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    rows = [[BLOCKS[letter][half] for letter in line] for line in lines for half in (0, 1)]
    image = np.kron(np.array(rows, dtype=np.uint8), np.ones((8, 8), dtype=np.uint8))
    return str(cv2.QRCodeDetector().detectAndDecode(image)[0])


def test_the_address_is_shown_as_a_qr_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("segno", reason="segno is not installed: no QR code of the studio's address")
    address = f"http://192.168.178.120:54321/#{'aZ_-9' * 8}abc"
    show_qr_code(address, Console())
    assert capsys.readouterr().err == "", "not a terminal"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show_qr_code(address, Console(quiet=True))
    assert capsys.readouterr().err == ""
    show_qr_code(address, Console())
    text = capsys.readouterr().err
    assert all(line.startswith("\x1b[97m\x1b[40m") for line in text.splitlines())
    assert decoded(text) == address


def test_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wherein, "studio", wherein.studio)  # which is replaced, and so put back in the end
    for name in [name for name in sys.modules if name.startswith("wherein.studio")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("wherein.studio.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = runner.invoke(app, ["studio", "--no-open"])
    assert result.exit_code == 2
    assert "the studio needs uvicorn, which is not installed: pip install 'wherein[studio]'" in result.stderr

"""`wherein info`: what is here and what is missing."""

import ctypes
import json
from importlib import metadata
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

import wherein
from wherein.cli.main import app
from wherein.native import kernel
from wherein.native.library import Library

ASKED = [
    "torch>=2.10",
    "numpy>=2.0 ; extra == 'tables'",
    'no-such-package[all]<3,>=2.2; extra == "tables"',
    "numpy>=2.0; python_version > '3.8' and extra == 'sums'",
    "ruff; extra == 'dev'",
]


@pytest.fixture(autouse=True)
def _asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _: ASKED)


def info(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["info", *arguments])
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_as_json() -> None:
    told = json.loads(info("--json"))
    assert list(told) == [
        *(
            "wherein",
            "python",
            "platform",
            "packages",
            "kernel",
            "threads",
            "cores",
            "calibrations",
            "extras",
        ),
    ]
    assert told["wherein"] == wherein.__version__
    assert told["packages"]["torch"] == torch.__version__
    assert told["threads"] == torch.get_num_threads()
    assert told["calibrations"].endswith("wherein/calibrations")
    assert told["kernel"]["built"] == kernel.available()
    numpy = metadata.version("numpy")
    assert told["extras"] == {
        "tables": {
            "installed": False,
            "packages": {"numpy": numpy, "no-such-package": None},
            "install": "pip install 'wherein[tables]'",
        },
        "sums": {"installed": True, "packages": {"numpy": numpy}, "install": "pip install 'wherein[sums]'"},
    }


def test_in_words() -> None:
    lines = info("--quiet").splitlines()
    numpy = metadata.version("numpy")
    assert lines[0].startswith(f"wherein {wherein.__version__}, Python 3.")
    assert lines[3].startswith(f"threads: {torch.get_num_threads()} on ")
    assert lines[-2:] == [
        f"extra tables: numpy {numpy}; no-such-package missing: pip install 'wherein[tables]'",
        f"extra sums: numpy {numpy}",
    ]


def kernel_line() -> str:
    return next(line for line in info().splitlines() if line.startswith("C kernel"))


def test_the_kernel_with_its_compiler_or_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    found = kernel.library()
    assert ("compiled by /" in kernel_line()) == (found is not None and found.source == "compiled")
    monkeypatch.setattr(kernel, "_loaded", lambda: (None, "turned off by WHEREIN_NATIVE=0"))
    assert kernel_line() == (
        "C kernel: not available, using the slower PyTorch code: turned off by WHEREIN_NATIVE=0"
    )
    told = json.loads(info("--json"))["kernel"]
    assert (told["built"], told["source"], told["file"], told["compiler"], told["reason"]) == (
        False,
        None,
        None,
        None,
        "turned off by WHEREIN_NATIVE=0",
    )


def test_the_shipped_kernel_and_why_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    file, reason = Path("site/kernel-x86-64.so"), "no C compiler found (looked for cc, gcc and clang)"
    shipped = Library(ctypes.CDLL(None), "shipped", file, reason)
    monkeypatch.setattr(kernel, "_loaded", lambda: (shipped, ""))
    assert kernel_line() == (
        f"C kernel: kernel-x86-64.so, from the wheel; not compiled on this machine: {reason}"
    )
    told = json.loads(info("--json"))["kernel"]
    assert (told["built"], told["source"], told["file"]) == (True, "shipped", str(file))
    assert (told["compiler"], told["version"], told["reason"]) == (None, None, reason)


def test_from_sources_that_were_never_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "requires", unknown)
    assert json.loads(info("--json"))["extras"] == {}


@pytest.mark.usefixtures("homeless")
def test_without_a_home() -> None:
    assert json.loads(info("--json"))["calibrations"] is None
    assert "there is no home directory (set XDG_CACHE_HOME)" in info()

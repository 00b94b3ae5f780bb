"""`wherein info`: what is here and what is missing."""

import json
from importlib import metadata

import pytest
import torch
from typer.testing import CliRunner

import wherein
from wherein import native
from wherein.cli.main import app

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
    assert told["kernel"]["built"] == native.available()
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


def test_the_kernel_with_its_compiler_or_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    line = next(line for line in info().splitlines() if line.startswith("C kernel"))
    assert ("built by /" in line) == native.available()
    monkeypatch.setattr(native, "_loaded", lambda: (None, "turned off by WHEREIN_NATIVE=0"))
    assert "C kernel: none, everything takes longer: turned off by WHEREIN_NATIVE=0\n" in info()
    told = json.loads(info("--json"))["kernel"]
    assert (told["built"], told["compiler"], told["reason"]) == (
        False,
        None,
        "turned off by WHEREIN_NATIVE=0",
    )


def test_from_sources_that_were_never_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "requires", unknown)
    assert json.loads(info("--json"))["extras"] == {}

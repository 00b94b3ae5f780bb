"""What an engine cannot do is refused before any work, in words."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from wherein.cli.main import app
from wherein.engine import engine_options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--workers", "0"], "0 is not allowed: use 1 or more"),
        (["--shard", "3/2"], "3/2 is not allowed: use I/N"),
        (["--engine", "slurm"], "'slurm' is not one of"),
        (["--address", "127.0.0.1:6379"], "--address is that of a Ray cluster: add --engine ray"),
        (["--dashboard"], "--dashboard is that of Ray: add --engine ray"),
        (["--engine", "ray", "--address", "127.0.0.1:1"], "--address needs --resume FOLDER"),
        (
            ["--engine", "ray", "--address", "a:1", "--resume", "run", "--dashboard"],
            "--dashboard is for a cluster that is started here",
        ),
        (["--resume", "toy/template.json"], "is a file: choose a folder"),
    ],
)
def test_wrong_usage(many: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: str) -> None:
    monkeypatch.chdir(many)
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["detect", "toy", "scenes", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


@pytest.mark.parametrize(
    "options", [["--workers", "2"], ["--engine", "ray"], ["--resume", "run"], ["--shard", "1/2"]]
)
def test_a_camera_has_no_end(many: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    monkeypatch.chdir(many)
    monkeypatch.setattr(engine_options, "find_spec", lambda _: object())
    result = CliRunner().invoke(app, ["detect", "toy", "camera:0", "scenes", *options])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("wherein: camera:0 has no end, so it cannot be shared out")
    assert not (many / "run").exists()


def test_ray_is_optional(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_options, "find_spec", lambda _: None)
    result = CliRunner().invoke(app, ["detect", str(many / "toy"), str(many), "--engine", "ray"])
    assert result.exit_code == 2
    assert "pip install 'wherein[scale]'" in result.stderr

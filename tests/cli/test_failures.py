"""Disks that are full, readers that go away, Ctrl-C and SIGTERM: whole lines and whole files, or none."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from wherein.cli import demo_run
from wherein.cli.main import app

PROGRAM = [sys.executable, "-c", "from wherein.cli.main import main; main()"]
DISK = 16 * 4096
"""Bytes."""


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of its own: a real one, in memory, and only where root may mount it."""
    disk = tmp_path_factory.mktemp("disk")
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if not (mount and umount and sys.platform == "linux"):
        pytest.skip("there is no mount here")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no small file system can be mounted: {made.stderr.decode().strip()}")
    try:
        yield disk
    finally:
        subprocess.run([umount, str(disk)], check=True)


@pytest.fixture
def full_disk(small_disk: Path) -> Iterator[Path]:
    """Nothing more fits on it."""
    (small_disk / "filler").write_bytes(bytes(DISK))
    yield small_disk
    for path in small_disk.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def read_only_disk(small_disk: Path) -> Iterator[Path]:
    """Nothing can be written to it, not by root either."""
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    yield small_disk
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)


def left(disk: Path) -> list[str]:
    return sorted(str(path.relative_to(disk)) for path in disk.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("option", "name", "told"),
    [
        ("--draw", "drawn", "drawn/a.png"),
        ("--report", "found.html", "found.html"),
        ("--export", "found.json", "found.json"),
        ("--export", "found.csv", "found.csv"),
        ("--export", "labels", "labels/a.json"),
    ],
)
def test_detect_on_a_full_disk(folder: Path, full_disk: Path, option: str, name: str, told: str) -> None:
    kind = ["--format", "labelme"] if name == "labels" else []
    command = [
        "detect",
        folder / "toy",
        folder / "scenes",
        "--rotation",
        "0",
        option,
        full_disk / name,
        *kind,
    ]
    result = CliRunner().invoke(app, [str(word) for word in command])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"wherein: cannot write {full_disk / told}: ")
    assert result.stderr.count("\n") == 1
    assert all(json.loads(line) for line in result.stdout.splitlines())
    assert left(full_disk) == ["filler"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_folder_of_a_run_on_a_full_disk(folder: Path, full_disk: Path, workers: str) -> None:
    """What was finished before is kept; with room, the run is continued."""
    run = full_disk / "run"
    command = [str(word) for word in ("detect", folder / "toy", folder / "scenes", "--rotation", "0")]
    more = ["--resume", str(run), "--workers", workers]
    os.truncate(full_disk / "filler", DISK - 2 * 4096)  # for run.json and the first of two scenes
    result = CliRunner().invoke(app, [*command, *more])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"wherein: cannot write {run}")
    assert result.stderr.count("\n") == 1
    assert [path for path in left(full_disk) if "/." in path] == []
    (full_disk / "filler").unlink()
    again = CliRunner().invoke(app, [*command, *more])
    assert again.exit_code == 0, again.output
    assert [Path(json.loads(line)["scene"]).name for line in again.stdout.splitlines()] == ["a.png", "b.png"]


def test_a_worker_on_a_full_disk(folder: Path, full_disk: Path) -> None:
    out = full_disk / "drawn"
    words = ("detect", folder / "toy", folder / "scenes", "--rotation", "0", "--workers", "2", "--draw", out)
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 2, result.output
    assert re.fullmatch(rf"wherein: cannot write {out}/[ab].png: .*\n", result.stderr)
    assert left(full_disk) == ["filler"]


@pytest.mark.parametrize(
    "options",
    [
        ("--draw", "new/drawn"),
        ("--draw", ""),
        ("--report", "found.html"),
        ("--export", "new/found.csv"),
        ("--export", "labels", "--format", "labelme"),
    ],
)
def test_a_disk_that_cannot_be_written_is_noticed_before_scenes_are_searched(
    folder: Path, read_only_disk: Path, options: tuple[str, ...]
) -> None:
    option, name, *kind = options
    command = ["detect", folder / "toy", folder / "scenes", option, read_only_disk / name, *kind]
    result = CliRunner().invoke(app, [str(word) for word in command])
    words = f"wherein: cannot write {read_only_disk / name}: Read-only file system\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", words)


def test_register_and_the_demo_on_a_full_disk(
    folder: Path, full_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, out = folder / "scenes" / "a.png", full_disk / "found.png"
    with Image.open(scene) as picture:
        picture.crop((50, 40, 110, 80)).save(folder / "motif.png")
    command = ["register", str(scene), str(folder / "motif.png"), "--draw", str(out)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"wherein: cannot write {out}: ")
    assert json.loads(result.stdout)["scene"] == str(scene)
    drawn = Image.new("RGB", (640, 480))
    monkeypatch.setattr(demo_run, "run_demo", lambda out, *_: [demo_run.save(drawn, out / "scene.png")])
    result = CliRunner().invoke(app, ["demo", "--out", str(full_disk / "demo")])
    assert result.exit_code == 2
    assert f"cannot write {full_disk / 'demo' / 'scene.png'}" in result.stderr
    assert left(full_disk) == ["filler"]


def test_a_disk_that_fills_up_on_the_way(folder: Path, full_disk: Path) -> None:
    """Not at the first byte: what is begun must go again."""
    os.truncate(full_disk / "filler", DISK - 2 * 4096)
    out = full_disk / "found.html"
    command = ["detect", folder / "toy", folder / "scenes", "--rotation", "0", "--report", out, "--maps"]
    result = CliRunner().invoke(app, [str(word) for word in command])
    assert result.exit_code == 2, result.output
    assert result.stderr == f"wherein: cannot write {out}: No space left on device\n"
    assert left(full_disk) == ["filler"]


@pytest.fixture(params=[1, 2], ids=["here", "workers"])
def running(folder: Path, request: pytest.FixtureRequest) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A detection in very many scenes that writes all that it can, after its first line."""
    scenes = folder / "many"
    scenes.mkdir()
    for k in range(400):
        (scenes / f"{k:04}.png").symlink_to(folder / "scenes" / "a.png")
    out = folder / "out"
    outputs = ["--draw", out / "drawn", "--report", out / "found.html", "--export", out / "found.json"]
    workers = ["--workers", request.param]
    command = [*PROGRAM, "detect", folder / "toy", scenes, "--rotation", "0", *outputs, *workers]
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process, out
    finally:
        process.kill()
        process.communicate()


def drawings(out: Path) -> int:
    """How many there are, all of them whole, and nothing besides."""
    paths = [path for path in out.rglob("*") if path.is_file()]
    for path in paths:
        assert path.suffix == ".png"
        assert not path.name.startswith(".")
        with Image.open(path) as drawn:
            drawn.load()
    return len(paths)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals here")
@pytest.mark.parametrize(
    ("number", "status", "word"), [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"terminated")]
)
def test_ctrl_c_and_sigterm(
    running: tuple[subprocess.Popen[bytes], Path],
    request: pytest.FixtureRequest,
    number: int,
    status: int,
    word: bytes,
) -> None:
    running_here = request.node.callspec.params["running"] == 1
    process, out = running
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(3)]
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (status, b"wherein: " + word + b"\n")
    lines += rest.splitlines(keepends=True)
    assert all(line.endswith(b"\n") and json.loads(line)["detections"] for line in lines)
    assert len(lines) < 400
    if running_here:  # workers draw ahead of the lines
        assert 2 <= drawings(out) <= len(lines)
    else:
        assert drawings(out) >= 2


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="there is no such signal here")
def test_a_reader_that_has_read_enough(running: tuple[subprocess.Popen[bytes], Path]) -> None:
    process, out = running
    assert process.stdout is not None
    assert process.stdout.readline().endswith(b"\n")
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == -signal.SIGPIPE
    assert drawings(out) >= 1


def test_a_file_that_may_not_grow(folder: Path) -> None:
    resource = pytest.importorskip("resource")
    out = folder / "out" / "found.html"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    command = ["detect", folder / "toy", folder / "scenes", "--rotation", "0", "--report", out, "--maps"]
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, limits[1]))
    try:
        result = CliRunner().invoke(app, [str(word) for word in command])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.exit_code == 2
    assert result.stderr == f"wherein: cannot write {out}: File too large\n"
    assert left(out.parent) == []

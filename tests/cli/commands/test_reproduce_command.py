"""`wherein reproduce`: its words, and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from wherein.cli.main import app
from wherein.experiments import Name

PROGRAM = [sys.executable, "-c", "from wherein.cli.main import main; main()"]


def test_it_runs_and_says_what_it_wrote(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "theorem", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.stderr
    paths = [str(tmp_path / "theorem.json"), str(tmp_path / "theorem.png")]
    assert done.stdout.splitlines() == paths
    assert "theorem: 3 of 3 tasks to do" in done.stderr
    assert " left" in done.stderr
    assert json.loads((tmp_path / "theorem.json").read_text(encoding="utf-8"))["holds"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fig2"], "fig2"),
        (["theorem", "--images", "3"], "--images cannot be used with theorem"),
        (["fig1", "--images", "0"], "--images must be 1 or more, but is 0"),
        (["fig1", "--seed", "-1"], "--seed must be 0 or more, but is -1"),
    ],
)
def test_wrong_arguments_are_told_in_words(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert words in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_template_that_cannot_be_read(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["reproduce", "fig1", "--data", "nowhere", "--out", str(tmp_path / "out")])
    assert done.exit_code == 3
    assert "the template nowhere does not exist" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    done = CliRunner().invoke(app, ["reproduce", "theorem", "--quick", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert f"wherein: cannot write {tmp_path / 'out'}" in done.stderr
    assert (tmp_path / "out").read_text() == "mine"


def test_data_for_an_experiment_without_pictures_is_not_passed_over_in_silence(shared: Path) -> None:
    arguments = ["reproduce", "theorem", "--data", str(shared / "crab"), "--seed", "-1"]
    done = CliRunner().invoke(app, arguments)
    assert "theorem uses no pictures: --data is ignored" in done.stderr


def test_every_experiment_is_in_the_help_and_in_make_figures() -> None:
    told = CliRunner().invoke(app, ["reproduce", "--help"], env={"COLUMNS": "200"}).stdout
    makefile = (Path(__file__).parents[3] / "Makefile").read_text(encoding="utf-8")
    figures = next(line for line in makefile.splitlines() if line.startswith("FIGURES"))
    for name in Name:
        assert name in told
    assert figures.split(":= ")[1].split() == list(Name)


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="signals are sent as on Unix")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_is_stopped_leaves_a_journal_to_go_on_from(tmp_path: Path, number: int, status: int) -> None:
    command = [*PROGRAM, "reproduce", "theorem", "--out", str(tmp_path)]
    journal = tmp_path / "theorem.journal"
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        deadline = time.monotonic() + 120
        while not journal.exists() or journal.read_text(encoding="utf-8").count("\n") < 2:
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(running.pid, number)
        _, told = running.communicate(timeout=60)
    assert running.returncode == status
    assert f"Run the same command to continue from {journal}" in told
    assert "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["theorem.journal"]
    assert all(json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are listed as on Linux")
def test_no_process_outlives_one_that_was_killed(tmp_path: Path) -> None:
    command = [*PROGRAM, "reproduce", "theorem", "--quick", "--out", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        listed, deadline = Path(f"/proc/{running.pid}/task/{running.pid}/children"), time.monotonic() + 120
        while len(children := listed.read_text().split()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        running.kill()
    while any(_works(pid) for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _works(pid: str) -> bool:
    """Whether it is there, and not just waiting to be forgotten."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False

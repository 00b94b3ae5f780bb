"""`wherein detect` with workers, in parts and continued: the same lines, files and messages as without."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from detecting import made_up, scene, toy, write_picture
from shared_runs import FIXED, contents, finished, started, timeless, wait_for
from wherein.cli.commands import detect_command
from wherein.cli.console import Console
from wherein.cli.main import app
from wherein.detect import Detector
from wherein.engine import scene_work
from wherein.engine.batch import Batch, finish_with
from wherein.engine.detect_job import DetectJob
from wherein.engine.manifest import SceneFile, Shard, manifest
from wherein.engine.processes import LocalWorkers
from wherein.engine.run_folder import RunFolder
from wherein.engine.scene_events import Failed, SceneLine
from wherein.engine.scene_work import WorkSettings
from wherein.images.eight_bit import to_image
from wherein.template.template_library import Library


def detect(folder: Path, *arguments: str | Path, template: str = "toy") -> Result:
    words = ["detect", folder / template, folder / "scenes", *FIXED, *arguments]
    return CliRunner().invoke(app, [str(word) for word in words])


class Terminal(Console):
    """Prints a table."""

    def __init__(self, *arguments: bool) -> None:
        super().__init__(*arguments)
        self.readable = True


def wander(path: Path) -> None:
    """A GIF in which the object moves."""
    frames = [to_image(scene(toy(), at=(70.0 + 2 * k, 60.0))) for k in range(4)]
    frames[0].save(path, save_all=True, append_images=frames[1:])


def test_workers_change_nothing(many: Path) -> None:
    """Lines, summary, status, drawings, report and export, with a GIF and a file that is no picture."""
    wander(many / "scenes" / "3-moving.gif")
    for k in (2, 3, 6, 7, 8):  # a report takes its time
        (many / "scenes" / f"{k}.png").unlink()
    results, written, pages = [], [], []
    for workers in ("1", "2"):
        out = many / f"out{workers}"
        files = [
            "--draw",
            out / "drawn",
            "--export",
            out / "found.json",
            "--report",
            many / f"{workers}.html",
        ]
        results.append(detect(many, "--workers", workers, *files))
        written.append(contents(out))
        pages.append((many / f"{workers}.html").read_text())
    one, two = results
    assert (one.exit_code, two.exit_code) == (4, 4), two.stderr
    assert timeless(two.stdout) == timeless(one.stdout)
    assert len(one.stdout.splitlines()) == 5 + 4
    outs = (many / "out1", many / "out2")
    assert timeless(two.stderr).replace(str(outs[1]), str(outs[0])) == timeless(one.stderr)
    assert one.stderr.endswith("7 found in 4 of 6 scenes, 4 of them in 4 frames of video; 1 unreadable\n")
    assert [n for n in written[0] if written[0][n] != written[1][n]] in ([], ["drawn/3-moving.webm"])
    assert written[0].keys() == written[1].keys()
    ids = [re.findall(r'id="(s\d+[a-z0-9]*)"|src="(data:[^"]+)"', page) for page in pages]
    assert ids[0] == ids[1]
    assert len(ids[0]) >= 6


def test_a_library_and_the_table_on_a_terminal(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (many / "library").mkdir()
    (many / "toy").rename(many / "library" / "toy")
    monkeypatch.setattr(detect_command, "Console", Terminal)
    one, two = (detect(many, "--workers", n, template="library").stdout for n in ("1", "2"))
    assert one == two
    assert len(one.splitlines()) == 1 + 9
    assert one.count("nothing found") == 3


def test_nothing_found_and_nothing_readable(many: Path) -> None:
    empty = ["--threshold", "0.99", "--workers", "2", "--fail-if-none"]
    (many / "scenes" / "5-broken.png").unlink()
    missing = [many / "missing.png"] * 2
    assert detect(many, *missing, *empty).exit_code == 4
    told = detect(many, *empty)
    assert told.exit_code == 1
    assert told.stderr.count("Nothing found. Best candidate") == 6
    assert told.stderr.endswith("Nothing found in 9 scenes\n")
    for path in (many / "scenes").iterdir():
        path.write_bytes(b"nothing")
    assert detect(many, "--workers", "2").exit_code == 3


def test_parts_are_the_whole(many: Path) -> None:
    """Their lines one after the other; drawings of the same name in different parts have numbers."""
    write_picture(many / "scenes" / "sub" / "0.png", scene(toy()))
    whole = detect(many, "--recursive", "--draw", many / "whole")
    parts = [detect(many, "--recursive", "--shard", f"{k}/3", "--draw", many / "parts") for k in (1, 2, 3)]
    assert timeless("".join(part.stdout for part in parts)) == timeless(whole.stdout)
    assert contents(many / "whole") == contents(many / "parts")
    assert "0-2.png" in contents(many / "parts")
    last = parts[2].stderr.splitlines()[-1]
    assert last == "3 found in 3 of 4 scenes"


def test_parts_that_share_a_folder_are_put_together(many: Path) -> None:
    kept = ["--resume", many / "run", "--report", many / "all.html", "--overwrite"]
    for k in (1, 2):
        detect(many, *kept, "--shard", f"{k}/2")
    state = contents(many / "run")
    assert len(state) == 1 + 10
    whole = detect(many, *kept)
    assert timeless(whole.stdout) == timeless(detect(many).stdout)
    assert contents(many / "run") == state
    anchors = re.findall(r'id="(s\d+)"', (many / "all.html").read_text())
    assert sorted(set(anchors)) == [f"s{k}" for k in range(10)]


def test_what_changes_is_searched_again(many: Path) -> None:
    """Pictures that are new, another or gone; nothing else."""
    first = detect(many, "--resume", many / "run")
    assert first.exit_code == 4
    before = contents(many / "run")
    write_picture(many / "scenes" / "0.png", scene(toy()))
    write_picture(many / "scenes" / "a-new.png", scene(toy()))
    (many / "scenes" / "8.png").unlink()
    again = detect(many, "--resume", many / "run")
    assert timeless(again.stdout) == timeless(detect(many).stdout)
    assert len(contents(many / "run").keys() - before.keys()) == 2
    refused = detect(many, "--resume", many / "run", "--threshold", "0.7")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "belongs to another run (different thresholds)" in refused.stderr


@dataclass(frozen=True)
class Deadly:
    """A job that ends its process at some scenes: once, or each time."""

    job: DetectJob
    once: str
    always: str
    marks: Path

    def __call__(self) -> Callable[[Shard], None]:
        return partial(self._search, self.job())

    def _search(self, search: Callable[[Shard], None], shard: Shard) -> None:
        name = shard.entries[0].scene.path.name
        with (self.marks / name).open("a") as tries:
            tries.write("x")
        tried = (self.marks / name).stat().st_size
        if name == self.always or (name == self.once and tried == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        search(shard)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal here")
def test_a_scene_that_kills_its_worker(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(many)
    (many / "marks").mkdir()
    library, ranges = Library.of(many / "toy"), {"rotation": 0.0, "scale": (1.0, 1.0), "tilt": 0.0}
    known = {"toy": made_up(library.only, 0.0, threshold=0.6)}
    scenes = [SceneFile(path.relative_to(many)) for path in sorted((many / "scenes").iterdir())]
    entries = manifest(scenes, {})
    with RunFolder.temporary(library) as folder:
        job = DetectJob(str(many / "toy"), ranges, None, known, WorkSettings(), folder.path, many)
        deadly = Deadly(job, "4.png", "7.png", many / "marks")
        finish = finish_with(lambda: LocalWorkers(deadly), 2)
        done: list[int] = []
        events = [
            (entry.scene.path.name, list(found))
            for entry, found in Batch(entries, len(entries), folder).results(finish, done.append)
        ]
    assert [name for name, _ in events] == [scene.path.name for scene in scenes]
    assert sum(done) == len(scenes)
    told = dict(events)
    assert told["7.png"] == [Failed("the search failed twice: its worker process died (killed by SIGKILL)")]
    detector = Detector(library, calibration=known, **ranges)
    for name, (line, *_) in events:
        if isinstance(line, SceneLine):
            found = detector(many / "scenes" / name).to_dict()
            assert timeless(json.dumps(line.record)) == timeless(
                json.dumps({"scene": f"scenes/{name}", **found})
            )
    assert sum(isinstance(line, SceneLine) for _, (line, *_) in events) == 8
    tries = {path.name: path.stat().st_size for path in (many / "marks").iterdir()}
    assert {name for name, count in tries.items() if count > 1} == {"4.png", "7.png"}
    assert max(tries.values()) == 2


def test_a_scene_is_decoded_by_workers_only(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first scene too, although it is known before that there is something to search."""

    def killed(*_: object, **__: object) -> None:
        raise AssertionError("decoded in the process of the run")

    monkeypatch.setattr(scene_work, "load_picture", killed)
    for path in sorted((many / "scenes").iterdir())[2:]:
        path.unlink()
    result = detect(many, "--workers", "2")
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 2


def children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_a_killed_run_is_continued(many: Path) -> None:
    """First a worker is killed, then all of the run; its workers end with it."""
    for k in range(30):
        (many / "scenes" / f"more{k:02}.png").symlink_to("1.png")
    kept = ["--resume", many / "run", "--draw", many / "drawn"]
    process = started("detect", many / "toy", many / "scenes", *FIXED, "--workers", "2", *kept)
    try:
        wait_for(lambda: finished(many / "run") >= 5, "nothing is finished")
        for child in children(process.pid)[-1:]:  # the first is the resource tracker of Python
            os.kill(child, signal.SIGKILL)
        there = finished(many / "run")
        wait_for(lambda: finished(many / "run") >= there + 5, "it does not go on")
        workers = children(process.pid)
    finally:
        process.kill()
        process.communicate()
    wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in workers), "a worker is left")
    state = contents(many / "run")
    assert len(state) < 40
    again = detect(many, *kept, "--workers", "2")
    assert again.exit_code == 4, again.output
    assert timeless(again.stdout) == timeless(detect(many).stdout)
    assert {name: contents(many / "run")[name] for name in state} == state, "nothing was searched again"
    drawn = [path for path in (many / "drawn").iterdir() if not path.name.startswith(".")]
    assert len(drawn) == 39
    for path in drawn:
        with Image.open(path) as picture:
            picture.load()

"""Every code block of the documentation runs as it stands, page by page, in a folder with the pictures that
the pages name."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.main import get_command
from typer.testing import CliRunner

import wherein
from detecting import made_up, photo
from wherein.cli.demo_run import write_pictures
from wherein.cli.main import app
from wherein.demo import GAUGE, ROBOT
from wherein.demo.gauge_scene import gauge_scene
from wherein.detect import Calibration
from wherein.detect.calibration import measure
from wherein.detect.search_range import Range
from wherein.images.eight_bit import to_image
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
KNOWN = {"python", "console", "json", "", "text"}
ELSEWHERE = ("make ", "pip ", "python -m ", "git ", ". ")
"""Commands that other tests run, or that set up what is here already."""


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text())


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that the pages speak of."""
    folder = tmp_path_factory.mktemp("pictures")
    list(write_pictures(folder, overwrite=False))
    (folder / "empty").mkdir()
    to_image(photo("coffee", 600, 400)).save(folder / "photographs" / "a.png")
    to_image(photo("coffee", 560, 400)).save(folder / "empty" / "table.png")
    _robot(folder)
    _toy(folder)
    _motif(folder)
    return folder


def _robot(folder: Path) -> None:
    shutil.copytree(ROBOT, folder / "robot")
    shutil.copytree(ROBOT, folder / "things" / "robot")
    to_image(photo("gravel", 80, 60)).save(folder / "things" / "pebbles.png")
    template = Template.load(folder / "robot")
    root = placed(30.0, 1.0, (250.0, 180.0), template.centre)
    scene = to_image(
        render(photo("coffee", 512, 384), template, matrices(template.parts, root, {"forearm_left": 20.0}))
    )
    scene.save(folder / "photograph.png")
    scene.save(folder / "photographs" / "robot.png")
    cv2 = pytest.importorskip("cv2")
    writer = cv2.VideoWriter(str(folder / "walk.mp4"), cv2.VideoWriter.fourcc(*"mp4v"), 10.0, scene.size)
    for _ in range(3):
        writer.write(np.asarray(scene)[:, :, ::-1].copy())
    writer.release()


def _toy(folder: Path) -> None:
    to_image(photo("gravel", 200, 130)).save(folder / "toy.png")
    shapes = [
        {"label": "body", "points": [[30, 30], [110, 30], [110, 100], [30, 100]], "shape_type": "polygon"},
        {"label": "arm", "points": [[105, 50], [170, 50], [170, 75], [105, 75]], "shape_type": "polygon"},
        {"label": "arm.pivot", "points": [[110, 62]], "shape_type": "point"},
    ]
    drawn = {"version": "5.0", "flags": {}, "shapes": shapes, "imagePath": "toy.png", "imageData": None}
    (folder / "toy.json").write_text(json.dumps(drawn))


def _motif(folder: Path) -> None:
    rng = np.random.default_rng(0)
    picture = (np.kron(rng.random((12, 16)), np.ones((8, 8))) * 255).astype(np.uint8)
    Image.fromarray(picture).save(folder / "scene.png")
    Image.fromarray(picture[30:70, 40:90]).save(folder / "motif.png")


@pytest.fixture
def here(pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, in which no calibration takes time."""
    shutil.copytree(pictures, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    without_calibration(monkeypatch)
    return tmp_path


def without_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    def calibrate(template: Template, ranges: Range, *_: object, **__: object) -> Calibration:
        # With tilt, clutter reaches more than in other tests, and would be followed as a crowd.
        chance, crowd_from = 0.45, 0.5
        return made_up(
            template, ranges.rotation, ranges.scale, chance, tilt=ranges.tilt, crowd_from=crowd_from
        )

    monkeypatch.setattr(measure, "calibrate", calibrate)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_runs(page: Path, here: Path) -> None:
    names: dict[str, object] = {}
    for language, text in blocks(page):
        assert language in KNOWN, f"nobody would run {language}"
        if language == "python":
            exec(compile(text, page.name, "exec"), names)
        elif language == "console":
            run_lines(text)
        elif language == "json":
            json.loads(text)


def run_lines(text: str) -> None:
    for line in text.splitlines():
        assert line.startswith("$ "), line
        command = line.removeprefix("$ ")
        if command.startswith(ELSEWHERE):
            continue
        program, *arguments = shlex.split(command.split(" > ")[0])  # what is printed is not looked at
        assert program == "wherein", line
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_modules_that_are_named_with_their_folder_exist() -> None:
    for page in PAGES:
        for named in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", page.read_text()):
            assert (ROOT / named).exists() or (ROOT / "src/wherein" / named).exists(), f"{page.name}: {named}"


def test_every_module_is_in_the_list_of_what_is_where() -> None:
    """Those of a package that the list describes module by module."""
    ((_, tree),) = blocks(ROOT / "docs/architecture.md")
    listed = set(re.findall(r"[a-z_0-9]+\.py", tree))
    packages: dict[Path, list[str]] = {}
    for path in (ROOT / "src/wherein").rglob("*.py"):
        if not path.name.startswith("__"):
            packages.setdefault(path.parent, []).append(path.name)
    for folder, names in packages.items():
        described = [name for name in names if name in listed]
        assert described in ([], names), f"{folder.name}: {sorted(set(names) - listed)}"


def test_every_command_is_listed_with_what_it_does() -> None:
    page = (ROOT / "docs/commands.md").read_text()
    assert set(re.findall(r"^\| `(wherein [a-z ]+)`", page, re.MULTILINE)) == set(
        _commands(get_command(app), "wherein")
    )


def _commands(command: object, name: str) -> Iterator[str]:
    below = getattr(command, "commands", None)
    if below is None:
        yield name
    for word, one in (below or {}).items():
        yield from _commands(one, f"{name} {word}")


def test_everything_that_import_offers_is_in_the_api() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs/api").glob("*.md"))
    named = set(re.findall(r"auto(?:class|function):: wherein\.(\w+)$", pages, re.MULTILINE))
    errors = {name for name in wherein.__all__ if name.endswith("Error")}
    assert "automodule:: wherein.errors" in pages
    assert named == set(wherein.__all__) - errors


def test_there_is_something_to_run() -> None:
    kinds = [language for page in PAGES for language, _ in blocks(page)]
    assert kinds.count("python") > 8
    assert kinds.count("console") > 5


def test_the_five_lines_print_what_is_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = next(text for language, text in blocks(ROOT / "README.md") if "Detector" in text)
    exec(block, {})
    score, angle = map(float, capsys.readouterr().out.split()[:2])
    assert score > 0.9
    assert angle == pytest.approx(30, abs=0.2)


def test_the_first_steps_work_in_an_empty_folder_and_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    without_calibration(monkeypatch)
    for _ in range(2):
        names: dict[str, Any] = {}
        for language, text in blocks(ROOT / "docs/start.md"):
            if language == "console":
                run_lines(text)
            elif language == "json":
                (shown,) = json.loads(text)["detections"]
            else:
                exec(compile(text, "start.md", "exec"), names)
        (item,) = names["found"]
        assert item.scale == pytest.approx(shown["scale"], abs=0.01)
        expected, got = (np.array(matrix)[:2] for matrix in (shown["matrix"], item.matrix))
        np.testing.assert_allclose(got, expected, atol=1.0)
        np.testing.assert_allclose(item.parts["cup"].polygon, shown["parts"]["cup"]["polygon"], atol=1.5)
    assert len(names["detector"]("photographs/cup-on-gravel.jpg")) == 1
    assert len(names["detector"]("photographs/no-cup.jpg")) == 0


def test_the_dial_is_read_as_its_page_says(here: Path) -> None:
    names: dict[str, Any] = {}
    for language, text in blocks(ROOT / "docs/howto/dial.md"):
        if language == "python":
            exec(compile(text, "dial.md", "exec"), names)
        elif language == "json":
            written = json.loads(text)
    needle = names["gauge"].parts["needle"]
    assert needle.reading(0) == pytest.approx(4, abs=0.02)
    for turn, value in written["at"]:
        assert needle.reading(turn) == pytest.approx(value, abs=0.02)
    (item,) = names["detector"]("gauges/a.png")
    shown = gauge_scene(Template.load(GAUGE), 0)
    assert item.parts["needle"].value == pytest.approx(shown.value, abs=0.2)
    assert item.tilt == pytest.approx(30, abs=3)
    assert names["part"].value is None  # of the last block: the needle under glare
    assert names["item"].parts["dial"].found

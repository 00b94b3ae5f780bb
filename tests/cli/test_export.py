"""`wherein detect --export`: files for other programs, whole or not there."""

import csv
import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from detecting import scene, toy, write_picture
from wherein import files
from wherein.cli.main import app
from wherein.detect import Detector
from wherein.template import Template

runner = CliRunner()


def export(folder: Path, *arguments: str | Path) -> Result:
    scenes = [folder / "scenes", folder / "broken.png"]
    command = ["detect", folder / "toy", *scenes, "--rotation", "0", *arguments]
    return runner.invoke(app, [str(word) for word in command])


def test_coco_of_all_scenes(folder: Path) -> None:
    out = folder / "deep" / "found.json"
    result = export(folder, "--export", out)
    assert result.exit_code == 4, result.stderr
    made = json.loads(out.read_text(encoding="utf-8"))
    names = [str(folder / "scenes" / name) for name in ("a.png", "b.png")]
    assert [(image["id"], image["file_name"]) for image in made["images"]] == [(1, names[0]), (2, names[1])]
    assert [c["name"] for c in made["categories"]] == ["toy", "body", "arm"]
    assert [(a["id"], a["image_id"], a["category_id"]) for a in made["annotations"]] == [
        *((1, 1, 1), (2, 1, 2), (3, 1, 3)),
    ]
    found = Detector(Template.load(folder / "toy"), rotation=0)(folder / "scenes" / "a.png")
    assert made["annotations"] == found.to_coco()["annotations"]


def test_coco_of_nothing(folder: Path) -> None:
    out = folder / "found.json"
    command = ["detect", folder / "toy", folder / "scenes" / "b.png", "--rotation", "0", "--export", out]
    assert runner.invoke(app, [str(word) for word in command]).exit_code == 0
    made = json.loads(out.read_text(encoding="utf-8"))
    assert (made["annotations"], len(made["images"]), len(made["categories"])) == ([], 1, 3)


def test_csv_of_all_scenes(folder: Path) -> None:
    out = folder / "found.CSV"
    result = export(folder, "--export", out)
    assert result.exit_code == 4
    with out.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(Path(row["scene"]).name, row["part"]) for row in table] == [("a.png", "body"), ("a.png", "arm")]
    (found,) = json.loads(result.stdout.splitlines()[0])["detections"]
    angles = [found["parts"][name]["angle"] for name in ("body", "arm")]
    assert [float(row["angle"]) for row in table] == pytest.approx(angles, abs=1e-3)
    assert angles == pytest.approx([0, 10], abs=0.2)


def test_labelme_has_a_file_a_scene_that_names_its_picture(folder: Path) -> None:
    write_picture(folder / "scenes" / "more" / "A.png", scene(toy()))
    out = folder / "labels"
    result = export(folder, folder / "scenes" / "more", "--export", out, "--format", "labelme")
    assert result.exit_code == 4, result.stderr
    assert sorted(path.name for path in out.iterdir()) == ["A-2.json", "a.json", "b.json"]
    made = json.loads((out / "A-2.json").read_text(encoding="utf-8"))
    assert made["imagePath"] == "../scenes/more/A.png"
    assert (out / made["imagePath"]).exists()
    assert [shape["label"] for shape in made["shapes"]] == ["body", "arm"]
    assert json.loads((out / "b.json").read_text(encoding="utf-8"))["shapes"] == []


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("found.json",), "found.json"),
        (("found.csv",), "found.csv"),
        (("f", "--format", "labelme"), "f/a.json"),
        (("f", "--format", "yolo"), "f/data.yaml"),
        (("f", "--format", "voc"), "f/b.xml"),
        (("found.json", "--format", "label-studio"), "found.json"),
    ],
)
def test_nothing_is_overwritten_unless_it_may(folder: Path, arguments: tuple[str, ...], name: str) -> None:
    written = folder / name
    written.parent.mkdir(exist_ok=True)
    written.write_text("mine")
    command = ("--export", folder / arguments[0], *arguments[1:])
    result = export(folder, *command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{written} already exists: choose another name or use --overwrite" in result.stderr
    assert written.read_text() == "mine"
    assert export(folder, *command, "--overwrite").exit_code == 4
    assert written.read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--export", "found.xyz"],
            "unknown file extension. Use .json for coco, .csv for csv, or a folder with --format labelme",
        ),
        (["--export", "found"], "unknown file extension"),
        (["--export", "found.csv", "--format", "coco"], "must end in .json"),
        (["--export", "found.json", "--format", "csv"], "must end in .csv"),
        (["--export", "broken.png", "--format", "labelme"], "is a file: choose a folder"),
        (["--export", "toy.json"], "is a folder: use a file name"),
        (["--format", "csv"], "add --export"),
        (["--export", "found.json", "--format", "yolo"], "named like a file, but yolo writes a folder"),
        (["--export", "found", "--format", "yolov5"], "yolov5"),
        (["--export", "/proc/found.json"], "cannot write /proc/found.json"),
        (["--export", "/proc/found", "--format", "labelme"], "cannot write /proc/found"),
    ],
)
def test_wrong_usage(folder: Path, arguments: list[str], words: str) -> None:
    (folder / "toy.json").mkdir()
    paths = [str(folder / a) if k == 1 else a for k, a in enumerate(arguments)]
    if arguments[0] == "--format":
        paths = arguments
    result = export(folder, *paths)
    assert result.exit_code == 2, result.output
    assert words in result.stderr


@pytest.mark.parametrize("name", ["found.json", "found.csv"])
def test_an_export_that_fails_at_its_end_leaves_nothing(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.Path, "replace", full)
    result = export(folder, "--export", folder / "out" / name)
    assert result.exit_code == 2
    assert f"cannot write {folder / 'out' / name}: No space left on device" in result.stderr
    assert len(result.stdout.splitlines()) == 3  # what was found had been said by then
    assert list((folder / "out").iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text here")
def test_a_name_that_is_no_proper_text(folder: Path) -> None:
    path = write_picture(folder / os.fsdecode(b"caf\xe9.png"), scene(toy()))
    assert export(folder, path, "--export", folder / "found.json").exit_code == 4
    made = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert made["images"][-1]["file_name"] == str(path)
    assert export(folder, path, "--export", folder / "found.csv").exit_code == 4
    assert "caf\\udce9.png" in (folder / "found.csv").read_text(encoding="utf-8")


def test_labels_that_do_not_have_the_name_of_their_picture_are_named(folder: Path) -> None:
    for name in ("same.jpg", "same.png"):
        write_picture(folder / name, scene(toy()))
    scenes = [folder / "same.jpg", folder / "same.png"]
    result = export(folder, *scenes, "--export", folder / "labels", "--format", "yolo")
    assert result.exit_code == 4, result.output  # one of the other scenes is broken
    assert sorted(path.name for path in (folder / "labels").glob("same*")) == ["same-2.txt", "same.txt"]
    assert f"so {folder / 'same.png'} as same-2.txt is exported: rename the scenes" in result.stderr
    result = export(folder, scenes[0], "--export", folder / "one", "--format", "yolo")
    assert "Other scenes have the same name" not in result.stderr

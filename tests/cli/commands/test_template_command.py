"""`wherein template new` and `check`: what they print, what they write, and how they exit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from detecting import made_up, noise, photo
from wherein.cli.main import app
from wherein.detect import Calibration
from wherein.detect.calibration import measure
from wherein.detect.search_range import Range
from wherein.images.eight_bit import to_image
from wherein.template import Template

runner = CliRunner()

BODY = [[20, 30], [90, 30], [90, 90], [20, 90]]
ARM = [[80, 40], [140, 40], [140, 62], [80, 62]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    to_image(photo("chelsea", 151, 121)).save(tmp_path / "cat.png")
    Image.fromarray(np.full((60, 60, 3), 128, np.uint8)).save(tmp_path / "wall.png")
    layers = np.dstack((np.asarray(to_image(noise(50, 60))), np.full((50, 60), 255, np.uint8)))
    layers[:, :10, 3] = 0
    Image.fromarray(layers).save(tmp_path / "sticker.png")
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    return tmp_path


def shape(label: str, points: list[Any], kind: str = "polygon", **more: Any) -> dict[str, Any]:
    return {"label": label, "points": points, "shape_type": kind, "group_id": None, "flags": {}} | more


def labelled(folder: Path, *shapes: dict[str, Any], **more: Any) -> Path:
    record = {"version": "5.5.0", "shapes": shapes, "imagePath": "cat.png", "imageData": None} | more
    path = folder / "cat.json"
    path.write_text(json.dumps(record))
    return path


def template(*arguments: object) -> Result:
    return runner.invoke(app, ["template", *map(str, arguments)])


def test_a_folder_of_templates_is_checked_one_by_one(folder: Path) -> None:
    (folder / "broken.png").unlink()
    result = template("check", folder, "--quick")
    assert (result.exit_code, result.stderr) == (0, "")
    summaries = [line for line in result.stdout.splitlines() if "one motif" in line]
    assert [line.split(":")[0] for line in summaries] == ["cat", "sticker", "wall"]
    as_json = template("check", folder, "--quick", "--json", "--draw", folder / "drawn")
    assert [json.loads(line)["template"] for line in as_json.stdout.splitlines()] == [
        "cat",
        "sticker",
        "wall",
    ]
    assert {path.name for path in (folder / "drawn").iterdir()} == {"cat.png", "sticker.png", "wall.png"}
    one = template("check", folder, "--quick", "--draw", folder / "all.png")
    assert one.exit_code == 2
    assert "has 3 templates: use a folder" in one.stderr


def test_a_box(folder: Path) -> None:
    result = template("new", folder / "cat.png", "--box", 20, 10, 101, 90, "--out", folder / "mug")
    assert result.exit_code == 0, result.output
    assert result.stdout == f"mug: one motif, 101 × 90 pixels, written to {folder / 'mug'}\n"
    assert result.stderr == ""
    made = Template.load(folder / "mug")
    assert (made.name, made.parts.leaves) == ("mug", ("mug",))
    np.testing.assert_array_equal(
        np.asarray(Image.open(folder / "mug" / "canvas.png"))[..., :3],
        np.asarray(Image.open(folder / "cat.png"))[10:100, 20:121],
    )


@pytest.mark.parametrize(
    "form", ["40,10 110,12 100,90 30,80", "[[40, 10], [110, 12], [100, 90], [30, 80]]", "file"]
)
def test_a_polygon(folder: Path, form: str) -> None:
    if form == "file":
        form = str(folder / "outline.json")
        Path(form).write_text("[[40, 10], [110, 12], [100, 90], [30, 80]]")
    out = folder / "face.zip"
    result = template("new", folder / "cat.png", "--polygon", form, "--out", out, "--name", "cat's face")
    assert result.exit_code == 0, result.output
    made = Template.load(out)
    assert (made.name, made.size) == ("cat's face", (81, 81))


def test_alpha_or_everything(folder: Path) -> None:
    assert template("new", folder / "sticker.png", "--out", folder / "a").exit_code == 0
    assert Template.load(folder / "a").size == (50, 50)
    result = template("new", folder / "cat.png", "--out", folder / "b")
    assert "note: no outline and no alpha channel" in result.stdout
    assert Template.load(folder / "b").size == (151, 121)


def test_what_makes_it_hard_to_find_is_said_at_once(folder: Path) -> None:
    result = template("new", folder / "wall.png", "--out", folder / "wall")
    assert result.exit_code == 0
    assert "problem: wall: its contrast is 0.000" in result.stdout


def test_labelme(folder: Path) -> None:
    arm = shape("arm", ARM, description="turn=40")
    source = labelled(folder, shape("body", BODY), arm, shape("arm.pivot", [[85, 51]], "point"))
    result = template("new", source, "--out", folder / "cat")
    assert result.exit_code == 0, result.output
    assert (
        result.stdout.splitlines()[0]
        == f"cat: 2 parts, 1 joint, 120 × 60 pixels, written to {folder / 'cat'}"
    )
    made = Template.load(folder / "cat")
    assert made.parts["arm"].joint == (64.5, 20.5)
    assert made.parts["arm"].turn == 40
    assert made.paint_order == ("body", "arm")
    below = ["new", source, "--out", folder / "cat", "--overwrite", "--paint-order", "arm, body"]
    assert template(*below).exit_code == 0
    assert Template.load(folder / "cat").paint_order == ("arm", "body")
    assert Template.load(folder / "cat").parts["arm"].motif.width == 50  # type: ignore[union-attr]
    assert template(*below, "--keep-covered").exit_code == 0
    assert Template.load(folder / "cat").parts["arm"].motif.width == 60  # type: ignore[union-attr]


def test_coco(folder: Path) -> None:
    flat = [[place for corner in polygon for place in corner] for polygon in (BODY, ARM)]
    record = {
        "images": [{"id": 3, "file_name": "cat.png"}, {"id": 4, "file_name": "gone/other.png"}],
        "annotations": [
            {"id": 1, "image_id": 3, "category_id": 1, "segmentation": [flat[0]]},
            {"id": 2, "image_id": 3, "category_id": 1, "segmentation": [flat[1]]},
            {"id": 3, "image_id": 4, "category_id": 1, "segmentation": [flat[0]]},
        ],
        "categories": [{"id": 1, "name": "cat"}],
    }
    source = folder / "instances.json"
    source.write_text(json.dumps(record))
    result = template("new", source, "--out", folder / "x")
    assert result.exit_code == 2
    assert "choose one with image= or --image (cat.png, gone/other.png)" in result.stderr
    result = template("new", source, "--image", "cat.png", "--out", folder / "x")
    assert (result.exit_code, "choose an object with object_id= or --object (1, 2)" in result.stderr) == (
        2,
        True,
    )
    assert template("new", source, "--image", 3, "--object", 2, "--out", folder / "x").exit_code == 0
    assert Template.load(folder / "x").size == (60, 22)
    (folder / "found").mkdir()
    (folder / "cat.png").rename(folder / "found" / "other.png")
    moved = template("new", source, "--image", folder / "found" / "other.png", "--out", folder / "y")
    assert moved.exit_code == 0, moved.output
    assert Template.load(folder / "y").size == (70, 60)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["missing.png"], 3, "file not found"),
        (["broken.png"], 3, "content is not PNG"),
        (["missing.json"], 3, "file not found"),
        (["cat.png", "--box", "1", "1", "0", "5"], 2, "--box 1 1 0 5 is 0 × 5 pixels"),
        (["cat.png", "--box", "500", "1", "10", "10"], 2, "which is 151 × 121 pixels"),
        (["cat.png", "--box", "100", "1", "60", "10"], 2, "--box 100 1 60 10 is not inside the picture"),
        (["cat.png", "--box", "-1", "1", "60", "10"], 2, "is not inside the picture"),
        (["cat.png", "--box", "1", "1"], 2, "--box"),
        (["cat.png", "--polygon", "1,1 9,9"], 2, "has a polygon of 2 corners: draw at least three"),
        (["cat.png", "--polygon", "1,1 9"], 2, "is not a polygon"),
        (["cat.png", "--polygon", "[[1, 1], {}]"], 2, "is not a polygon"),
        (["cat.png", "--polygon", "nowhere.json"], 2, "No such file"),
        (["cat.png", "--polygon", "1,1 9,9 1,9", "--box", "1", "1", "5", "5"], 2, "use one of them"),
        (["cat.png", "--object", "1"], 2, "--image and --object are for annotations"),
        (["cat.png", "--name", " "], 2, "the name of the template is empty"),
        (["cat.png", "--paint-order", "leg"], 2, 'paint_order names "leg"'),
    ],
)
def test_what_goes_wrong_with_a_picture(folder: Path, arguments: list[str], code: int, words: str) -> None:
    source = folder / arguments[0]
    result = template("new", source, *arguments[1:], "--out", folder / "out")
    assert result.exit_code == code, result.output
    assert words in result.stderr.replace("\n", " ")
    assert result.stdout == ""
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("contents", "code", "words"),
    [
        ("{", 3, "is not JSON"),
        ('{"hello": 1}', 3, "has an unknown format: use an annotation file of coco"),
        ({"shapes": [shape("a", [[1, 1], [5, 5]])]}, 3, 'the part "a" has a polygon of 2 corners'),
        ({"shapes": [shape("a", BODY, description="parent=a")]}, 3, "form a cycle"),
        ({"shapes": [shape("a", BODY)], "imagePath": "gone.png"}, 3, "file not found"),
        ({"shapes": [shape("a", BODY)], "imagePath": "/etc/passwd"}, 3, "outside its folder"),
        ({"shapes": [shape("a", BODY)], "imagePath": "broken.png"}, 3, "content is not PNG"),
        (
            {"shapes": [shape("a", BODY, group_id=1), shape("a", ARM, group_id=2)]},
            2,
            "choose one with object_id= or --object",
        ),
    ],
)
def test_what_goes_wrong_with_annotations(folder: Path, contents: Any, code: int, words: str) -> None:
    source = folder / "a.json"
    whole = {"imagePath": "cat.png", **contents} if isinstance(contents, dict) else None
    source.write_text(contents if whole is None else json.dumps(whole))
    result = template("new", source, "--out", folder / "out")
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert not (folder / "out").exists()
    boxed = template("new", source, "--box", 1, 1, 5, 5, "--out", folder / "out")
    assert (boxed.exit_code, "--box is for pictures only" in boxed.stderr) == (2, True)


def test_nothing_is_overwritten_unasked(folder: Path) -> None:
    (folder / "mug").mkdir()
    (folder / "mug" / "dear.txt").write_text("keep me")
    arguments = ["new", folder / "cat.png", "--out", folder / "mug"]
    result = template(*arguments)
    assert result.exit_code == 2
    assert "mug already exists: choose another name or use --overwrite" in result.stderr
    result = template(*arguments, "--overwrite")
    assert result.exit_code == 2
    assert "a folder with other files" in result.stderr
    assert [path.name for path in (folder / "mug").iterdir()] == ["dear.txt"]


def test_where_nothing_can_be_written(folder: Path) -> None:
    result = template("new", folder / "cat.png", "--out", "/proc/mug")
    assert result.exit_code == 2
    assert "cannot write /proc/mug" in result.stderr


@pytest.fixture
def crane(folder: Path) -> Path:
    shapes = shape("body", BODY), shape("arm", ARM), shape("arm.pivot", [[85, 51]], "point")
    assert template("new", labelled(folder, *shapes), "--out", folder / "crane").exit_code == 0
    return folder / "crane"


def test_check_says_what_it_is(crane: Path) -> None:
    result = template("check", crane, "--quick")
    assert result.exit_code == 0, result.output
    first, *tree = result.stdout.splitlines()
    assert first == "crane: 2 parts, 1 joint, 120 × 60 pixels"
    assert tree[:3] == ["crane", "├─ body  70 × 60", "└─ arm  60 × 22, turns ±30° about (64.5, 20.5)"]
    assert all(line.startswith(("warning: ", "note: ", "problem: ", "no problems")) for line in tree[3:])


def test_check_as_json_and_drawn(crane: Path, folder: Path) -> None:
    out = folder / "deep" / "sheet.png"
    result = template("check", crane, "--quick", "--json", "--draw", out)
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert list(record) == ["template", "width", "height", "parts", "findings"]
    assert record["parts"]["arm"] == {
        "parent": "crane",
        "size": [60, 22],
        "joint": [64.5, 20.5],
        "turn": 30.0,
    }
    assert record["parts"]["crane"] == {"parent": None, "size": None, "joint": None, "turn": 0.0}
    with Image.open(out) as sheet:
        assert sheet.width > 1000
    again = template("check", crane, "--draw", out)
    assert again.exit_code == 2
    assert f"{out} already exists: choose another name or use --overwrite" in again.stderr
    assert template("check", crane, "--quick", "--draw", out, "--overwrite").exit_code == 0


def test_check_predicts_what_happens(crane: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It calibrates for the poses that are given, and tries the template out."""
    asked = []

    def calibrate(of: Template, ranges: Range, **_: object) -> Calibration:
        asked.append(ranges)
        return made_up(of, ranges.rotation, ranges.scale, tilt=ranges.tilt)

    monkeypatch.setattr(measure, "calibrate", calibrate)
    poses = ("--rotation", "20", "--scale", "0.9", "1", "--tilt", "0")
    result = template("check", crane, *poses)
    assert result.exit_code == 0, result.output
    assert asked == [Range(20.0, (0.9, 1.0), 0.0)]
    notes = [line for line in result.stdout.splitlines() if line.startswith("note: ")]
    assert any("expect it to be found in 100% of scenes" in line for line in notes)
    assert any("it is found down to scale 0.90" in line for line in notes)
    kinds = [
        finding["kind"]
        for finding in json.loads(template("check", crane, *poses, "--json").stdout)["findings"]
    ]
    assert {"expected", "size"} <= set(kinds)
    assert len(asked) == 1, "the calibration is stored, for detect too"


def test_check_finds_what_is_wrong_and_still_ends_well(folder: Path) -> None:
    template("new", folder / "wall.png", "--out", folder / "wall")
    result = template("check", folder / "wall", "--quick", "--json")
    assert result.exit_code == 0
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["severity"], finding["kind"], finding["part"], finding["measured"]) == (
        *("problem", "no texture", "wall", 0.0),
    )
    assert set(finding) == {"severity", "kind", "part", "measured", "limit", "unit", "words", "advice"}


@pytest.mark.parametrize(
    ("name", "words"), [("missing", "does not exist"), ("broken.png", "A template is a folder")]
)
def test_check_of_what_is_no_template(folder: Path, name: str, words: str) -> None:
    result = template("check", folder / name)
    assert (result.exit_code, result.stdout) == (3, "")
    assert words in result.stderr


def test_help_has_an_example() -> None:
    for command in ("new", "check"):
        result = template(command, "--help")
        assert result.exit_code == 0
        assert f"Example: wherein template {command}" in " ".join(result.stdout.split())

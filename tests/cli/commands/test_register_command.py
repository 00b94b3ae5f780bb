"""`wherein register`: what it prints and how it exits."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import wherein
from wherein.cli.commands.register_command import MotionName
from wherein.cli.main import app
from wherein.cli.register_run import describe
from wherein.demo import ROBOT
from wherein.errors import PictureError, TemplateError
from wherein.motion import MOTIONS

runner = CliRunner()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    scene = np.kron(rng.random((12, 16)), np.ones((8, 8)))
    pixels = (scene * 255).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "scene.png")
    Image.fromarray(pixels[30:70, 40:90]).save(tmp_path / "motif.png")
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    return tmp_path


RECORD: dict[str, Any] = {
    **{"motion": "similarity", "status": "converged", "zncc": 0.4, "steps": 3, "seconds": 0.1},
    **{"center": [52.0, 41.2], "angle": 1.0, "scale": 1.0, "tilt": 12.3, "certainty": 0.5},
    "matrix": [[1.0, 0.0, 40.0], [0.0, 1.0, 30.0]],
}


def test_one_json_object_on_standard_output(folder: Path) -> None:
    result = runner.invoke(
        app,
        [
            "register",
            str(folder / "scene.png"),
            str(folder / "motif.png"),
            "--motion",
            "translation",
            "--start",
            "[[1,0,38],[0,1,31]]",
        ],
    )
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    assert list(record) == [
        *("scene", "width", "height", "motif", "motion", "status", "zncc", "seen", "cost", "steps"),
        *("matrix", "center", "angle", "scale", "tilt", "certainty", "seconds"),
    ]
    page = (Path(__file__).resolve().parents[3] / "docs" / "commands.md").read_text()
    table = page.partition("The object of `register`:")[2].partition("After the last scene")[0]
    rows = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    assert set(record) == {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert (record["width"], record["height"], record["motif"], record["status"]) == (
        128,
        96,
        "motif",
        "converged",
    )
    np.testing.assert_allclose(record["matrix"], [[1, 0, 40], [0, 1, 30]], atol=0.02)


@pytest.mark.parametrize(
    ("certainty", "words"),
    [
        (0.64, "certainty 0.640, above 0.25: the motif is most likely there"),
        (0.0, "certainty 0.000, not above 0.25: the motif may not be there"),
    ],
)
def test_the_text_says_what_the_certainty_means(certainty: float, words: str) -> None:
    _, _, meaning, *rows = describe(RECORD | {"certainty": certainty})
    assert (meaning, rows[0]) == (words, "[1, 0, 40]")


def test_the_text_says_where_the_motif_is() -> None:
    _, flat, *_ = describe(RECORD | {"motion": "affine"})
    assert flat == "middle at (52.0, 41.2), rotation 1.00°, scale 1.000"
    _, tilted, *_ = describe(RECORD | {"motion": "homography"})
    assert tilted == "middle at (52.0, 41.2), rotation 1.00°, scale 1.000, tilt 12°"


def test_the_text_says_what_a_pose_was_fitted_by() -> None:
    record = RECORD | {"steps": 0}
    assert next(describe(record)) == "converged, ZNCC 0.400, 0 steps, 0.10 s"
    assert "ZNCC 0.400, found by edges, colours lead away from there, 0.10 s" in next(
        describe(record, refined=False)
    )


def test_a_motif_that_is_not_found_at_its_own_size_leads_to_a_wider_motion(folder: Path) -> None:
    with Image.open(folder / "motif.png") as motif:
        motif.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(folder / "mirrored.png")
    scene, arguments = str(folder / "scene.png"), ["register", str(folder / "scene.png")]
    for motion, words in (
        ("euclidean", "Searched for the motif at its own size. Use --motion similarity for other poses."),
        ("similarity", "Searched for the motif facing the camera. Use --motion homography for other poses."),
    ):
        missed = runner.invoke(app, [*arguments, str(folder / "mirrored.png"), "--motion", motion])
        assert missed.stderr.strip() == words
    widest = runner.invoke(app, ["register", scene, str(folder / "mirrored.png"), "--motion", "homography"])
    clear = runner.invoke(app, ["register", scene, str(folder / "motif.png")])
    assert (widest.stderr, clear.stderr) == ("", "")


def test_draw_writes_a_picture_and_does_not_overwrite(folder: Path) -> None:
    out = folder / "deep" / "out.png"
    arguments = ["register", str(folder / "scene.png"), str(folder / "motif.png"), "--draw", str(out)]
    assert runner.invoke(app, arguments).exit_code == 0
    with Image.open(out) as drawn, Image.open(folder / "scene.png") as scene:
        assert drawn.width == scene.width  # its pixels have the coordinates of the result
        assert drawn.height > scene.height
    again = runner.invoke(app, arguments)
    assert again.exit_code == 2
    assert "already exists: choose another name or use --overwrite" in again.stderr
    assert runner.invoke(app, [*arguments, "--overwrite"]).exit_code == 0
    assert [p.name for p in out.parent.iterdir()] == ["out.png"]
    assert runner.invoke(app, [*arguments[:-1], str(folder / "drawn")]).exit_code == 0
    assert [p.name for p in (folder / "drawn").iterdir()] == ["scene.png"]


@pytest.mark.parametrize(
    ("arguments", "role", "words"),
    [
        (["broken.png", "motif.png"], "scene", "the content is not PNG"),
        (["missing.png", "motif.png"], "scene", "file not found"),
        (["scene.png", "broken.png"], "motif", "the content is not PNG"),
        (["broken.png", "missing.png"], "motif", "file not found"),
        (["scene.png", "motif.png", "--mask", "broken.png"], "mask", "the content is not PNG"),
    ],
)
def test_what_cannot_be_read_is_named(folder: Path, arguments: list[str], role: str, words: str) -> None:
    paths = [str(folder / a) if a.endswith(".png") else a for a in arguments]
    result = runner.invoke(app, ["register", *paths])
    assert result.exit_code == 3
    record = json.loads(result.stdout)
    assert list(record) == [role, "error"]
    assert record["error"].startswith(f"{role}: {record[role]}: {words}")
    assert result.stderr == f"wherein: {record['error']}\n"


def test_a_picture_of_several_frames_is_refused(folder: Path) -> None:
    """Otherwise the first frame would be used, silently."""
    frames = [Image.new("RGB", (64, 48), colour) for colour in ("red", "blue")]
    frames[0].save(folder / "two.webp", save_all=True, append_images=frames[1:])
    words = "this WebP has 2 frames: save the one that is meant as a PNG"
    for role, arguments in {
        "scene": ["two.webp", "motif.png"],
        "motif": ["scene.png", "two.webp"],
        "mask": ["scene.png", "motif.png", "--mask", "two.webp"],
    }.items():
        given = [str(folder / a) if "." in a else a for a in arguments]
        result = runner.invoke(app, ["register", *given])
        assert result.exit_code == 3
        assert f"{role}: {folder / 'two.webp'}: {words}" in result.stderr
    for scene, motif in (("two.webp", "motif.png"), ("scene.png", "two.webp")):
        with pytest.raises(PictureError, match=words):
            wherein.register(folder / scene, folder / motif)
    with pytest.raises(TemplateError, match=words):
        wherein.Template.load(folder / "two.webp")


def test_the_motif_may_be_a_template(folder: Path) -> None:
    """One without moving parts: its canvas is the motif, with its outline."""
    picture = Image.open(folder / "motif.png").convert("RGB")
    picture.putalpha(Image.new("L", picture.size, 255))
    picture.save(folder / "alpha.png")
    wherein.Template.load(folder / "alpha.png").save(folder / "thing")
    wherein.Template.load(folder / "alpha.png").save(folder / "thing.zip")
    records = []
    for motif in ("alpha.png", "thing", "thing.zip"):
        result = runner.invoke(app, ["register", str(folder / "scene.png"), str(folder / motif)])
        assert result.exit_code == 0, result.stderr
        records.append(json.loads(result.stdout)["matrix"])
    assert records[0] == records[1] == records[2]
    result = runner.invoke(app, ["register", str(folder / "scene.png"), str(ROBOT)])
    assert result.exit_code == 2
    assert re.search(r"is a template of \d+ parts: `wherein detect` finds it", result.stderr)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["motif.png", "scene.png"], 2, "are they swapped"),
        (["scene.png", "motif.png", "--motion", "rigid"], 2, "rigid"),
        (["scene.png", "motif.png", "--start", "[[1,"], 2, "--start is not JSON"),
        (["scene.png", "motif.png", "--start", "[1]"], 2, "2×3 or 3×3"),
        (["scene.png"], 2, "MOTIF"),
        (
            ["scene.png", "motif.png", "--draw", "found.gif"],
            2,
            "use a folder, or a picture that ends in .png",
        ),
        (["scene.png", "motif.png", "--draw", "/proc/found.png"], 2, "cannot write /proc/found.png"),
    ],
)
def test_exit_status(folder: Path, arguments: list[str], code: int, words: str) -> None:
    paths = [str(folder / a) if a.endswith(".png") else a for a in arguments]
    result = runner.invoke(app, ["register", *paths])
    assert result.exit_code == code
    assert words in result.stderr


def test_the_motions_are_the_librarys() -> None:
    assert [m.value for m in MotionName] == list(MOTIONS)


def test_version() -> None:
    assert runner.invoke(app, ["--version"]).stdout.startswith("wherein 0.")

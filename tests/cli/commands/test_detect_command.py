"""`wherein detect`: what it prints, what it writes, what it does not write over, and how it exits."""

import html
import json
import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from detecting import empty, noise, scene, toy, write_picture, write_template
from wherein.cli.main import app
from wherein.detect import Calibration, Detector
from wherein.detect.calibration import measure
from wherein.images.load import load_scene
from wherein.images.motif import Motif
from wherein.motion.homography import mapped
from wherein.template import Template

runner = CliRunner()


@pytest.fixture(autouse=True)
def _no_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept outside the test's folder, and nobody waits for a calibration."""

    def never(*_: object, **__: object) -> None:
        pytest.fail("a calibration was begun")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(measure, "calibrate", never)


def detect(folder: Path, *arguments: str | Path) -> Result:
    return runner.invoke(app, ["detect", str(folder / "toy"), *map(str, arguments), "--rotation", "0"])


def records(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_line_a_scene(folder: Path) -> None:
    result = detect(folder, folder / "scenes")
    assert result.exit_code == 0, result.stderr
    first, second = records(result)
    assert list(first) == ["scene", "width", "height", "template", "seconds", "detections", "candidates"]
    assert (first["scene"], first["width"], first["height"], first["template"]) == (
        *(str(folder / "scenes" / "a.png"), 160, 120, "toy"),
    )
    (found,) = first["detections"]
    assert list(found) == ["score", "matrix", "angle", "scale", "parts"]
    corners = [(0, 0), (47, 0), (47, 47), (0, 47)]  # of the body, which is what is fitted
    there = mapped(np.array(found["matrix"]), corners)
    assert np.shape(found["matrix"]) == (3, 3)  # with perspective: the object may be tilted
    np.testing.assert_allclose(there, np.array(corners) + np.array((40.5, 36.5)), atol=0.3)
    assert list(found["parts"]) == ["body", "arm"]
    keys = ["found", "score", "matrix", "angle", "polygon", "turn", "turn_spread"]
    assert list(found["parts"]["arm"]) == keys
    assert found["parts"]["arm"]["angle"] == pytest.approx(10, abs=0.5)
    assert found["parts"]["arm"]["turn"] == pytest.approx(10, abs=0.5)
    assert second["detections"] == []
    assert result.stderr == "1 found in 1 of 2 scenes\n"


def test_every_field_is_in_the_table_of_the_documentation(folder: Path) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "commands.md").read_text()
    rows = re.findall(r"^\| (`.+?) \|", page.partition("### Fields")[2], re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    first, second = records(detect(folder, folder / "scenes"))
    (found,) = first["detections"]
    used = {*first, *second, *found, *(key for part in found["parts"].values() for key in part)}
    assert used <= listed
    assert {"turn_spread", "polygon"} <= used


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--scale", "1", "--tilt", "0"], "it needs 2 numbers, with spaces between them: --scale LOW HIGH"),
        (["--scale", "0.8,", "1.25"], "it needs 2 numbers, with spaces between them: --scale LOW HIGH"),
        (["--tilt", "40°"], "it needs a number: --tilt DEGREES"),
        (["--max-instances", "one"], "it needs a number: --max-instances N"),
    ],
)
def test_what_is_no_number_is_told_in_words(folder: Path, given: list[str], words: str) -> None:
    result = runner.invoke(app, ["detect", str(folder / "toy"), str(folder / "scenes"), *given])
    assert result.exit_code == 2
    assert words in re.sub(r"\s+", " ", result.stderr)


def test_what_is_known_of_the_pose_makes_it_more_exact(folder: Path) -> None:
    (first, _) = records(detect(folder, folder / "scenes", "--scale", "1", "1", "--tilt", "0"))
    (found,) = first["detections"]
    np.testing.assert_allclose(found["matrix"], [[1, 0, 40.5], [0, 1, 36.5]], atol=0.05)
    assert found["parts"]["arm"]["angle"] == pytest.approx(10, abs=0.2)
    assert found["parts"]["arm"]["turn"] == pytest.approx(10, abs=0.2)


def test_what_came_close_is_told_on_standard_error(folder: Path) -> None:
    (first, _) = records(detect(folder, folder / "scenes"))
    score = first["detections"][0]["score"]
    near = detect(folder, folder / "scenes", "--threshold", str(score + 0.005))
    assert [record["detections"] for record in records(near)] == [[], []]
    (close,), none = (record["candidates"] for record in records(near))
    assert none == []
    assert close["score"] == score
    # Candidates are not fitted to the end.
    np.testing.assert_allclose(close["matrix"], first["detections"][0]["matrix"], atol=0.1)
    line, raised, sizes, summary = near.stderr.splitlines()
    words = (
        f"toy: the threshold is {score + 0.005:.2f}, the calibrated one 0.NN. Omit --threshold to use that."
    )
    assert re.sub(r"one 0\.\d\d", "one 0.NN", raised) == words
    assert summary == "Nothing found in 2 scenes"
    small, large = (" × ".join(f"{scale * side:.0f}" for side in toy().size) for scale in (0.5, 2))
    assert sizes == f"Searched for toy at {small} to {large} pixels. Use --scale for other sizes."
    assert line.startswith(f"{folder / 'scenes' / 'a.png'}: Nothing found. Best candidate: ")
    again = detect(folder, folder / "scenes", "--threshold", line.split()[-4])
    assert len(records(again)[0]["detections"]) == 1
    assert detect(folder, folder / "scenes", "--threshold", str(score + 0.005), "--quiet").stderr == ""


def test_a_region_outside_of_one_scene_does_not_stop_the_others(folder: Path) -> None:
    wide = folder / "scenes" / "wide.png"
    Image.new("RGB", (400, 120)).save(wide)
    result = detect(folder, folder / "scenes", "--region", "300", "0", "90", "90")
    assert result.exit_code == 4, result.output
    first, second, third = records(result)
    assert first["error"].startswith("region must be (x, y, width, height) within the scene of ")
    assert "error" in second and third["detections"] == []
    assert result.stderr.splitlines()[-1] == "Nothing found in 3 scenes; 2 without pixels in the region"


@pytest.mark.parametrize("more", [[], ["--workers", "2"]])
def test_a_region_outside_of_all_scenes_is_told_before_anything_is_calibrated(
    folder: Path, more: list[str]
) -> None:
    motif = folder / "motif.png"
    Image.open(folder / "scenes" / "a.png").crop((40, 36, 88, 84)).save(motif)
    command = ["detect", str(motif), str(folder / "scenes"), "--region", "300", "0", "90", "90", *more]
    result = runner.invoke(app, command)
    assert result.exit_code == 3, result.output
    assert result.stderr.splitlines()[-1] == "No scene could be searched; 2 without pixels in the region"


def test_false_alarms_are_to_be_expected_where_clutter_reaches_the_threshold(folder: Path) -> None:
    """It scored up to 0.3 in the made-up calibration."""
    line, summary = detect(folder, folder / "scenes" / "a.png", "--threshold", "0.25").stderr.splitlines()
    assert line.startswith(
        "toy: scenes without it scored up to 0.30 in the calibration, and the threshold is 0.25"
    )
    assert summary.endswith("found in 1 of 1 scene")
    assert detect(folder, folder / "scenes" / "a.png", "--threshold", "0.31").stderr == f"{summary}\n"


def test_what_the_calibration_warned_of_is_repeated_where_nothing_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, however many scenes there are, and not if something is found in one of them."""
    monkeypatch.setattr(Calibration, "warnings", ["no threshold separates it", "another"])
    write_picture(folder / "scenes" / "c.png", empty())
    lines = detect(folder, folder / "scenes" / "b.png", folder / "scenes" / "c.png").stderr.splitlines()
    assert lines[1:] == [
        "toy: no threshold separates it. `wherein template check` says more.",
        "Nothing found in 2 scenes",
    ]
    assert detect(folder, folder / "scenes").stderr == "1 found in 1 of 3 scenes\n"


def test_files_folders_and_globs_each_once(folder: Path) -> None:
    result = detect(folder, folder / "scenes" / "b.png", folder / "scenes", folder / "scenes" / "*.png")
    assert result.exit_code == 0
    assert [Path(str(r["scene"])).name for r in records(result)] == ["b.png", "a.png"]


@pytest.mark.parametrize(
    ("scenes", "code", "errors"),
    [
        (["scenes", "broken.png"], 4, ["content is not PNG"]),
        (["broken.png", "scenes"], 4, ["content is not PNG"]),
        (["broken.png"], 3, ["content is not PNG"]),
        (["nothing"], 3, ["no pictures"]),
        (["missing.png"], 3, ["file not found"]),
        (["*.tiff"], 3, ["no file matches"]),
        (["scenes", "nothing", "*.tiff"], 4, ["no pictures", "no file matches"]),
    ],
)
def test_what_cannot_be_read_gets_a_line(
    folder: Path, scenes: list[str], code: int, errors: list[str]
) -> None:
    result = detect(folder, *(folder / name for name in scenes))
    assert result.exit_code == code
    said = [r for r in records(result) if "error" in r]
    assert [list(r) for r in said] == [["scene", "error"]] * len(errors)
    for record, words in zip(said, errors, strict=True):
        assert words in str(record["error"])
    assert len(records(result)) == len(errors) + 2 * ("scenes" in scenes)


def test_a_slip_in_a_name_is_told_before_any_calibration(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Detector, "__init__", lambda *_, **__: pytest.fail("a detector was made"))
    assert detect(folder, folder / "missing.png").exit_code == 3


def test_nothing_found(folder: Path) -> None:
    assert detect(folder, folder / "scenes" / "b.png").exit_code == 0
    assert detect(folder, folder / "scenes" / "b.png", "--fail-if-none").exit_code == 1
    assert detect(folder, folder / "scenes", "--fail-if-none").exit_code == 0
    some = detect(folder, folder / "scenes" / "b.png", folder / "broken.png", "--fail-if-none")
    assert some.exit_code == 4


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("missing", "does not exist"),
        ("nothing", "template.json"),
        ("broken.png", "A template is a folder with template.json, a .zip of one, or a picture"),
    ],
)
def test_a_template_that_cannot_be_read(folder: Path, template: str, words: str) -> None:
    result = runner.invoke(app, ["detect", str(folder / template), str(folder / "scenes")])
    assert result.exit_code == 3
    assert words in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--max-instances", "0"], "use 1 or more"),
        (["--threshold", "2"], "between 0 and 1"),
        (["--threshold", "often"], "between 0 and 1"),
        (["--threshold", "0/MP"], "such as 0.01/MP"),
        (["--tilt", "71"], "0 to 70 degrees"),
        (["--overlap", "1.5"], "a fraction from 0 to 1"),
        (["--polarity", "none"], "Invalid value for '--polarity': 'none' is not one of 'same', 'any'."),
        (["--region", "5", "5", "0", "9"], "5 5 0 9 is empty"),
        (["--scale", "2", "1"], "0 < LOW ≤ HIGH"),
        (["--scale", "nan", "1"], "0 < LOW ≤ HIGH"),
        (["--draw", "broken.png"], "broken.png already exists"),
        (["--draw", "new.png"], "new.png is one file, but there are 2 scenes: use a folder"),
        (["--draw", "new.jpgg"], "new.jpgg is not a folder: use a folder, or a picture that ends in .png"),
        (["--draw", "new.xyz"], "new.xyz is not a folder: use a folder, or a picture that ends in .png"),
        (["--draw", "new.gif"], "new.gif is not a folder: use a folder, or a picture that ends in .png"),
        (["--draw", "new.avi"], "or .tiff, or for a video .webm or .mp4"),
        (
            ["--scale", "80", "125"],
            "scales are factors from 0.05 to 20, as in 0.8 1.25. Did you mean 0.8 1.25?",
        ),
        (["--report", "page.txt"], "must end in .html or .htm"),
        (["--report", "folder.html"], "is a folder"),
        (["--report", "/proc/page.html"], "cannot write /proc/page.html"),
        (["--draw", "/proc/drawn"], "cannot write /proc/drawn"),
        (["--maps"], "add --report FILE.html"),
        (["--nonsense"], "No such option"),
    ],
)
def test_wrong_usage(folder: Path, arguments: list[str], words: str) -> None:
    (folder / "folder.html").mkdir()
    paths = [str(folder / a) if a.endswith((".png", ".txt", "r.html")) else a for a in arguments]
    result = detect(folder, folder / "scenes", *paths)
    assert result.exit_code == 2, result.output
    assert words in result.stderr


def test_draw_writes_a_picture_a_scene_and_overwrites_nothing(folder: Path) -> None:
    out = folder / "deep" / "drawn"
    arguments = [folder / "scenes", folder / "broken.png", "--draw", out]
    assert detect(folder, *arguments).exit_code == 4
    assert sorted(p.name for p in out.iterdir()) == ["a.png", "b.png"]
    with Image.open(out / "a.png") as drawn:
        assert drawn.size == (160, 120)  # that of the scene: the pixels are those of the JSON
    before = (out / "a.png").stat().st_mtime_ns
    again = detect(folder, *arguments)
    assert again.exit_code == 2
    assert f"{out / 'a.png'} already exists: choose another name or use --overwrite" in again.stderr
    assert again.stdout == ""
    assert (out / "a.png").stat().st_mtime_ns == before
    assert detect(folder, *arguments, "--overwrite").exit_code == 4
    assert (out / "a.png").stat().st_mtime_ns > before


def test_scenes_of_one_name_do_not_overwrite_each_others_pictures(folder: Path) -> None:
    write_picture(folder / "more" / "a.png", empty())
    write_picture(folder / "more" / "A.bmp", empty())
    out = folder / "drawn"
    scenes = [folder / "scenes" / "a.png", folder / "more" / "a.png", folder / "more" / "A.bmp"]
    assert detect(folder, *scenes, "--draw", out).exit_code == 0
    assert sorted(p.name for p in out.iterdir()) == ["A-3.png", "a-2.png", "a.png"]


def test_a_drawing_never_takes_the_place_of_a_scene(folder: Path) -> None:
    before = (folder / "scenes" / "a.png").read_bytes()
    result = detect(folder, folder / "scenes" / "*.png", "--draw", folder / "scenes", "--overwrite")
    assert result.exit_code == 2
    assert "would replace the scene" in result.stderr
    assert (folder / "scenes" / "a.png").read_bytes() == before


def test_a_picture_with_little_of_its_range_is_named(folder: Path) -> None:
    """12 bits in a file of 16: what counts as noise is a fraction of the full range."""
    deep = (scene(toy()).mean(0).numpy() * 4095).astype(np.uint16)
    Image.fromarray(deep).save(folder / "dim.png")
    Image.fromarray(deep * 16).save(folder / "full.png")
    result = detect(folder, folder / "dim.png", folder / "full.png")
    words = "% of the full range, so its edges count as noise: rescale its values."
    assert re.findall(rf"^(.*): its brightest value is [56].* {words}$", result.stderr, re.MULTILINE) == [
        str(folder / "dim.png")
    ]
    with pytest.warns(UserWarning, match=f"scene: its brightest value is .* {words[:-1]}"):
        load_scene(deep)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_scene(deep * 16)


def test_drawings_are_not_written_among_scenes(folder: Path) -> None:
    """The next run would search them."""
    inner = folder / "scenes" / "drawn"
    for arguments in ([folder / "scenes"], [inner, "--recursive"]):
        result = detect(folder, folder / "scenes", "--draw", *arguments)
        assert result.exit_code == 2
        assert (
            f"among the scenes of {folder / 'scenes'}, where the next run would search them" in result.stderr
        )
    assert not inner.exists()
    assert detect(folder, folder / "scenes", "--draw", inner).exit_code == 0  # not searched


def test_a_report_of_all_scenes(folder: Path) -> None:
    hostile = write_picture(folder / "<img src=x onerror=alert(1)>.png", scene(toy()))
    out = folder / "deep" / "page.html"
    arguments = [hostile, folder / "scenes", folder / "broken.png", "--report", out]
    result = detect(folder, *arguments, "--maps")
    assert result.exit_code == 4, result.stderr
    written = out.read_text(encoding="utf-8")
    assert "<img src=x" not in written
    assert "&lt;img src=x onerror=alert(1)&gt;.png" in written
    assert written.count('<details class="card') == 3
    assert written.count('class="h0"') == 3
    assert written.count('<div class="time">') == 3
    for lap in ("reading", "search", "occurrence maps", "convergence plots", "page"):
        assert f"<tr><th>{lap}</th><td>" in written
    records = [json.loads(line) for line in result.stdout.splitlines()]
    assert set(records[0]) == {"scene", "width", "height", "template", "seconds", "detections", "candidates"}
    assert "content is not PNG" in written
    assert [p.name for p in out.parent.iterdir()] == ["page.html"]
    again = detect(folder, *arguments)
    assert again.exit_code == 2
    assert "already exists: choose another name or use --overwrite" in again.stderr
    assert out.read_text(encoding="utf-8") == written
    assert detect(folder, *arguments, "--overwrite").exit_code == 4
    assert 'class="h0"' not in out.read_text(encoding="utf-8")


def test_no_report_of_nothing_but_errors(folder: Path) -> None:
    out = folder / "page.html"
    assert detect(folder, folder / "broken.png", "--report", out).exit_code == 3
    assert not out.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text here")
def test_a_name_that_is_no_proper_text(folder: Path) -> None:
    path = folder / os.fsdecode(b"caf\xe9.png")
    write_picture(path, empty())
    out = folder / "page.html"
    result = detect(folder, path, "--report", out)
    assert result.exit_code == 0, result.output
    assert records(result)[0]["scene"] == str(path)
    assert "caf\N{REPLACEMENT CHARACTER}.png" in html.unescape(out.read_text(encoding="utf-8"))


def test_a_folder_of_templates_is_a_library(folder: Path) -> None:
    write_template(folder / "things" / "toy", toy())
    write_template(folder / "things" / "patch", Template.rigid("patch", Motif.whole(noise(40, 40, 7))))
    arguments = ["detect", str(folder / "things"), str(folder / "scenes"), "--rotation", "0"]
    files = ["--report", str(folder / "a.html"), "--export", str(folder / "a.json"), "--draw", str(folder)]
    result = runner.invoke(app, [*arguments, *files])
    assert result.exit_code == 0, result.stderr
    first, second = records(result)
    assert first["template"] == second["template"] == "things"
    assert [item["template"] for item in first["detections"]] == ["toy"]
    dataset = json.loads((folder / "a.json").read_text())
    named = {one["id"]: one["name"] for one in dataset["categories"]}
    assert list(named.values()) == ["patch", "toy", "body", "arm"]
    assert [named[one["category_id"]] for one in dataset["annotations"]] == ["toy", "body", "arm"]
    page = (folder / "a.html").read_text()
    assert "Template patch" in page
    assert "<b>1</b> toy · score" in page


def test_two_templates_of_one_name_are_refused(folder: Path) -> None:
    for name in ("one", "two"):
        write_template(folder / "things" / name, toy())
    result = runner.invoke(app, ["detect", str(folder / "things"), str(folder / "scenes")])
    assert result.exit_code == 3
    assert 'two templates are named "toy"' in result.stderr

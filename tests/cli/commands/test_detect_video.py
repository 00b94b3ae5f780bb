"""`wherein detect` on videos: a line a frame, an annotated video, frames per second."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from detecting import empty, scene, toy, write_picture, write_template
from pages import parsed
from wherein.cli.main import app
from wherein.images.eight_bit import to_image
from wherein.video.source import open_video
from wherein.video.video_writer import write_video

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'wherein[video]'")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_template(tmp_path / "toy", toy())
    with write_video(tmp_path / "film.mp4", (160, 120), 10.0) as add:
        for k in range(5):
            add(partial(to_image, scene(toy(), (70.0 + 3 * k, 60.0), 4.0 * k) if k else empty()))
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["detect", *map(str, arguments), "--rotation", "0"])


def test_a_line_a_frame_and_a_video_of_them(folder: Path) -> None:
    result = run(folder / "toy", folder / "film.mp4", "--draw", folder / "drawn")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["frame"] for line in lines] == [0, 1, 2, 3, 4]
    assert [line["time"] for line in lines] == [0, 0.1, 0.2, 0.3, 0.4]
    assert [len(line["detections"]) for line in lines] == [0, 1, 1, 1, 1]
    assert {item["track"] for line in lines for item in line["detections"]} == {1}
    assert all(line["scene"] == str(folder / "film.mp4") for line in lines)
    assert "5 frames, 4 with detections, " in result.stderr
    assert f"frames per second; drawn to {folder / 'drawn' / 'film.webm'} (VP8)" in result.stderr
    assert "4 found in 1 of 1 scene, in 4 frames of video" in result.stderr
    with open_video(str(folder / "drawn" / "film.webm")) as video:
        assert video.length == 5


def test_the_report_shows_a_video(folder: Path) -> None:
    page, drawn = folder / "page.html", folder / "drawn.webm"
    result = run(folder / "toy", folder / "film.mp4", "--report", page, "--draw", drawn)
    assert result.exit_code == 0, result.output
    written = parsed(page)
    found = "4 found in 1 of 1 scene, in 4 frames of video"
    assert found in written.text
    assert found in result.stderr
    assert "Video, 5 frames, 4 with detections; annotated video: " + str(drawn) in written.text
    assert re.search(r"video · 4 of 5 frames, best 0\.\d\d", written.text)
    chips = {label["class"] for label in written.all("label") if "chip" in str(label.get("class"))}
    assert chips == {"chip all", "chip found", "chip near", "chip nothing", "chip error"}
    # The best frame is the picture of the card; below are the others.
    for index, kind in ((1, "first found"), (4, "last found")):
        below = rf"{kind}(, best|, last found)?: frame {index}, 0\.{index}0 s, score"
        assert re.search(rf"{below}|Frame {index} , 0\.{index}0 s \([\w, ]*{kind}", written.text)
    (bars,) = [path for path in written.all("path") if path.get("class") == "bars"]
    assert str(bars["d"]).count("M") == 4
    assert [path["d"] for path in written.all("path") if path.get("class") == "gaps"] == ["M0 100h1"]


def test_every_frame_of_a_gif(folder: Path) -> None:
    frames = [to_image(scene(toy(), (70.0 + 3 * k, 60.0)) if k else empty()) for k in range(3)]
    frames[0].save(folder / "film.gif", save_all=True, append_images=frames[1:], duration=100)
    result = run(folder / "toy", folder / "film.gif", "--draw", folder / "drawn.mp4")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["frame"], line["time"], len(line["detections"])) for line in lines] == [
        (0, 0.0, 0),
        (1, 0.1, 1),
        (2, 0.2, 1),
    ]
    assert (folder / "drawn.mp4").is_file()


@pytest.mark.parametrize("name", ["film.png", "film.webp", "film.avif"])
def test_every_frame_of_an_animation(folder: Path, name: str) -> None:
    frames = [to_image(scene(toy(), (70.0 + 3 * k, 60.0)) if k else empty()) for k in range(3)]
    frames[0].save(folder / name, save_all=True, append_images=frames[1:], duration=100)
    result = run(folder / "toy", folder / name)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    told = [(line["frame"], line["time"], len(line["detections"])) for line in lines]
    assert told == [(0, 0.0, 0), (1, 0.1, 1), (2, 0.2, 1)], result.output


def test_every_page_of_a_tiff_is_a_picture_of_its_own(folder: Path) -> None:
    """Pages of any size; what is on one says nothing of the next."""
    pages = [to_image(scene(toy(), place)) for place in ((70.0, 60.0), (64.0, 66.0))]
    pages.insert(1, to_image(empty()).crop((0, 0, 90, 80)))
    pages[0].save(folder / "scan.tif", save_all=True, append_images=pages[1:])
    result = run(folder / "toy", folder / "scan.tif", "--draw", folder / "drawn")
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    for index, (page, line) in enumerate(zip(pages, lines, strict=True)):
        page.save(folder / "single.png")
        single = json.loads(run(folder / "toy", folder / "single.png").stdout)
        assert (line["frame"], line["width"], line["height"]) == (index, *page.size)
        tracks = [item.pop("track") for item in line["detections"]]
        assert tracks == [[1], [], [2]][index]
        assert line["detections"] == single["detections"]
    with open_video(str(folder / "drawn" / "scan.webm")) as video:
        assert (video.size, len(list(video))) == (pages[0].size, 3)


def test_a_video_among_pictures(folder: Path) -> None:
    """Of a folder both are looked at; the page says that there was a video."""
    (folder / "scenes").mkdir()
    (folder / "film.mp4").rename(folder / "scenes" / "b.mp4")
    write_picture(folder / "scenes" / "a.png", scene(toy()))
    page = folder / "page.html"
    result = run(folder / "toy", folder / "scenes", "--report", page, "--export", folder / "all.csv", "-q")
    assert result.exit_code == 0, result.output
    names = [Path(json.loads(line)["scene"]).name for line in result.stdout.splitlines()]
    assert names == ["a.png"] + 5 * ["b.mp4"]
    assert not result.stderr
    text = parsed(page).text
    assert "5 found in 2 of 2 scenes, 4 of them in 4 frames of video" in text
    assert "could not be read" not in text
    assert "b.mp4" not in (folder / "all.csv").read_text()
    told = run(folder / "toy", folder / "scenes" / "b.mp4", "--export", folder / "video.csv").stderr
    assert f"{folder / 'scenes' / 'b.mp4'}: not exported. Exports have pictures only" in told
    assert f"{folder / 'video.csv'}: not written, because no picture was searched." in told
    assert not (folder / "video.csv").exists()


def test_a_report_beside_an_export_of_which_nothing_is_left(folder: Path) -> None:
    page, export = folder / "page.html", folder / "video.json"
    export.write_text("an earlier one")
    result = run(folder / "toy", folder / "film.mp4", "--report", page, "--export", export, "--overwrite")
    assert result.exit_code == 0, result.output
    assert page.is_file()
    assert export.read_text() == "an earlier one"


def test_workers_show_a_video_as_one_process_does(folder: Path) -> None:
    pages = [folder / "one.html", folder / "two.html"]
    for page, workers in zip(pages, (1, 2), strict=True):
        scenes = (folder / "film.mp4", folder / "film.mp4")
        result = run(folder / "toy", *scenes, "--report", page, "--workers", workers)
        assert result.exit_code == 0, result.output
    one, two = (re.sub(r"[\d.]+ m?s\b|--v: [\d.]+|data-seconds=.*?>", "", page.read_text()) for page in pages)
    assert one == two


def test_what_is_no_video_is_one_line_and_the_rest_goes_on(folder: Path) -> None:
    (folder / "broken.mp4").write_bytes(b"\0" * 100)
    result = run(folder / "toy", folder / "broken.mp4", folder / "none.mp4", "camera:97", folder / "film.mp4")
    assert result.exit_code == 4
    assert result.stderr.endswith("of 4 scenes, in 4 frames of video; 1 not found, 2 unreadable\n")
    errors = [
        record["error"] for line in result.stdout.splitlines() if "error" in (record := json.loads(line))
    ]
    assert errors == ["unsupported or damaged video file", "file not found", "cannot open camera 97"]


def test_opencv_adds_nothing_to_the_error(folder: Path) -> None:
    (folder / "broken.mp4").write_bytes(b"\0" * 100)
    command = [sys.executable, "-m", "wherein", "detect", "toy", "broken.mp4", "camera:97"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines() == [
        "broken.mp4: unsupported or damaged video file",
        "camera:97: cannot open camera 97",
        "No scene could be searched; 2 unreadable",
    ]


def test_without_opencv_it_says_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    result = run(folder / "toy", folder / "film.mp4")
    assert result.exit_code == 3
    assert "pip install 'wherein[video]'" in json.loads(result.stdout)["error"]


def test_a_video_is_not_written_over(folder: Path) -> None:
    (folder / "drawn").mkdir()
    (folder / "drawn" / "film.webm").write_text("precious")
    result = run(folder / "toy", folder / "film.mp4", "--draw", folder / "drawn")
    assert result.exit_code == 2
    assert (folder / "drawn" / "film.webm").read_text() == "precious"

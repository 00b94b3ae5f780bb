"""The requests of the page: pictures, templates, searches and files of results."""

import io
import json
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from detecting import photo
from studio_page import ARM, BODY, Page, Record, asked, at_once, box, crane, draft, png, served
from wherein.demo import ROBOT
from wherein.detect import Calibration
from wherein.detect.calibration.store import Progress
from wherein.detect.search_range import Range
from wherein.drawing.palette import colors
from wherein.images.motif import Motif
from wherein.studio.bounds import Bounds
from wherein.studio.session import SaveTarget
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render


def outlined(page: Page) -> tuple[Record, Record]:
    """The crane's picture, and the template that was made on it."""
    picture = page.upload("picture", png(crane()), "crane.png")
    return picture, page.post("/api/templates", draft(picture["id"]))


def unzipped(page: Page, key: str, folder: Path) -> Template:
    answer = page.client.get(f"/api/templates/{key}")
    assert answer.headers["content-disposition"] == 'attachment; filename="template.zip"'
    (folder / "made.zip").write_bytes(answer.content)
    return Template.load(folder / "made.zip")


def scene_with(template: Template) -> bytes:
    """Turned by 30°, its arm by −20°, in a photograph."""
    where = matrices(template.parts, placed(30.0, 1.0, (150.0, 110.0), template.centre), {"arm": -20.0})
    pixels = render(photo("coffee", 301, 223), template, where)
    return png((pixels.movedim(0, -1).clamp(0, 1) * 255).round().byte().numpy())


def test_a_new_session_is_empty(page: Page) -> None:
    session = page.get("/api/session")
    assert (session["first"], session["scenes"], session["save"]) == (None, [], None)
    assert session["max_upload"] > 2**20
    assert session["default_turn"] == 30


def test_from_a_picture_to_a_template(page: Page, tmp_path: Path) -> None:
    picture, made = outlined(page)
    assert (picture["name"], picture["width"], picture["height"]) == ("crane.png", 161, 120)
    assert made["leaves"] == ["body", "arm"]
    template = unzipped(page, made["id"], tmp_path)
    assert template.name == "crane"
    assert dict.fromkeys(template.parts) == dict.fromkeys(("crane", "body", "arm"))
    corner = np.array((BODY[0], BODY[1]))
    assert template.parts["arm"].joint == tuple(np.array((75.0, 61.0)) - corner)
    assert template.parts["arm"].turn == 40
    assert template.parts["body"].static
    arm = template.parts["arm"].motif
    assert arm is not None
    assert (arm.width, arm.height) == ARM[2:]
    shown = (arm.pixels.movedim(0, -1) * 255).round().byte().numpy()
    assert (shown == crane()[ARM[1] : ARM[1] + ARM[3], ARM[0] : ARM[0] + ARM[2]]).all()


def css(names: tuple[str, ...]) -> Record:
    """The colours of the drawings and reports, as the page gets them."""
    return {name: "#{:02x}{:02x}{:02x}".format(*color) for name, color in colors(names).items()}


def test_parts_have_the_colors_of_drawings_and_reports(page: Page) -> None:
    _, made = outlined(page)
    assert made["colors"] == css(("body", "arm"))
    opened = page.post("/api/demo")
    robot = page.post("/api/templates", opened["draft"])
    assert robot["colors"] == opened["colors"] == css(Template.load(ROBOT).parts.leaves)


def test_the_picture_is_shown_as_it_is(page: Page) -> None:
    picture = page.upload("picture", png(crane()), "crane.png")
    answer = page.client.get(f"/api/pictures/{picture['id']}")
    assert answer.headers["content-type"] == "image/png"
    assert (np.asarray(Image.open(io.BytesIO(answer.content))) == crane()).all()


def test_pictures_with_alpha_and_large_ones_are_shown(page: Page) -> None:
    clear = np.zeros((20, 31, 4), dtype=np.uint8)
    clear[5:9, 7:12] = (10, 200, 30, 255)
    key = page.upload("picture", png(clear), "clear.png")["id"]
    shown = Image.open(io.BytesIO(page.client.get(f"/api/pictures/{key}").content))
    assert (np.asarray(shown)[..., 3] == clear[..., 3]).all()
    wide = np.zeros((500, 4001, 3), dtype=np.uint8)
    scene = page.add_scene(png(wide), "wide.png")
    answer = page.client.get(f"/api/scenes/{scene['id']}")
    assert (scene["width"], answer.headers["content-type"]) == (4001, "image/jpeg")
    assert Image.open(io.BytesIO(answer.content)).width == 3000


def test_findings(page: Page) -> None:
    picture = page.upload("picture", png(np.full((90, 110, 3), 128, dtype=np.uint8)), "wall.png")
    bare = {
        "name": "wall",
        "picture": picture["id"],
        "parts": [{"name": "wall", "points": box(10, 10, 60, 60)}],
    }
    made = page.post("/api/templates", bare)
    found = page.get(f"/api/templates/{made['id']}/findings")["findings"]
    assert [one["kind"] for one in found if one["severity"] == "problem"] == ["no texture"]


def changed(message: Record, **part: object) -> Record:
    """The crane with another arm."""
    body, arm = message["parts"]
    return {**message, "parts": [body, {**arm, **part}]}


@pytest.mark.parametrize(
    ("part", "status", "words"),
    [
        ({"points": [[0, 0], [5, 5]]}, 400, '"arm" has a polygon of 2 corners'),
        (
            {"points": [[900, 900], [950, 900], [950, 950]]},
            400,
            '"arm" lies outside the 161 × 120 picture',
        ),
        ({"parent": "leg"}, 400, 'he parent of the part "arm" is "leg", which does not exist'),
        ({"name": "body"}, 400, 'wo outlines are called "body"'),
        ({"turn": 200}, 422, "parts.1.turn"),
        ({"points": [[0, "a"], [1, 1], [2, 2]]}, 422, "parts.1.points.0.1"),
        ({"name": ""}, 422, "parts.1.name"),
        ({"image": "/etc/passwd"}, 422, "parts.1.image: Extra inputs are not permitted"),
        ({"pixels_from": "body"}, 200, ""),  # on a picture, nothing is kept
    ],
)
def test_drafts_that_cannot_be_cut_out(page: Page, part: Record, status: int, words: str) -> None:
    picture = page.upload("picture", png(crane()), "crane.png")
    answer = page.client.post("/api/templates", json=changed(draft(picture["id"]), **part))
    assert answer.status_code == status, answer.text
    assert words in answer.json().get("error", "")


def test_nothing_outlined_and_nothing_held(page: Page) -> None:
    bare = {"name": "a", "picture": "0123", "parts": [{"name": "group"}]}
    answer = page.client.post("/api/templates", json=bare)
    assert page.refused(answer, 422) == "Nothing is outlined yet. Draw an outline around the object."
    answer = page.client.post("/api/templates", json=draft("0123"))
    assert page.refused(answer, 404) == "The studio no longer has this picture. Load it again."


def test_it_is_found(page: Page, tmp_path: Path) -> None:
    _, made = outlined(page)
    content = scene_with(unzipped(page, made["id"], tmp_path))
    scene = page.add_scene(content, "cup.png")
    search = {"template": made["id"], "scene": scene["id"]}
    found = page.post("/api/detections", search)
    assert found["calibration_kind"] == "measured"
    assert (found["threshold"], found["calibrated_threshold"]) == (0.5, 0.5)
    (item,) = found["detections"]
    assert item["angle"] == pytest.approx(30, abs=0.5)
    assert item["parts"]["arm"]["angle"] == pytest.approx(10, abs=0.5)
    assert "megapixel" in item["rarity"]
    assert page.get("/api/calibration")["running"] is False
    # Other settings use the same detector.
    assert found["best_candidate"] is None
    closely = page.post("/api/detections", {**search, "threshold": 0.999})
    assert len(closely["detections"]) == 0
    assert closely["best_candidate"] == pytest.approx(found["detections"][0]["score"], abs=1e-3)
    assert len(page.post("/api/detections", search)["detections"]) == 1
    assert len(page.post("/api/detections", {**search, "rotation": 5})["detections"]) == 0


@pytest.mark.parametrize(
    ("patch", "status", "words"),
    [
        ({"scale": [2, 1]}, 400, "Invalid scale range 2 to 1"),
        ({"scale": [0, 1]}, 400, "use 0 < lowest"),
        ({"rotation": 181}, 422, "rotation"),
        ({"threshold": 1}, 422, "threshold"),
        ({"max_instances": 0}, 422, "max_instances"),
        ({"template": "0123"}, 404, "no longer has this template"),
        ({"scene": "0123"}, 404, "no longer has this scene"),
        ({"path": "/etc/passwd"}, 422, "path: Extra inputs are not permitted"),
    ],
)
def test_invalid_searches(page: Page, patch: Record, status: int, words: str) -> None:
    _, made = outlined(page)
    scene = page.add_scene(png(crane()), "a.png")
    search = {"template": made["id"], "scene": scene["id"], **patch}
    assert words in page.refused(page.client.post("/api/detections", json=search), status)


def test_the_calibration_is_for_the_polarity_that_is_searched(tmp_path: Path) -> None:
    asked_for: list[str] = []

    def noted(template: Template, ranges: Range, progress: Progress) -> Calibration:
        asked_for.append(ranges.polarity)
        return at_once(template, ranges, progress)

    with served(noted) as studio, asked(studio) as page:
        _, made = outlined(page)
        scene = page.add_scene(scene_with(unzipped(page, made["id"], tmp_path)), "cup.png")
        search = {"template": made["id"], "scene": scene["id"]}
        for polarity in ("same", "any"):
            page.post("/api/detections", {**search, "polarity": polarity})
            while page.get("/api/calibration")["running"]:
                pass
    assert asked_for == ["same", "any"]


def test_what_is_found_before_anything_is_measured(tmp_path: Path) -> None:
    measured = threading.Event()

    def patient(template: Template, ranges: Range, progress: Progress) -> Calibration:
        progress(0.25, "looking at clutter")
        assert measured.wait(60)
        return at_once(template, ranges, progress)

    with served(patient) as studio, asked(studio) as page:
        _, made = outlined(page)
        scene = page.add_scene(scene_with(unzipped(page, made["id"], tmp_path)), "cup.png")
        search = {"template": made["id"], "scene": scene["id"]}
        first = page.post("/api/detections", search)
        assert (first["calibration_kind"], len(first["detections"])) == ("default", 1)
        assert "rarity" not in first["detections"][0]  # of which nothing is known yet
        assert first["calibration"] == {
            "running": True,
            "fraction": 0.25,
            "step": "looking at clutter",
            "error": "",
        }
        export = {"template": made["id"], "scenes": [scene["id"]]}
        answer = page.client.post("/api/exports/json", json=export)
        assert "still running" in page.refused(answer, 400)
        measured.set()
        while page.get("/api/calibration")["running"]:
            pass
        assert page.post("/api/detections", search)["calibration_kind"] == "measured"
        measured.clear()
        assert page.post("/api/detections", {**search, "rotation": 90})["calibration_kind"] == "reused"
        measured.set()


def test_exported_results(page: Page, tmp_path: Path) -> None:
    _, made = outlined(page)
    name = "<img src=x onerror=alert(1)>.png"
    content = scene_with(unzipped(page, made["id"], tmp_path))
    scenes = [page.add_scene(content, name)["id"], page.add_scene(png(crane()), "b.png")["id"]]
    search = {"template": made["id"], "scenes": scenes}
    lines = page.client.post("/api/exports/json", json=search).text.splitlines()
    twice = search | {"scenes": search["scenes"] * 1000}
    assert len(page.client.post("/api/exports/json", json=twice).text.splitlines()) == len(lines)
    records = [json.loads(line) for line in lines]
    assert [record["scene"] for record in records] == [name, "b.png"]
    keys = ["scene", "width", "height", "template", "seconds", "detections", "candidates"]
    assert list(records[0]) == keys
    coco = page.client.post("/api/exports/coco", json=search).json()
    assert [image["file_name"] for image in coco["images"]] == [name, "b.png"]
    assert [category["name"] for category in coco["categories"]] == ["crane", "body", "arm"]
    report = page.client.post("/api/exports/report", json=search)
    assert report.headers["content-disposition"] == 'attachment; filename="detections.html"'
    assert "<img src=x" not in report.text
    assert "&lt;img src=x onerror=alert(1)&gt;.png" in report.text


def test_exports_that_cannot_be(page: Page) -> None:
    _, made = outlined(page)
    answer = page.client.post("/api/exports/json", json={"template": made["id"], "scenes": []})
    assert "no scenes to export" in page.refused(answer, 400)
    answer = page.client.post("/api/exports/exe", json={"template": made["id"], "scenes": []})
    page.refused(answer, 422)


def test_a_template_goes_out_and_comes_back(page: Page) -> None:
    _, made = outlined(page)
    content = page.client.get(f"/api/templates/{made['id']}").content
    opened = page.upload("template", content, "crane.zip")
    parts = {part["name"]: part for part in opened["draft"]["parts"]}
    assert opened["draft"]["name"] == "crane"
    assert (parts["body"]["parent"], parts["arm"]["parent"]) == (None, "body")
    assert (parts["arm"]["turn"], parts["arm"]["pivot"]) == (40, [55, 21])
    assert parts["arm"]["points"] == box(ARM[0] - BODY[0], ARM[1] - BODY[1], *ARM[2:])
    again = page.post("/api/templates", opened["draft"])
    assert again["leaves"] == made["leaves"]


def test_the_demonstration(page: Page) -> None:
    opened = page.post("/api/demo")
    made = page.post("/api/templates", opened["draft"])
    assert len(made["leaves"]) == 11
    assert page.get("/api/session")["scenes"] == [opened["scene"]]
    search = {"template": made["id"], "scene": opened["scene"]["id"], "scale": opened["scale"]}
    assert len(page.post("/api/detections", search)["detections"]) == 3


def test_it_begins_with_the_template_of_the_command_line() -> None:
    with served(template=Template.load(ROBOT)) as studio, asked(studio) as page:
        first = page.get("/api/session")["first"]
        assert first["draft"]["name"] == "robot"
        assert page.client.get(f"/api/pictures/{first['picture']['id']}").status_code == 200


def test_saving_goes_where_the_command_line_says(tmp_path: Path) -> None:
    target = tmp_path / "home" / "crane"
    with served(target=SaveTarget(target)) as studio, asked(studio) as page:
        assert page.get("/api/session")["save"] == {"name": "crane"}
        _, made = outlined(page)
        for _ in range(2):  # what this session has written it may write again
            assert page.post(f"/api/templates/{made['id']}/save") == {"name": "crane"}
    assert list(Template.load(target).parts) == ["crane", "body", "arm"]


@pytest.mark.parametrize("kind", ["none", "template", "folder", "disk"])
def test_saving_that_cannot_be(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "crane"
    target = {
        "none": SaveTarget(),
        "template": SaveTarget(path),
        "folder": SaveTarget(path, overwrite=True),
        "disk": SaveTarget(tmp_path / "file" / "crane"),
    }[kind]
    words = {
        "none": "started without --save-to",
        "template": '"crane" already exists',
        "folder": '"crane" is a folder with other files',
        "disk": 'Cannot write "crane": ',
    }[kind]
    (tmp_path / "file").write_text("")
    path.mkdir()
    (path / "other.txt").write_text("mine")
    with served(target=target) as studio, asked(studio) as page:
        _, made = outlined(page)
        answer = page.client.post(f"/api/templates/{made['id']}/save")
        said = page.refused(answer, 400)
    assert words in said
    assert str(tmp_path) not in said
    assert (path / "other.txt").read_text() == "mine"


def test_a_zip_that_leads_outside(page: Page) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("template.json", "{}")
        archive.writestr("../../escaped.txt", "x")
    answer = page.client.post("/api/upload/template?name=a.zip", content=file.getvalue())
    assert "outside the archive" in page.refused(answer, 400)


def test_a_zip_of_pictures_that_are_too_large(tmp_path: Path) -> None:
    path = Template.rigid("wall", Motif.whole(torch.rand(3, 60, 70))).save(tmp_path / "wall.zip")
    bounds = Bounds(total_pixels=2 * 60 * 70 - 1)  # canvas and part
    with served(bounds=bounds) as studio, asked(studio) as page:
        answer = page.client.post("/api/upload/template?name=a.zip", content=path.read_bytes())
        words = 'the part "wall": its picture has 4,200 pixels, and all pictures so far have 8,400'
        assert words in page.refused(answer, 400)


def test_a_picture_that_is_in_use_stays(page: Page) -> None:
    first, *others = (page.upload("picture", png(crane()), f"{k}.png")["id"] for k in range(6))
    for _ in range(8):  # as many as are held, and more
        page.post("/api/templates", draft(first))
        page.upload("picture", png(crane()), "more.png")
    there = [page.client.get(f"/api/pictures/{key}").status_code for key in (first, *others)]
    assert there == [200, *[404] * 5]


@pytest.mark.parametrize(("held", "kept"), [(10**6, 6), (3 * 161 * 120, 3), (10, 1)])
def test_only_the_last_pictures_are_held(held: int, kept: int) -> None:
    with served(bounds=Bounds(pictures=6, total_pixels=held)) as studio, asked(studio) as page:
        keys = [page.upload("picture", png(crane()), f"{k}.png")["id"] for k in range(8)]
        answers = [page.client.get(f"/api/pictures/{key}").status_code for key in keys]
    assert answers == [*[404] * (8 - kept), *[200] * kept]

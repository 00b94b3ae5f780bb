"""The page: everything is in it, nothing comes from elsewhere, and names cannot inject markup."""

import base64
import hashlib
import io
import os
import re
from pathlib import Path

import pytest
import torch
from PIL import Image

from detecting import detector, empty, photo, ready, scene, toy, upright
from pages import HOSTILE, ParsedPage, parsed
from wherein.detect.result import Detections
from wherein.detect.score import rounded_down
from wherein.images.motif import Motif
from wherein.report.films.key_frames import KeyFrames
from wherein.report.page import page
from wherein.report.rendered_scene import VideoFacts
from wherein.template import Library, Template

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{}'; "
    "base-uri 'none'; form-action 'none'"
)


def made(path: Path, template: Template, name: str = "a.png", maps: bool = False) -> ParsedPage:
    finder, picture = detector(template), scene(template)
    with page(path, template) as report:
        report.add(name, finder(picture), finder, maps)
        report.add("empty.png", finder(empty()), finder)
        report.unreadable(f"broken {name}", f"scene: broken {name}: not a picture")
    return parsed(path)


def outlines(written: ParsedPage) -> list[dict[str, str | None]]:
    """The paths on the images; those of plots have no id."""
    return [attributes for attributes in written.all("path") if "id" in attributes]


def test_nothing_comes_from_elsewhere_and_only_its_own_script_runs(tmp_path: Path) -> None:
    written = made(tmp_path / "a.html", toy(), maps=True)
    (script,) = re.findall(r"<script>(.*?)</script>", (tmp_path / "a.html").read_text(), flags=re.DOTALL)
    known = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policies = [m["content"] for m in written.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [POLICY.format(known)]
    assert not {"link", "iframe", "object", "base"} & {tag for tag, _ in written.elements}
    for _, attributes in written.elements:
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href"):
            assert re.match(r"#|data:image/webp;base64,", attributes.get(name) or "#")
    assert not re.search(r"https?:|@import|url\((?!#)", (tmp_path / "a.html").read_text())


def test_names_cannot_inject_markup(tmp_path: Path) -> None:
    template = toy(name="<b>toy</b>", body='"><script>alert(1)</script>', arm="' onload='alert(1)")
    written = made(tmp_path / "a.html", template, HOSTILE, maps=True)
    assert written.all("script") == [{}], "the page's own"
    assert not [name for _, attributes in written.elements for name in attributes if name.startswith("on")]
    assert all((image["src"] or "").startswith("data:image/webp;base64,") for image in written.all("img"))
    for name in (HOSTILE, *template.parts):
        assert name in written.text
    # The only scene with maps is where they took longest, and a link says so.
    assert HOSTILE in [link.get("title") for link in written.all("a")]


def test_a_name_that_is_not_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.png")
    written = made(tmp_path / "a.html", toy(), name)
    assert "caf\N{REPLACEMENT CHARACTER}.png" in written.texts


def test_every_part_has_an_outline_a_switch_and_a_row(tmp_path: Path) -> None:
    written = made(tmp_path / "a.html", toy(), maps=True)
    assert [a["id"] for a in outlines(written)] == ["s0d1p0", "s0d1p1"]
    assert {a["href"] for a in written.all("a")} == {"#s0", "#s0d1p0", "#s0d1p1", "#convergence"}
    ids = [attributes["id"] for _, attributes in written.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    switches = {i["class"]: "checked" in i for i in written.all("input") if i["type"] == "checkbox"}
    assert switches == {"all": True, "only": False, "m0": False, "c0": True, "c1": True}
    style = (tmp_path / "a.html").read_text()
    for rule in (".card:has(.c1:not(:checked)) .image .p1", ".card:has(.m0:not(:checked)) .image .h0"):
        assert rule in style


def test_what_it_says(tmp_path: Path) -> None:
    text = made(tmp_path / "a.html", toy()).text
    assert "1 found in 1 of 3 scenes" in text
    assert "1 scene could not be searched" in text
    assert "scene: broken a.png: not a picture" in text
    assert "nothing found" in text
    assert "turns ±20°" in text
    assert "Score threshold 0.600" in text
    assert "False alarms at the threshold once in 240,000,000 megapixels" in text
    assert "False alarms with at least this score: less than once in" in text


def video(frames: list[Detections]) -> KeyFrames:
    made = KeyFrames()
    for index, found in enumerate(frames):
        made.add(index, index / 10, found)
    return made


def test_a_video_is_a_scene_with_its_key_frames(tmp_path: Path) -> None:
    finder = detector(toy())
    there, not_there = finder(scene(toy())), finder(empty())
    with page(tmp_path / "a.html", toy()) as report:
        frames = video([not_there, there, there, not_there, not_there])
        report.add_rendered(
            report.renderer.video(0, HOSTILE, frames, finder, VideoFacts(2, 0.7, HOSTILE)), finder
        )
        frames = video(3 * [not_there])
        report.add_rendered(
            report.renderer.video(1, "b.mp4", frames, finder, VideoFacts(0, 0.2, None)), finder
        )
        report.unreadable("c.png", "not a picture")
    written = parsed(tmp_path / "a.html")
    assert "2 found in 1 of 3 scenes, in 2 frames of video; 1 scene could not be searched" in written.text
    cards = [card["class"] for card in written.all("details") if "name" in card]
    assert cards == ["card found", "card nothing"]
    for words in ("lost: frame 3, 0.30 s", "last found: frame 2, 0.20 s, score", "video · nothing found"):
        assert words in written.text
    assert "0.10 s (first found, best), above:" in written.text
    ids = [attributes["id"] for _, attributes in written.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(written.all("image")) == 3 + 1
    assert (tmp_path / "a.html").stat().st_size < 300_000


def test_each_template_of_a_library_stands_with_its_name_alone(tmp_path: Path) -> None:
    motifs = [Template.rigid(name, Motif.whole(torch.rand(3, 12, 20))) for name in ("cup", "key")]
    with page(tmp_path / "a.html", Library.of(motifs)):
        pass
    written = (tmp_path / "a.html").read_text()
    assert written.count('<div class="one">') == 2
    assert "cup, 20 × 12 px</p>" in written
    assert '<ul class="tree">' not in written


def test_the_pictures_are_the_scene_and_the_map(tmp_path: Path) -> None:
    written = made(tmp_path / "a.html", toy(), maps=True)
    first, heat, second = written.all("image")
    assert (first["width"], first["height"], first["x"], first["y"]) == ("160", "120", "-.5", "-.5")
    kinds = []
    for image in (first, heat, second):
        head, data = (image["href"] or "").split(",")
        kinds.append(head)
        with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
            assert picture.size == (160, 120)
    assert kinds == 3 * ["data:image/webp;base64"]
    assert heat["class"] == "h0"


def test_a_template_of_one_part(tmp_path: Path) -> None:
    motif = toy().parts["body"].motif
    assert motif is not None
    template = Template.rigid("card", Motif.whole(motif.pixels))
    finder = ready(template, rotation=0.0, calibration=upright(template))
    picture = empty()
    picture[:, 20:68, 50:98] = motif.pixels
    with page(tmp_path / "a.html", template) as report:
        report.add("a.png", finder(picture), finder)
    written = parsed(tmp_path / "a.html")
    assert len(outlines(written)) == 1
    assert not re.search(r"\d of 1 part|found parts only", written.text)


def test_scenes_are_written_as_they_come(tmp_path: Path) -> None:
    template = toy()
    finder = detector(template)
    found = finder(scene(template))
    with page(tmp_path / "a.html", template) as report:
        for number in range(20):
            before = report.body.tell()
            report.add(f"{number}.png", found, finder)
            assert report.body.tell() - before > 3000
        assert sum(len(repr(card)) for card in report.cards) < 20 * 200
    assert len(outlines(parsed(tmp_path / "a.html"))) == 40


def test_scenes_share_the_size_of_the_page(tmp_path: Path) -> None:
    finder, picture = detector(toy()), photo("coffee", 600, 400)
    found = finder(picture)
    sizes = {}
    for expected in (1, 200, 100_000):
        with page(tmp_path / "a.html", toy(), expected) as report:
            report.add("a.png", found, finder)
            sizes[expected] = report.body.tell()
    assert sizes[1] > 40_000
    assert sizes[100_000] < sizes[200] < 4_500_000 / 200


def test_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.html"
    with pytest.raises(KeyboardInterrupt), page(path, toy()) as report:
        report.unreadable("a.png", "no")
        raise KeyboardInterrupt
    assert not list(path.parent.iterdir())
    with page(path, toy()):
        assert not path.exists()
    assert [p.name for p in path.parent.iterdir()] == ["a.html"]
    assert path.stat().st_mode & 0o044 == 0o044 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_best_candidate_is_listed_where_nothing_was_found(tmp_path: Path) -> None:
    picture, finder = scene(toy()), detector(toy())
    (best,) = finder(picture)
    strict = ready(toy(), rotation=0.0, calibration=upright(toy()), threshold=best.score + 0.005)
    with page(tmp_path / "a.html", toy()) as report:
        report.add("near.png", strict(picture), strict)
        report.add("empty.png", strict(empty()), strict)
    written = parsed(tmp_path / "a.html")
    near, nothing = (text for text in written.texts if " px ·" in text)
    assert [one["class"] for one in outlines(written)] == ["near"]
    assert [card["class"] for card in written.all("details") if "name" in card] == [
        "card near",
        "card nothing",
    ]
    assert f"Best candidate: score {rounded_down(best.score):.3f} (threshold {strict.threshold:.3f})" in near
    assert near.endswith("at (80.0, 60.0)")
    assert nothing.endswith("nothing found")

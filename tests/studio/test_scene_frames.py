"""Files of several frames: each becomes a scene, as far as there is room."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin

from studio_page import Page, asked, crane, draft, png, served
from wherein.errors import PictureError
from wherein.images.frames.picture_frames import count_frames
from wherein.studio.bounds import Bounds
from wherein.studio.scene_frames import frames

FORMATS = ("gif", "tiff", "webp", "png", "avif")


def animation(kind: str = "gif", count: int = 3) -> bytes:
    """An empty scene, then the crane, each time a bit brighter."""
    pictures = [np.full_like(crane(), 200), *(crane() // 10 * 9 + 5 * k for k in range(count - 1))]
    made = [Image.fromarray(pixels.astype(np.uint8)) for pixels in pictures]
    file = io.BytesIO()
    made[0].save(file, kind, save_all=True, append_images=made[1:])
    return file.getvalue()


@pytest.mark.parametrize("kind", FORMATS)
def test_every_frame_is_read_as_it_is_displayed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "upload"
    path.write_bytes(animation(kind))
    read = [frame.pixels for frame in frames(path, 10**6)]
    assert len(read) == 3
    assert float((read[0] - 200 / 255).abs().max()) < 0.02
    shown = (read[2].movedim(0, -1).numpy() * 255).astype(float)
    assert np.abs(shown - (crane() // 10 * 9.0 + 5)).mean() < 12  # some of the formats are lossy


def test_smaller_copies_in_a_tiff_are_no_frames(tmp_path: Path) -> None:
    path, picture = tmp_path / "upload", Image.fromarray(crane())
    copy = TiffImagePlugin.ImageFileDirectory_v2()
    copy[254] = 1
    with TiffImagePlugin.AppendingTiffWriter(str(path)) as file:
        picture.save(file, "tiff")
        file.newFrame()
        picture.resize((80, 60)).save(file, "tiff", tiffinfo=copy)
        file.newFrame()
        picture.save(file, "tiff")
    assert len(list(frames(path, 10**6))) == 2


def test_a_picture_has_one_frame(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    for content in (png(crane()), b"GIF89a", b""):
        path.write_bytes(content)
        assert count_frames(path) == 1


def test_each_frame_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "upload"
    small, large = (Image.new("L", size) for size in ((20, 20), (300, 300)))
    small.save(path, "tiff", save_all=True, append_images=[large])
    with pytest.raises(PictureError, match=r"the picture has 300 × 300"):
        list(frames(path, 50_000))


def test_frames_are_scenes_and_lines_of_json(page: Page) -> None:
    picture = page.upload("picture", png(crane()), "crane.png")
    made = page.post("/api/templates", draft(picture["id"]))
    added = page.upload("scene", animation(), "film.gif")
    assert (added["frames"], [one["name"] for one in added["scenes"]]) == (
        3,
        ["film.gif: 0", "film.gif: 1", "film.gif: 2"],
    )
    assert page.get("/api/session")["scenes"] == added["scenes"]
    keys = [one["id"] for one in added["scenes"]]
    answer = page.client.post("/api/exports/json", json={"template": made["id"], "scenes": keys})
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [(line["scene"], line["frame"]) for line in lines] == [("film.gif", k) for k in range(3)]
    assert [len(line["detections"]) for line in lines] == [0, 1, 1]


def test_as_many_frames_as_there_is_room_for() -> None:
    with served(bounds=Bounds(scenes=4)) as studio, asked(studio) as page:
        page.add_scene(png(crane()), "a.png")
        added = page.upload("scene", animation(count=6), "film.gif")
        assert (added["frames"], len(added["scenes"])) == (6, 3)
        answer = page.client.post("/api/upload/scene?name=b.gif", content=animation())
        assert "holds at most 4 scenes" in page.refused(answer, 400)


def test_a_damaged_frame_refuses_the_file(page: Page) -> None:
    content = animation("png")
    at = content.rindex(b"fdAT") + 40  # in the last frame
    damaged = content[:at] + bytes(60) + content[at + 60 :]
    answer = page.client.post("/api/upload/scene?name=film.png", content=damaged)
    assert page.refused(answer, 400).startswith("film.png: ")
    tiff = animation("tiff")
    answer = page.client.post("/api/upload/scene?name=film.tif", content=tiff[:-20])
    assert page.refused(answer, 400).startswith("film.tif: ")
    assert page.get("/api/session")["scenes"] == []


def test_of_a_picture_to_outline_the_first_frame_is_used(page: Page) -> None:
    assert page.upload("picture", animation(), "film.gif")["frames"] == 3
    assert page.upload("picture", png(crane()), "crane.png")["frames"] == 1

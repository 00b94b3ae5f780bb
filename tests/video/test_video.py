"""Videos in and out."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import Tensor

from detecting import made_up, off, photo, walker
from wherein.detect import Detector
from wherein.errors import PictureError
from wherein.images.eight_bit import to_image
from wherein.template import Template
from wherein.template.pose import matrices, placed
from wherein.template.render import render
from wherein.video.names import camera, is_video
from wherein.video.reading import opened
from wherein.video.watching import watch
from wherein.video.writing import written

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'wherein[video]'")

SIZE = (360, 250)
GROUND = photo("coffee", *SIZE)


def scene(made: Template, k: int) -> tuple[Tensor, dict[str, np.ndarray]]:
    """Frame k: the walker comes in at frame 2."""
    root = placed(5.0 * k, 1.0, (120 + 8.0 * k, 110 + 3.0 * k), made.centre)
    where = matrices(made.parts, root, {"arm": 6.0 * k - 15})
    return (render(GROUND, made, where) if k >= 2 else GROUND), where


@pytest.fixture(scope="module")
def made() -> Template:
    return walker()


@pytest.fixture(scope="module")
def film(made: Template, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "walk.mp4"
    with written(path, SIZE, 12.5) as add:
        for k in range(8):
            add(to_image(scene(made, k)[0]))
    return path


def test_what_is_written_can_be_read(film: Path, made: Template) -> None:
    with opened(str(film)) as video:
        frames = list(video)
        assert (video.size, video.rate, video.length) == (SIZE, 12.5, 8)
    assert len(frames) == 8
    assert frames[3].shape == (250, 360, 3)
    expected = np.asarray(to_image(scene(made, 3)[0])).astype(float)
    assert np.abs(frames[3] - expected).mean() < 6, "compressed, but the same picture and the same colours"


def test_an_object_is_watched(film: Path, made: Template, tmp_path: Path) -> None:
    detector = Detector(made, calibration=made_up(made), threads=1)
    with opened(str(film)) as video:
        seen = list(watch(video, detector, tmp_path / "out.mp4", every=3))
    assert [len(one.frame.found) for one in seen] == [0, 0, 1, 1, 1, 1, 1, 1]
    assert {track for one in seen for track in one.frame.tracks} == {1}
    for one in seen[2:]:
        pixels, degrees = off(
            made, "trunk", one.frame.found[0].parts["trunk"].matrix, scene(made, one.index)[1]["trunk"]
        )
        assert pixels < 1
        assert degrees < 1
    record = seen[5].to_dict()
    assert (record["frame"], record["time"]) == (5, 0.4)
    assert record["detections"][0]["track"] == 1
    with opened(str(tmp_path / "out.mp4")) as drawn:
        assert drawn.length == 8
        last = list(drawn)[7].astype(float)
    assert np.abs(last - np.asarray(to_image(scene(made, 7)[0]))).mean() > 1.5, "outlines are drawn"


def test_who_has_seen_enough_gets_the_video_of_that(film: Path, made: Template, tmp_path: Path) -> None:
    detector = Detector(made, calibration=made_up(made), threads=1)
    with opened(str(film)) as video:
        seen = watch(video, detector, tmp_path / "out.mp4")
        for _ in range(3):
            next(seen)
        seen.close()
    with opened(str(tmp_path / "out.mp4")) as drawn:
        assert drawn.length == 3


def test_a_failure_leaves_no_half_video(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), written(tmp_path / "out.mp4", SIZE, 10.0) as add:
        add(Image.new("RGB", SIZE))
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [(361, 251), (64, 48), (17, 33)])
def test_of_odd_sizes_the_last_row_and_column_are_left_out(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "odd.mp4"
    with written(path, size, 10.0) as add:
        for shade in (30, 200):
            add(Image.new("RGB", size, (shade, 90, 20)))
    with opened(str(path)) as video:
        frames = list(video)
    assert [frame.shape for frame in frames] == [(size[1] // 2 * 2, size[0] // 2 * 2, 3)] * 2
    assert np.abs(frames[1].mean((0, 1)) - (200, 90, 20)).max() < 12


def test_what_is_no_video(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("not a video")
    with pytest.raises(PictureError, match="no video that is known"), opened(str(tmp_path / "text.mp4")):
        pass
    with pytest.raises(PictureError, match="no such file"), opened(str(tmp_path / "none.mp4")):
        pass
    with pytest.raises(PictureError, match="camera 97 does not answer"), opened("camera:97"):
        pass


def test_names() -> None:
    assert is_video("a/b.MP4")
    assert is_video("camera:0")
    assert not is_video("camera.png")
    assert not is_video("mycamera:0")
    assert (camera("camera:12"), camera("a.mp4")) == (12, None)

"""Writing videos: what is written can be read, and a failure leaves no file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.images.eight_bit import to_image
from wherein.video.source import open_video
from wherein.video.video_writer import CODECS, Codec, write_video

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'wherein[video]'")


def test_a_written_video_can_be_read(
    video_file: Path, frame: Callable[[int], tuple[Tensor, dict[str, np.ndarray]]]
) -> None:
    with open_video(str(video_file)) as video:
        frames = list(video)
        assert (video.size, video.rate, video.length) == ((360, 250), 12.5, 8)
    assert len(frames) == 8
    assert frames[3].shape == (250, 360, 3)
    expected = np.asarray(to_image(frame(3)[0])).astype(float)
    assert np.abs(frames[3] - expected).mean() < 6, "compressed, but the same picture and the same colours"


def shade(size: tuple[int, int], level: int) -> Callable[[], Image.Image]:
    return lambda: Image.new("RGB", size, (level, 90, 20))


def test_a_failure_leaves_no_partial_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), write_video(tmp_path / "out.webm", (360, 250), 10.0) as add:
        add(shade((360, 250), 30))
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("frames_after", [0, 1])
def test_a_drawing_that_fails_in_the_other_thread_is_not_lost(tmp_path: Path, frames_after: int) -> None:
    def broken() -> Image.Image:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), write_video(tmp_path / "out.webm", (64, 48), 10.0) as add:
        for draw in (broken, *frames_after * [shade((64, 48), 30)]):
            add(draw)
    assert not list(tmp_path.iterdir())


def test_other_extensions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"unknown extension of a video. Use .webm or .mp4"):
        write_video(tmp_path / "out.avi", (64, 48), 10.0).__enter__()


def test_opencv_says_nothing_unless_it_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with write_video(tmp_path / "out.webm", (64, 48), 10.0) as add:
        add(shade((64, 48), 30))
    assert capfd.readouterr() == ("", "")
    monkeypatch.setitem(CODECS, ".webm", Codec("none", "????"))
    with pytest.raises(OSError, match=r"OpenCV has no none encoder \(.*\?\?\?\?.*\)"):
        write_video(tmp_path / "none.webm", (64, 48), 10.0).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["out.webm"]


@pytest.mark.parametrize("extension", CODECS)
@pytest.mark.parametrize("size", [(361, 251), (64, 48), (17, 33)])
def test_odd_sizes_lose_the_last_row_and_column(
    tmp_path: Path, size: tuple[int, int], extension: str
) -> None:
    path = tmp_path / f"odd{extension}"
    with write_video(path, size, 10.0) as add:
        for level in (30, 200):
            add(shade(size, level))
    with open_video(str(path)) as video:
        frames = list(video)
    assert [frame.shape for frame in frames] == [(size[1] // 2 * 2, size[0] // 2 * 2, 3)] * 2
    assert np.abs(frames[1].mean((0, 1)) - (200, 90, 20)).max() < 12

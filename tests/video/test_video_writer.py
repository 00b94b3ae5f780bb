"""Writing videos: what is written can be read, and a failure leaves no file."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import Tensor

from wherein.images.eight_bit import to_image
from wherein.video.source import open_video
from wherein.video.video_writer import write_video

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


def test_a_failure_leaves_no_partial_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), write_video(tmp_path / "out.mp4", (360, 250), 10.0) as add:
        add(Image.new("RGB", (360, 250)))
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [(361, 251), (64, 48), (17, 33)])
def test_odd_sizes_lose_the_last_row_and_column(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "odd.mp4"
    with write_video(path, size, 10.0) as add:
        for shade in (30, 200):
            add(Image.new("RGB", size, (shade, 90, 20)))
    with open_video(str(path)) as video:
        frames = list(video)
    assert [frame.shape for frame in frames] == [(size[1] // 2 * 2, size[0] // 2 * 2, 3)] * 2
    assert np.abs(frames[1].mean((0, 1)) - (200, 90, 20)).max() < 12

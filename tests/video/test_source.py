"""Opening videos and cameras, and their names."""

from pathlib import Path

import pytest

from wherein.errors import PictureError
from wherein.video.source import camera_index, is_video, open_video

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'wherein[video]'")


def test_files_that_are_not_videos(tmp_path: Path) -> None:
    text = tmp_path / "text.mp4"
    text.write_text("not a video")
    with pytest.raises(PictureError, match="unsupported or damaged video file"), open_video(str(text)):
        pass
    with pytest.raises(PictureError, match="file not found"), open_video(str(tmp_path / "none.mp4")):
        pass
    with pytest.raises(PictureError, match="cannot open camera 97"), open_video("camera:97"):
        pass


def test_names() -> None:
    assert is_video("a/b.MP4")
    assert is_video("camera:0")
    assert not is_video("camera.png")
    assert not is_video("mycamera:0")
    assert (camera_index("camera:12"), camera_index("a.mp4")) == (12, None)

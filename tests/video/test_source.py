"""Opening videos and cameras, and their names."""

import struct
from pathlib import Path

import pytest
from PIL import Image

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


def test_a_gif_bomb_is_refused_before_a_frame_is_decoded(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gif"
    frames = [Image.new("P", (4, 4), colour) for colour in (1, 2)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    data = bytearray(path.read_bytes())
    data[6:10] = struct.pack("<HH", 12_000, 12_000)  # the size of the screen
    path.write_bytes(data)
    with pytest.raises(PictureError, match="12000 × 12000 = 144,000,000 pixels"), open_video(str(path)):
        pass


def test_a_file_is_never_taken_for_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FFmpeg takes http:/host/a.mp4 for an address, even where there is such a file."""
    cv2 = pytest.importorskip("cv2")
    opened = []

    def capture(name: str, backend: int) -> None:
        opened.append(name)
        raise PictureError("stop here")

    (tmp_path / "http:" / "host").mkdir(parents=True)
    (tmp_path / "http:" / "host" / "a.mp4").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cv2, "VideoCapture", capture)
    with pytest.raises(PictureError, match="stop here"), open_video("http:/host/a.mp4"):
        pass
    assert opened == [str(tmp_path / "http:" / "host" / "a.mp4")]

"""VP8 in real time: what is encoded can be decoded, and without libvpx OpenCV encodes."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from wherein.video import vp8
from wherein.video.source import open_video
from wherein.video.video_writer import write_video

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'wherein[video]'")

SIZE = (96, 64)


def picture(shift: int) -> NDArray[np.uint8]:
    """Stripes of red and blue that move."""
    columns = (np.arange(SIZE[0]) + shift) // 12 % 2
    return np.where(columns[None, :, None], (200, 30, 40), (20, 60, 180)).astype(np.uint8).repeat(SIZE[1], 0)


def encoded(count: int) -> list[tuple[NDArray[np.uint8], bool]]:
    found: list[tuple[NDArray[np.uint8], bool]] = []
    encoder = vp8.open_vp8(SIZE, 25.0, lambda data, key: found.append((data, key)))
    if encoder is None:
        pytest.skip("no libvpx")
    for k in range(count):
        encoder.add(picture(k))
    encoder.close()
    return found


def test_every_frame_is_encoded_at_once_and_the_first_stands_alone() -> None:
    found = encoded(6)
    assert [key for _, key in found] == [True, *5 * [False]]
    assert all(len(data) for data, _ in found)


def test_the_same_frames_give_the_same_bytes() -> None:
    assert all((a == b).all() for (a, _), (b, _) in zip(encoded(4), encoded(4), strict=True))


@pytest.mark.parametrize("live", [True, False])
def test_with_and_without_libvpx_the_file_shows_the_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, live: bool
) -> None:
    if not live:
        monkeypatch.setattr(vp8, "_libvpx", lambda: None)
    path = tmp_path / "stripes.webm"
    with write_video(path, SIZE, 12.5) as add:
        for k in range(5):
            add(lambda k=k: Image.fromarray(picture(k)))
    with open_video(str(path)) as video:
        frames = list(video)
        assert (video.size, video.rate) == (SIZE, 12.5)
    assert len(frames) == 5
    for k, frame in enumerate(frames):
        assert np.abs(frame[:, 24:72].astype(float) - picture(k)[:, 24:72]).mean() < 25


def test_another_struct_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A libvpx whose defaults are elsewhere has another struct: it must not be written to."""
    if vp8._libvpx() is None:
        pytest.skip("no libvpx")
    monkeypatch.setitem(vp8._DEFAULTS, "width", 321)
    assert vp8.open_vp8(SIZE, 25.0, lambda data, key: None) is None


def test_a_file_that_is_no_library_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "libvpx.so").write_text("nothing")
    monkeypatch.setattr(vp8, "_candidates", lambda: iter([str(tmp_path / "libvpx.so")]))
    assert vp8._libvpx.__wrapped__() is None


def test_the_beginning_of_the_struct_is_where_c_has_it() -> None:
    assert vp8._Config.width.offset == 3 * ctypes.sizeof(ctypes.c_uint)
    assert vp8._Config.kilobits.offset == 28 * ctypes.sizeof(ctypes.c_uint)

"""The frames of picture files."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

from wherein.errors import PictureError
from wherein.images.frames.picture_frames import MAX_FRAME, count_frames, kind_of_frames, open_frames
from wherein.images.frames.tiff_pages import MAX_PAGES
from wherein.images.load import load_picture

RNG = np.random.default_rng(0)
FRAMES = [Image.fromarray(RNG.integers(0, 256, (30, 40, 3), dtype=np.uint8)) for _ in range(3)]
KINDS = {"a.gif": "GIF", "a.png": "PNG", "a.webp": "WebP", "a.avif": "AVIF", "a.tif": "TIFF"}


def saved(path: Path, frames: list[Image.Image] = FRAMES, **options: Any) -> Path:
    lossless = {".webp": {"lossless": True}, ".avif": {"quality": 100}}.get(path.suffix, {})
    first, *others = (frame.copy() for frame in frames)  # saving leaves settings in a picture
    first.save(path, save_all=True, append_images=others, **lossless, **options)
    return path


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_every_frame(tmp_path: Path, name: str, kind: str) -> None:
    path = saved(tmp_path / name, duration=50)
    assert (kind_of_frames(path), count_frames(path)) == (kind, 3)
    with open_frames(path) as frames:
        assert (frames.size, frames.count, frames.pages) == ((40, 30), 3, name == "a.tif")
        assert frames.milliseconds == (0 if name == "a.tif" else 50)
        first, again = list(frames), list(frames)
    np.testing.assert_array_equal(first, again)
    if name in ("a.png", "a.webp", "a.tif"):  # the others are lossy, or have a palette
        np.testing.assert_array_equal(first, [np.asarray(frame) for frame in FRAMES])


def test_one_frame_or_a_damaged_file(tmp_path: Path) -> None:
    for name in (*KINDS, "a.jpg", "a.bmp"):
        FRAMES[0].save(tmp_path / name)
        assert (kind_of_frames(tmp_path / name), count_frames(tmp_path / name)) == (None, 1)
    for name in ("a.png", "a.tif", "a.txt"):
        (tmp_path / name).write_bytes((tmp_path / "a.tif").read_bytes()[:9])
        assert kind_of_frames(tmp_path / name) is None
    FRAMES[0].save(tmp_path / "two.jpg", format="MPO", save_all=True, append_images=FRAMES[1:])
    assert kind_of_frames(tmp_path / "two.jpg") is None  # the second is the same scene, for depth or a screen


@pytest.mark.parametrize("kind", [np.uint16, np.float32, np.uint8])
def test_pages_have_the_values_of_single_pictures(tmp_path: Path, kind: type) -> None:
    """Also of more than 8 bits, of different sizes, grey or in colour, stored rotated."""
    full = 1.0 if kind is np.float32 else np.iinfo(kind).max
    sizes = [(20, 30), (44, 12)]
    arrays = [(RNG.random(size) * full).astype(kind) for size in sizes]
    options: list[dict[str, Any]] = [{"extratags": [(274, "H", 1, 6, True)]}, {"compression": "deflate"}]
    with tifffile.TiffWriter(tmp_path / "all.tif") as file:
        for k, array in enumerate(arrays):
            tifffile.imwrite(tmp_path / f"{k}.tif", array, photometric="minisblack", **options[k])
            file.write(array, photometric="minisblack", **options[k])
    with open_frames(tmp_path / "all.tif") as frames:
        assert frames.size == (20, 44)  # the first is displayed with 20 × 30
        for k, values in enumerate(frames):
            single = load_picture(tmp_path / f"{k}.tif").pixels
            np.testing.assert_array_equal(load_picture(values).pixels, single)


def test_a_torn_page_is_an_error_and_those_before_it_are_read(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.tif")
    torn = tmp_path / "torn.tif"
    with path.open("rb") as file, Image.open(path) as image:
        image.seek(2)
        offset = image.tile[0].offset
        data = bytearray(file.read())
    torn.write_bytes(data.replace(struct.pack("<I", offset), struct.pack("<I", len(data) - 5)))
    with open_frames(torn) as frames:
        read = iter(frames)
        next(read)
        next(read)
        with pytest.raises(PictureError, match="frame 2: the picture is damaged"):
            next(read)


def test_a_damaged_animated_png_is_an_error(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png")
    data = bytearray(path.read_bytes())
    data[-60] ^= 1  # in the last frame: Pillow does not check its sum
    path.write_bytes(data)
    with pytest.raises(PictureError, match=r"a\.png: "), open_frames(path):
        pass


def headers(*sizes: tuple[int, int]) -> bytes:
    """A TIFF of directories that have only a width and a height."""
    made = b"II*\0" + struct.pack("<I", 8)
    for size in sizes:
        made += struct.pack("<HHHIIHHIII", 2, 256, 4, 1, size[0], 257, 4, 1, size[1], len(made) + 30)
    return made


def test_giant_pages_are_refused_by_their_header(tmp_path: Path) -> None:
    (tmp_path / "a.tif").write_bytes(headers((40, 30), (MAX_FRAME, 2)))
    assert kind_of_frames(tmp_path / "a.tif") == "TIFF"
    with pytest.raises(PictureError, match="maximum of 100,000,000"), open_frames(tmp_path / "a.tif"):
        pass


def test_a_giant_tiff_has_no_frames(tmp_path: Path) -> None:
    """It is read by region, and its first page is the scene."""
    (tmp_path / "a.tif").write_bytes(headers((MAX_FRAME, 2), (MAX_FRAME, 2)))
    assert kind_of_frames(tmp_path / "a.tif") is None


def test_too_many_pages(tmp_path: Path) -> None:
    head = b"II*\0" + struct.pack("<I", 8)
    body = [struct.pack("<HI", 0, 8 + 6 * k) for k in range(1, 2 * MAX_PAGES)]
    (tmp_path / "a.tif").write_bytes(head + b"".join(body))
    words = "more than the maximum of 10,000 pages"
    with pytest.raises(PictureError, match=words), open_frames(tmp_path / "a.tif"):
        pass

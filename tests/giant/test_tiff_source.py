"""TIFF by region: the same pixels as of the whole, and an error in words for what is damaged or made up."""

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
import torch
from PIL import Image

from wherein.errors import MissingError, PictureError
from wherein.giant.tiff_source import TiffSource, size_of_tiff
from wherein.images.load import load_picture

RGB = np.random.default_rng(0).integers(0, 256, (150, 210, 3), dtype=np.uint8)
SMOOTH = np.stack([np.add.outer(np.arange(150), np.arange(210)) % 256 // 2] * 3, -1).astype(np.uint8)
BOX = (37, 21, 180, 149)


def written(path: Path, array: np.ndarray = RGB, **options: Any) -> Path:
    options = {"tile": (32, 48), "photometric": "rgb" if array.ndim == 3 else "minisblack"} | options
    tifffile.imwrite(path, array, **options)
    return path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bigtiff": True},
        {"tile": None, "rowsperstrip": 7},
        {"compression": "zlib"},
        {"compression": "lzw"},
        {"compression": "zstd"},
        {"compression": "packbits"},
        {"compression": "zlib", "predictor": True},
        {"byteorder": ">"},
    ],
)
@pytest.mark.parametrize(
    "array", [RGB, RGB[..., 0], RGB.astype(np.uint16) * 257], ids=["rgb", "grey", "16 bit"]
)
def test_a_region_is_that_of_the_whole(tmp_path: Path, options: dict[str, Any], array: np.ndarray) -> None:
    with TiffSource(written(tmp_path / "it.tif", array, **options)) as source:
        assert source.size == (210, 150)
        left, top, right, bottom = BOX
        torch.testing.assert_close(source.region(BOX), load_picture(array).pixels[:, top:bottom, left:right])


def test_planes_one_after_another(tmp_path: Path) -> None:
    planes = np.ascontiguousarray(RGB.transpose(2, 0, 1))
    path = written(tmp_path / "it.tif", planes, planarconfig="separate")
    with TiffSource(path) as source:
        np.testing.assert_array_equal(source.stored(BOX, 1), RGB[21:149, 37:180])


def test_jpeg_tiles(tmp_path: Path) -> None:
    path = written(tmp_path / "it.tif", SMOOTH, compression="jpeg", tile=(64, 64))
    with TiffSource(path) as source:
        assert np.abs(source.stored(BOX, 1).astype(int) - SMOOTH[21:149, 37:180]).max() < 12


@pytest.mark.parametrize("inside", [True, False])
def test_a_stored_level_is_read_in_place_of_full_size(tmp_path: Path, inside: bool) -> None:
    path = tmp_path / "it.tif"
    half, other = RGB[::2, ::2], RGB[:60, :70]
    with tifffile.TiffWriter(path) as file:
        file.write(RGB, tile=(32, 32), photometric="rgb", subifds=1 if inside else 0)
        file.write(half, tile=(32, 32), photometric="rgb", subfiletype=1)
        file.write(other, photometric="rgb")  # of a size that no level has
    with TiffSource(path) as source:
        assert source.reductions == (1, 2)
        torch.testing.assert_close(
            source.region((20, 10, 100, 90), 2), load_picture(half[5:45, 10:50]).pixels
        )
        assert source.region((0, 0, 208, 148), 4).shape == (3, 37, 52)


def test_the_size_is_known_without_a_package(tmp_path: Path) -> None:
    for options in ({}, {"bigtiff": True}, {"byteorder": ">"}):
        with written(tmp_path / "it.tif", **options).open("rb") as file:
            assert size_of_tiff(file) == (210, 150)
    buffer = io.BytesIO()
    Image.fromarray(RGB).save(buffer, "png")
    buffer.seek(0)
    assert size_of_tiff(buffer) is None
    assert size_of_tiff(io.BytesIO(b"II*\0\xff\xff\xff\xff")) == (0, 0)


def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "it.tif")
    monkeypatch.setitem(sys.modules, "tifffile", None)
    with pytest.raises(MissingError, match=r"pip install 'wherein\[giant\]'"):
        TiffSource(path)


def patched(path: Path, tag: int, value: int) -> Path:
    """The file with another value of a tag, which must be stored in its entry."""
    with tifffile.TiffFile(path) as file:
        entry = file.pages[0].tags[tag]
        at, size = entry.valueoffset, entry.valuebytecount
    data = bytearray(path.read_bytes())
    data[at : at + size] = value.to_bytes(size, "little")
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("tag", "value", "words"),
    [
        (256, 2**32 - 1, "the header says"),  # width
        (257, 2**32 - 1, "the header says"),
        (256, 5000, "should have .* tiles"),
        (322, 2**31, "more than can be read by region"),  # width of a tile
        (323, 2**31, "more than can be read by region"),
        (322, 0, "damaged"),
        (259, 34712, "compression .* not supported"),  # JPEG 2000
        (259, 4242, "compression .* not supported|damaged"),
        (262, 3, "colours .* not supported|damaged"),
        (277, 200, "samples"),
    ],
)
def test_a_header_that_lies_is_refused_before_anything_is_decoded(
    tmp_path: Path, tag: int, value: int, words: str
) -> None:
    path = patched(written(tmp_path / "it.tif", compression="zlib"), tag, value)
    with pytest.raises(PictureError, match=rf"it\.tif: .*({words})"):
        TiffSource(path)


def tiles_of(path: Path) -> tuple[Any, Any]:
    with tifffile.TiffFile(path) as file:
        return file.pages[0].dataoffsets, file.pages[0].databytecounts


def test_a_damaged_tile_is_an_error_and_the_others_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "it.tif", SMOOTH, compression="zlib")
    offsets, counts = tiles_of(path)
    data = bytearray(path.read_bytes())
    data[offsets[0] : offsets[0] + counts[0]] = bytes(counts[0])
    path.write_bytes(data)
    with TiffSource(path) as source:
        with pytest.raises(PictureError, match=r"it\.tif: the file is damaged"):
            source.stored((0, 0, 20, 20), 1)
        np.testing.assert_array_equal(source.stored((60, 40, 90, 60), 1), SMOOTH[40:60, 60:90])


@pytest.mark.parametrize("compression", [None, "zlib"])
def test_a_tile_with_too_few_pixels_is_an_error(tmp_path: Path, compression: str | None) -> None:
    path = written(tmp_path / "it.tif", RGB[:32, :48], compression=compression)
    with tifffile.TiffFile(path) as file:
        tag = file.pages[0].tags[325]
    path = patched(path, 325, tag.value[0] // 2)
    with TiffSource(path) as source, pytest.raises(PictureError, match=r"it\.tif: .*damaged"):
        source.stored((0, 0, 48, 32), 1)


def test_a_missing_tile_is_an_error(tmp_path: Path) -> None:
    path = patched(written(tmp_path / "it.tif", RGB[:32, :48]), 325, 0)
    with TiffSource(path) as source, pytest.raises(PictureError, match="tile 0 is missing"):
        source.stored((0, 0, 48, 32), 1)


def test_a_file_that_is_cut_off_is_an_error_where_it_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "it.tif")
    offsets, _ = tiles_of(path)
    path.write_bytes(path.read_bytes()[: offsets[-1] + 10])
    with TiffSource(path) as source:
        with pytest.raises(PictureError, match="cut off"):
            source.stored((0, 0, 210, 150), 1)
        assert source.stored((0, 0, 48, 32), 1).shape == (32, 48, 3)


def test_a_jpeg_that_is_larger_than_its_tile_is_not_decoded(tmp_path: Path) -> None:
    path = written(tmp_path / "it.tif", SMOOTH[:64, :64], compression="jpeg", tile=(64, 64))
    data = bytearray(path.read_bytes())
    at = data.index(b"\xff\xc0", tiles_of(path)[0][0])  # height and width follow the precision
    data[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    with TiffSource(path) as source, pytest.raises(PictureError, match="a JPEG of 65535 × 65535 pixels"):
        source.stored((0, 0, 64, 64), 1)


@pytest.mark.parametrize("skipped", [b"\xff", b"\xff\xd0", b"\xff\x01", b"\xff\x00"])
def test_a_jpeg_with_two_headers_is_not_decoded(tmp_path: Path, skipped: bytes) -> None:
    """Decoders skip these bytes. Taken for a segment, they would lead past the header to a made-up one."""
    path = written(tmp_path / "it.tif", SMOOTH[:64, :64], compression="jpeg", tile=(64, 64))
    (begin,), (count,) = tiles_of(path)
    data = path.read_bytes()
    jpeg = data[begin : begin + count]
    at = jpeg.index(b"\xff\xc0")
    header, rest = jpeg[at : at + 19], jpeg[2:at] + jpeg[at + 19 :]
    large = header[:5] + b"\x07\xd0\x07\xd0" + header[9:]
    head = jpeg[:2] + skipped + large
    # As a marker with a length, the skipped bytes end here. Comments fill the gap; the last has the header.
    end = 4 + int.from_bytes(head[4:6], "big")
    while end - len(head) > 2**15:
        head += b"\xff\xfe\x40\x00" + bytes(2**14 - 2)
    comment = bytes(end - len(head) - 4) + header
    made = head + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + rest
    path.write_bytes(data + made)
    patched(patched(path, 324, len(data)), 325, len(made) if len(made) < 2**16 else 2**16 - 1)
    with TiffSource(path) as source, pytest.raises(PictureError, match="a JPEG without a header"):
        source.stored((0, 0, 64, 64), 1)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_bytes_are_an_error_or_a_picture(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = written(tmp_path / "it.tif", compression=("zlib", "lzw", None, "jpeg")[seed % 4], tile=(32, 32))
    data = bytearray(path.read_bytes())
    head = rng.random() < 0.7
    for at in rng.integers(0, 400 if head else len(data), rng.integers(1, 5)):
        data[at] = rng.integers(256)
    path.write_bytes(data[: rng.integers(8, len(data))] if rng.random() < 0.2 else data)
    try:
        with TiffSource(path) as source:
            width, height = source.size
            assert source.region((0, 0, min(width, 210), min(height, 150))).shape[0] == 3
    except PictureError as error:
        assert str(error).startswith(str(path))

"""Files that are whole, cut off, damaged, huge or odd: the right picture, or one clear error."""

import io
import re
import struct
import sys
import threading
import time
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from wherein.errors import PictureError
from wherein.images.load import load_picture

ORIENTATION = 0x0112


def photo(height=29, width=23):
    y, x = np.mgrid[:height, :width]
    array = np.stack([x * 10, y * 8, x * y % 256], axis=-1).astype(np.uint8)
    array[5:20, 5:15] = np.random.default_rng(0).integers(0, 256, (15, 10, 3))
    return Image.fromarray(array)


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def with_orientation(value):
    exif = Image.Exif()
    exif[ORIENTATION] = value
    return exif


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour, rows, *extra):
    """A PNG of any kind: rows are bytes without the filter byte."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [chunk(b"IHDR", header), *extra, chunk(b"IDAT", data), chunk(b"IEND", b"")]
    )


def tiff(width, height, data, tags=(), order="<"):
    """An 8-bit grey TIFF of one strip, or what `tags` make of it; the directory comes last."""
    data += b"\0" * (len(data) % 2)
    entries = {256: width, 257: height, 258: 8, 259: 1, 262: 1, 273: 8, 277: 1, 278: height, 279: len(data)}
    entries |= dict(tags)
    directory, beyond = struct.pack(order + "H", len(entries)), b""
    end = 8 + len(data) + 2 + 12 * len(entries) + 4
    for tag, value in sorted(entries.items()):
        values = value if isinstance(value, tuple) else (value,)
        packed = struct.pack(f"{order}{len(values)}I", *values)
        if len(packed) > 4:
            packed, beyond = struct.pack(order + "I", end + len(beyond)), beyond + packed
        directory += struct.pack(order + "HHI", tag, 4, len(values)) + packed
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8 + len(data))
    return head + data + directory + struct.pack(order + "I", 0) + beyond


TURNED = with_orientation(6)
SIX = [[0, 1, 2], [3, 4, 5]]
FILES = {
    "plain.png": encoded(photo(), "PNG"),
    "turned.png": encoded(photo(), "PNG", exif=TURNED),
    "plain.jpg": encoded(photo(), "JPEG"),
    "progressive.jpg": encoded(photo(), "JPEG", progressive=True, exif=TURNED),
    "lossless.webp": encoded(photo(), "WEBP", lossless=True),
    "lossy.webp": encoded(photo(), "WEBP"),
    "turned.webp": encoded(photo(), "WEBP", exif=TURNED),
    "raw.tif": encoded(photo(), "TIFF", exif=TURNED),
    "lzw.tif": encoded(photo(), "TIFF", compression="tiff_lzw", exif=TURNED),
    "directory-last.tif": tiff(3, 2, bytes(range(6)), {274: 6}),
    "plain.bmp": encoded(photo(), "BMP"),
    "palette.bmp": encoded(photo().quantize(20), "BMP"),
    "palette.gif": encoded(photo().quantize(64), "GIF"),
    "moving.gif": encoded(photo(), "GIF", save_all=True, append_images=[photo().rotate(20)]),
}


@pytest.fixture(params=FILES)
def whole(request, tmp_path):
    path = tmp_path / request.param
    path.write_bytes(FILES[request.param])
    return path


# Cut off and damaged


def test_a_file_cut_off_is_an_error_or_exactly_the_picture(whole):
    data, expected = whole.read_bytes(), load_picture(whole).pixels
    refused = 0
    for length in sorted({*range(0, len(data), max(1, len(data) // 60)), *range(len(data) - 60, len(data))}):
        whole.write_bytes(data[:length])
        try:
            pixels = load_picture(whole).pixels
        except PictureError as error:
            assert str(error).startswith(f"{whole}: ")
            refused += 1
        else:
            assert torch.equal(pixels, expected)
    assert refused >= 30  # all but the last bytes, or the second frame of the GIF


@pytest.mark.parametrize("name", ["plain.png", "plain.jpg", "raw.tif", "plain.bmp", "palette.gif"])
def test_leniency_set_by_others_does_not_let_half_a_picture_through(name, tmp_path, monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    path = tmp_path / name
    path.write_bytes(FILES[name][: len(FILES[name]) * 3 // 4])
    with pytest.raises(PictureError, match=r"damaged, incomplete or of an unsupported kind \(.+\): copy it"):
        load_picture(path)
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True


def test_a_wrong_checksum_in_png_data_is_seen(tmp_path):
    data = bytearray(FILES["plain.png"])
    data[data.index(b"IEND") - 8] ^= 1  # the last byte of the IDAT's own checksum
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(PictureError, match="checksum"):
        load_picture(tmp_path / "a.png")


def test_a_missing_strip_is_not_left_black(tmp_path):
    (tmp_path / "a.tif").write_bytes(tiff(3, 4, bytes(range(12)), {278: 2}))  # two rows of four
    with pytest.raises(PictureError, match=r"a\.tif: some of its pixels are missing: the file is incomplete"):
        load_picture(tmp_path / "a.tif")
    with Image.open(tmp_path / "a.tif") as image, pytest.raises(PictureError, match="are missing"):
        load_picture(image)


def test_a_missing_plane_is_not_left_black(tmp_path):
    two_of_three = {258: (8, 8, 8), 262: 2, 273: (8, 10), 277: 3, 284: 2}
    (tmp_path / "a.tif").write_bytes(tiff(2, 1, bytes(6), two_of_three))
    with pytest.raises(PictureError, match="some of its pixels are missing"):
        load_picture(tmp_path / "a.tif")


def test_the_warnings_of_pillow_are_not_heard_and_others_are(tmp_path):
    nothing_moves = chunk(b"acTL", struct.pack(">II", 0, 0))
    path = tmp_path / "a.png"
    path.write_bytes(png(1, 1, 8, 0, [b"\xff"], nothing_moves))
    with pytest.warns(UserWarning, match="Invalid APNG"), Image.open(path):
        pass
    with pytest.warns(UserWarning, match="mine") as heard:
        assert load_picture(path).pixels.unique().tolist() == [1]
        warnings.warn("mine", stacklevel=1)
    assert len(heard) == 1


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged") / "file"


positions = st.one_of(st.integers(0, 80), st.integers(0, 4000))  # headers are short and matter most


@settings(
    max_examples=400,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    name=st.sampled_from(sorted(FILES)),
    changes=st.lists(st.tuples(positions, st.integers(0, 255)), min_size=1, max_size=6),
)
def test_damaged_bytes_are_an_error_or_a_picture(scratch, name, changes):
    data = bytearray(FILES[name])
    for position, value in changes:
        data[position % len(data)] = value
    scratch.write_bytes(data)
    try:
        pixels = load_picture(scratch, max_pixels=10_000).pixels
    except PictureError as error:
        assert "\n" not in str(error)
        return
    assert pixels.shape[0] == 3
    assert pixels.numel() > 0
    assert pixels.min() >= 0
    assert pixels.max() <= 1


# Not a picture at all, by their words


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty (0 bytes): copy it again"),
        (
            b"hello, world",
            "the content is not PNG, JPEG, WebP, AVIF, TIFF, BMP or GIF: convert",
        ),
        (b"RIFF\x24\0\0\0WAVEfmt ", "the content is not PNG"),
        (b"%PDF-1.7\n", "the content is not PNG"),
        (b"P6 1 1 255\n\0\0\0", "the content is not PNG"),  # Pillow could, but it was not asked for
        (b"\x89PNG\r\n\x1a\n", "the picture is damaged, incomplete or of an unsupported kind"),
        (b"BM text", "the picture is damaged, incomplete or of an unsupported kind"),
    ],
)
def test_what_is_no_picture_says_so(tmp_path, data, words):
    path = tmp_path / "a.png"
    path.write_bytes(data)
    with pytest.raises(PictureError, match=re.escape(f"{path}: {words}")) as caught:
        load_picture(path)
    assert caught.value.__cause__ is not None


def test_paths_that_lead_nowhere_say_so(tmp_path):
    for path, words in (
        (tmp_path / "none.png", "file not found"),
        (tmp_path, "this is a folder or a device: use the path of a picture file"),
        (tmp_path / ("long" * 200), "cannot open the file"),
    ):
        with pytest.raises(PictureError, match=re.escape(f"{path}: {words}")):
            load_picture(path)


def test_the_format_is_read_from_the_file_and_not_from_its_name(tmp_path):
    (tmp_path / "a.jpg").write_bytes(FILES["plain.png"])
    assert torch.equal(load_picture(tmp_path / "a.jpg").pixels, load_picture(photo()).pixels)


# Size


def huge_headers():
    side = 50_000
    jpeg = encoded(photo(), "JPEG")
    frame = jpeg.index(b"\xff\xc0") + 5
    canvas = struct.pack("<I", 0) + struct.pack("<I", side - 1)[:3] * 2
    return {
        "a.png": png(side, side, 8, 2, []),
        "a.bmp": b"BM"
        + struct.pack("<IHHI", 0, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, side, side, 1, 24, *[0] * 6),
        "a.gif": b"GIF89a"
        + struct.pack("<HHBBB", side, side, 0, 0, 0)
        + b","
        + struct.pack("<HHHHB", 0, 0, side, side, 0)
        + b"\x02\x01\x2c\0;",
        "a.tif": tiff(side, side, b"\0"),
        "a.webp": b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8X" + struct.pack("<I", 10) + canvas,
        "a.jpg": jpeg[:frame] + struct.pack(">HH", side, side) + jpeg[frame + 4 :],
    }


@pytest.mark.parametrize("name", huge_headers())
def test_a_huge_picture_is_refused_by_its_header(tmp_path, name):
    (tmp_path / name).write_bytes(huge_headers()[name])
    start = time.perf_counter()
    words = "the picture has 50000 × 50000 = 2,500,000,000 pixels, more than the maximum of 200,000,000"
    with pytest.raises(PictureError, match=re.escape(f"{name}: {words}")):
        load_picture(tmp_path / name)
    assert time.perf_counter() - start < 0.5


def test_a_webp_beyond_the_cap_of_pillow_says_whose_cap_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 200)
    (tmp_path / "a.webp").write_bytes(FILES["lossless.webp"])
    try:
        pixels = load_picture(tmp_path / "a.webp").pixels
    except PictureError as error:  # since Pillow 13
        assert "667 pixels" in str(error)
        assert "save it as PNG or TIFF, or raise PIL.Image.MAX_IMAGE_PIXELS" in str(error)
    else:
        assert torch.equal(pixels, load_picture(photo()).pixels)


def test_the_cap_is_a_count_of_pixels(whole):
    pixels = load_picture(whole).pixels[0].numel()
    assert load_picture(whole, max_pixels=pixels).pixels[0].numel() == pixels
    with pytest.raises(PictureError, match=f"more than the maximum of {pixels - 1:,} "):
        load_picture(whole, max_pixels=pixels - 1)


@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(".webp")])
def test_only_our_own_cap_counts(name, tmp_path, monkeypatch):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    expected = load_picture(path).pixels
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2)
    assert torch.equal(load_picture(path).pixels, expected)
    assert Image.MAX_IMAGE_PIXELS == 2


# Orientation

TURNS = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.swapaxes(0, 1),
    6: lambda a: np.rot90(a, -1),
    7: lambda a: a[::-1, ::-1].swapaxes(0, 1),
    8: np.rot90,
}


@pytest.mark.parametrize("orientation", TURNS)
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_every_orientation_is_applied_once(tmp_path, kind, orientation):
    path = tmp_path / "file"
    path.write_bytes(encoded(photo(), kind))
    stored = load_picture(path).pixels.permute(1, 2, 0).numpy()
    path.write_bytes(encoded(photo(), kind, exif=with_orientation(orientation)))
    pixels = load_picture(path).pixels.permute(1, 2, 0).numpy()
    assert np.array_equal(pixels, TURNS[orientation](stored))
    with Image.open(path) as image:  # and the same by way of Pillow, twice
        for _ in range(2):
            assert np.array_equal(load_picture(image).pixels.permute(1, 2, 0).numpy(), pixels)


def test_the_mask_turns_with_the_picture(tmp_path):
    rgba = photo()
    rgba.putalpha(Image.fromarray(np.arange(29 * 23, dtype=np.uint8).reshape(29, 23)))
    rgba.save(tmp_path / "a.png", exif=with_orientation(8))
    expected = np.rot90(np.asarray(rgba)[..., 3]).astype(np.float32) / np.float32(255)
    assert np.array_equal(load_picture(tmp_path / "a.png").mask.numpy(), expected)


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_means_nothing_is_ignored(tmp_path, orientation):
    photo().save(tmp_path / "a.png", exif=with_orientation(orientation))
    assert torch.equal(load_picture(tmp_path / "a.png").pixels, load_picture(photo()).pixels)


def test_a_damaged_exif_block_does_not_cost_the_picture(tmp_path):
    photo().save(tmp_path / "a.png", exif=b"Exif\0\0no such thing")
    assert torch.equal(load_picture(tmp_path / "a.png").pixels, load_picture(photo()).pixels)


# Depths, and what Pillow misreads


def test_sixteen_bit_colour_keeps_its_high_byte(tmp_path):
    deep = np.random.default_rng(0).integers(0, 65536, (3, 5, 3), dtype=np.uint16)
    expected = torch.from_numpy((deep >> 8).transpose(2, 0, 1).astype(np.float32) / np.float32(255))
    (tmp_path / "a.png").write_bytes(png(5, 3, 16, 2, [row.astype(">u2").tobytes() for row in deep]))
    three = {258: (16, 16, 16), 262: 2, 277: 3}
    (tmp_path / "a.tif").write_bytes(tiff(5, 3, deep.astype("<u2").tobytes(), three))
    (tmp_path / "b.tif").write_bytes(tiff(5, 3, deep.astype(">u2").tobytes(), three, ">"))
    for name in ("a.png", "a.tif", "b.tif"):
        assert torch.equal(load_picture(tmp_path / name).pixels, expected)
    assert (expected - torch.from_numpy(deep.transpose(2, 0, 1) / 65535)).abs().max() < 1 / 255


@pytest.mark.parametrize(
    ("depth", "row", "values"), [(1, 0b01_000000, [0, 1]), (2, 0b00_11_0000, [0, 1]), (4, 0x0F, [0, 1])]
)
def test_grey_of_few_bits_spans_the_range(tmp_path, depth, row, values):
    (tmp_path / "a.png").write_bytes(png(2, 1, depth, 0, [bytes([row])]))
    assert load_picture(tmp_path / "a.png").pixels[0].tolist() == [values]


@pytest.mark.parametrize(
    ("depth", "colour", "row", "hidden"),
    [
        (2, 0, b"\x1b", struct.pack(">H", 3)),
        (4, 0, b"\x0f", struct.pack(">H", 15)),
        (16, 2, bytes(12), bytes(6)),
    ],
)
def test_a_transparent_colour_that_pillow_mixes_up_is_refused(tmp_path, depth, colour, row, hidden):
    (tmp_path / "a.png").write_bytes(png(2, 1, depth, colour, [row], chunk(b"tRNS", hidden)))
    with pytest.raises(PictureError, match="save it with an alpha channel"):
        load_picture(tmp_path / "a.png")


HALF = np.array([[0.5, 0.25]], dtype=np.float32)
MISREAD = {
    "12 bits": tiff(2, 1, b"\xff\xf1\x23", {258: 12}),
    "signed 8 bits": tiff(2, 1, b"\xff\x01", {339: 2}),
    "16 bits, white is zero": tiff(2, 1, b"\xff\xff\0\0", {258: 16, 262: 0}),
    "float, white is zero": tiff(2, 1, HALF.tobytes(), {258: 32, 262: 0, 339: 3}),
    "16-bit planes": tiff(1, 1, bytes(range(6)), {258: (16,) * 3, 262: 2, 273: (8, 10, 12), 277: 3, 284: 2}),
    "compressed big-endian float": tiff(
        2, 1, zlib.compress(HALF.astype(">f4").tobytes()), {258: 32, 259: 8, 339: 3}, ">"
    ),
}


@pytest.mark.parametrize("name", MISREAD)
def test_a_tiff_that_pillow_misreads_is_refused(tmp_path, name):
    (tmp_path / "a.tif").write_bytes(MISREAD[name])
    with pytest.raises(PictureError, match="save it as plain 8-bit colour or 16-bit grey"):
        load_picture(tmp_path / "a.tif")
    with (
        Image.open(tmp_path / "a.tif") as image,
        pytest.raises(PictureError, match=r"a\.tif: unsupported TIFF"),
    ):
        load_picture(image)


def test_the_neighbours_of_what_is_refused_are_right(tmp_path):
    path = tmp_path / "a.tif"
    path.write_bytes(tiff(2, 1, HALF.astype(">f4").tobytes(), {258: 32, 339: 3}, ">"))
    assert load_picture(path).pixels[0].tolist() == HALF.tolist()
    path.write_bytes(tiff(2, 1, zlib.compress(HALF.tobytes()), {258: 32, 259: 8, 339: 3}))
    assert load_picture(path).pixels[0].tolist() == HALF.tolist()
    path.write_bytes(tiff(3, 2, bytes(range(6)), {262: 0}))  # white is zero, 8 bits
    assert load_picture(path).pixels[0].mul(255).round().tolist() == (255 - np.array(SIX)).tolist()
    planes = {258: (8, 8, 8), 262: 2, 273: (8, 10, 12), 277: 3, 284: 2}
    path.write_bytes(tiff(2, 1, bytes(range(6)), planes))
    assert load_picture(path).pixels.mul(255).round().tolist() == [[[0, 1]], [[2, 3]], [[4, 5]]]


# Other threads


def test_many_threads_get_the_right_pictures_and_leave_no_trace(tmp_path):
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "cut.tif").write_bytes(FILES["raw.tif"][:900])
    expected = {name: load_picture(tmp_path / name).pixels for name in FILES}
    filters, start = list(warnings.filters), threading.Barrier(8)

    def work(seed):
        start.wait()
        for name in np.random.default_rng(seed).permutation(sorted(FILES)):
            assert torch.equal(load_picture(tmp_path / name).pixels, expected[name])
            with pytest.raises(PictureError):
                load_picture(tmp_path / "cut.tif")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert warnings.filters == filters
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_avif_is_read(tmp_path):
    image = photo()
    image.save(tmp_path / "a.avif", quality=100, subsampling="4:4:4")
    read = load_picture(tmp_path / "a.avif").pixels
    expected = np.asarray(image).transpose(2, 0, 1) / 255
    assert read.shape == expected.shape
    assert np.abs(read.numpy() - expected).max() < 0.03  # its colours are rounded once more


def test_heic_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pi_heif", None)
    (tmp_path / "a.jpg").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(40))
    with pytest.raises(PictureError, match=r"a HEIC picture needs pi_heif.*pip install 'wherein\[heic\]'"):
        load_picture(tmp_path / "a.jpg")

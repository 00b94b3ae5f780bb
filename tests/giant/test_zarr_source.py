"""Zarr by region: the same pixels as of the whole, and an error in words for what is damaged or made up."""

import json
import shutil
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import zarr

from wherein.errors import MissingError, PictureError
from wherein.giant.zarr_source import ZarrSource
from wherein.images.load import load_picture

RGB = np.random.default_rng(0).integers(0, 256, (150, 210, 3), dtype=np.uint8)
BOX = (37, 21, 180, 149)


def written(
    path: Path, array: np.ndarray = RGB, chunks: tuple[int, ...] | None = None, **options: Any
) -> Path:
    chunks = chunks or (40, 50, 3)[: array.ndim]
    made = zarr.create_array(path, shape=array.shape, chunks=chunks, dtype=array.dtype, **options)
    made[:] = array
    return path


def ome(path: Path, levels: list[np.ndarray], axes: str, version: int = 2) -> Path:
    """An image with levels, as other programs write it."""
    group = zarr.create_group(path, zarr_format=version)
    for number, level in enumerate(levels):
        chunks = tuple(40 if axis in "yx" else 1 for axis in axes)
        group.create_array(str(number), shape=level.shape, chunks=chunks, dtype=level.dtype)[:] = level
    image = {
        "axes": [{"name": name} for name in axes],
        "datasets": [{"path": str(number)} for number in range(len(levels))],
    }
    group.attrs.update({"multiscales": [image]} if version == 2 else {"ome": {"multiscales": [image]}})
    return path


def check(path: Path, array: np.ndarray) -> None:
    left, top, right, bottom = BOX
    with ZarrSource(path) as source:
        assert source.size == (210, 150)
        torch.testing.assert_close(source.region(BOX), load_picture(array).pixels[:, top:bottom, left:right])


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("compressors", ["auto", None, "gzip", "blosc", "zstd"])
@pytest.mark.parametrize("array", [RGB, RGB[..., 0], RGB.astype(">u2") * 257], ids=["rgb", "grey", "16 bit"])
def test_a_region_is_that_of_the_whole(
    tmp_path: Path, version: int, compressors: str | None, array: np.ndarray
) -> None:
    if compressors not in ("auto", None):
        import numcodecs
        from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

        old = {"gzip": numcodecs.GZip(), "blosc": numcodecs.Blosc(), "zstd": numcodecs.Zstd()}
        new = {"gzip": GzipCodec(), "blosc": BloscCodec(), "zstd": ZstdCodec()}
        compressors = (old if version == 2 else new)[compressors]
    check(written(tmp_path / "it.zarr", array, zarr_format=version, compressors=compressors), array)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("axes", ["cyx", "yxc", "tczyx"])
def test_an_image_with_levels(tmp_path: Path, axes: str, version: int) -> None:
    def arranged(array: np.ndarray) -> np.ndarray:
        moved = array.transpose(["yxc".index(axis) for axis in axes if axis in "yxc"])
        return (
            np.stack([moved[None].swapaxes(0, 1), 255 - moved[None].swapaxes(0, 1)]) if "t" in axes else moved
        )

    path = ome(tmp_path / "it.ome.zarr", [arranged(RGB), arranged(RGB[::2, ::2])], axes, version)
    check(path, RGB)  # of several times the first
    with ZarrSource(path) as source:
        assert source.reductions == (1, 2)
        wanted = load_picture(RGB[::2, ::2][5:45, 10:50]).pixels
        torch.testing.assert_close(source.region((20, 10, 100, 90), 2), wanted)


@pytest.mark.parametrize("inside", ["", "it.zarr/"])
def test_a_store_in_a_zip(tmp_path: Path, inside: str) -> None:
    folder, path = written(tmp_path / "it.zarr"), tmp_path / "packed.zarr.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, inside + file.relative_to(folder).as_posix())
    check(path, RGB)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("packed", ["zarr.json", "c/0/0/0"])
def test_compression_that_needs_much_memory_is_refused(tmp_path: Path, method: int, packed: str) -> None:
    """It unpacks a whole block at once: 993 bytes took 2.3 GB, whatever size the member declares."""
    folder, path = written(tmp_path / "it.zarr"), tmp_path / "packed.zarr.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.rglob("*"):
            name = file.relative_to(folder).as_posix()
            archive.write(file, name, method if name == packed else None)
    refused = pytest.raises(PictureError, match=f"compresses {packed} in another way than by deflate")
    with refused, ZarrSource(path) as source:
        source.stored(BOX, 1)


def test_chunks_that_were_left_out_have_the_fill_value(tmp_path: Path) -> None:
    path = written(tmp_path / "it.zarr", RGB, fill_value=9)
    shutil.rmtree(path / "c" / "0" / "0")
    with ZarrSource(path) as source:
        found = source.stored((0, 0, 60, 60), 1)
    assert (found[:40, :50] == 9).all()
    np.testing.assert_array_equal(found[40:, 50:], RGB[40:60, 50:60])


def test_without_the_package_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "it.zarr")
    monkeypatch.setitem(sys.modules, "numcodecs", None)
    with ZarrSource(path) as source, pytest.raises(MissingError, match=r"pip install 'wherein\[giant\]'"):
        source.region(BOX)


def changed(path: Path, **values: Any) -> Path:
    """The store with other values in its description."""
    file = path / ".zarray"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    return path


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"shape": [10**12, 10**12, 3]}, "too many|header says"),
        ({"shape": [2 * 10**7, 9, 3]}, "the header says"),
        ({"shape": [0, 5, 3]}, "must be positive"),
        ({"shape": [-5, 5, 3]}, "must be positive"),
        ({"shape": [5] * 9, "chunks": [1] * 9}, "axes are allowed"),
        ({"shape": "many"}, "damaged"),
        ({"shape": [150, 210, 7]}, "150 channels"),
        ({"chunks": [10**5, 10**5, 3]}, "the maximum is 256 MB"),
        ({"chunks": [0, 1, 1]}, "must be positive"),
        ({"shape": [20_000, 20_000, 3], "chunks": [1, 1, 3]}, "these are too many"),
        ({"chunks": [40, 50]}, "in chunks of"),
        ({"dtype": "|O"}, "must be uint8"),
        ({"dtype": "<U9"}, "must be uint8"),
        ({"dtype": [["a", "<u1"]]}, "damaged|must be"),
        ({"compressor": {"id": "pickle"}}, "'pickle' is not supported"),
        ({"compressor": {"id": "bz2"}}, "'bz2' is not supported"),
        ({"compressor": 7}, "damaged"),
        ({"filters": [{"id": "pickle"}]}, "filters"),
    ],
)
def test_a_description_that_lies_is_refused_before_a_chunk_is_read(
    tmp_path: Path, values: dict[str, Any], words: str
) -> None:
    path = changed(written(tmp_path / "it.zarr", zarr_format=2), **values)
    with pytest.raises(PictureError, match=rf"it\.zarr: .*({words})"):
        ZarrSource(path)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ({"datasets": [{"path": "../secret"}]}, "leads out of the store"),
        ({"datasets": [{"path": "/etc"}]}, "missing"),
        ({"datasets": []}, "0 levels"),
        ({"datasets": [{"path": "0"}] * 1000}, "1000 levels"),
        ({"datasets": [{"path": "7"}]}, "'7' is missing"),
        ({"datasets": 5}, "damaged"),
        ({"datasets": [{"path": "0"}], "axes": ["q", "y", "x"]}, "axes"),
    ],
)
def test_an_image_that_lies(tmp_path: Path, image: dict[str, Any], words: str) -> None:
    path = ome(tmp_path / "it.ome.zarr", [RGB.transpose(2, 0, 1)], "cyx")
    (path / ".zattrs").write_text(json.dumps({"multiscales": [image]}))
    with pytest.raises(PictureError, match=rf"it\.ome\.zarr: .*({words})"):
        ZarrSource(path)


@pytest.mark.parametrize("text", ["", "[]", "{", "\0", '{"multiscales": 3}', "[" * 100_000])
def test_a_description_that_is_none(tmp_path: Path, text: str) -> None:
    path = ome(tmp_path / "it.ome.zarr", [RGB.transpose(2, 0, 1)], "cyx")
    (path / ".zattrs").write_text(text)
    with pytest.raises(PictureError, match=r"it\.ome\.zarr: "):
        ZarrSource(path)


def test_a_description_of_megabytes(tmp_path: Path) -> None:
    path = written(tmp_path / "it.zarr", zarr_format=2)
    (path / ".zarray").write_text(" " * (5 * 2**20))
    with pytest.raises(PictureError, match="more than the maximum"):
        ZarrSource(path)


@pytest.mark.parametrize("codec", ["zlib", "gzip", "blosc", "zstd", "lz4"])
@pytest.mark.parametrize("kind", ["zeros", "cut off", "empty", "bomb"])
def test_a_damaged_chunk_is_an_error_and_the_others_are_read(tmp_path: Path, codec: str, kind: str) -> None:
    import numcodecs

    made = numcodecs.get_codec({"id": codec})
    path = written(tmp_path / "it.zarr", zarr_format=2, compressors=made)
    file = path / "0.0.0"
    good = file.read_bytes()
    packed = zlib.compress(bytes(50_000_000)) if codec == "zlib" else bytes(made.encode(bytes(50_000_000)))
    bad = {"zeros": bytes(len(good)), "cut off": good[: len(good) // 2], "empty": b"", "bomb": packed}[kind]
    file.write_bytes(bad)
    with ZarrSource(path) as source:
        with pytest.raises(PictureError, match=r"it\.zarr: .*(0\.0\.0|damaged)"):
            source.stored((0, 0, 20, 20), 1)
        np.testing.assert_array_equal(source.stored((60, 45, 90, 60), 1), RGB[45:60, 60:90])


def test_a_chunk_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "it.zarr", zarr_format=2)
    with (path / "0.0.0").open("wb") as file:
        file.truncate(2**36)
    with ZarrSource(path) as source, pytest.raises(PictureError, match="more than the maximum"):
        source.stored((0, 0, 20, 20), 1)

"""Which scenes are read by region."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import tifffile
import torch
import zarr
from PIL import Image

from wherein.errors import PictureError
from wherein.giant import opened as module
from wherein.giant.opened import opened
from wherein.giant.region_source import ArraySource
from wherein.giant.tiff_source import TiffSource
from wherein.giant.zarr_source import ZarrSource
from wherein.images.load import load_picture

RGB = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)


def test_only_a_large_tiff_is_read_by_region(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "it.tif"
    tifffile.imwrite(path, RGB, tile=(32, 32))
    assert opened(path, None) is None
    assert opened(str(path), 90 * 120) is None
    with opened(path, 90 * 120 - 1) as source:  # type: ignore[union-attr]
        assert isinstance(source, TiffSource)
    monkeypatch.setattr(module, "MAX_PIXELS", 1000)
    with opened(path, None) as source:  # type: ignore[union-attr]
        assert isinstance(source, TiffSource)


@pytest.mark.parametrize("extension", ["png", "jpg", "bmp"])
def test_other_formats_stay_in_bytes(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"it.{extension}"
    Image.fromarray(RGB).save(path)
    assert opened(path, None) is None
    assert opened(path, 90 * 120) is None
    source = opened(path, 1000)
    assert isinstance(source, ArraySource)
    torch.testing.assert_close(source.region((0, 0, 120, 90)), load_picture(path).pixels)


def test_arrays_and_maps_of_files(tmp_path: Path) -> None:
    np.save(tmp_path / "it.npy", RGB)
    mapped = np.load(tmp_path / "it.npy", mmap_mode="r")
    assert opened(mapped, None) is None
    source = opened(mapped, 1000, "bgr")
    assert source is not None
    torch.testing.assert_close(source.region((3, 4, 9, 9)), load_picture(RGB[4:9, 3:9, ::-1]).pixels)
    assert opened(torch.zeros(3, 90, 120), 1000) is None


def test_zarr_always(tmp_path: Path) -> None:
    path = tmp_path / "it.zarr"
    zarr.create_array(path, data=RGB)
    with opened(path, None) as source:  # type: ignore[union-attr]
        assert isinstance(source, ZarrSource)
    assert opened(tmp_path, None) is None  # a folder of files


@pytest.mark.parametrize("name", ["http://example.com/it.zarr", "s3://bucket/it.zarr", "file:///it.tif"])
def test_nothing_is_fetched(name: str) -> None:
    with pytest.raises(PictureError, match="from this computer only"):
        opened(name, None)


def test_a_zip_of_something_else_says_so(tmp_path: Path) -> None:
    path = tmp_path / "it.zarr.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(PictureError, match="no image"):
        opened(path, None)
    path.write_bytes(b"PK" + bytes(100))
    with pytest.raises(PictureError, match="damaged"):
        opened(path, None)

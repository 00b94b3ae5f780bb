"""The choice of the scenes that are read by region, and of their sources."""

import os
from pathlib import Path

import numpy as np

from wherein.errors import PictureError
from wherein.files import is_zarr_folder
from wherein.giant.region_source import ArraySource, RegionSource
from wherein.giant.tiff_source import TiffSource, size_of_tiff
from wherein.giant.zarr_source import ZarrSource
from wherein.images.decode import as_picture_error, size_in_header, strict_pillow
from wherein.images.load import MAX_PIXELS, Source, decoded_array


def is_zarr(path: Path) -> bool:
    """Whether a path is a Zarr store: a folder with a description, or a .zip with ".zarr" in its name."""
    if path.is_dir():
        return is_zarr_folder(path)
    return ".zarr" in path.name.lower() and path.suffix.lower() == ".zip"


def opened(source: Source, max_pixels: int | None, color: str = "rgb") -> RegionSource | None:
    """The source of a scene that is read by region; None for a scene that is loaded as a whole.

    Arguments:
        source: a scene as for a detector.
        max_pixels: maximum number of pixels that are loaded as a whole; None: the limit for any picture.
        color: order of the channels of an array.

    Raises:
        PictureError: the file cannot be read.
        MissingError: a package that reads it is not installed.
    """
    if isinstance(source, np.ndarray):
        large = max_pixels is not None and source.ndim > 1 and source.shape[0] * source.shape[1] > max_pixels
        return ArraySource(source, color) if large else None
    if not isinstance(source, str | os.PathLike):
        return None
    if "://" in os.fspath(source):
        raise PictureError(f"{source}: scenes are read from this computer only: download it first")
    path = Path(source)
    if is_zarr(path):
        return ZarrSource(path)
    return _opened_file(path, max_pixels) if path.is_file() else None


def _opened_file(path: Path, max_pixels: int | None) -> RegionSource | None:
    with as_picture_error(str(path)), path.open("rb") as file:
        size = size_of_tiff(file)
    if size is not None:
        return TiffSource(path) if size[0] * size[1] > (max_pixels or MAX_PIXELS) else None
    if max_pixels is None:
        return None
    with as_picture_error(str(path)), strict_pillow():
        width, height = size_in_header(path, MAX_PIXELS)
    # Formats without regions are decoded as a whole, but kept in bytes: floats would take four times the
    # memory, and data derived from them far more.
    return ArraySource(decoded_array(path), name=str(path)) if width * height > max_pixels else None

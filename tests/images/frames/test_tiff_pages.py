"""Which directories of a TIFF are pages of their own."""

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from wherein.images.frames.tiff_pages import MAX_PAGES, directories, own_pages

RGB = np.random.default_rng(3).integers(0, 256, (148, 208, 3), dtype=np.uint8)
GREY = RGB[..., 0]
SLIDE: dict[str, Any] = {"tile": (32, 32), "photometric": "rgb"}
PLAIN: dict[str, Any] = {"photometric": "rgb"}


def pages(path: Path, write: Callable[[tifffile.TiffWriter], None], **options: Any) -> list[int]:
    with tifffile.TiffWriter(path, **options) as writer:
        write(writer)
    with path.open("rb") as file:
        return [number for number, _ in own_pages(file)]


@pytest.mark.parametrize("options", [{}, {"bigtiff": True}, {"byteorder": ">"}])
def test_pages_but_no_thumbnails_and_masks(tmp_path: Path, options: dict[str, Any]) -> None:
    def write(file: tifffile.TiffWriter) -> None:
        file.write(RGB, **PLAIN)
        file.write(RGB[::2, ::2], **PLAIN, subfiletype=1)  # a thumbnail
        file.write(RGB[::-1], **PLAIN)
        file.write(GREY > 99, photometric="minisblack", subfiletype=4)
        file.write(RGB[::2, ::2], **PLAIN)  # a smaller page

    assert pages(tmp_path / "it.tif", write, **options) == [0, 2, 4]


def test_the_levels_of_a_pyramid_are_no_pages(tmp_path: Path) -> None:
    def marked(file: tifffile.TiffWriter) -> None:
        file.write(RGB, **SLIDE)
        file.write(RGB[::2, ::2], **SLIDE, subfiletype=1)

    def inside(file: tifffile.TiffWriter) -> None:
        file.write(RGB, **SLIDE, subifds=1)
        file.write(RGB[::2, ::2], **SLIDE, subfiletype=1)

    def of_a_slide_scanner(file: tifffile.TiffWriter) -> None:
        file.write(RGB, **SLIDE)
        file.write(RGB[:50, :70], **PLAIN)  # the thumbnail, in strips
        file.write(RGB[::4, ::4], **SLIDE)
        file.write(RGB[:40, :40], **PLAIN, subfiletype=9)

    def tiled_pages(file: tifffile.TiffWriter) -> None:
        file.write(RGB, **SLIDE)
        file.write(RGB[::-1], **SLIDE)

    for write in (marked, inside, of_a_slide_scanner):
        assert pages(tmp_path / "it.tif", write) == [0], write
    assert pages(tmp_path / "it.tif", tiled_pages) == [0, 1]


def test_the_planes_of_an_ome_tiff_are_no_pages(tmp_path: Path) -> None:
    tifffile.imwrite(tmp_path / "it.ome.tif", np.stack([GREY, GREY[::-1]]), metadata={"axes": "CYX"})
    with (tmp_path / "it.ome.tif").open("rb") as file:
        assert len(list(directories(file))) == 2
        assert [number for number, _ in own_pages(file)] == [0]


def chain(offsets: list[int]) -> io.BytesIO:
    """Directories without tags, each of which leads to the next offset."""
    return io.BytesIO(b"II*\0" + struct.pack("<I", 8) + b"".join(struct.pack("<HI", 0, at) for at in offsets))


def test_a_chain_of_directories_ends() -> None:
    assert len(list(directories(chain([14, 8])))) == 2  # it leads back to the first
    assert len(list(directories(chain([14, 10**9])))) == 3  # the last one is beyond the file
    endless = chain([8 + 6 * k for k in range(1, 2 * MAX_PAGES)])
    assert len(list(directories(endless))) == MAX_PAGES + 1
    assert not list(directories(io.BytesIO(b"\x89PNG\r\n\x1a\n")))

"""TIFF by region: with tiles or strips, also BigTIFF, and with its pyramid if it has one.

The directory is read with tifffile, and only the tiles that a region needs are decoded. Sizes are checked
before anything is decoded: those of the picture, of a tile, and of a JPEG inside a tile.
"""

import math
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wherein.errors import MissingError, PictureError, brief
from wherein.extras import require_package
from wherein.giant.region_source import Box, RegionSource, checked_size, levels_by_reduction
from wherein.images.decode import Opened

INSTALL = "pip install 'wherein[giant]'"

_COMPRESSIONS = {
    1: "none",
    5: "LZW",
    7: "JPEG",
    8: "deflate",
    32773: "PackBits",
    32946: "deflate",
    50000: "Zstandard",
}
"""The supported compressions by their numbers. Others are refused: every decoder can be attacked."""

_WIDTH, _HEIGHT, _MAX_TAGS = 256, 257, 4096
"""The tags of the size, and the maximum number of tags that are read to find them. A choice: files have a few
dozen."""

_JPEG = 7
_BARE = (*range(0xD0, 0xDA), 0xFF)
"""JPEG markers without a length, and the fill byte. Markers below 0xC0 are reserved, or have no length."""

_GREY, _RGB, _YCBCR = 1, 2, 6
_ORIENTATION, _TOP_LEFT = 274, 1

_MAX_SEGMENT = 256 * 2**20
"""Maximum size in bytes of a decoded tile or strip. A choice: tiles are far smaller, and a picture in one
strip cannot be read by region."""

_MAX_SEGMENTS = 50_000_000
"""Maximum number of tiles or strips of a level. A choice: a hundred times that of the largest slides."""

_MAX_PAGES = 64
"""Maximum number of directories that are searched for levels. A choice: a pyramid has a dozen."""


class TiffSource(RegionSource):
    """A TIFF file.

    Raises:
        PictureError: the file cannot be read, or not by region.
        MissingError: tifffile is not installed.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        tifffile = require_package("tifffile", "a TIFF that is read by region", INSTALL)
        try:
            self._file = tifffile.TiffFile(path)
        except Exception as error:  # the parser raises many kinds for a damaged header
            raise self._damaged(error) from error
        try:
            self._open()
        except (PictureError, MissingError):
            self.close()
            raise
        except Exception as error:
            self.close()
            raise self._damaged(error) from error

    def _open(self) -> None:
        first = self._file.pages[0]
        self.size = checked_size(self.name, int(first.imagewidth), int(first.imagelength))
        self._check(first)
        others = dict(enumerate(self._other_pages(first)))
        sizes = {number: (int(page.imagewidth), int(page.imagelength)) for number, page in others.items()}
        self._pages = {1: first}
        for reduction, number in sorted(levels_by_reduction(self.size, sizes).items()):
            page = others[number]
            # A page of the right size with other samples is a mask or a thumbnail.
            if page.samplesperpixel == first.samplesperpixel and page.dtype == first.dtype:
                self._check(page)
                self._pages[reduction] = page
        self.reductions = tuple(self._pages)

    def _other_pages(self, first: Any) -> list[Any]:
        """The pages that may be levels: sub-directories of the first page, and the pages that follow it."""
        inside = list(first.pages)[:_MAX_PAGES] if first.subifds else []
        following = []
        for number in range(1, _MAX_PAGES):
            try:
                following.append(self._file.pages[number])
            except IndexError:
                break
        # Masks and thumbnails are sorted out later, as their sizes do not fit.
        return [page for page in (*inside, *following) if hasattr(page, "imagewidth")]

    def _check(self, page: Any) -> None:
        """Raise `PictureError` for a page that is not supported or malicious."""
        compression, photometric = int(page.compression), int(page.photometric)
        if compression not in _COMPRESSIONS:
            kinds = ", ".join(dict.fromkeys(_COMPRESSIONS.values()))
            raise self._error(f"its compression ({page.compression!r}) is not supported: use one of {kinds}")
        if page.dtype is None or page.dtype.kind not in "buf" or page.samplesperpixel not in (1, 3, 4):
            raise self._error(
                f"it has {page.samplesperpixel} samples of type {page.dtype}: a scene has 1, 3 or 4 of "
                "uint8, uint16 or float"
            )
        if photometric not in (_GREY, _RGB, _YCBCR):
            raise self._error(f"its colours ({page.photometric!r}) are not supported: save it as grey or RGB")
        if page.imagedepth != 1:
            raise self._error("it is a volume: save one slice of it")
        orientation = page.tags.get(_ORIENTATION)
        if orientation is not None and orientation.value != _TOP_LEFT:
            raise self._error(
                "it is stored rotated or mirrored, which is not supported here: save it upright"
            )
        height, width = self._segment(page)
        depth = page.samplesperpixel if page.planarconfig == 1 else 1
        if height * width * depth * page.dtype.itemsize > _MAX_SEGMENT:
            raise self._error(
                f"its tiles or strips have {width} × {height} pixels, more than can be read by region: save "
                "it with tiles of 256 to 4096 pixels"
            )
        across, down = self._grid(page)
        count = across * down * (1 if page.planarconfig == 1 else page.samplesperpixel)
        if count > _MAX_SEGMENTS or len(page.dataoffsets) != count or len(page.databytecounts) != count:
            raise self._error(
                f"it should have {count:,} tiles or strips but lists {len(page.dataoffsets):,}: the file is "
                "damaged, copy it again"
            )

    @staticmethod
    def _segment(page: Any) -> tuple[int, int]:
        """Height and width of a tile or a strip."""
        if page.is_tiled:
            return int(page.tilelength), int(page.tilewidth)
        return min(int(page.rowsperstrip), int(page.imagelength)), int(page.imagewidth)

    def _grid(self, page: Any) -> tuple[int, int]:
        """The number of tiles or strips across and down."""
        height, width = self._segment(page)
        if height < 1 or width < 1:
            raise self._error("its tiles are empty: the file is damaged, copy it again")
        return math.ceil(page.imagewidth / width), math.ceil(page.imagelength / height)

    def stored(self, box: Box, reduction: int) -> NDArray[Any]:  # noqa: D102
        page, (left, top, right, bottom) = self._pages[reduction], box
        height, width = self._segment(page)
        across, down = self._grid(page)
        # Planar configuration 1 interleaves the samples of a pixel. Otherwise each sample has its own tiles,
        # and all tiles of one sample precede those of the next.
        planes = 1 if page.planarconfig == 1 else page.samplesperpixel
        made = np.zeros((bottom - top, right - left, page.samplesperpixel), page.dtype)
        for plane in range(planes):
            for row in range(top // height, min(down, math.ceil(bottom / height))):
                for column in range(left // width, min(across, math.ceil(right / width))):
                    tile = self._decoded(page, (plane * down + row) * across + column)
                    self._paste(
                        made, tile, plane if planes > 1 else None, row * height - top, column * width - left
                    )
        return made if page.samplesperpixel > 1 else made[..., 0]

    @staticmethod
    def _paste(made: NDArray[Any], tile: NDArray[Any], plane: int | None, y: int, x: int) -> None:
        """Write a tile whose corner is at (x, y) into an array; parts outside the array are cut off."""
        own = slice(None) if plane is None else slice(plane, plane + 1)
        above, before = max(0, -y), max(0, -x)
        target = made[y + above : y + len(tile), x + before : x + tile.shape[1], own]
        target[:] = tile[above : above + target.shape[0], before : before + target.shape[1]]

    def _decoded(self, page: Any, index: int) -> NDArray[Any]:
        """A tile, (h, w, samples); tiles at the right and bottom edges are cropped to the picture."""
        offset, count = int(page.dataoffsets[index]), int(page.databytecounts[index])
        if count == 0 or offset == 0:
            raise self._error(f"tile {index} is missing: the file is incomplete, copy it again")
        if count > 2 * _MAX_SEGMENT:
            raise self._error(f"tile {index} has {count:,} bytes: the file is damaged, copy it again")
        try:
            handle = page.parent.filehandle
            handle.seek(offset)
            data = handle.read(count)
            if len(data) != count:
                raise PictureError(f"tile {index} is cut off")
            if int(page.compression) == _JPEG:
                _check_jpeg(data, *self._segment(page))
            return self._values(page, data, index)
        except MemoryError:
            raise
        except Exception as error:  # decoders raise a dozen kinds
            raise self._damaged(error) from error

    def _values(self, page: Any, data: bytes, index: int) -> NDArray[Any]:
        tables, header = getattr(page, "jpegtables", None), getattr(page, "jpegheader", None)
        # `shape` is that of the part inside the picture: (depth, height, width, samples).
        values, _, shape = page.decode(data, index, jpegtables=tables, jpegheader=header)
        height, width = self._segment(page)
        wanted = shape[1:]
        if (
            values is None
            or values.ndim != 4
            or any(a < b for a, b in zip(values.shape[1:], wanted, strict=True))
        ):
            raise PictureError(f"tile {index} has too few pixels")
        if shape[1] > height or shape[2] > width:
            raise PictureError(f"tile {index} is too large")
        decoded: NDArray[Any] = values[0, : shape[1], : shape[2]]
        return decoded

    def close(self) -> None:  # noqa: D102
        self._file.close()

    def _error(self, text: str) -> PictureError:
        return PictureError(f"{self.name}: {text}")

    def _damaged(self, error: Exception) -> PictureError:
        detail = brief(error)
        if "imagecodecs" in detail:
            return self._error(f"its compression needs imagecodecs, which is not installed: {INSTALL}")
        return self._error(f"the file is damaged, incomplete or not a TIFF ({detail}): copy it again")


def _check_jpeg(data: bytes, height: int, width: int) -> None:
    """Raise `PictureError` if a JPEG claims to be larger than its tile: decoders allocate that size."""
    # Find the frame header, SOF0 to SOF15. C4, C8 and CC in this range are other markers. Only segments with
    # a length may precede it. Decoders skip others, and fill bytes: if this loop took them for segments,
    # it could be led to another header than the one that decoders read.
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF and data[at + 1] >= 0xC0 and data[at + 1] not in _BARE:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            down, across = (int.from_bytes(data[at + k : at + k + 2], "big") for k in (5, 7))
            if down > height or across > width:
                raise PictureError(f"a JPEG of {across} × {down} pixels in a tile of {width} × {height}")
            return
        at += 2 + max(length, 2)
    raise PictureError("a JPEG without a header")


def size_of_tiff(file: Opened) -> tuple[int, int] | None:
    """Width and height in the first directory of a TIFF, without other packages; None: it is not a TIFF.

    A damaged directory gives 0; the reader that opens the file later reports the error.
    """
    # A classic TIFF has offsets of 4 bytes, a count of 2 and entries of 12; a BigTIFF 8, 8 and 20.
    head = file.read(16)
    order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
    if head[:4] in (b"II*\0", b"MM\0*"):
        wide, at, counted, entry = 4, int.from_bytes(head[4:8], order), 2, 12
    elif head[:4] in (b"II+\0", b"MM\0+"):
        wide, at, counted, entry = 8, int.from_bytes(head[8:16], order), 8, 20
    else:
        return None
    file.seek(at)
    count = min(int.from_bytes(file.read(counted), order), _MAX_TAGS)
    tags, found = file.read(count * entry), {_WIDTH: 0, _HEIGHT: 0}
    for begin in range(0, len(tags) - entry + 1, entry):
        tag, kind = (int.from_bytes(tags[begin + k : begin + k + 2], order) for k in (0, 2))
        if tag in found:
            length = {3: 2, 4: 4}.get(kind, wide)  # SHORT, LONG, or a full-width integer
            found[tag] = int.from_bytes(tags[begin + entry - wide :][:length], order)
    return found[_WIDTH], found[_HEIGHT]

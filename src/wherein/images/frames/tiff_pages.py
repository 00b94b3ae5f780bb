"""The directories of a TIFF, read without other packages, and which of them are pages of their own.

The directories of a TIFF form a chain. Besides pages it may have reduced levels of a pyramid, thumbnails and
masks, which show no other picture than the first page.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from wherein.images.decode import Opened

MAX_PAGES = 10_000
"""Maximum number of directories. A choice: far more than the pages of any scan."""

_KIND, _OLD_KIND, _WIDTH, _HEIGHT, _DESCRIPTION, _ORIENTATION, _TILE_WIDTH = 254, 255, 256, 257, 270, 274, 322
"""The tags that are read."""

_REDUCED, _MASK = 1, 4
"""Bits of the kind: a reduced version of another picture, or its mask."""

_OLD_REDUCED = 2
"""The value of the older tag of the kind for a reduced version."""

_MAX_TAGS = 4096
"""Maximum number of tags of a directory that are read. A choice: files have a few dozen."""

_OME = b"<OME"
"""In the description of the first page of an OME-TIFF, whose directories are channels and slices."""


@dataclass(frozen=True)
class Directory:
    """A directory of a TIFF.

    Attributes:
        size: width and height as stored; 0 if the directory is damaged.
        turned: whether the picture is stored with rows and columns exchanged.
        reduced: whether it is a reduced version of another picture, or a mask.
        tiled: whether it is stored in tiles.
        described: where its description begins in the file; None: it has none.
    """

    size: tuple[int, int]
    turned: bool
    reduced: bool
    tiled: bool
    described: int | None

    @property
    def upright(self) -> tuple[int, int]:
        """Width and height as the picture is displayed."""
        return self.size[::-1] if self.turned else self.size


def directories(file: Opened) -> Iterator[Directory]:
    """The directories of a TIFF in their order, at most one more than `MAX_PAGES`; none for other files.

    A damaged directory has the size 0 and ends the chain; the reader that opens the file later reports it.
    """
    # A classic TIFF has offsets of 4 bytes, a count of 2 and entries of 12; a BigTIFF 8, 8 and 20.
    file.seek(0)
    head = file.read(16)
    order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
    if head[:4] in (b"II*\0", b"MM\0*"):
        wide, at, counted, entry = 4, int.from_bytes(head[4:8], order), 2, 12
    elif head[:4] in (b"II+\0", b"MM\0+"):
        wide, at, counted, entry = 8, int.from_bytes(head[8:16], order), 8, 20
    else:
        return
    seen: set[int] = set()
    # A chain that leads back to a directory would be endless. The first one may be damaged, but is given.
    while (at or not seen) and at not in seen and len(seen) <= MAX_PAGES:
        seen.add(at)
        file.seek(at)
        count = int.from_bytes(file.read(counted), order)
        tags = file.read(min(count, _MAX_TAGS) * entry)
        values, offsets = _tags(tags, order, wide, entry)
        yield Directory(
            (values.get(_WIDTH, 0), values.get(_HEIGHT, 0)),
            values.get(_ORIENTATION, 1) >= 5,
            bool(values.get(_KIND, 0) & (_REDUCED | _MASK)) or values.get(_OLD_KIND) == _OLD_REDUCED,
            _TILE_WIDTH in values,
            offsets.get(_DESCRIPTION),
        )
        if count > _MAX_TAGS:  # damaged
            return
        at = int.from_bytes(file.read(wide), order)


def _tags(
    tags: bytes, order: Literal["little", "big"], wide: int, entry: int
) -> tuple[dict[int, int], dict[int, int]]:
    """The tags of a directory: their values, if they are single numbers, and where longer ones begin."""
    values, offsets = {}, {}
    for begin in range(0, len(tags) - entry + 1, entry):
        tag, kind = (int.from_bytes(tags[begin + k : begin + k + 2], order) for k in (0, 2))
        length = {3: 2, 4: 4}.get(kind, wide)  # SHORT, LONG, or a full-width integer
        field = tags[begin + entry - wide : begin + entry]
        values[tag], offsets[tag] = int.from_bytes(field[:length], order), int.from_bytes(field, order)
    return values, offsets


def own_pages(file: Opened) -> list[tuple[int, Directory]]:
    """The pages of a TIFF that show a picture of their own, with their numbers in the file.

    Levels, thumbnails and masks are none. Nor are the planes of an OME-TIFF, of which the first is the scene.
    Of a picture in tiles, as scanners of slides write it, the levels may not be marked as such: they have its
    size divided by a power of 2; and its thumbnails are not in tiles.
    """
    found = list(islice(enumerate(directories(file)), 1))
    if not found or _is_ome(file, found[0][1]):
        return found
    (_, first), *others = enumerate(directories(file))
    return found + [(number, page) for number, page in others if not _belongs_to(first, page)]


def _belongs_to(first: Directory, page: Directory) -> bool:
    """Whether a page shows no other picture than the first one."""
    unmarked = first.tiled and (not page.tiled or reduction_of(first.size, page.size) is not None)
    return page.reduced or unmarked


def _is_ome(file: Opened, first: Directory) -> bool:
    if first.described is None:
        return False
    file.seek(first.described)
    return _OME in file.read(1024)


def reduction_of(full: tuple[int, int], size: tuple[int, int], most: int = 24) -> int | None:
    """The power of 2 by which a stored picture is reduced; None if it is not.

    Along each axis a reduced picture has as many pixels as whole blocks fit into full size, or one more for
    an incomplete block.

    Arguments:
        full: width and height at full size.
        size: width and height of the reduced picture.
        most: exponents of reductions are below this.

    >>> reduction_of((210, 151), (52, 38)), reduction_of((210, 151), (210, 151))
    (4, None)
    """
    for reduction in (2**k for k in range(1, most)):
        blocks = full[0] // reduction, full[1] // reduction
        if min(blocks) and size[0] - blocks[0] in (0, 1) and size[1] - blocks[1] in (0, 1):
            return reduction
    return None

"""The plan for a scene that is searched in overlapping tiles: their sizes, from memory and from the object.

A tile overlaps its neighbours by the largest object and what is compared around it. So each object lies in
some tile as a whole, with all that its fit sees. Objects that are too large for that are searched for in a
reduced scene, with tiles that are as large in its pixels: a *pass* for each reduction, from small objects to
large."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wherein.errors import require

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the scene."""

MAX_SIDE = 4096
"""Pixels of a tile, at most. A choice: as large as photographs are. The first look keeps a number of places
for each tile, so that larger ones would rather miss an object."""

MIN_SIDE = 512
"""Pixels of a tile, at least. A choice: smaller ones consist of overlaps."""

DEFAULT_MEMORY = 4 * 10**9
"""Bytes for a scene that is too large to be loaded, where nothing was said. A choice: what most computers
have to spare."""

FIXED = 3 * 10**8
"""Bytes that a search takes whatever the size of a tile. By measurement (`python -m benchmarks giant`): what
is kept of a scene for other motifs, at most a megapixel of each size, and what the allocator does not
return."""

_PIXELS, _LOOKED_AT, _MOST_SIZES = 19, 27, 3.5
"""Bytes for each pixel of a tile: of its samples, their floats and their pyramid; and of its responses at
full size with the picture that they are made of, for each thread up to the sum over all sizes. Sizes of the
arrays."""

_SQUARE, _UNDIVIDED = 64 * 10**6, 10**6
"""Bytes for each thread: of the channels of a square, and of their picture; and pixels of tiles that are not
divided into squares (`planes.rating`). Sizes of the arrays."""

ALIGNMENT = 64
"""Tiles begin at multiples of so many of their pixels. A choice: then the reduced pixels of a tile are those
of the scene, down to this reduction, and poses are the same."""

_DETAIL = 142.0
"""Extent of the smallest piece in a reduced scene, in pixels, from which nothing is lost: √2 times the extent
at the finest stage of a fit (`planes.plane_search`)."""

_EXCESS, _NEARER = 1.15, 1.25
"""Factors by which an object may be larger than the range says: that of `scene_search`, and a choice for the
near side of a tilted one."""


@dataclass(frozen=True)
class ObjectSize:
    """Lengths of an object at its own size, in pixels.

    Attributes:
        diameter: of what it covers, however its limbs turn.
        around: how far its fit looks beyond it.
        detail: extent of its smallest piece.
    """

    diameter: float
    around: float
    detail: float

    @staticmethod
    def of_all(sizes: "Sequence[ObjectSize]") -> "ObjectSize":
        """What holds all of several objects."""
        return ObjectSize(
            max(one.diameter for one in sizes),
            max(one.around for one in sizes),
            min(one.detail for one in sizes),
        )

    def span(self, scale: float, tilted: bool) -> float:
        """Pixels of the scene that an object of a scale may take, with what is around it."""
        return scale * (_EXCESS * (_NEARER if tilted else 1.0) * self.diameter + 2 * self.around)


@dataclass(frozen=True)
class TilePass:
    """Tiles that are searched for objects of some sizes.

    Attributes:
        reduction: of the scene in which they are searched for, a power of 2.
        scale: lowest and highest scale that it is for.
        tiles: in pixels at full size.
    """

    reduction: int
    scale: tuple[float, float]
    tiles: tuple[Box, ...]


def bytes_per_pixel(threads: int) -> float:
    """Bytes of memory that a search takes for each pixel of a tile."""
    return _PIXELS + _LOOKED_AT * min(threads, _MOST_SIZES)


def whole_pixels(memory: int, held: int, threads: int) -> int:
    """The number of pixels that may be searched in one piece.

    Arguments:
        memory: bytes that the process may take in all.
        held: bytes that it holds already.
        threads: of the search.

    Raises:
        ArgumentError: there is not enough for a tile.
    """
    undivided, divided = (
        int((memory - held - FIXED - squares) / bytes_per_pixel(threads))
        for squares in (0, threads * _SQUARE)
    )
    pixels = max(divided, min(undivided, _UNDIVIDED))
    needed = held + FIXED + MIN_SIDE**2 * bytes_per_pixel(threads)
    require(
        pixels >= MIN_SIDE**2,
        f"memory is {memory / 1e6:,.0f} MB, but at least {math.ceil(needed / 1e6):,} MB are needed: this "
        f"program holds {held / 1e6:,.0f} MB already, and a tile of {MIN_SIDE} × {MIN_SIDE} pixels takes the "
        "rest",
    )
    return pixels


def tile_side(pixels: int) -> int:
    """The side of tiles of at most so many pixels."""
    # The last tile of a row reaches to the border, by less than the alignment further.
    return min(MAX_SIDE, (math.isqrt(pixels) - ALIGNMENT) // ALIGNMENT * ALIGNMENT)


def plan(
    box: Box, size: ObjectSize, scale: tuple[float, float], tilted: bool, side: int, alignment: int = 1
) -> tuple[TilePass, ...]:
    """The passes over a scene, from small objects to large.

    Arguments:
        box: the part of the scene that is searched.
        size: of the object.
        scale: lowest and highest scale.
        tilted: whether it may be tilted.
        side: of a tile, in its own pixels.
        alignment: pixels at full size at whose multiples tiles begin, besides those that poses need.
    """
    (low, high), passes, reduction = scale, list[TilePass](), 1
    while low * size.detail / (2 * reduction) >= _DETAIL and not _fits(box, side, reduction):
        reduction *= 2
    while True:
        # Half of a tile at most: overlaps are searched twice.
        largest = reduction * side / 2 / size.span(1.0, tilted)
        last = largest >= high or _fits(box, side, reduction)
        if last or largest > low:
            top = high if last else largest
            overlap = math.ceil(size.span(top, tilted) / reduction)
            passes.append(TilePass(reduction, (low, top), _tiles(box, side, overlap, reduction, alignment)))
            low = top
        if last:
            return tuple(passes)
        reduction *= 2


def _fits(box: Box, side: int, reduction: int) -> bool:
    """Whether a reduced scene is one tile."""
    return max(box[2] - box[0], box[3] - box[1]) <= reduction * side


def _tiles(box: Box, side: int, overlap: int, reduction: int, alignment: int) -> tuple[Box, ...]:
    step = max(ALIGNMENT, math.ceil(alignment / reduction))
    across = _intervals(box[0], box[2], side, overlap, reduction, step)
    down = _intervals(box[1], box[3], side, overlap, reduction, step)
    return tuple((left, top, right, bottom) for top, bottom in down for left, right in across)


def _intervals(
    begin: int, end: int, side: int, overlap: int, reduction: int, step: int
) -> list[tuple[int, int]]:
    """Begin and end of each tile along an axis, at full size; all but the first begin at multiples of the
    step."""
    length, tile = end - begin, side * reduction
    if length <= tile:
        return [(begin, end)]
    aligned = step * reduction
    stride = max(aligned, tile - overlap * reduction - aligned)
    count = math.ceil((length - tile) / stride) + 1
    begins = [begin + k * (length - tile) / (count - 1) for k in range(count)]
    first = [begin, *(math.floor(one / aligned) * aligned for one in begins[1:])]
    last = [*(one + tile for one in first[:-1]), end]
    return list(zip(first, last, strict=True))

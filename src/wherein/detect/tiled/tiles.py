"""The plan of overlapping tiles for a scene: their sizes, from memory and from the size of the object.

A tile overlaps its neighbours by the size of the largest object, with the pixels around it that its fit
reads. So each object lies in some tile as a whole. Objects that are too large for that are searched for in a
reduced scene, with tiles that have as many of its pixels. There is one *pass* over the scene for each
reduction, from small objects to large."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from wherein.errors import require

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the scene."""

MAX_SIDE = 4096
"""Maximum side of a tile, in pixels. A choice: as large as photographs are. The first look keeps a fixed
number of places for each tile, so objects would more often be missed in larger ones."""

MIN_SIDE = 512
"""Minimum side of a tile, in pixels. A choice: smaller tiles would consist mostly of overlaps."""

DEFAULT_MEMORY = 4 * 10**9
"""Bytes for the search of a scene that is too large to be loaded, if the user sets no limit. A choice: what
most computers have to spare."""

FIXED = 3 * 10**8
"""Bytes that a search needs for a tile of any size. By measurement (`python -m benchmarks giant`): the
reduced scenes that are kept for other motifs, at most a megapixel of each size, and memory that the allocator
does not return."""

_SAMPLE_BYTES, _RESPONSE_BYTES, _ALL_SIZES = 19, 27, 3.5
"""Bytes for each pixel of a tile, by the sizes of the arrays: of its samples, their floats and their pyramid;
and, for each thread, of the responses at one size with the picture from which they are computed. Threads
work on different sizes, a factor of 1.18 apart, so all threads together need at most Σ 1.18^(−2k) ≈ 3.5 times
that."""

_SQUARE_BYTES, _UNDIVIDED = 64 * 10**6, 10**6
"""Bytes for each thread, by the sizes of the arrays: of the channels of a square, and of their picture. And
the maximum number of pixels of a tile that is not divided into squares (`planes.rating`)."""

ALIGNMENT = 64
"""Tiles begin at multiples of this many of their own pixels. A choice: then the reduced pixels of a tile
equal those of the scene, down to this reduction, and so do the poses."""

_DETAIL = 142.0
"""Extent of the smallest piece, in pixels of a reduced scene, from which no detail is lost: √2 times its
extent at the finest stage of a fit, 100 pixels (`planes.plane_search`)."""

_EXCESS, _NEARER = 1.15, 1.25
"""Factors by which an object may be larger than at the highest scale of the range: the tolerance of
`scene_search`, and a choice for the near side of a tilted object."""


@dataclass(frozen=True)
class ObjectSize:
    """Lengths of an object at its own size, in pixels.

    Attributes:
        diameter: of a circle that covers it, however its limbs turn.
        around: how far beyond the object its fit reads the scene.
        detail: extent of its smallest piece.
    """

    diameter: float
    around: float
    detail: float

    @staticmethod
    def of_all(sizes: "Sequence[ObjectSize]") -> "ObjectSize":
        """The lengths with which a plan suits all of several objects."""
        return ObjectSize(
            max(one.diameter for one in sizes),
            max(one.around for one in sizes),
            min(one.detail for one in sizes),
        )

    def span(self, scale: float, tilted: bool) -> float:
        """Maximum length in the scene of an object at a scale, with the pixels around it, in scene pixels."""
        return scale * (_EXCESS * (_NEARER if tilted else 1.0) * self.diameter + 2 * self.around)


@dataclass(frozen=True)
class TilePass:
    """Tiles that are searched for objects of some sizes.

    Attributes:
        reduction: the factor by which the scene is reduced, a power of 2.
        scale: lowest and highest scale of the objects.
        tiles: in pixels at full size.
    """

    reduction: int
    scale: tuple[float, float]
    tiles: tuple[Box, ...]


def bytes_per_pixel(threads: int) -> float:
    """Bytes of memory that a search needs for each pixel of a tile."""
    return _SAMPLE_BYTES + _RESPONSE_BYTES * min(threads, _ALL_SIZES)


def whole_pixels(memory: int, held: int, threads: int) -> int:
    """The number of pixels that may be searched in one piece.

    Arguments:
        memory: bytes that the process may use in total.
        held: bytes that it uses already.
        threads: number of threads of the search.

    Raises:
        ArgumentError: there is not enough memory for a tile.
    """
    # Tiles of up to `_UNDIVIDED` pixels need no memory for squares. So a tile may have that size even if
    # there is no memory for a larger one with its squares.
    undivided, divided = (
        int((memory - held - FIXED - squares) / bytes_per_pixel(threads))
        for squares in (0, threads * _SQUARE_BYTES)
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
    """The side of tiles with at most this number of pixels, a multiple of the alignment."""
    # Less by the alignment, by which the last tile of a row may be longer: it begins at a multiple of that,
    # and ends at the border.
    return min(MAX_SIDE, (math.isqrt(pixels) - ALIGNMENT) // ALIGNMENT * ALIGNMENT)


def plan(
    box: Box, size: ObjectSize, scale: tuple[float, float], tilted: bool, side: int, alignment: int = 1
) -> tuple[TilePass, ...]:
    """The passes over a scene, from small objects to large.

    Arguments:
        box: the part of the scene that is searched.
        size: the size of the object.
        scale: lowest and highest scale.
        tilted: whether the object may be tilted.
        side: the side of a tile, in its own pixels.
        alignment: tiles begin at multiples of this number of full-size pixels, besides `ALIGNMENT`.
    """
    (low, high), passes, reduction = scale, list[TilePass](), 1
    # Begin with the strongest reduction at which the smallest object loses no detail: it is the fastest.
    while low * size.detail / (2 * reduction) >= _DETAIL and not _fits(box, side, reduction):
        reduction *= 2
    while True:
        # The largest scale of this pass, at which an object with its surroundings spans half of a tile. So at
        # most half of a tile is overlap, which is searched twice.
        largest = reduction * side / 2 / size.span(1.0, tilted)
        # In a scene of a single tile nothing is cut off, and objects of all sizes are found at once.
        last = largest >= high or _fits(box, side, reduction)
        if last or largest > low:  # else no object is small enough for this pass
            top = high if last else largest
            overlap = math.ceil(size.span(top, tilted) / reduction)
            passes.append(TilePass(reduction, (low, top), _tiles(box, side, overlap, reduction, alignment)))
            low = top
        if last:
            return tuple(passes)
        reduction *= 2


def _fits(box: Box, side: int, reduction: int) -> bool:
    """Whether the reduced scene fits into one tile."""
    return max(box[2] - box[0], box[3] - box[1]) <= reduction * side


def _tiles(box: Box, side: int, overlap: int, reduction: int, alignment: int) -> tuple[Box, ...]:
    step = max(ALIGNMENT, math.ceil(alignment / reduction))
    across = _intervals(box[0], box[2], side, overlap, reduction, step)
    down = _intervals(box[1], box[3], side, overlap, reduction, step)
    return tuple((left, top, right, bottom) for top, bottom in down for left, right in across)


def _intervals(
    begin: int, end: int, side: int, overlap: int, reduction: int, step: int
) -> list[tuple[int, int]]:
    """Begin and end of each tile along an axis, at full size.

    All but the first begin at multiples of the step, and the last ends at the end.
    """
    length, tile = end - begin, side * reduction
    if length <= tile:
        return [(begin, end)]
    aligned = step * reduction
    # Tiles are evenly spaced, by at most `stride`. Then each begins up to `aligned` earlier, at a multiple of
    # it, so neighbours may be further apart by `aligned`, which is subtracted here.
    stride = max(aligned, tile - overlap * reduction - aligned)
    count = math.ceil((length - tile) / stride) + 1
    begins = [begin + k * (length - tile) / (count - 1) for k in range(count)]
    first = [begin, *(math.floor(one / aligned) * aligned for one in begins[1:])]
    last = [*(one + tile for one in first[:-1]), end]
    return list(zip(first, last, strict=True))

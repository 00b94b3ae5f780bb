"""A picture that is read by region, at full size or reduced."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.errors import ArgumentError, PictureError
from wherein.images.frames.tiff_pages import reduction_of
from wherein.images.load import load_picture
from wherein.images.pool import pool

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels at full size."""

_BAND = 4_000_000
"""Number of pixels that are read at a time if they are reduced immediately. A choice: 48 MB as floats."""

MAX_SIDE, MAX_PIXELS = 10_000_000, 10**13
"""Maximum side and number of pixels of a picture that is read by region. Choices: far more than any scanner
produces; a header with more is damaged or malicious."""


class RegionSource(ABC):
    """A picture whose pixels are read by region.

    Attributes:
        name: for messages.
        size: width and height.
        reductions: the factors by which the stored levels are reduced, powers of 2; 1 is the first.
        color: order of the channels.
    """

    name: str
    size: tuple[int, int]
    reductions: tuple[int, ...] = (1,)
    color: str = "rgb"

    @abstractmethod
    def stored(self, box: Box, reduction: int) -> NDArray[Any]:
        """The values of a stored level, (h, w), (h, w, 3) or (h, w, 4).

        Arguments:
            box: within that level, in its own pixels.
            reduction: of the level, one of `reductions`.
        """

    def close(self) -> None:  # noqa: B027  # not every source has a file
        """Close the file."""

    def __enter__(self) -> "RegionSource":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def region(self, box: Box, reduction: int = 1) -> Float[Tensor, "3 h w"]:
        """A region as RGB in [0, 1], reduced by averaging blocks; incomplete blocks are left out.

        Arguments:
            box: must begin at multiples of the reduction.
            reduction: a power of 2.

        Raises:
            PictureError: the region cannot be read.
        """
        left, top, right, bottom = (side // reduction for side in box)
        # The coarsest stored level that is not coarser than requested: it needs the least reading.
        level = max(one for one in self.reductions if one <= reduction)
        rest = reduction // level
        if rest == 1:
            return self._pixels((left, top, right, bottom), level)
        # In bands of whole reduced rows, so that the full-size pixels of a large region are never all in
        # memory. Bands do not change the means of the blocks.
        rows = max(1, _BAND // (rest**2 * max(1, right - left)))
        bands = [
            pool(
                self._pixels((rest * left, rest * y, rest * right, rest * min(y + rows, bottom)), level), rest
            )
            for y in range(top, bottom, rows)
        ]
        return torch.cat(bands, 1)

    def _pixels(self, box: Box, reduction: int) -> Float[Tensor, "3 h w"]:
        try:
            picture = load_picture(self.stored(box, reduction), color=self.color)
        except ArgumentError as error:  # wrong values come from the file, not from the caller
            raise PictureError(f"{self.name}: {error}") from error
        return picture.pixels.detach().float().cpu()


class ArraySource(RegionSource):
    """An array, possibly mapped from a file; its pixels are converted to floats region by region.

    Arguments:
        array: (H, W), (H, W, 1), (H, W, 3) or (H, W, 4), of any type that a scene may have.
        color: order of the channels.
        name: for messages.
    """

    def __init__(self, array: NDArray[Any], color: str = "rgb", name: str = "scene") -> None:
        load_picture(array[:1, :1], color=color, role="scene")  # checks shape and type
        self._array, self.color, self.name = array, color, name
        self.size = (array.shape[1], array.shape[0])

    def stored(self, box: Box, reduction: int) -> NDArray[Any]:  # noqa: D102
        left, top, right, bottom = box
        return np.asarray(self._array[top:bottom, left:right])


def checked_size(name: str, width: int, height: int) -> tuple[int, int]:
    """Width and height from a header; raises `PictureError` if they are not plausible."""
    if min(width, height) < 1 or max(width, height) > MAX_SIDE or width * height > MAX_PIXELS:
        raise PictureError(
            f"{name}: the header says {width} × {height} pixels, but 1 to {MAX_SIDE:,} each way and "
            f"{MAX_PIXELS:,} in all are allowed: the file is damaged, copy it again"
        )
    return width, height


def levels_by_reduction(
    full: tuple[int, int], sizes: Mapping[int, tuple[int, int]], most: int = 24
) -> dict[int, int]:
    """The numbers of the stored levels that are reduced by a power of 2, by their reduction.

    Arguments:
        full: width and height at full size.
        sizes: width and height of the other levels, by their numbers.
        most: exponents of reductions are below this.
    """
    found: dict[int, int] = {}
    for number, size in sizes.items():
        reduction = reduction_of(full, size, most)
        if reduction is not None:
            found.setdefault(reduction, number)
    return found

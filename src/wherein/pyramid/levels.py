"""The image pyramid of a scene, and the matrices between its levels.

A level is the scene reduced by a power of 2. Each level is computed once, when it is first needed.
"""

import math
from collections.abc import Callable, Hashable
from functools import cached_property
from threading import Lock

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import NDArray
from torch import Tensor

from wherein.formulations.objective import Tally
from wherein.images.picture import Samples, unit
from wherein.images.pool import pool

Poses = NDArray[np.float64]
"""(B, 3, 3), motif pixels → scene pixels at full size. Arrays instead of tensors: numpy is faster for 3 × 3
matrices, and the coarse-to-fine plan runs on the CPU even for a scene on a GPU."""

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the scene at full size."""


def enlarge(scale: int, x: float = 0.0, y: float = 0.0) -> Poses:
    """The matrix u ↦ scale · u + (scale − 1)/2 + (x, y), from a reduced picture to full size.

    (x, y) is the full-size pixel at which the reduced picture begins. Pixel centres are at whole numbers, so
    the first reduced pixel, which covers the pixels 0 to scale − 1, has its centre at (scale − 1)/2.
    """
    middle = (scale - 1) / 2
    return np.array(((scale, 0.0, x + middle), (0.0, scale, y + middle), (0.0, 0.0, 1.0)))


def reduce(scale: int, x: float = 0.0, y: float = 0.0) -> Poses:
    """The inverse of `enlarge`, from full size to a reduced picture."""
    middle, s = (scale - 1) / 2, 1 / scale
    return np.array(((s, 0.0, -(x + middle) * s), (0.0, s, -(y + middle) * s), (0.0, 0.0, 1.0)))


def coarsest_scale(enough: Callable[[int], bool], largest: int) -> int:
    """The largest power of 2, at most `largest`, for which the reduced motif still has `enough` pixels."""
    scale = 1
    while 2 * scale <= largest and enough(2 * scale):
        scale *= 2
    return scale


class ScenePyramid:
    """A scene at full size and reduced by powers of 2.

    Arguments:
        samples: the picture to search, in floats or in the dtype of `Picture.samples`.
        tally: counts the filtering, in units of whole scenes.
        threads: number of threads for the work on the scene; results do not depend on it.

    Attributes:
        kept: a cache for data that other modules derive from the scene.
    """

    def __init__(self, samples: Samples, tally: Tally | None = None, threads: int = 1) -> None:
        self.samples, self.tally, self.threads = samples, tally or Tally(), threads
        self.kept: dict[Hashable, object] = {}
        # The last box at each scale: later stages mostly lie inside it.
        self._reduced: dict[int, tuple[int, int, Tensor]] = {}
        self._whole: dict[int, Float[Tensor, "C h w"]] = {}
        self._making = Lock()  # threads that need the same scale make it once

    @cached_property
    def scene(self) -> Float[Tensor, "C H W"]:
        """The scene at full size, in floats."""
        return unit(self.samples)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height at full size."""
        return self.samples.shape[-1], self.samples.shape[-2]

    def reduced(self, scale: int) -> Float[Tensor, "C h w"]:
        """The whole scene, reduced by a power of 2."""
        with self._making:
            if scale not in self._whole:
                self._whole[scale] = self.part((0, 0, *self.size), scale)
            return self._whole[scale]

    def part(self, box: Box, scale: int) -> Float[Tensor, "C h w"]:
        """The part of the scene in a box, reduced; the box must begin at a multiple of the scale."""
        left, top, right, bottom = box
        if scale == 1:
            return self.scene[:, top:bottom, left:right]
        known = self._known(box, scale)
        if known is not None:
            return known
        # Halved repeatedly, which is cheaper than one reduction; later stages need the scales in between.
        part, done = self._largest_known(box, scale)
        while done < scale:
            self.tally.convolutions += part[0].numel() / self.samples[0].numel()
            part, done = pool(part, 2), 2 * done
            self._reduced[done] = (left, top, part)
        return part

    def _largest_known(self, box: Box, scale: int) -> tuple[Shaped[Tensor, "C h w"], int]:
        """The part in a box at the coarsest known scale below `scale` (or full size), and that scale."""
        left, top, right, bottom = box
        while (scale := scale // 2) > 1:
            known = self._known(box, scale)
            if known is not None:
                return known, scale
        return self.samples[:, top:bottom, left:right], 1

    def _known(self, box: Box, scale: int) -> Float[Tensor, "C h w"] | None:
        """The part in a box, cropped from a larger box that was reduced before; None if there is none."""
        if scale not in self._reduced:
            return None
        left, top, part = self._reduced[scale]
        first, last = (box[0] - left) // scale, (box[2] - left) // scale
        above, below = (box[1] - top) // scale, (box[3] - top) // scale
        if first < 0 or above < 0 or last > part.shape[2] or below > part.shape[1]:
            return None
        return part[:, above:below, first:last]

    def middle(self, scale: int, max_pixels: float) -> tuple[tuple[int, int], Float[Tensor, "C h w"]]:
        """The middle part of the scene: where it begins, in full-size pixels (x, y), and its reduced picture.

        It is the whole scene, unless the reduced scene has more than `max_pixels`.
        """
        width, height = self.size
        share = min(1.0, math.sqrt(max_pixels * scale**2 / (height * width)))
        left, right = interval(width * (1 - share) / 2, width * (1 + share) / 2, width, scale)
        top, bottom = interval(height * (1 - share) / 2, height * (1 + share) / 2, height, scale)
        return (left, top), self.part((left, top, right, bottom), scale)


def interval(low: float, high: float, limit: int, scale: int) -> tuple[int, int]:
    """Begin and end of a window along one axis of a scene; the begin is a multiple of the scale.

    A window outside the scene becomes the nearest part of the scene; NaN or infinity selects the whole axis.
    The poses themselves do not change, so such poses remain outside of the window and get no finite cost.
    """
    # A multiple of the scale, so that the reduced pixels of all windows coincide and can be reused.
    begin = min(int(max(low, 0)) if math.isfinite(low) else 0, max(0, limit - 2 * scale)) // scale * scale
    end = math.ceil(min(high, limit)) if math.isfinite(high) else limit
    return begin, max(end, begin + 2 * scale)  # never empty, even for poses outside

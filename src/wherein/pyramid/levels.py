"""A scene and a motif at full size and at halves of it, each made once, and a comparison of the two at one scale."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.formulations.correlation import CorrelationObjective
from wherein.formulations.motif_side import MotifSide, motif_side
from wherein.formulations.objective import Tally, Variables
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.motion.models import Motion
from wherein.warp import Surface

Poses = NDArray[np.float64]
"""(B, 3, 3), motif pixels → scene pixels at full size. Not tensors: on 3 × 3 numbers numpy is faster, and
wherever the scene lives, a plan is followed on the CPU."""

Box = tuple[int, int, int, int]
"""left, top, right, bottom in pixels of the scene at full size."""

_SMALL = 32
"""Pixels: in a picture of this size every eighth pixel is at the border, too many to trust their derivatives."""


def enlarge(scale: int, x: float = 0.0, y: float = 0.0) -> Poses:
    """The matrix u ↦ scale · u + (scale − 1)/2 + (x, y): from a reduced picture that begins at (x, y) to full size.

    Pixel centres are at whole numbers, so the centre of a reduced pixel lies between those that it covers.
    """
    middle = (scale - 1) / 2
    return np.array(((scale, 0.0, x + middle), (0.0, scale, y + middle), (0.0, 0.0, 1.0)))


def reduce(scale: int, x: float = 0.0, y: float = 0.0) -> Poses:
    """The inverse of `enlarge`."""
    middle, s = (scale - 1) / 2, 1 / scale
    return np.array(((s, 0.0, -(x + middle) * s), (0.0, s, -(y + middle) * s), (0.0, 0.0, 1.0)))


def coarsest_scale(enough: Callable[[int], bool], largest: int) -> int:
    """The largest power of 2, at most `largest`, up to which a reduced motif still has `enough` to be compared.

    What is enough differs: `register` follows a few poses and asks for size alone
    (`registration.plan`), the detector ranks every place of a scene and asks for pixels well inside the mask
    (`detect.fast.piece_search`).
    """
    scale = 1
    while 2 * scale <= largest and enough(2 * scale):
        scale *= 2
    return scale


class ScenePyramid:
    """A scene at full size and at halves of it.

    Arguments:
        scene: the picture to search.
        tally: counts what is filtered, in whole scenes.
    """

    def __init__(self, scene: Float[Tensor, "C H W"], tally: Tally | None = None) -> None:
        self.scene, self.tally = scene, tally or Tally()
        self._reduced: dict[int, tuple[int, int, Tensor]] = {}
        self._surfaces = {1: Surface(scene)}

    @property
    def size(self) -> tuple[int, int]:
        """Width and height at full size."""
        return self.scene.shape[-1], self.scene.shape[-2]

    def surface(self, scale: int) -> Surface:
        """The whole scene, reduced by a power of 2."""
        if scale not in self._surfaces:
            self._surfaces[scale] = Surface(self.part((0, 0, *self.size), scale))
        return self._surfaces[scale]

    def part(self, box: Box, scale: int) -> Float[Tensor, "C h w"]:
        """What lies in a box, reduced; the box begins at a multiple of the scale."""
        left, top, right, bottom = box
        if scale == 1:
            return self.scene[:, top:bottom, left:right]
        known = self._known(box, scale)
        if known is not None:
            return known
        # By halves, which costs less than at once and leaves the scales between for later stages.
        part = self.scene[:, top:bottom, left:right]
        for half in (2**k for k in range(1, scale.bit_length())):
            self.tally.convolutions += part[0].numel() / self.scene[0].numel()
            part = pool(part, 2)
            self._reduced[half] = (left, top, part)
        return part

    def _known(self, box: Box, scale: int) -> Float[Tensor, "C h w"] | None:
        """The same out of a larger box that was reduced before."""
        if scale not in self._reduced:
            return None
        left, top, part = self._reduced[scale]
        first, last = (box[0] - left) // scale, (box[2] - left) // scale
        above, below = (box[1] - top) // scale, (box[3] - top) // scale
        if first < 0 or above < 0 or last > part.shape[2] or below > part.shape[1]:
            return None
        return part[:, above:below, first:last]

    def middle(self, scale: int, max_pixels: float) -> tuple[tuple[int, int], Float[Tensor, "C h w"]]:
        """The reduced scene, or of a large one the middle part with at most so many pixels; and where that begins,
        in full-size pixels."""
        width, height = self.size
        share = min(1.0, math.sqrt(max_pixels * scale**2 / (height * width)))
        left, right = interval(width * (1 - share) / 2, width * (1 + share) / 2, width, scale)
        top, bottom = interval(height * (1 - share) / 2, height * (1 + share) / 2, height, scale)
        return (left, top), self.part((left, top, right, bottom), scale)


def interval(low: float, high: float, limit: int, scale: int) -> tuple[int, int]:
    """Begin and end of a window along one axis of a scene, the begin at a multiple of the scale.

    Poses far outside, or without a number, get the nearest part of the scene, in which they stay outside.
    """
    begin = min(int(max(low, 0)) if math.isfinite(low) else 0, max(0, limit - 2 * scale)) // scale * scale
    end = math.ceil(min(high, limit)) if math.isfinite(high) else limit
    return begin, max(end, begin + 2 * scale)


class MotifPyramid:
    """A motif at full size and at halves of it, linearised for every motion and number of pixels that is asked for.

    Arguments:
        motif: what to look for.
        inset: at full size leave out the pixels at its outline, as far as enough of it stays (`inset_motif`).
        tally: counts what is filtered, in whole motifs.
    """

    def __init__(self, motif: Motif, inset: bool = False, tally: Tally | None = None) -> None:
        self.motif, self.tally = motif, tally or Tally()
        self._reduced = {1: motif}
        self._full = inset_motif(motif) if inset else motif
        self._sides: dict[tuple[int, Motion, int | None], MotifSide] = {}

    @cached_property
    def support(self) -> int:
        """How many of the motif's pixels can be compared."""
        return int((self.motif.mask > 0.5).sum())

    @cached_property
    def sparse_points(self) -> NDArray[np.float64]:
        """(3, N): every seventh pixel well inside the mask, as (x, y, 1)."""
        rows, columns = np.nonzero(self.motif.mask.numpy() > 0.5)
        return np.stack((columns, rows, np.ones_like(rows))).astype(np.float64)[:, ::7]

    def reduced(self, scale: int) -> Motif:
        """The motif, reduced by a power of 2."""
        if scale not in self._reduced:
            self._reduced[scale] = self.reduced(scale // 2).pooled(2)
            self.tally.convolutions += 4 / scale**2
        return self._reduced[scale]

    def side(self, scale: int, motion: Motion, limit: int | None) -> MotifSide:
        """The motif's side of the objective at a scale, of the `limit` pixels where it changes most."""
        key = (scale, motion, limit)
        if key not in self._sides:
            motif = self._full if scale == 1 else self.reduced(scale)
            self._sides[key] = motif_side(motif, motion, limit)
            self.tally.convolutions += 2 / scale**2  # its derivatives in x and in y
        return self._sides[key]


def inset_motif(motif: Motif) -> Motif:
    """The motif without the pixels at its outline, as far as enough of it stays.

    A cubic interpolation reaches two pixels: as near to the outline of a motif that was cut out, the scene is
    a mixture. Where a whole picture ends there is none, but the last pixel's derivative is a guess, which
    matters where a good part of the pixels are last ones.
    """
    whole = bool((motif.mask > 0.5).all())
    if whole and min(motif.height, motif.width) >= _SMALL:
        return motif
    enough = int((motif.mask > 0.5).sum()) / 2
    insets = (motif.inset(radius) for radius in ((1,) if whole else (2, 1)))
    return next((inner for inner in insets if int((inner.mask > 0.5).sum()) >= enough), motif)


@dataclass(frozen=True, eq=False)
class Level:
    """A scene and a motif compared at one scale, and the ways from full-size poses into it and back."""

    objective: CorrelationObjective
    scene_scale: int
    motif_scale: int
    corner: tuple[float, float] = (0.0, 0.0)
    """Where its scene begins, in full-size pixels."""

    def enter(self, poses: Poses) -> Variables:
        """The objective's variables of full-size poses."""
        frames = reduce(self.scene_scale, *self.corner) @ poses @ enlarge(self.motif_scale, *self._centre)
        return Variables(torch.from_numpy(frames).to(self.objective.points))

    def leave(self, at: Variables) -> Poses:
        """Full-size poses of the objective's variables."""
        frames: Poses = at.pose.cpu().numpy().astype(np.float64)
        return enlarge(self.scene_scale, *self.corner) @ frames @ reduce(self.motif_scale, *self._centre)

    @property
    def _centre(self) -> tuple[float, float]:
        """Of the points compared, in full-size pixels from the first pixel of the scale on."""
        x, y = self.objective.centre.tolist()
        return self.motif_scale * x, self.motif_scale * y


def visible_fraction(scene: ScenePyramid, motif: MotifPyramid, poses: Poses) -> NDArray[np.float64]:
    """Which fraction of the motif lies inside the scene, for each pose."""
    x, y, _ = (poses @ motif.sparse_points).transpose(1, 0, 2)
    width, height = scene.size
    inside: NDArray[np.bool_] = (x >= 0) & (y >= 0) & (x <= width - 1) & (y <= height - 1)
    return inside.mean(1)

"""Image pyramids of a scene and of a motif, and the comparison of the two at one scale.

A level is full size reduced by a power of 2. Each is computed once, when it is first needed.
"""

import math
from collections.abc import Callable, Hashable
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
"""(B, 3, 3), motif pixels → scene pixels at full size. Arrays and not tensors: numpy is faster for 3 × 3
matrices, and even for a scene on a GPU the coarse-to-fine plan runs on the CPU."""

Box = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the scene at full size."""

_SMALL = 32
"""Size in pixels below which border pixels of a motif matter. A choice: of a picture of 32 × 32 pixels one in
eight is at the border, where derivatives are less exact."""


def enlarge(scale: int, x: float = 0.0, y: float = 0.0) -> Poses:
    """The matrix u ↦ scale · u + (scale − 1)/2 + (x, y), from a reduced picture to full size.

    (x, y) is where the reduced picture begins. Pixel centres are at whole numbers, so the centre of a reduced
    pixel lies in the middle of those that it covers: hence (scale − 1)/2.
    """
    middle = (scale - 1) / 2
    return np.array(((scale, 0.0, x + middle), (0.0, scale, y + middle), (0.0, 0.0, 1.0)))


def reduce(scale: int, x: float = 0.0, y: float = 0.0) -> Poses:
    """The inverse of `enlarge`, from full size to a reduced picture."""
    middle, s = (scale - 1) / 2, 1 / scale
    return np.array(((s, 0.0, -(x + middle) * s), (0.0, s, -(y + middle) * s), (0.0, 0.0, 1.0)))


def coarsest_scale(enough: Callable[[int], bool], largest: int) -> int:
    """The largest power of 2, at most `largest`, for which the reduced motif still has `enough` pixels.

    What is enough differs: `register` follows a few poses and checks only the motif's size
    (`registration.plan`); the detector ranks every place of a scene and checks the number of pixels well
    inside the mask (`detect.fast.piece_model`).
    """
    scale = 1
    while 2 * scale <= largest and enough(2 * scale):
        scale *= 2
    return scale


class ScenePyramid:
    """A scene at full size and reduced by powers of 2.

    Arguments:
        scene: the picture to search.
        tally: counts the filtering, in units of whole scenes.
        threads: how many share the work on the scene; results do not depend on it.

    Attributes:
        kept: what others have made of the scene, and want to make only once.
    """

    def __init__(self, scene: Float[Tensor, "C H W"], tally: Tally | None = None, threads: int = 1) -> None:
        self.scene, self.tally, self.threads = scene, tally or Tally(), threads
        self.kept: dict[Hashable, object] = {}
        # One box for each scale, the last one: later stages mostly lie inside it.
        self._reduced: dict[int, tuple[int, int, Tensor]] = {}
        self._whole = {1: scene}

    @property
    def size(self) -> tuple[int, int]:
        """Width and height at full size."""
        return self.scene.shape[-1], self.scene.shape[-2]

    def reduced(self, scale: int) -> Float[Tensor, "C h w"]:
        """The whole scene, reduced by a power of 2."""
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
        # Halved step by step: cheaper than at once, and later stages need the scales in between.
        part = self.scene[:, top:bottom, left:right]
        for half in (2**k for k in range(1, scale.bit_length())):
            self.tally.convolutions += part[0].numel() / self.scene[0].numel()
            part = pool(part, 2)
            self._reduced[half] = (left, top, part)
        return part

    def _known(self, box: Box, scale: int) -> Float[Tensor, "C h w"] | None:
        """The same part, cropped from a larger box that was reduced before; None if there is none."""
        if scale not in self._reduced:
            return None
        left, top, part = self._reduced[scale]
        first, last = (box[0] - left) // scale, (box[2] - left) // scale
        above, below = (box[1] - top) // scale, (box[3] - top) // scale
        if first < 0 or above < 0 or last > part.shape[2] or below > part.shape[1]:
            return None
        return part[:, above:below, first:last]

    def middle(self, scale: int, max_pixels: float) -> tuple[tuple[int, int], Float[Tensor, "C h w"]]:
        """Where the middle part of the scene begins, in full-size pixels, and that part, reduced.

        It is the whole scene, unless that has more than `max_pixels` when reduced.
        """
        width, height = self.size
        share = min(1.0, math.sqrt(max_pixels * scale**2 / (height * width)))
        left, right = interval(width * (1 - share) / 2, width * (1 + share) / 2, width, scale)
        top, bottom = interval(height * (1 - share) / 2, height * (1 + share) / 2, height, scale)
        return (left, top), self.part((left, top, right, bottom), scale)


def interval(low: float, high: float, limit: int, scale: int) -> tuple[int, int]:
    """Begin and end of a window along one axis of a scene; the begin is a multiple of the scale.

    A window outside the scene becomes the nearest part of the scene, and NaN or infinity all of the axis: the
    poses then remain outside of the window, as they should.
    """
    begin = min(int(max(low, 0)) if math.isfinite(low) else 0, max(0, limit - 2 * scale)) // scale * scale
    end = math.ceil(min(high, limit)) if math.isfinite(high) else limit
    return begin, max(end, begin + 2 * scale)  # never empty, even for poses outside


class MotifPyramid:
    """A motif at full size and reduced by powers of 2, linearised over motions.

    Arguments:
        motif: the picture to find.
        inset: at full size, leave out the pixels at its outline if enough others remain (`inset_motif`).
        tally: counts the filtering, in units of whole motifs.
    """

    def __init__(self, motif: Motif, inset: bool = False, tally: Tally | None = None) -> None:
        self.motif, self.tally = motif, tally or Tally()
        self._reduced = {1: motif}
        self._full = inset_motif(motif) if inset else motif
        self._sides: dict[tuple[int, Motion, int | None], MotifSide] = {}

    @cached_property
    def support(self) -> int:
        """The number of pixels inside the motif's mask."""
        return int((self.motif.mask > 0.5).sum())

    @cached_property
    def sparse_points(self) -> NDArray[np.float64]:
        """(3, N): every seventh pixel inside the mask as (x, y, 1); enough to estimate a fraction of it."""
        rows, columns = np.nonzero(self.motif.mask.numpy() > 0.5)
        return np.stack((columns, rows, np.ones_like(rows))).astype(np.float64)[:, ::7]

    def reduced(self, scale: int) -> Motif:
        """The motif, reduced by a power of 2."""
        if scale not in self._reduced:
            self._reduced[scale] = self.reduced(scale // 2).pooled(2)
            self.tally.convolutions += 4 / scale**2  # the picture that is halved has 4/scale² of all pixels
        return self._reduced[scale]

    def side(self, scale: int, motion: Motion, limit: int | None) -> MotifSide:
        """The motif at a scale, linearised over a motion; at most `limit` pixels, where it changes most."""
        key = (scale, motion, limit)
        if key not in self._sides:
            motif = self._full if scale == 1 else self.reduced(scale)
            self._sides[key] = motif_side(motif, motion, limit)
            self.tally.convolutions += 2 / scale**2  # the derivatives in x and in y
        return self._sides[key]


def inset_motif(motif: Motif) -> Motif:
    """The motif without the pixels at its outline, unless more than half of it would be lost.

    Cubic interpolation reaches two pixels, so up to two pixels from the outline of a cut-out motif the scene
    is mixed with background. A rectangular motif without a mask has no such outline, but the derivative of
    its last pixel is less exact, which matters for a small motif.
    """
    whole = bool((motif.mask > 0.5).all())
    if whole and min(motif.height, motif.width) >= _SMALL:
        return motif
    enough = int((motif.mask > 0.5).sum()) / 2
    insets = (motif.inset(radius) for radius in ((1,) if whole else (2, 1)))
    return next((inner for inner in insets if int((inner.mask > 0.5).sum()) >= enough), motif)


@dataclass(frozen=True, eq=False)
class Level:
    """A scene and a motif at one scale, and how full-size poses are converted to it.

    Attributes:
        scene: the scene at this scale, or a part of it.
        side: the motif at this scale.
        motion: how poses may move.
        scene_scale, motif_scale: the factors by which scene and motif are reduced.
        corner: where the part of the scene begins, in full-size pixels.
        robust: give less weight to pixels that do not fit.
    """

    scene: Float[Tensor, "C H W"]
    side: MotifSide
    motion: Motion
    scene_scale: int = 1
    motif_scale: int = 1
    corner: tuple[float, float] = (0.0, 0.0)
    robust: bool = False

    @cached_property
    def objective(self) -> CorrelationObjective:
        """The cost at this scale, in torch; made on first use, since C needs none."""
        return CorrelationObjective(Surface(self.scene), self.side, self.motion, robust=self.robust)

    def enter(self, poses: Poses) -> Variables:
        """The variables at this scale for full-size poses."""
        # Composed in float64 and rounded once: at full size, positions in a large scene have few digits to
        # spare.
        frames = reduce(self.scene_scale, *self.corner) @ poses @ enlarge(self.motif_scale, *self._centre)
        return Variables(torch.from_numpy(frames).to(self.side.points))

    def leave(self, at: Variables) -> Poses:
        """The full-size poses of variables at this scale."""
        frames: Poses = at.pose.cpu().numpy().astype(np.float64)
        return enlarge(self.scene_scale, *self.corner) @ frames @ reduce(self.motif_scale, *self._centre)

    @property
    def _centre(self) -> tuple[float, float]:
        """The centre of the compared points, in full-size pixels from the first pixel of the scale."""
        x, y = self.side.centre.tolist()
        return self.motif_scale * x, self.motif_scale * y


def visible_fraction(scene: ScenePyramid, motif: MotifPyramid, poses: Poses) -> NDArray[np.float64]:
    """The fraction of the motif that lies inside the scene, for each pose (affine ones only)."""
    x, y, _ = (poses @ motif.sparse_points).transpose(1, 0, 2)
    width, height = scene.size
    inside: NDArray[np.bool_] = (x >= 0) & (y >= 0) & (x <= width - 1) & (y <= height - 1)
    return inside.mean(1)

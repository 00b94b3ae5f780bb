"""The image pyramid of a motif, and its comparison with a scene at one scale."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.formulations.correlation import CorrelationObjective
from wherein.formulations.motif_side import MotifSide, motif_side
from wherein.formulations.objective import Tally, Variables
from wherein.images.motif import Motif
from wherein.motion.models import Motion
from wherein.pyramid.levels import Poses, enlarge, reduce
from wherein.warp import Surface

_SMALL = 32
"""Size in pixels below which the border pixels of a motif matter. A choice: one in eight pixels of a picture
of 32 × 32 is at the border, where derivatives are less accurate."""


class MotifPyramid:
    """A motif at full size and reduced by powers of 2, linearised for motions.

    Arguments:
        motif: the picture to find.
        inset: at full size, leave out the pixels at the outline if enough others remain (`inset_motif`).
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

    def compared(self, scale: int) -> Float[Tensor, "C N"]:
        """The colours that are compared at a scale; those of all pixels if the mask is nowhere above ½."""
        motif = self._full if scale == 1 else self.reduced(scale)
        inside = motif.mask > 0.5
        pixels, count = motif.pixels, int(inside.sum())
        return pixels[:, inside] if 0 < count < inside.numel() else pixels.flatten(1)

    def reduced(self, scale: int) -> Motif:
        """The motif, reduced by a power of 2."""
        if scale not in self._reduced:
            self._reduced[scale] = self.reduced(scale // 2).pooled(2)
            self.tally.convolutions += 4 / scale**2  # the picture that is halved has 4/scale² of all pixels
        return self._reduced[scale]

    def side(self, scale: int, motion: Motion, limit: int | None) -> MotifSide:
        """The motif at a scale, linearised for a motion; at most `limit` pixels, by gradient strength."""
        key = (scale, motion, limit)
        if key not in self._sides:
            motif = self._full if scale == 1 else self.reduced(scale)
            self._sides[key] = motif_side(motif, motion, limit)
            self.tally.convolutions += 2 / scale**2  # the derivatives in x and in y
        return self._sides[key]


def inset_motif(motif: Motif) -> Motif:
    """The motif without the pixels at its outline, unless more than half of it would be lost.

    Cubic interpolation reaches two pixels. So the scene's values up to two pixels from the outline of a
    cut-out motif are mixed with background. A rectangular motif without a mask has no such outline, but the
    derivative at its border pixels is less accurate, which matters for a small motif.
    """
    if motif.fills and min(motif.height, motif.width) >= _SMALL:
        return motif
    enough = int((motif.mask > 0.5).sum()) / 2
    insets = (motif.inset(radius) for radius in ((1,) if motif.fills else (2, 1)))
    return next((inner for inner in insets if int((inner.mask > 0.5).sum()) >= enough), motif)


@dataclass(frozen=True, eq=False)
class Level:
    """A scene and a motif at one scale, and the conversion of full-size poses to this scale.

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
        """The cost at this scale, in torch; constructed on first use, since the C code does not need it."""
        return CorrelationObjective(Surface(self.scene), self.side, self.motion, robust=self.robust)

    def enter(self, poses: Poses) -> Variables:
        """The variables at this scale for full-size poses."""
        # Composed in float64 and rounded once: in float32, positions at full size in a large scene have few
        # digits left for fractions of a pixel.
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

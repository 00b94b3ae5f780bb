"""Scene and motif at every scale of a coarse-to-fine fit, each made once."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.formulations.base import Tally
from wherein.formulations.correlation import CorrelationObjective
from wherein.formulations.motif_side import MotifSide, motif_side
from wherein.formulations.objective import Variables
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.motion.models import Motion
from wherein.registration.plan import MOST, Stage
from wherein.warp import Surface

Poses = NDArray[np.float64]
"""(B, 3, 3), motif pixels → scene pixels at full size. Not tensors: on 3 × 3 numbers numpy is faster, and
wherever the scene lives, a plan is followed on the CPU."""

_SMALL = 32
"""Pixels: in a picture of this size every eighth is at the border."""

Box = tuple[int, int, int, int]
"""left, top, right, bottom."""


@dataclass(frozen=True, eq=False)
class Level:
    """An objective at a scale, and the ways from full-size poses into it and back."""

    objective: CorrelationObjective
    scene_scale: int
    motif_scale: int
    corner: tuple[float, float]
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


def enlarge(scale: int, x: float = 0.0, y: float = 0.0) -> Poses:
    """u ↦ scale · u + (scale − 1)/2 + (x, y): from a reduced picture that begins at (x, y), to full size."""
    middle = (scale - 1) / 2
    return np.array(((scale, 0.0, x + middle), (0.0, scale, y + middle), (0.0, 0.0, 1.0)))


def reduce(scale: int, x: float = 0.0, y: float = 0.0) -> Poses:
    """Its inverse."""
    middle, s = (scale - 1) / 2, 1 / scale
    return np.array(((s, 0.0, -(x + middle) * s), (0.0, s, -(y + middle) * s), (0.0, 0.0, 1.0)))


class Pyramid:
    """A scene and a motif at full size and at halves of it.

    Arguments:
        scene: the picture to look in.
        motif: what to look for.
        motion: how it may move.

    Attributes:
        tally: what was filtered so far, in whole scenes and motifs.
    """

    def __init__(self, scene: Float[Tensor, "C H W"], motif: Motif, motion: Motion) -> None:
        self.scene, self.motif, self.motion, self.tally = scene, motif, motion, Tally()
        self._scenes: dict[int, tuple[int, int, Tensor]] = {}
        self._motifs = {1: _inner(motif)}
        right, bottom = motif.width - 1.0, motif.height - 1.0
        self._corners = np.array(((0, right, 0, right), (0, 0, bottom, bottom), (1, 1, 1, 1)))
        self._sides: dict[tuple[int, int], MotifSide] = {}

    @cached_property
    def support(self) -> int:
        """How many of the motif's pixels can be compared."""
        return int((self.motif.mask > 0.5).sum())

    @cached_property
    def sample(self) -> MotifSide:
        """All the motif's pixels or, of a large one, about MOST, evenly spread: to judge a pose by."""
        if self.support <= MOST:
            return self.side(1, MOST)
        chosen = torch.nonzero(self.motif.mask.flatten() > 0.5)[:: math.ceil(self.support / MOST), 0]
        mask = torch.zeros_like(self.motif.mask)
        mask.view(-1)[chosen] = 1
        return motif_side(Motif(self.motif.pixels, mask), self.motion)

    def side(self, scale: int, limit: int) -> MotifSide:
        """The motif's side of the objective at a scale, of the `limit` strongest pixels."""
        if (scale, limit) not in self._sides:
            motif = self._reduced(scale)
            self._sides[scale, limit] = motif_side(motif, self.motion, limit)
            self.tally.convolutions += 2 / scale**2  # its derivatives in x and in y
        return self._sides[scale, limit]

    def _reduced(self, scale: int) -> Motif:
        if scale not in self._motifs:
            self._motifs[scale] = (self._reduced(scale // 2) if scale > 2 else self.motif).pooled(2)
            self.tally.convolutions += 4 / scale**2
        return self._motifs[scale]

    def seen(self, pose: Poses) -> float:
        """Which share of the motif's support a pose (3, 3) puts inside the scene."""
        corners = pose @ self._corners
        if bool((corners[2] > 0).all()) and self._inside(corners) == 1:
            return 1.0  # with all of its rectangle
        side = self.sample
        points = (side.points + side.centre).double().cpu().numpy()
        return self._inside(pose @ np.vstack((points.T, np.ones(len(points)))))

    def _inside(self, points: NDArray[np.float64]) -> float:
        """Which share of the homogeneous points (3, N) lies in the scene, rounding forgiven."""
        height, width = self.scene.shape[-2:]
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = points[:2] / points[2]
        slack = 1e-3
        return float(
            ((x >= -slack) & (x <= width - 1 + slack) & (y >= -slack) & (y <= height - 1 + slack)).mean()
        )

    def middle(self, scale: int, most: float) -> tuple[tuple[int, int], Float[Tensor, "C h w"]]:
        """The scene reduced, or of a large one what lies in the middle, at most that many pixels; where that
        begins, in full-size pixels."""
        height, width = self.scene.shape[-2:]
        share = min(1.0, math.sqrt(most * scale**2 / (height * width)))
        left, right = _side(width * (1 - share) / 2, width * (1 + share) / 2, width, scale)
        top, bottom = _side(height * (1 - share) / 2, height * (1 + share) / 2, height, scale)
        return (left, top), self._part((left, top, right, bottom), scale)

    def level(self, stage: Stage, poses: Poses, robust: bool) -> Level:
        """The objective of a stage, over the part of the scene that the poses can reach."""
        side, scene_scale = self.side(stage.scale, stage.pixels), stage.scene_scale
        return self._level(side, stage.scale, scene_scale, poses, robust)

    def judging(self, poses: Poses) -> Level:
        """The plain objective over the motif's `sample`."""
        return self._level(self.sample, 1, 1, poses, robust=False)

    def _level(
        self, side: MotifSide, motif_scale: int, scene_scale: int, poses: Poses, robust: bool
    ) -> Level:
        box = self._window(poses, scene_scale)
        objective = CorrelationObjective(
            Surface(self._part(box, scene_scale)), side, self.motion, robust=robust
        )
        return Level(objective, scene_scale, motif_scale, (float(box[0]), float(box[1])))

    def _window(self, poses: Poses, scale: int) -> Box:
        """The box of all poses with a margin of half the motif, in whole pixels of the scale."""
        reached = poses @ self._corners
        with np.errstate(divide="ignore", invalid="ignore"):  # a horizon through the motif: no window, then
            reached = reached[:, :2] / reached[:, 2:]
        margin = 16 + max(self.motif.height, self.motif.width) / 2
        low, high = (reached.min((0, 2)) - margin).tolist(), (reached.max((0, 2)) + margin).tolist()
        height, width = self.scene.shape[-2:]
        left, right = _side(low[0], high[0], width, scale)
        top, bottom = _side(low[1], high[1], height, scale)
        return left, top, right, bottom

    def _part(self, box: Box, scale: int) -> Float[Tensor, "C h w"]:
        """The scene in the box, reduced."""
        left, top, right, bottom = box
        if scale == 1:
            return self.scene[:, top:bottom, left:right]
        kept = self._kept(box, scale)
        if kept is None:
            # By halves, which costs less than at once and leaves the scales between for later stages.
            part = self.scene[:, top:bottom, left:right]
            for half in (2**k for k in range(1, scale.bit_length())):
                self.tally.convolutions += part[0].numel() / self.scene[0].numel()
                part = pool(part, 2)
                self._scenes[half] = (left, top, part)
            return part
        return kept

    def _kept(self, box: Box, scale: int) -> Float[Tensor, "C h w"] | None:
        """The same from a larger box that was reduced before."""
        if scale not in self._scenes:
            return None
        left, top, part = self._scenes[scale]
        first, last = (box[0] - left) // scale, (box[2] - left) // scale
        above, below = (box[1] - top) // scale, (box[3] - top) // scale
        if first < 0 or above < 0 or last > part.shape[2] or below > part.shape[1]:
            return None
        return part[:, above:below, first:last]


def _inner(motif: Motif) -> Motif:
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


def _side(low: float, high: float, limit: int, scale: int) -> tuple[int, int]:
    """Begin and end of a window along one axis of the scene.

    Poses far outside, or without a number, get the nearest part of the scene, in which they stay outside.
    """
    begin = min(int(max(low, 0)) if math.isfinite(low) else 0, max(0, limit - 2 * scale)) // scale * scale
    end = math.ceil(min(high, limit)) if math.isfinite(high) else limit
    return begin, max(end, begin + 2 * scale)

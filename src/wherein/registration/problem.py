"""A registration problem: a scene, a motif and a motion, at every scale."""

import math
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.formulations.correlation import LEAST_VARIANCE
from wherein.formulations.motif_side import MotifSide, motif_side
from wherein.formulations.objective import Tally
from wherein.images.motif import Motif
from wherein.motion.models import MOTIONS, Motion
from wherein.pyramid.descent import MAX_PIXELS, Stage
from wherein.pyramid.levels import Box, Poses, ScenePyramid, interval
from wherein.pyramid.motif_levels import Level, MotifPyramid

_SCORED = MOTIONS["translation"]
"""The motion for levels at which poses are only scored: it has the fewest derivatives."""

_SCORED_PIXELS = 2**16
"""Maximum number of pixels on which a pose is scored. A choice: the ZNCC of this many evenly spread pixels
agrees with that of all pixels to the third decimal."""

_ROUNDING = 1e-3
"""A point up to this many pixels outside the scene counts as inside. A choice: more than the rounding error
of float32 coordinates, less than any relevant error."""


class Problem:
    """A scene, a motif and a motion; makes the level of each stage.

    Only the part of the scene around the poses of a stage is reduced. If the caller gave a start, this is a
    small part of a large scene.

    Arguments:
        scene: the picture to search.
        motif: the picture to find.
        motion: how the motif may move.
        threads: number of threads for the work on the scene; results do not depend on it.

    Attributes:
        tally: the filtering done so far, in units of whole scenes and whole motifs.
    """

    def __init__(self, scene: Float[Tensor, "C H W"], motif: Motif, motion: Motion, threads: int = 1) -> None:
        self.tally, self.motion = Tally(), motion
        self.scene = ScenePyramid(scene, self.tally, threads)
        self.motif = MotifPyramid(motif, inset=True, tally=self.tally)
        # The centres of the corner pixels, as `_inside` tests the centres of pixels.
        right, bottom = motif.width - 1.0, motif.height - 1.0
        self._corners = np.array(((0, right, 0, right), (0, 0, bottom, bottom), (1, 1, 1, 1)))

    @cached_property
    def sample(self) -> MotifSide:
        """The pixels on which a pose is scored: all, or an even selection from a large motif.

        They are linearised for translations, the cheapest motion, since scoring needs no derivatives.
        """
        motif, support = self.motif.motif, self.motif.support
        if support <= _SCORED_PIXELS:
            return self.motif.side(1, _SCORED, MAX_PIXELS)
        # Not the pixels with the strongest gradient: their ZNCC is higher than that of the whole motif.
        chosen = torch.nonzero(motif.mask.flatten() > 0.5)[:: math.ceil(support / _SCORED_PIXELS), 0]
        # The others are not compared, but stay in the mask: pixels outside it are replaced by the mean of
        # their neighbours.
        mask = motif.mask.clamp_max(0.5)
        mask.view(-1)[chosen] = 1
        return motif_side(Motif(motif.pixels, mask), _SCORED)

    def is_flat(self, scale: int) -> bool:
        """Whether the motif has no texture, so that its ZNCC is 0/0 at every pose.

        Arguments:
            scale: tested first, since it has far fewer pixels. If the reduced motif has texture, so has the
                motif.
        """
        reduced = (self.motif.compared(some) for some in (scale, 1))
        return all(float(pixels.var(1, correction=0).mean()) < LEAST_VARIANCE for pixels in reduced)

    def visible_fraction(self, pose: Poses) -> float:
        """The fraction of the motif's support that lies inside the scene at a pose (3, 3)."""
        corners = pose @ self._corners
        if bool((corners[2] > 0).all()) and self._inside(corners) == 1:
            return 1.0  # the whole rectangle is inside, so no pixel needs to be tested
        side = self.sample
        points = (side.points + side.centre).double().cpu().numpy()
        return self._inside(pose @ np.vstack((points.T, np.ones(len(points)))))

    def _inside(self, points: NDArray[np.float64]) -> float:
        """The fraction of the homogeneous points (3, N) that lies inside the scene."""
        width, height = self.scene.size
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = points[:2] / points[2]
        inside = (x >= -_ROUNDING) & (x <= width - 1 + _ROUNDING)
        return float((inside & (y >= -_ROUNDING) & (y <= height - 1 + _ROUNDING)).mean())

    def level(self, stage: Stage, poses: Poses, robust: bool) -> Level:
        """Scene and motif at the scales of a stage; only the part of the scene around the poses."""
        side = self.motif.side(stage.scale, self.motion, stage.pixels)
        return self._level(side, stage.scale, stage.scene_scale, poses, robust)

    def scoring_level(self, poses: Poses, robust: bool = False) -> Level:
        """The level at which poses are scored but not moved: the motif's `sample` at full size."""
        return replace(self._level(self.sample, 1, 1, poses, robust), motion=_SCORED)

    def _level(
        self, side: MotifSide, motif_scale: int, scene_scale: int, poses: Poses, robust: bool
    ) -> Level:
        box = self._window(poses, scene_scale)
        part, corner = self.scene.part(box, scene_scale), (float(box[0]), float(box[1]))
        return Level(part, side, self.motion, scene_scale, motif_scale, corner, robust)

    def _window(self, poses: Poses, scale: int) -> Box:
        """A box around the motif at all poses with a margin of half its size, in pixels of the full scene."""
        reached = poses @ self._corners
        # If the horizon of a homography crosses the motif, corners are infinite; `interval` handles that.
        with np.errstate(divide="ignore", invalid="ignore"):
            reached = reached[:, :2] / reached[:, 2:]
        motif = self.motif.motif
        # Poses move during the optimisation, mostly by less than half the motif; 16 more for small motifs.
        margin = 16 + max(motif.height, motif.width) / 2
        low, high = (reached.min((0, 2)) - margin).tolist(), (reached.max((0, 2)) + margin).tolist()
        width, height = self.scene.size
        left, right = interval(low[0], high[0], width, scale)
        top, bottom = interval(low[1], high[1], height, scale)
        return left, top, right, bottom

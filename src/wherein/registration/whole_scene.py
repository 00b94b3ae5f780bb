"""Where a motif is in a scene about which nothing is known: candidates of several searches, judged alike.

A fit on colours that is good needs no judge. In photographs it rarely is: the light differs, or the thing has
moved. Then candidates come from three sources, the fit on colours, the search by channels, and the match of
cells, and the best is the one whose cells fit best (`cell_match`), whatever the light.
"""

import math
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.images.motif import Motif
from wherein.motion.models import Motion
from wherein.planes.plane_fit import PlaneFits
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.registration.cell_match import CellMatch
from wherein.registration.channel_search import ChannelSearch

_SURE = 0.7
"""ZNCC of the channels from which on a pose is right. A choice: clutter reaches 0.56 over all poses of a
homography, and photographs of one flat thing in different light 0.83 and more (../shared/real/oxford)."""

_SIZES = (1.0, 0.85, 1.18)
"""Sizes of the match of cells, where the motion has scale. A choice: a thing that deforms is followed, not
searched for over all sizes."""

_PLACES = 3
"""Number of places for each size. A choice."""

_TURNED, _RESIZED = 2.0, 2.0
"""What a pose loses in the judgement for half a turn, and for each factor of 2 in size, in units of the score
of `cell_match`. Choices: only where the evidence is nearly equal, a thing is more likely upright and as large
as it was. From 0.5 to 8, the AUC on ../shared/real/pairs changes by less than 0.01."""

_FINER = 0.002
"""A pose that was refined on colours may lose this much ZNCC of the channels. A choice: channels are compared
at reduced resolution, which cannot tell smaller differences."""

_SAME = 0.15
"""Poses are at the same place if no corner differs by more than this fraction of the motif's diagonal. A
choice: more than a cell may shift, less than to the next thing."""


class WholeScene:
    """The searches of a whole scene, each run when its result is first needed.

    Arguments:
        scene: on the CPU.
        motif: the picture to find.
        motion: how it may move: one of the five standard models.
    """

    def __init__(self, scene: ScenePyramid, motif: Motif, motion: Motion) -> None:
        self.motif, self.motion = motif, motion
        self._search = ChannelSearch(scene, motif, motion)
        self._cells = CellMatch(scene, motif)

    @cached_property
    def _fits(self) -> PlaneFits:
        fits = self._search()
        return replace(fits, poses=self._conformed(fits.poses))

    def _conformed(self, poses: Poses) -> Poses:
        """The nearest poses that the motion allows.

        A motif at reduced resolution has whole pixels, so that its two axes are not reduced by exactly the
        same factor, and a rotation at that resolution is not quite one at full size.
        """
        if self.motion.shears or not len(poses):
            return poses
        x, y = self.motif.centre
        centred = torch.from_numpy(poses @ np.array(((1, 0, x), (0, 1, y), (0, 0, 1.0))))
        nearest = self.motion.matrix(self.motion.params(centred)).numpy()
        return np.asarray(nearest @ np.array(((1, 0, -x), (0, 1, -y), (0, 0, 1.0))))

    @property
    def sure(self) -> Poses | None:
        """The pose that the channels find, (1, 3, 3), if it fits so well that it must be right."""
        fits = self._fits
        return fits.poses[:1] if self._search.telling and len(fits) and fits.zncc[0] >= _SURE else None

    def best(self, others: Poses) -> Poses:
        """The best of some poses and of those that the channels and the cells find, (1, 3, 3)."""
        sizes = _SIZES if self.motion.scales else (1.0,)
        matched = [self._cells.places(size, _PLACES)[0] for size in sizes]
        poses = np.concatenate((others, self._fits.poses, self._conformed(np.concatenate(matched))))
        best = poses[[int(np.argmax(self._rated(poses)))]]
        # Cells tell where it is, but not to a pixel: there, a fit on colours is more exact.
        near = [other for other in others if self._same_place(other, best[0])]
        return near[0][None] if near else best

    def as_good(self, refined: Poses, found: Poses) -> bool:
        """Whether a refined pose is as good as the one that it came from: by channels if that was sure."""
        both = np.concatenate((refined, found))
        if self.sure is not None:
            after, before = self._search.zncc(both).zncc
            return bool(after >= before - _FINER)
        after, before = self._rated(both)
        return bool(after >= before) and self._same_place(refined[0], found[0])

    def _same_place(self, one: Poses, other: Poses) -> bool:
        """Whether two poses are close, compared with the size of the motif there."""
        right, bottom = self.motif.width - 1, self.motif.height - 1
        ends = np.stack((one, other)) @ np.array(
            ((0, right, right, 0), (0, 0, bottom, bottom), (1, 1, 1, 1.0))
        )
        ends = ends[:, :2] / ends[:, 2:]
        size = np.linalg.norm(ends[1, :, 0] - ends[1, :, 2])
        return bool(np.linalg.norm(ends[0] - ends[1], axis=0).max() <= _SAME * size)

    def _rated(self, poses: Poses) -> NDArray[np.float64]:
        return self._cells.rate(poses) - self._unlikely(poses)

    def _unlikely(self, poses: Poses) -> NDArray[np.float64]:
        """What each pose loses for its rotation and size, at the middle of the motif."""
        x, y = self.motif.centre
        places = poses @ (x, y, 1.0)
        linear = (poses[:, :2, :2] - places[:, :2, None] / places[:, 2:, None] * poses[:, 2:, :2]) / places[
            :, 2:, None
        ]
        turn = np.arctan2(linear[:, 1, 0] - linear[:, 0, 1], linear[:, 0, 0] + linear[:, 1, 1])
        size = np.log2(np.sqrt(np.abs(np.linalg.det(linear))).clip(1e-6))
        return _TURNED * np.abs(turn) / math.pi + _RESIZED * np.abs(size)

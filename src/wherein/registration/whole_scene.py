"""The pose of a motif in a scene without prior knowledge: several searches, the cheapest first.

A good fit on colours is accepted without a further check. In photographs a fit is rarely good: the light
differs, or the object has moved. Then the motif's cells are compared with the whole scene (`cell_match`),
upright and at its own size. If one place stands out, the motif is there. If not, it is searched for by its
channels, at all rotations, sizes and tilts; a good fit of the channels cannot be chance. If there is none
either, the candidates of all searches are rated by their cells, which works in any light, and the best one
is returned.
"""

import math
from dataclasses import dataclass, replace
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
"""ZNCC of the channels from which a pose is regarded as right. A choice: clutter reaches 0.56 over all poses
of a homography, photographs of one flat object in different light 0.83 and more (../shared/real/oxford)."""

_STANDS_OUT = 2.0
"""Minimum margin of the best place by cells over all places that are at least half a motif away. A choice:
for motifs that were not in the scene, the largest of 105 margins was 1.7; for motifs that were, the median
was 2.2 (../shared/real/pairs)."""

_TURNED, _RESIZED = 2.0, 2.0
"""The penalty of a pose for half a turn, and for each factor of 2 in size, in units of the score of
`cell_match`. Choices: they decide only if the evidence is nearly equal; then the object is more likely
upright and of the same size."""

_FITTED = 0.5
"""The penalty of a fitted pose relative to the place by cells. A choice: at the same place, a fitted pose has
the higher score because it was fitted, but for objects that deform it is the worse one."""

_ALIKE, _RELATED = 0.8, 0.5
"""ZNCC of colours from which a fit on colours improves a pose that is not sure; and the same for a motion
that can only shift it. Choices: below, such a fit rotates and resizes an object that has only deformed. Not
higher, because noise lowers the ZNCC as well."""

_FINER = 0.002
"""Maximum loss in ZNCC of the channels by a refinement on colours. A choice: channels are compared at reduced
resolution, at which smaller differences mean nothing."""

_SAME = 0.15
"""Poses are at the same place if no corner differs by more than this fraction of the motif's diagonal. A
choice: more than the shift of a cell, less than the distance to the next object."""


@dataclass(frozen=True)
class Found:
    """A pose, (1, 3, 3), and whether its channels fit so well that it is regarded as right."""

    pose: Poses
    sure: bool


class WholeScene:
    """The searches of a whole scene; each is run when its result is first needed.

    Arguments:
        scene: on the CPU.
        motif: the picture to find.
        motion: how it may move: one of the five standard models.
    """

    def __init__(self, scene: ScenePyramid, motif: Motif, motion: Motion) -> None:
        self.scene, self.motif, self.motion = scene, motif, motion
        self._cells = CellMatch(scene, motif)

    @cached_property
    def _search(self) -> ChannelSearch:
        """Constructed on first use: most fits that start in the middle of a scene do not need it."""
        return ChannelSearch(self.scene, self.motif, self.motion)

    @cached_property
    def _fits(self) -> PlaneFits:
        """The poses that the channels find in the whole scene."""
        return self._allowed(self._search())

    def _allowed(self, fits: PlaneFits) -> PlaneFits:
        return replace(fits, poses=self._conformed(fits.poses))

    @property
    def rich(self) -> bool:
        """Whether the motif has so much texture that colours cannot find it if channels do not."""
        return self._search.rich

    @property
    def large(self) -> bool:
        """Whether the motif is so large that its channels are searched for before its colours."""
        return self._search.large

    def _conformed(self, poses: Poses) -> Poses:
        """The nearest poses that the motion allows.

        A motif at reduced resolution consists of whole pixels, so its two axes are not reduced by exactly the
        same factor, and a rotation at that resolution is not exactly one at full size.
        """
        if self.motion.shears or not len(poses):
            return poses
        # Motions act about the motif's centre, so the parameters are those of the centred matrix.
        x, y = self.motif.centre
        centred = torch.from_numpy(poses @ np.array(((1, 0, x), (0, 1, y), (0, 0, 1.0))))
        nearest = self.motion.matrix(self.motion.params(centred)).numpy()
        return np.asarray(nearest @ np.array(((1, 0, -x), (0, 1, -y), (0, 0, 1.0))))

    @cached_property
    def clear(self) -> "Found | None":
        """The pose, if one stands out so much that no other search is needed; else None."""
        if self._search.large:  # then the channels are as cheap as the cells, and more reliable
            return self._by_channels or self._by_cells
        # Cells are compared upright and at the motif's own size. If the motif is rotated or resized, a wrong
        # place may stand out, and only the channels can show that.
        cells = self._by_cells
        return cells if cells is not None and cells.sure else self._by_channels or cells

    @property
    def _by_cells(self) -> "Found | None":
        place = self._cells.place
        if place is None or place.ahead < _STANDS_OUT:
            return None
        if self._search.telling:
            near = self._allowed(self._search.follow(place.pose[None]))
            if self._is_sure(near):
                return Found(near.poses[:1], True)
        return Found(self._conformed(place.pose[None]), False)

    @property
    def _by_channels(self) -> "Found | None":
        return Found(self._fits.poses[:1], True) if self._is_sure(self._fits) else None

    def _is_sure(self, fits: PlaneFits) -> bool:
        """Whether the channels of the best pose fit so well that it is regarded as right."""
        return bool(self._search.telling and len(fits) and fits.zncc[0] >= _SURE)

    def best(self, others: Poses) -> "Found":
        """The best of the given poses and those that the channels and the cells find, if none is clear."""
        fitted, place = np.concatenate((others, self._fits.poses)), self._cells.place
        if place is None:
            return Found(fitted[[int(np.argmax(self._rated(fitted)))]], False)
        poses = np.concatenate((self._conformed(place.pose[None]), fitted))
        penalty = np.full(len(poses), _FITTED)
        penalty[0] = 0.0
        return Found(poses[[int(np.argmax(self._rated(poses) - penalty))]], False)

    def as_good(self, refined: Poses, found: "Found", zncc: float) -> bool:
        """Whether a pose that was refined on colours is as good as the pose before the refinement.

        Arguments:
            refined: (1, 3, 3).
            found: the pose before the refinement.
            zncc: the ZNCC of the refined pose's colours.
        """
        if found.sure:
            after, before = self._search.zncc(np.concatenate((refined, found.pose)))
            return bool(after >= before - _FINER)
        # A translation can neither rotate nor resize the object by mistake.
        least = _ALIKE if self.motion.rotates else _RELATED
        return zncc >= least and self._same_place(refined[0], found.pose[0])

    def _same_place(self, one: Poses, other: Poses) -> bool:
        """Whether two poses are close, relative to the size of the motif in the scene."""
        right, bottom = self.motif.width - 1, self.motif.height - 1
        ends = np.stack((one, other)) @ np.array(
            ((0, right, right, 0), (0, 0, bottom, bottom), (1, 1, 1, 1.0))
        )
        ends = ends[:, :2] / ends[:, 2:]
        # The diagonal of the motif at the second pose.
        size = np.linalg.norm(ends[1, :, 0] - ends[1, :, 2])
        return bool(np.linalg.norm(ends[0] - ends[1], axis=0).max() <= _SAME * size)

    def _rated(self, poses: Poses) -> NDArray[np.float64]:
        return self._cells.rate(poses) - self._penalties(poses)

    def _penalties(self, poses: Poses) -> NDArray[np.float64]:
        """The penalty of each pose for its rotation and size, at the middle of the motif."""
        x, y = self.motif.centre
        places = poses @ (x, y, 1.0)
        # The derivative of the homography there, as in `motion.homography.local_map`.
        linear = (poses[:, :2, :2] - places[:, :2, None] / places[:, 2:, None] * poses[:, 2:, :2]) / places[
            :, 2:, None
        ]
        turn = np.arctan2(linear[:, 1, 0] - linear[:, 0, 1], linear[:, 0, 0] + linear[:, 1, 1])
        size = np.log2(np.sqrt(np.abs(np.linalg.det(linear))).clip(1e-6))
        return _TURNED * np.abs(turn) / math.pi + _RESIZED * np.abs(size)

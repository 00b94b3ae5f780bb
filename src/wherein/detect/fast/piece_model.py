"""A piece with all that can be prepared before there is a scene: resolutions, starts, footprint."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.exclusion import Footprint, share_inside
from wherein.detect.fast.pieces import Joint, Piece
from wherein.images.channels import ChannelSettings
from wherein.motion.homography import mapped
from wherein.motion.models import MOTIONS
from wherein.planes.plane_fit import CHANNELS, SHARP, finest_stage, motif_stages
from wherein.planes.plane_motif import PlaneMotif
from wherein.pyramid.levels import Poses
from wherein.template.tree import Matrix

BASIN = 2.0
"""Radius of the basin of attraction of one point of a motif, in pixels of its resolution. A choice: about the
width of an edge in the channels."""

EUCLIDEAN = MOTIONS["euclidean"]
"""How a limb moves in the plane of its parent."""

_POLISHED_POINTS = 3000
"""Number of pixels by which a pose is fitted to convergence. A choice: on ../shared/scenes parts were 0.028
px off in the median with 1500 of them as with all."""

_TELLING_POINTS = 200
"""Points by which it is told how much of a piece is inside a scene. A choice: to a few percent."""

_MAX_SPREAD, _MAX_SPREAD_STEPS = 15.0, 1.5
"""± degrees, and steps between starts, within which a turn must be known. Choices: neighbouring turns always
fit nearly as well, of a small or short piece those of many degrees."""


@dataclass(frozen=True, eq=False)
class PieceModel:
    """A piece with all that can be prepared before there is a scene.

    Attributes:
        piece: what is searched for.
        group: the group that the piece is attached to, if any.
        any_polarity: whether light and dark may be exchanged.
    """

    piece: Piece
    group: Joint | None = None
    any_polarity: bool = False

    @cached_property
    def stages(self) -> tuple[PlaneMotif, ...]:
        """The fitted leaf at each resolution, from coarse to fine; the fit is scored at the last."""
        return motif_stages(self.piece.motif, self.any_polarity, self.piece.covered)

    @property
    def judges(self) -> tuple[PlaneMotif, ...]:
        """The resolutions at which poses are judged: of the body, the one that the scene has of it."""
        # What limbs reach by chance is measured at their finest resolution.
        return self.stages if self.piece.parent == self.piece.name else self.stages[-1:]

    @cached_property
    def turning(self) -> PlaneMotif:
        """The fitted leaf of a limb at the finest resolution, weighed by what its pixels say about its
        turn."""
        x, y = mapped(self.from_canvas, self.piece.joint)
        pivot = float(x), float(y)
        return finest_stage(self.piece.motif, self.any_polarity, self.piece.covered, pivot)

    @cached_property
    def informative(self) -> PlaneMotif:
        """The fitted leaf at the finest resolution, by the pixels that say most about its pose."""
        return self._even(CHANNELS).informative(_POLISHED_POINTS)

    @cached_property
    def sharp(self) -> PlaneMotif:
        """The same with less smoothing, for the last steps of a fit."""
        return self.exact.informative(_POLISHED_POINTS)

    @cached_property
    def exact(self) -> PlaneMotif:
        """The fitted leaf at the finest resolution with less smoothing, by all of its pixels."""
        return self._even(SHARP)

    def _even(self, settings: ChannelSettings) -> PlaneMotif:
        """The fitted leaf at the finest resolution, with straight edges in full."""
        motif, covered = self.piece.motif, self.piece.covered
        return finest_stage(motif, self.any_polarity, covered, settings=settings, even=True)

    @cached_property
    def fills(self) -> bool:
        """Whether the picture of the fitted leaf has no outline but its border."""
        return self.piece.motif.fills

    @cached_property
    def turn_step(self) -> float:
        """Degrees between starts about the joint, such that one of them has every point within its basin."""
        motif, (x, y) = self.piece.motif, self.piece.fitted_leaf.at
        corners = [(x + i, y + j) for i in (0, motif.width - 1) for j in (0, motif.height - 1)]
        # The farthest corner from the joint moves most in a turn.
        reach = max(math.dist(corner, self.piece.joint) for corner in corners)
        return self._step(reach)

    def _step(self, reach: float) -> float:
        """Degrees of a turn that moves a point at a distance by the width of a basin."""
        return 2 * math.degrees(math.atan2(self.basin / 2, max(reach, 1e-9)))

    @cached_property
    def basin(self) -> float:
        """Width of the basin of attraction of a point at the coarsest resolution, in canvas pixels."""
        pixel = 1 / math.sqrt(self.stages[0].from_full[0, 0] * self.stages[0].from_full[1, 1])
        return 2 * BASIN * pixel

    @cached_property
    def max_spread(self) -> float:
        """± degrees within which the turn must be known for the piece to count as found."""
        return max(_MAX_SPREAD, _MAX_SPREAD_STEPS * self.turn_step)

    @cached_property
    def starts(self) -> Matrix:
        """Turns about the joint from which fits start, (T, 3, 3)."""
        return self.piece.starts(self.turn_step)

    @cached_property
    def group_starts(self) -> Poses:
        """Turns of the group combined with turns of the piece, (T, 3, 3)."""
        assert self.group is not None, "a piece that is attached to a group"
        step = self._step(math.dist(self.group.joint, self.piece.joint))
        # Two limits: the piece's joint moves no further than a basin, and the piece's own turns leave no gap
        # between the directions that it can have at two neighbouring turns of the group.
        turns = self.group.starts(min(step, 2 * self.piece.turn + self.turn_step))
        both: Poses = turns[:, None] @ self.starts
        return both.reshape(-1, 3, 3)

    @cached_property
    def middle(self) -> tuple[float, float]:
        """The middle of the fitted leaf's picture, in its pixels."""
        return self.piece.motif.centre

    @cached_property
    def to_canvas(self) -> NDArray[np.float64]:
        """The matrix from pixels of the fitted leaf to the canvas."""
        return self.piece.fitted_leaf.rest

    @cached_property
    def from_canvas(self) -> NDArray[np.float64]:
        """The matrix from the canvas to pixels of the fitted leaf."""
        return np.linalg.inv(self.to_canvas).astype(np.float64)

    @cached_property
    def footprint(self) -> Footprint:
        """The pixels that the piece covers."""
        return Footprint(self.piece.motif)

    def visible(self, poses: Poses, size: tuple[int, int]) -> NDArray[np.float64]:
        """The share of what the fitted leaf is told by that lies inside a scene, for each of its poses.

        Not the share of its area: a hammer without its head is most of its area, and like any stick.
        """
        return share_inside(self._telling_points, poses, size)

    @cached_property
    def _telling_points(self) -> NDArray[np.float64]:
        """Points of the fitted leaf, the more the more of its variance they have, (N, 2)."""
        motif = self.stages[-1]
        told = (motif.weights.double() * motif.target.double().square().sum(1)).cumsum(0).numpy()
        # Evenly spaced by the variance up to them, row by row, so that they lie all over it.
        levels = (np.arange(_TELLING_POINTS) + 0.5) / _TELLING_POINTS * told[-1]
        return mapped(motif.to_full, motif.places[np.searchsorted(told, levels)])

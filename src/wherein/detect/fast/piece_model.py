"""A piece with everything that does not depend on the scene: its resolutions, starts and footprint."""

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
"""Number of pixels that a fit to convergence compares. A choice: on ../shared/scenes parts were 0.028 px off
in the median with 1500 pixels, as with all of them."""

_TEXTURE_POINTS = 200
"""Number of points that measure which fraction of a piece is inside the scene. A choice: they give it to a
few percent."""

_MAX_SPREAD, _MAX_SPREAD_STEPS = 15.0, 1.5
"""A turn must be known within these ± degrees, or within this many steps between starts if that is more.
Choices: neighbouring turns always fit nearly as well, and for a small or short piece over many degrees."""


@dataclass(frozen=True, eq=False)
class PieceModel:
    """A piece with everything that does not depend on the scene; each property is computed on first use.

    Attributes:
        piece: the piece.
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
        """The resolutions at which poses may be judged, the finest last.

        A body is judged at the finest of them that the scene resolves (`planes.own_resolution`).
        """
        # A limb is judged at its finest resolution only, at which calibration measures what limbs reach by
        # chance.
        return self.stages if self.piece.parent == self.piece.name else self.stages[-1:]

    @cached_property
    def turning(self) -> PlaneMotif:
        """The fitted leaf of a limb at the finest resolution, each pixel weighted by how much it constrains
        the turn."""
        x, y = mapped(self.from_canvas, self.piece.joint)
        pivot = float(x), float(y)
        return finest_stage(self.piece.motif, self.any_polarity, self.piece.covered, pivot)

    @cached_property
    def informative(self) -> PlaneMotif:
        """The fitted leaf at the finest resolution, reduced to the pixels that constrain its pose most."""
        return self._even(CHANNELS).informative(_POLISHED_POINTS)

    @cached_property
    def sharp(self) -> PlaneMotif:
        """The same as `informative` with less smoothing, for the last steps of a fit."""
        return self.exact.informative(_POLISHED_POINTS)

    @cached_property
    def exact(self) -> PlaneMotif:
        """The fitted leaf at the finest resolution with less smoothing and all of its pixels."""
        return self._even(SHARP)

    def _even(self, settings: ChannelSettings) -> PlaneMotif:
        """The fitted leaf at the finest resolution, without a lower weight for straight edges."""
        motif, covered = self.piece.motif, self.piece.covered
        return finest_stage(motif, self.any_polarity, covered, settings=settings, even=True)

    @cached_property
    def fills(self) -> bool:
        """Whether the fitted leaf is a whole picture, with no outline but its border."""
        return self.piece.motif.fills

    @cached_property
    def turn_step(self) -> float:
        """Degrees between starts about the joint, so that from one of them every point is within its
        basin."""
        motif, (x, y) = self.piece.motif, self.piece.fitted_leaf.at
        corners = [(x + i, y + j) for i in (0, motif.width - 1) for j in (0, motif.height - 1)]
        # The corner that is farthest from the joint moves most in a turn.
        reach = max(math.dist(corner, self.piece.joint) for corner in corners)
        return self._step(reach)

    def _step(self, reach: float) -> float:
        """Degrees of the turn that moves a point at a distance `reach` by the width of a basin."""
        # A chord of length b at radius r has the angle 2 asin(b / 2r). The arctangent is nearly the same, and
        # defined for any r.
        return 2 * math.degrees(math.atan2(self.basin / 2, max(reach, 1e-9)))

    @cached_property
    def basin(self) -> float:
        """Width of the basin of attraction of a point at the coarsest resolution, in canvas pixels."""
        # The geometric mean of both directions: the reduction need not be exactly the same in each.
        pixel = 1 / math.sqrt(self.stages[0].from_full[0, 0] * self.stages[0].from_full[1, 1])
        return 2 * BASIN * pixel

    @cached_property
    def max_spread(self) -> float:
        """± degrees within which the turn of the piece must be known for it to count as found."""
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
        # Two limits of the step. The joint of the piece moves by no more than a basin from one turn of the
        # group to the next. And the directions that the piece can have at neighbouring turns of the group
        # leave no gap.
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
        """The fraction of the variance of the fitted leaf that lies inside a scene, for each of its poses.

        Not the fraction of its area: a hammer without its head has most of its area, but looks like any
        stick.
        """
        return share_inside(self._texture_points, poses, size)

    @cached_property
    def _texture_points(self) -> NDArray[np.float64]:
        """Points of the fitted leaf, distributed with a density in proportion to its variance, (N, 2)."""
        motif = self.stages[-1]
        total = (motif.weights.double() * motif.target.double().square().sum(1)).cumsum(0).numpy()
        # Quantiles of the variance, accumulated row by row: inverse transform sampling with evenly spaced
        # values, which is deterministic.
        levels = (np.arange(_TEXTURE_POINTS) + 0.5) / _TEXTURE_POINTS * total[-1]
        return mapped(motif.to_full, motif.places[np.searchsorted(total, levels)])

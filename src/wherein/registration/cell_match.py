"""The match of a motif with a scene if each of its cells may shift a little: for objects that deform.

When a person walks, a face turns or a car drives past, then twenty frames later every part has moved by some
pixels relative to the others, and the background has changed. The ZNCC of all channels together is then a
weak measure. So the motif is divided into overlapping cells, and each cell is compared separately, by its
channels and by its mean colour:

    e_k = max_d [ zncc_k(d) − α |d|² / r² ],   |d_x|, |d_y| ≤ r,      c_k = exp(−|Δ_k|² / 2τ²),

where zncc_k, at least 0, is the ZNCC of the channels of cell k shifted by d, and Δ_k the difference of the
mean colours. A cell that fits in many places of the scene, such as a piece of road or sky, says little about
the place of the motif; a cell that fits in a single place says much. So both measures are standardised by
their mean and standard deviation over the scene:

    s(pose) = Σ_k [ w_k (e_k − mean e_k) / std e_k + β v_k (c_k − mean c_k) / std c_k ].

The middle of the motif has more weight than its rim (a box around an object has background in its corners).
For channels, cells with texture have more weight than those without. Rigid objects lose nothing by this
measure: their cells fit best unshifted. In different light no place has the colours of the motif, and then
the channels decide.

Channels and colours are first averaged over small squares. This makes the comparison with a whole scene ten
times cheaper, and details may move freely inside a square.

Related: deformable part models (Felzenszwalb et al. 2010), best-buddies similarity (Dekel et al. 2015).
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, channels
from wherein.images.motif import Motif
from wherein.planes.plane_descent import patch_of
from wherein.planes.plane_motif import MARGIN
from wherein.planes.rectify import resized, scene_levels
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.registration.motif_cells import SETTINGS, Cells, cells_of, opponent

_REACH, _STIFFNESS = 1, 0.1
"""r, the maximum shift of a cell along each axis in squares, and α, the penalty of a shift by r. Choices."""

_QUIET = 0.02
"""Energy that is added to the scene's for each square, so that flat cells do not fit by their noise. A
choice: the energy of the channels of a weak edge."""

_COLOUR, _MIN_SPREAD = 0.1, 0.05
"""τ, in units of the range of a colour, and the minimum standard deviation over a scene: if no place, or
every place, has the colours of a cell, they carry no information. Choices."""

_NOWHERE = -9.0
"""The colour of places outside the scene: far from all real colours, so that c_k is 0 there."""

_MIN_VISIBLE = 0.6
"""Minimum visible fraction of the motif. A choice."""

_MIN_ELSEWHERE = 4
"""Minimum number of places away from the best one, as a multiple of the motif's number of squares, for the
best to stand out. A choice."""

_MAX_WORK = 12_000_000
"""Maximum number of comparisons of a cell with a place. A choice: half a second. In a larger scene, only the
channels are searched for."""


class CellMatch:
    """Compares a motif with a scene cell by cell.

    Arguments:
        scene: on the CPU.
        motif: at full size.
    """

    def __init__(self, scene: ScenePyramid, motif: Motif) -> None:
        self.scene, self.motif = scene, motif

    @cached_property
    def _own(self) -> Cells | None:
        """The motif's cells; None if it has none, or the scene is too large."""
        own = cells_of(self.motif)
        if own is None:
            return None
        # The number of pixels of the scene at the resolution of the comparison.
        reduced = own.plane.from_full[0, 0] * own.plane.from_full[1, 1] * math.prod(self.scene.size)
        return own if len(own.rows) * reduced / own.square**2 <= _MAX_WORK else None

    @cached_property
    def _map(self) -> "_Map | None":
        return None if self._own is None else _map(self._own, self.scene)

    def rate(self, poses: Poses) -> NDArray[np.float64]:
        """The score s of each pose; −∞ if the motif cannot be compared or lies outside the scene."""
        own, found, scores = self._own, self._map, np.full(len(poses), -np.inf)
        if own is None or found is None:
            return scores
        levels, (width, height), (left, top) = scene_levels(self.scene), own.size, own.begin
        edge = own.square * _REACH  # a border, so that the outermost cells can shift, too
        x, y = MARGIN + left - edge, MARGIN + top - edge
        window = (
            slice(None),
            slice(y, y + height * own.square + 2 * edge),
            slice(x, x + width * own.square + 2 * edge),
        )
        for number, pose in enumerate(poses @ np.linalg.inv(own.plane.from_full)):
            patch = patch_of(levels, own.plane, pose)
            if patch is None or not bool(patch.inside.any()):
                continue
            found_channels = torch.where(patch.inside, patch.channels, 0.0)[window]
            colours = torch.where(patch.inside, opponent(patch.picture), _NOWHERE)[window]
            fits, alike = _evidence(
                own, *(F.avg_pool2d(some, own.square) for some in (found_channels, colours))
            )
            at = torch.arange(len(own.rows)), own.rows + _REACH, own.columns + _REACH
            scores[number] = float(found.total(fits[at], alike[at]))
        return scores

    @cached_property
    def place(self) -> "Place | None":
        """The best place in the scene for the motif, unrotated and at its own size; None: not comparable."""
        own, found = self._own, self._map
        if own is None or found is None or not bool(found.shown.any()):
            return None
        # Shifted to be positive, so that 0 can mark places where too little of the motif lies in the scene.
        lowest = float(found.scores.min()) - 1.0
        ratings = torch.where(found.shown, found.scores - lowest, 0.0)
        row, column = divmod(int(ratings.argmax()), ratings.shape[1])
        # To a fraction of a square, by a parabola along each axis.
        across, down = _vertex(ratings[row], column), _vertex(ratings[:, column], row)
        pose = np.eye(3)
        pose[:2, 2] = (
            (column + across - found.edge[0]) * own.square - own.begin[0],
            (row + down - found.edge[1]) * own.square - own.begin[1],
        )
        best = float(ratings[row, column])
        # The margin over all other places. Those within half a motif are left out: they show the same object.
        (width, height), others = own.size, ratings.clone()
        others[max(0, row - height // 2) : row + height // 2 + 1, :][
            :, max(0, column - width // 2) : column + width // 2 + 1
        ] = 0
        elsewhere = int((others > 0).sum())
        ahead = best - float(others.max()) if elsewhere >= _MIN_ELSEWHERE * width * height else 0.0
        return Place(found.to_full @ pose @ own.plane.from_full, best + lowest, ahead)


@dataclass(frozen=True)
class Place:
    """A place in a scene.

    Attributes:
        pose: motif pixels → scene pixels, (3, 3).
        score: s.
        ahead: the margin over the scores of all places that are at least half a motif away; 0 if there are
            too few such places.
    """

    pose: NDArray[np.float64]
    score: float
    ahead: float


def _vertex(values: Float[Tensor, " N"], at: int) -> float:
    """The offset from a maximum to the vertex of the parabola through it and its two neighbours."""
    if not 0 < at < len(values) - 1 or not float(values[at - 1]) > 0 or not float(values[at + 1]) > 0:
        return 0.0
    before, here, after = values[at - 1 : at + 2].double().tolist()
    bend = before - 2 * here + after
    return 0.5 * (before - after) / bend if bend < 0 else 0.0


@dataclass(frozen=True, eq=False)
class _Map:
    """The scores of a motif at every place of a scene, and the statistics that standardise them.

    Attributes:
        statistics: mean and inverse standard deviation of the evidence of each cell, by channels and by
            colour, each (2, K).
        weights: of the cells, (2, K).
        scores: s at every place.
        shown: at which places enough of the motif lies in the scene.
        edge: number of squares by which the first place lies outside of the scene, across and down.
        to_full: pixels of the reduced scene → pixels at full size.
    """

    statistics: tuple[Float[Tensor, "2 K"], Float[Tensor, "2 K"]]
    weights: Float[Tensor, "2 K"]
    scores: Float[Tensor, "Y X"]
    shown: Bool[Tensor, "Y X"]
    edge: tuple[int, int]
    to_full: NDArray[np.float64]

    def total(self, fits: Float[Tensor, " K"], alike: Float[Tensor, " K"]) -> float:
        """The score s from the evidence of all cells."""
        mean, unit = self.statistics
        return float((self.weights * unit * (torch.stack((fits, alike)) - mean)).sum())


def _map(own: Cells, scene: ScenePyramid) -> _Map | None:
    """The scores at every place where enough of the motif lies in the scene."""
    to_own, (width, height) = own.plane.from_full, own.size
    picture, to_full = resized(scene, 1 / math.sqrt(to_own[0, 0] * to_own[1, 1]))
    if min(picture.shape[1:]) < own.square:
        return None
    found, colours = (
        F.avg_pool2d(some, own.square) for some in (channels(picture, SETTINGS), opponent(picture))
    )
    down, across = found.shape[1:]
    # A border of the part of the motif that may lie outside the scene.
    x, y = (math.ceil((1 - _MIN_VISIBLE) * side) for side in own.size)
    fits, alike = _evidence(own, F.pad(found, (x, x, y, y)), F.pad(colours, (x, x, y, y), value=_NOWHERE))
    # Without the border, which would lower the means.
    statistics = _statistics(fits[:, y : y + down, x : x + across], alike[:, y : y + down, x : x + across])
    mean, unit = statistics
    share = own.weights * unit
    # The weighted evidence of each cell at each of the cell's places, which are then added for each place of
    # the motif. The means are subtracted once, from the sum.
    joint = fits.mul_(share[0, :, None, None]).addcmul_(alike, share[1, :, None, None])
    rows, columns = down + 2 * y - height + 1, across + 2 * x - width + 1
    if rows < 1 or columns < 1:
        return None
    scores = torch.full((rows, columns), -float((share * mean).sum()))
    for one, row, column in zip(joint, own.rows.tolist(), own.columns.tolist(), strict=True):
        scores += one[row : row + rows, column : column + columns]
    shown = _overlap(down, height, y, rows)[:, None] * _overlap(across, width, x, columns)
    return _Map(statistics, own.weights, scores, shown >= _MIN_VISIBLE, (x, y), to_full)


def _statistics(
    fits: Float[Tensor, "K Y X"], alike: Float[Tensor, "K Y X"]
) -> tuple[Float[Tensor, "2 K"], Float[Tensor, "2 K"]]:
    """Mean and inverse standard deviation of the evidence of each cell over a scene."""
    mean = torch.stack([some.mean((1, 2)) for some in (fits, alike)])
    # As E[x²] − E[x]², several times faster than `std`; all values are in [0, 1], so few digits cancel.
    square = torch.stack([some.square().mean((1, 2)) for some in (fits, alike)])
    return mean, 1 / (square - mean.square()).clamp_min(_MIN_SPREAD**2).sqrt()


def _evidence(
    own: Cells, found: Float[Tensor, "8 Y X"], colours: Float[Tensor, "O Y X"]
) -> tuple[Float[Tensor, "K _ _"], Float[Tensor, "K _ _"]]:
    """The evidence of each cell at each place: e_k by its channels and c_k by its colour."""
    return _with_shifts(_scores(own, found)), _alike(own, colours)


def _alike(own: Cells, colours: Float[Tensor, "O H W"]) -> Float[Tensor, "K _ _"]:
    """The similarity c_k of the mean colours of each cell and of the scene, at every place."""
    down, across = own.kernels.shape[-2:]
    mean = F.avg_pool2d(colours[None], (down, across), 1)[0]
    # |m − c|² = |m|² − 2 m·c + |c|², which needs a third of the memory of the differences.
    apart = torch.einsum("ko,oyx->kyx", own.colours, mean).mul_(-2).add_(mean.square().sum(0))
    return apart.add_(own.colours.square().sum(1)[:, None, None]).div_(-2 * _COLOUR**2).exp_()


def _scores(own: Cells, found: Float[Tensor, "8 H W"]) -> Float[Tensor, "K _ _"]:
    """ZNCC of every cell at every place, at least 0."""
    # The kernels have zero mean and unit norm, so their product with the scene needs no further centring,
    # and only the scene's centred energy is divided by.
    product = F.conv2d(found[None], own.kernels)[0]
    sums = F.conv2d(torch.stack((found.sum(0), found.square().sum(0)))[:, None], own.masks)
    count = own.masks.sum((1, 2, 3))[:, None, None]
    energy = sums[1] - sums[0].square() / (DIRECTIONS * count).clamp_min(1e-6)
    return product.clamp_min_(0).mul_((energy.clamp_min(0) + _QUIET * count).rsqrt())


def _with_shifts(scores: Float[Tensor, "K H W"]) -> Float[Tensor, "K H W"]:
    """The best score of each cell over its shifts, e_k; the axes are separate, as the penalty is a sum."""
    for axis in (1, 2):
        best = scores.clone()
        for shift in range(1, min(_REACH, scores.shape[axis] - 1) + 1):
            cost, size = _STIFFNESS * shift**2 / _REACH**2, scores.shape[axis] - shift
            ahead, behind = scores.narrow(axis, shift, size), scores.narrow(axis, 0, size)
            first, last = best.narrow(axis, 0, size), best.narrow(axis, shift, size)
            torch.maximum(first, ahead - cost, out=first)
            torch.maximum(last, behind - cost, out=last)
        scores = best
    return scores


def _overlap(scene: int, motif: int, edge: int, count: int) -> Float[Tensor, " _"]:
    """The fraction of the motif that lies in the scene along one axis, at each of `count` places."""
    begin = torch.arange(count) - edge
    return ((begin + motif).clamp_max(scene) - begin.clamp_min(0)).clamp_min(0) / motif

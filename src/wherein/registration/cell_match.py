"""How well a motif fits a scene if each of its cells may shift a little: for things that deform.

A person who walks, a face that turns, a car that drives past: twenty frames later every part of it has moved
by some pixels against the others, and what lies behind it has changed. The ZNCC of all channels together then
says little. So the motif is divided into overlapping cells, and each is compared on its own, by its channels
and by its mean colour:

    e_k = max_d [ zncc_k(d) − α |d|² / r² ],   |d_x|, |d_y| ≤ r,      c_k = exp(−|Δ_k|² / 2τ²),

where zncc_k, at least 0, is that of the channels of cell k when it is shifted by d, and Δ_k the difference of
mean colours. A cell that fits in many places of the scene, such as a stretch of road or of sky, says little
where it fits; one that fits in a single place says much. So both are counted in units of their standard
deviation over the scene, from their mean:

    s(pose) = Σ_k [ w_k (e_k − mean e_k) / std e_k + β v_k (c_k − mean c_k) / std c_k ].

The middle of the motif counts more than its rim (a box around a thing has background in its corners), and by
channels, cells with texture more than those without. A rigid thing loses nothing by this: its cells fit best
unshifted. In other light no place has the colours of the motif, and then the channels decide.

Channels and colours are averaged over small squares first, which makes the comparison of a whole scene ten
times cheaper, and lets what is inside of a square move freely.

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
"""r, how far a cell may shift along each axis in squares, and α, what it costs to shift by that. Choices."""

_QUIET = 0.02
"""Energy for each square that is added to that of the scene: flat cells must not fit by their noise. A
choice: that of the channels of a weak edge."""

_COLOUR, _MIN_SPREAD = 0.1, 0.05
"""τ, in units of the range of a colour, and the minimum standard deviation over a scene: where no place, or
every place, has the colours of a cell, they say nothing. Choices."""

_NOWHERE = -9.0
"""A colour that nothing has: that of places outside of the scene."""

_MIN_VISIBLE = 0.6
"""Minimum fraction of the motif that must lie in the scene. A choice."""

_MIN_ELSEWHERE = 4
"""How many times as many places as the motif has squares must there be elsewhere, for the best to stand out.
A choice."""

_MAX_WORK = 12_000_000
"""Maximum number of comparisons of a cell with a place. A choice: half a second. In a larger scene the motif
is so small that a first look by features has to do."""


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
        """The cells; None if the motif has none, or the scene is too large."""
        own = cells_of(self.motif)
        if own is None:
            return None
        reduced = own.plane.from_full[0, 0] * own.plane.from_full[1, 1] * math.prod(self.scene.size)
        return own if len(own.rows) * reduced / own.square**2 <= _MAX_WORK else None

    @cached_property
    def _map(self) -> "_Map | None":
        return None if self._own is None else _map(self._own, self.scene)

    def rate(self, poses: Poses) -> NDArray[np.float64]:
        """The score s of each pose; −∞ where the motif is not in the scene."""
        own, found, scores = self._own, self._map, np.full(len(poses), -np.inf)
        if own is None or found is None:
            return scores
        levels, (width, height), (left, top) = scene_levels(self.scene), own.size, own.begin
        edge = own.square * _REACH
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
            seen = torch.where(patch.inside, patch.channels, 0.0)[window]
            painted = torch.where(patch.inside, opponent(patch.picture), _NOWHERE)[window]
            fits, alike = _evidence(own, *(F.avg_pool2d(some, own.square) for some in (seen, painted)))
            at = torch.arange(len(own.rows)), own.rows + _REACH, own.columns + _REACH
            scores[number] = float(found.total(fits[at], alike[at]))
        return scores

    @cached_property
    def place(self) -> "Place | None":
        """The best place of the whole scene for the motif unrotated and at its own size; None where it cannot
        be compared."""
        own, found = self._own, self._map
        if own is None or found is None or not bool(found.shown.any()):
            return None
        # Above 0 everywhere: what is not in the scene has 0.
        lowest = float(found.scores.min()) - 1.0
        ratings = torch.where(found.shown, found.scores - lowest, 0.0)
        row, column = divmod(int(ratings.argmax()), ratings.shape[1])
        across, down = _vertex(ratings[row], column), _vertex(ratings[:, column], row)
        pose = np.eye(3)
        pose[:2, 2] = (
            (column + across - found.edge[0]) * own.square - own.begin[0],
            (row + down - found.edge[1]) * own.square - own.begin[1],
        )
        best = float(ratings[row, column])
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
        ahead: by how much that exceeds the scores of all places at least half a motif away; 0 if there are
            too few of these to tell.
    """

    pose: NDArray[np.float64]
    score: float
    ahead: float


def _vertex(values: Float[Tensor, " N"], at: int) -> float:
    """Where the parabola through a maximum and its neighbours is highest, from the maximum."""
    if not 0 < at < len(values) - 1 or not float(values[at - 1]) > 0 or not float(values[at + 1]) > 0:
        return 0.0
    before, here, after = values[at - 1 : at + 2].double().tolist()
    bend = before - 2 * here + after
    return 0.5 * (before - after) / bend if bend < 0 else 0.0


@dataclass(frozen=True, eq=False)
class _Map:
    """The scores of a motif at every place of a scene, and what is usual there.

    Attributes:
        usual: mean and inverse standard deviation of the evidence of each cell, by channels and by colour,
            each (2, K).
        weights: of the cells, (2, K).
        scores: s at every place.
        shown: which places count.
        edge: number of squares by which the first place lies outside of the scene, across and down.
        to_full: pixels of the reduced scene → pixels at full size.
    """

    usual: tuple[Float[Tensor, "2 K"], Float[Tensor, "2 K"]]
    weights: Float[Tensor, "2 K"]
    scores: Float[Tensor, "Y X"]
    shown: Bool[Tensor, "Y X"]
    edge: tuple[int, int]
    to_full: NDArray[np.float64]

    def total(self, fits: Float[Tensor, " K"], alike: Float[Tensor, " K"]) -> float:
        """The score of the evidence of all cells."""
        mean, unit = self.usual
        return float((self.weights * unit * (torch.stack((fits, alike)) - mean)).sum())


def _map(own: Cells, scene: ScenePyramid) -> _Map | None:
    """The scores at every place where enough of the motif lies in the scene."""
    to_own, (width, height) = own.plane.from_full, own.size
    picture, to_full = resized(scene, 1 / math.sqrt(to_own[0, 0] * to_own[1, 1]))
    if min(picture.shape[1:]) < own.square:
        return None
    seen, painted = (
        F.avg_pool2d(some, own.square) for some in (channels(picture, SETTINGS), opponent(picture))
    )
    down, across = seen.shape[1:]
    x, y = (math.ceil((1 - _MIN_VISIBLE) * side) for side in own.size)
    fits, alike = _evidence(own, F.pad(seen, (x, x, y, y)), F.pad(painted, (x, x, y, y), value=_NOWHERE))
    usual = _usual(fits[:, y : y + down, x : x + across], alike[:, y : y + down, x : x + across])
    mean, unit = usual
    share = own.weights * unit
    # One map for each cell: what it says at each of its own places.
    joint = fits.mul_(share[0, :, None, None]).addcmul_(alike, share[1, :, None, None])
    rows, columns = down + 2 * y - height + 1, across + 2 * x - width + 1
    if rows < 1 or columns < 1:
        return None
    scores = torch.full((rows, columns), -float((share * mean).sum()))
    for one, row, column in zip(joint, own.rows.tolist(), own.columns.tolist(), strict=True):
        scores += one[row : row + rows, column : column + columns]
    shown = _overlap(down, height, y, rows)[:, None] * _overlap(across, width, x, columns)
    return _Map(usual, own.weights, scores, shown >= _MIN_VISIBLE, (x, y), to_full)


def _usual(
    fits: Float[Tensor, "K Y X"], alike: Float[Tensor, "K Y X"]
) -> tuple[Float[Tensor, "2 K"], Float[Tensor, "2 K"]]:
    """Mean and inverse standard deviation over a scene of the evidence of each cell."""
    mean = torch.stack([some.mean((1, 2)) for some in (fits, alike)])
    # As sums of squares, which is several times faster than torch's own; all values are between 0 and 1.
    square = torch.stack([some.square().mean((1, 2)) for some in (fits, alike)])
    return mean, 1 / (square - mean.square()).clamp_min(_MIN_SPREAD**2).sqrt()


def _evidence(
    own: Cells, seen: Float[Tensor, "8 Y X"], painted: Float[Tensor, "O Y X"]
) -> tuple[Float[Tensor, "K _ _"], Float[Tensor, "K _ _"]]:
    """How well each cell fits at each place, by its channels and by its colour."""
    return _stretched(_scores(own, seen)), _alike(own, painted)


def _alike(own: Cells, colours: Float[Tensor, "O H W"]) -> Float[Tensor, "K _ _"]:
    """How alike the mean colours of each cell and of the scene are, at every place."""
    down, across = own.kernels.shape[-2:]
    mean = F.avg_pool2d(colours[None], (down, across), 1)[0]
    # |m − c|² = |m|² − 2 m·c + |c|², which takes a third of the memory.
    apart = torch.einsum("ko,oyx->kyx", own.colours, mean).mul_(-2).add_(mean.square().sum(0))
    return apart.add_(own.colours.square().sum(1)[:, None, None]).div_(-2 * _COLOUR**2).exp_()


def _scores(own: Cells, found: Float[Tensor, "8 H W"]) -> Float[Tensor, "K _ _"]:
    """ZNCC of every cell at every place, at least 0."""
    product = F.conv2d(found[None], own.kernels)[0]
    sums = F.conv2d(torch.stack((found.sum(0), found.square().sum(0)))[:, None], own.masks)
    count = own.masks.sum((1, 2, 3))[:, None, None]
    energy = sums[1] - sums[0].square() / (DIRECTIONS * count).clamp_min(1e-6)
    return product.clamp_min_(0).mul_((energy.clamp_min(0) + _QUIET * count).rsqrt())


def _stretched(scores: Float[Tensor, "K H W"]) -> Float[Tensor, "K H W"]:
    """The best score of each cell within its reach: along y, then along x, as the penalty is a sum."""
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
    """How much of the motif lies in the scene along one axis, at each of `count` places."""
    begin = torch.arange(count) - edge
    return ((begin + motif).clamp_max(scene) - begin.clamp_min(0)).clamp_min(0) / motif

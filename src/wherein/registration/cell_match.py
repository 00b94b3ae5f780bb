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

    s(pose) = Σ_k w_k [ (e_k − mean e_k) / std e_k + (c_k − mean c_k) / std c_k ].

The middle of the motif counts more than its rim (a box around a thing has background in its corners), and
cells with texture more than those without. A rigid thing loses nothing by this: its cells fit best unshifted.
In other light no place has the colours of the motif, and then the channels decide.

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

from wherein.images.channels import DIRECTIONS, ChannelSettings, channels
from wherein.images.motif import Motif
from wherein.planes.features import peaks
from wherein.planes.plane_fit import Patch, patch_of
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.planes.rectify import resized, scene_levels
from wherein.pyramid.levels import Poses, ScenePyramid

_RADIUS, _SETTINGS = 16.0, ChannelSettings(sigma=1.0)
"""Extent of the motif at the resolution of the comparison in pixels, and its channels. Choices, by AUC on
../shared/real/pairs (pairs.py there)."""

_CELL, _STEP = 7, 3.5
"""Width and height of a cell, and from one to the next, in pixels. Choices, likewise."""

_REACH, _STIFFNESS = 2, 0.1
"""r, how far a cell may shift along each axis in pixels, and α, what it costs to shift by that."""

_QUIET = 0.02
"""Energy for each pixel that is added to that of the scene: flat cells must not fit by their noise. A choice:
that of the channels of a weak edge."""

_COLOUR, _MIN_SPREAD = 0.1, 0.05
"""τ, in units of the range of a colour, and the minimum standard deviation over a scene: where no place, or
every place, has the colours of a cell, they say nothing. Choices."""

_NOWHERE = -9.0
"""A colour that nothing has: that of places outside of the scene."""

_MIN_VISIBLE = 0.6
"""Minimum fraction of the motif that must lie in the scene. A choice."""

_MAX_PLACES = 300_000
"""Maximum number of places of a scene at that resolution. A choice: half a second. In a larger scene the
motif is so small that a first look by features has to do."""


@dataclass(frozen=True, eq=False)
class _Cells:
    """The cells of a motif.

    Attributes:
        plane: the motif at the resolution of the comparison.
        corners: the first row and column of each cell, (K, 2).
        kernels: its channels, with mean 0 and norm 1 inside the mask, (K, 8, c, c).
        masks: which of its pixels are compared, (K, 1, c, c), or (1, 1, c, c) if all are.
        colours: mean lightness and opponent colours of each, (K, 3), or (K, 1) for a grey picture.
        weights: (K,), of sum 1.
    """

    plane: PlaneMotif
    corners: list[tuple[int, int]]
    kernels: Float[Tensor, "K 8 c d"]
    masks: Float[Tensor, "_ 1 c d"]
    colours: Float[Tensor, "K O"]
    weights: Float[Tensor, " K"]


def _opponent(picture: Float[Tensor, "C H W"]) -> Float[Tensor, "O H W"]:
    """Lightness, at half weight as it depends on the light most; red against green, yellow against blue."""
    if len(picture) < 3:
        return 0.5 * picture[:1]
    red, green, blue = picture[:3]
    return torch.stack(((red + green + blue) / 6, red - green, (red + green) / 2 - blue))


def _cells(motif: Motif) -> _Cells | None:
    """The cells of a motif; None if no cell has enough pixels."""
    plane = PlaneMotif.of(motif, _RADIUS, _SETTINGS)
    (width, height), inner = plane.size, slice(MARGIN, -MARGIN)
    found, inside = plane.channels[:, inner, inner], _compared(plane)
    across, down = min(_CELL, width), min(_CELL, height)
    corners = [(y, x) for y in _spread(height - down) for x in _spread(width - across)]
    windows = [(slice(None), slice(y, y + down), slice(x, x + across)) for y, x in corners]
    kernels, masks = (
        torch.stack([some[window] for window in windows]) for some in (found, inside[None].float())
    )
    count = masks.sum((1, 2, 3), keepdim=True)
    mean = (masks * kernels).sum((1, 2, 3), keepdim=True) / (DIRECTIONS * count).clamp_min(1)
    kernels = masks * (kernels - mean)
    norm = kernels.square().sum((1, 2, 3), keepdim=True).sqrt()
    # The rim counts less: a box around a thing has its background in the corners.
    middle = torch.tensor([(y + down / 2, x + across / 2) for y, x in corners])
    away = ((middle / torch.tensor((height, width)) - 0.5) * 2).square().sum(1)
    weights = (-away).exp() * norm.flatten() * (count.flatten() >= 0.5 * across * down)
    if not bool(weights.sum() > 0):
        return None
    painted = torch.stack([_opponent(_picture(motif, plane))[window] for window in windows])
    colours = (masks * painted).sum((2, 3)) / count[..., 0, 0].clamp_min(1)
    # Cells outside of the mask, or without any texture, would be compared in vain.
    used = torch.nonzero(weights > 0)[:, 0]
    return _Cells(
        plane,
        [corners[index] for index in used.tolist()],
        (kernels / norm.clamp_min(1e-9))[used],
        masks[:1] if bool(masks.all()) else masks[used],
        colours[used],
        (weights / weights.sum())[used],
    )


def _picture(motif: Motif, plane: PlaneMotif) -> Float[Tensor, "C h w"]:
    """The motif's colours at the resolution of the comparison."""
    width, height = plane.size
    planes = F.interpolate(torch.cat((motif.masked, motif.mask[None]))[None], (height, width), mode="area")[0]
    return planes[:-1] / planes[-1].clamp_min(1e-3)


def _compared(plane: PlaneMotif) -> Bool[Tensor, "h w"]:
    """The pixels inside the motif, without its outline, where what lies behind it shows."""
    width, height = plane.size
    inside = torch.zeros(height, width, dtype=torch.bool)
    places = plane.points.double() * plane.radius + plane.points.new_tensor(plane.centre).double()
    columns, rows = places.round().long()[~plane.unsigned].unbind(1)
    kept = (columns >= 0) & (rows >= 0) & (columns < width) & (rows < height)
    inside[rows[kept], columns[kept]] = True
    # The border pixels of a picture without a mask, which a fit leaves out, are as good as the others here.
    return torch.ones_like(inside) if not bool(plane.unsigned.any()) and _whole(plane) else inside


def _whole(plane: PlaneMotif) -> bool:
    width, height = plane.size
    return len(plane.points) >= max(1, width - 2) * max(1, height - 2)


def _spread(room: int) -> list[int]:
    """Corners of cells along one axis, from 0 to `room`, about `_STEP` apart."""
    count = max(1, math.ceil(room / _STEP) + 1)
    return sorted({round(k) for k in np.linspace(0, room, count)})


class CellMatch:
    """Compares a motif with a scene cell by cell.

    Arguments:
        scene: on the CPU.
        motif: at full size.
    """

    def __init__(self, scene: ScenePyramid, motif: Motif) -> None:
        self.scene, self.motif = scene, motif

    @cached_property
    def _own(self) -> _Cells | None:
        """The cells; None if the motif has none, or the scene is too large."""
        own = _cells(self.motif)
        if own is None:
            return None
        reduced = own.plane.from_full[0, 0] * own.plane.from_full[1, 1] * math.prod(self.scene.size)
        return own if reduced <= _MAX_PLACES else None

    def rate(self, poses: Poses) -> NDArray[np.float64]:
        """The score s of each pose; −∞ where the motif is not in the scene."""
        own, scores = self._own, np.full(len(poses), -np.inf)
        if own is None or self._usual is None:
            return scores
        levels = scene_levels(self.scene)
        for number, pose in enumerate(poses @ np.linalg.inv(own.plane.from_full)):
            patch = patch_of(levels, own.plane, pose)
            if patch is not None and bool(patch.inside.any()):
                scores[number] = float(self._usual.total(own.weights, *_at(own, patch)))
        return scores

    @cached_property
    def _usual(self) -> "_Usual | None":
        """What is usual in this scene, for the motif at its own size."""
        own = self._own
        return None if own is None else _usual(*self._at_own_size[:3])

    @cached_property
    def _at_own_size(self) -> "_Evidence":
        assert self._own is not None
        return self._evidence(self._own, 1.0)

    def places(self, scale: float, count: int) -> tuple[Poses, NDArray[np.float64]]:
        """The best places of the whole scene for the motif unrotated at one size, and their scores.

        Arguments:
            scale: size in the scene relative to the motif.
            count: maximum number of places.
        """
        own = self._own
        if own is None or self._usual is None:
            return np.zeros((0, 3, 3)), np.zeros(0)
        cells, colours, shown, to_full = self._at_own_size if scale == 1 else self._evidence(own, scale)
        total = self._usual.total(own.weights, cells, colours)
        # Above 0 everywhere, as maxima are: what is not in the scene has 0.
        lowest = float(total.min()) - 1.0
        rows, columns, values = peaks(torch.where(shown, total - lowest, 0.0), count)
        width, height = own.plane.size
        poses = np.tile(np.eye(3), (len(values), 1, 1))
        poses[:, 0, 2], poses[:, 1, 2] = columns.numpy() - width, rows.numpy() - height
        return to_full @ poses @ own.plane.from_full, values.double().numpy() + lowest

    def _evidence(self, own: _Cells, scale: float) -> "_Evidence":
        """Of each cell at every place by channels and by colour, which places count, and their matrix.

        The first place is where the motif ends just outside of the scene.
        """
        to_own, (width, height) = own.plane.from_full, own.plane.size
        picture, to_full = resized(self.scene, scale / math.sqrt(to_own[0, 0] * to_own[1, 1]))
        rows, columns = picture.shape[1] + height + 1, picture.shape[2] + width + 1
        edge = (width, width, height, height)
        scores = _stretched(_scores(own, F.pad(channels(picture, _SETTINGS), edge)))
        alike = _alike(own, F.pad(_opponent(picture), edge, value=_NOWHERE))
        cells, colours = (
            torch.stack(
                [one[y : y + rows, x : x + columns] for one, (y, x) in zip(some, own.corners, strict=True)]
            )
            for some in (scores, alike)
        )
        shown = _overlap(picture.shape[1], height)[:, None] * _overlap(picture.shape[2], width)
        return cells, colours, shown >= _MIN_VISIBLE, to_full


_Evidence = tuple[Float[Tensor, "K Y X"], Float[Tensor, "K Y X"], Bool[Tensor, "Y X"], NDArray[np.float64]]
"""As `CellMatch._evidence` returns it."""


@dataclass(frozen=True, eq=False)
class _Usual:
    """Mean and inverse standard deviation over a scene of the evidence of each cell, each (K,)."""

    cells: tuple[Float[Tensor, " K"], Float[Tensor, " K"]]
    colours: tuple[Float[Tensor, " K"], Float[Tensor, " K"]]

    def total(
        self, weights: Float[Tensor, " K"], cells: Float[Tensor, "K *S"], colours: Float[Tensor, "K *S"]
    ) -> Float[Tensor, "*S"]:
        """The weighted sum of the evidence, in units of the standard deviation, from the mean."""
        found = torch.zeros_like(cells[0])
        for some, (mean, unit) in ((cells, self.cells), (colours, self.colours)):
            share = weights * unit
            found += torch.tensordot(share, some, 1) - float((share * mean).sum())
        return found


def _usual(
    cells: Float[Tensor, "K Y X"], colours: Float[Tensor, "K Y X"], shown: Bool[Tensor, "Y X"]
) -> _Usual | None:
    if int(shown.sum()) < 2:
        return None

    def of(some: Tensor) -> tuple[Tensor, Tensor]:
        values = some[:, shown]
        return values.mean(1), 1 / values.std(1).clamp_min(_MIN_SPREAD)

    return _Usual(of(cells), of(colours))


def _at(own: _Cells, patch: Patch) -> tuple[Float[Tensor, " K"], Float[Tensor, " K"]]:
    """The evidence of each cell in a patch of the scene, by channels and by colour."""
    scores = _scores(own, torch.where(patch.inside, patch.channels, 0.0))
    alike = _alike(own, torch.where(patch.inside, _opponent(patch.picture), _NOWHERE))
    first, size = MARGIN - _REACH, 2 * _REACH + 1
    near = [scores[k, y + first :, x + first :][:size, :size] for k, (y, x) in enumerate(own.corners)]
    best = (torch.stack(near) - _penalty()).amax((1, 2))
    return best, torch.stack([alike[k, y + MARGIN, x + MARGIN] for k, (y, x) in enumerate(own.corners)])


def _alike(own: _Cells, colours: Float[Tensor, "O H W"]) -> Float[Tensor, "K _ _"]:
    """How alike the mean colours of each cell and of the scene are, at every place."""
    down, across = own.kernels.shape[-2:]
    mean = F.avg_pool2d(colours[None], (down, across), 1)[0]
    # |m − c|² = |m|² − 2 m·c + |c|², which takes a third of the memory.
    apart = torch.einsum("ko,oyx->kyx", own.colours, mean).mul_(-2).add_(mean.square().sum(0))
    return apart.add_(own.colours.square().sum(1)[:, None, None]).div_(-2 * _COLOUR**2).exp_()


def _scores(own: _Cells, found: Float[Tensor, "8 H W"]) -> Float[Tensor, "K _ _"]:
    """ZNCC of every cell at every place, at least 0."""
    product = F.conv2d(found[None], own.kernels)[0]
    sums = F.conv2d(torch.stack((found.sum(0), found.square().sum(0)))[:, None], own.masks)
    count = own.masks.sum((1, 2, 3))[:, None, None]
    energy = sums[1] - sums[0].square() / (DIRECTIONS * count).clamp_min(1)
    return product.clamp_min_(0).div_((energy.clamp_min(0) + _QUIET * count).sqrt())


def _penalty() -> Float[Tensor, "_ _"]:
    square = torch.arange(-_REACH, _REACH + 1).square() * (_STIFFNESS / _REACH**2)
    return square[:, None] + square


def _stretched(scores: Float[Tensor, "K H W"]) -> Float[Tensor, "K H W"]:
    """The best score of each cell within its reach: along y, then along x, as the penalty is a sum."""
    for axis in (1, 2):
        best = scores.clone()
        for shift in range(1, _REACH + 1):
            cost, size = _STIFFNESS * shift**2 / _REACH**2, scores.shape[axis] - shift
            ahead, behind = scores.narrow(axis, shift, size), scores.narrow(axis, 0, size)
            first, last = best.narrow(axis, 0, size), best.narrow(axis, shift, size)
            torch.maximum(first, ahead - cost, out=first)
            torch.maximum(last, behind - cost, out=last)
        scores = best
    return scores


def _overlap(scene: int, motif: int) -> Float[Tensor, " _"]:
    """How much of the motif lies in the scene along one axis, at each place of `_map`."""
    begin = torch.arange(scene + motif + 1) - motif
    return ((begin + motif).clamp_max(scene) - begin.clamp_min(0)).clamp_min(0) / motif

"""What a piece tells where something is in front of it.

A patch over a sixth of a motif can bring its ZNCC from 0.98 down to 0.5: gain and bias of the light follow
the patch. But the patch lies in some cells of the motif, and all others fit as before. So of the cells those
that fit worst are left out, and the rest counts by its share of the texture,

    ℓ = max over shares v of  τ(Ω_v) · −ln(1 − ρ(Ω_v)²),    τ(Ω_v) = Σ_{Ω_v} (x − x̄)² / Σ_Ω (x − x̄)² ≤ v,

Ω_v being the cells, v of all in sight, whose residual under a common gain and bias is least for their
texture: least trimmed squares by cells, found by alternating fit and choice (Rousseeuw's C-steps). Clutter
gains little by it, since what fits by chance fits nowhere well; calibration measures how much.
"""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.piece_search import EUCLIDEAN, PieceModel, maybe_occluded
from wherein.detect.score import MAX_ZNCC, information
from wherein.motion.field import transform
from wherein.pyramid.descent import Fits
from wherein.pyramid.levels import Poses, ScenePyramid, enlarge, reduce

_SHARES = (0.75, 0.5)
"""Of the cells in sight that are kept."""

_CELLS, _CELL, _LEAST = 6, 4, 9
"""Cells along each axis at most, pixels across them at least, and how many a piece must have to be asked."""

_ROUNDS, _POINTS = 4, 600

_Array = NDArray[np.float64]

_QUIET = 0.25
"""Of the motif's mean texture: what a cell without any counts as having."""


def piece_evidence(scene: ScenePyramid, model: PieceModel, found: Fits) -> NDArray[np.float64]:
    """ℓ of H poses of a piece: of all of it, or of what is not covered where that says more; 0 where the
    piece is not.

    Arguments:
        scene: where it is.
        model: the piece.
        found: poses, leaf pixels → scene, and their ZNCC.
    """
    told, asked = information(found.zncc), maybe_occluded(found)
    if len(asked):
        cells = _cells(model)
        if len(cells.unique()) >= _LEAST:
            told[asked] = np.maximum(told[asked], _uncovered(scene, model, found.poses[asked], cells))
    return told


def _points(model: PieceModel) -> Float[Tensor, "N 2"]:
    side = model.pyramid.side(model.scoring_scale, EUCLIDEAN, _POINTS)
    return side.points + side.centre


def _cells(model: PieceModel) -> Int[Tensor, " N"]:
    """The number of each point's cell."""
    points = _points(model)
    low = points.amin(0)
    size = points.amax(0) - low + 1
    count = (size / _CELL).floor().clamp(1, _CELLS)
    column, row = ((points - low) / size * count).floor().long().unbind(-1)
    return row * _CELLS + column


def _uncovered(
    scene: ScenePyramid, model: PieceModel, poses: Poses, cells: Int[Tensor, " N"]
) -> NDArray[np.float64]:
    factor, points = model.scoring_scale, _points(model)
    x = model.pyramid.side(factor, EUCLIDEAN, _POINTS).known[..., -1].double()
    frames = torch.from_numpy(reduce(factor) @ poses @ enlarge(factor))
    z, inside = _sampled(scene.surface(factor).scene, transform(frames, points.double()))
    member = F.one_hot(cells, _CELLS**2).double()
    return _Sums(x.numpy(), z.numpy(), inside.numpy(), member.numpy()).information()


def _sampled(
    scene: Float[Tensor, "C H W"], places: Float[Tensor, "B N 2"]
) -> tuple[Float[Tensor, "B N C"], Float[Tensor, "B N"]]:
    """The scene at places, and which of them are in it. Linear interpolation is enough to compare."""
    size = places.new_tensor((scene.shape[-1] - 1, scene.shape[-2] - 1)).clamp_min(1)
    inside = ((places >= 0) & (places <= size)).all(-1)
    grid = (2 * places / size - 1).to(scene.dtype)
    z = F.grid_sample(scene[None], grid[None], align_corners=True)[0]
    return z.permute(1, 2, 0).double(), inside.double()


class _Sums:
    """Moments of motif and scene over cells, and what follows for any choice of cells.

    In numpy: of arrays as small as these, torch's calls take longer than their work.

    Arguments:
        x: (N, C) of the motif.
        z: (B, N, C) of the scene.
        inside: (B, N), 1 where the scene is.
        member: (N, K), 1 where a point is in a cell.
    """

    def __init__(self, x: _Array, z: _Array, inside: _Array, member: _Array) -> None:
        same = np.broadcast_to(x, z.shape)
        planes = np.concatenate(
            (
                np.ones_like(z[..., :1]),
                (x * x).sum(-1, keepdims=True) + np.zeros_like(z[..., :1]),
                (z * z).sum(-1, keepdims=True),
                (x * z).sum(-1, keepdims=True),
                same,
                z,
            ),
            -1,
        )
        sums = (planes * inside[..., None]).transpose(0, 2, 1) @ member
        # Every share by itself, one after the other along the first axis.
        sums = np.tile(sums, (len(_SHARES), 1, 1))
        channels = x.shape[-1]
        self.count, self.xx, self.zz, self.xz = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3]
        self.x, self.z = sums[:, 4 : 4 + channels], sums[:, 4 + channels :]
        self.share = np.repeat(_SHARES, len(z))[:, None]
        self.texture = float(((x - x.mean(0)) ** 2).sum())
        points = np.maximum(self.count, 1)
        own = (self.xx - (self.x**2).sum(1) / points) / points
        self.loudness = points * (own + _QUIET * self.texture / len(x))

    def information(self) -> _Array:
        """ℓ of the cells that fit best, (B,), of the share that tells the most."""
        kept = (self.count > 0).astype(np.float64)
        for _ in range(_ROUNDS):
            kept = self._best(self._residuals(kept))
        own, power, both, _, _ = self._fit(kept)
        rho = np.clip(both / np.sqrt(np.maximum(own * power, 1e-12)), 0.0, MAX_ZNCC)
        told = np.clip(own / self.texture, 0.0, self.share[:, 0]) * -np.log1p(-(rho**2))
        return np.asarray(told.reshape(len(_SHARES), -1).max(0))

    def _fit(self, kept: _Array) -> tuple[_Array, _Array, _Array, _Array, _Array]:
        """Σ(x − x̄)², Σ(z − z̄)², Σ(x − x̄)(z − z̄), and both means, over the cells that are kept."""
        chosen = kept[..., None]
        n = np.maximum((kept * self.count).sum(1), 1)
        x, z = (self.x @ chosen)[..., 0] / n[:, None], (self.z @ chosen)[..., 0] / n[:, None]
        xx, zz, xz = ((kept * sums).sum(1) for sums in (self.xx, self.zz, self.xz))
        return xx - n * (x * x).sum(1), zz - n * (z * z).sum(1), xz - n * (x * z).sum(1), x, z

    def _residuals(self, kept: _Array) -> _Array:
        """Mean of (z − α x − β)² in each cell over its own texture, α and β from the cells that are kept; ∞
        where it is empty. Of an edge more is left by noise and interpolation than of a plain surface."""
        own, _, both, x, z = self._fit(kept)
        gain = np.maximum(both / np.maximum(own, 1e-12), 0.0)[:, None]
        bias = z - gain * x
        square = self.zz - 2 * gain * self.xz + gain**2 * self.xx
        cross = (bias[..., None] * (gain[..., None] * self.x - self.z)).sum(1)
        total = square + 2 * cross + self.count * (bias**2).sum(1, keepdims=True)
        return np.where(self.count > 0, total / self.loudness, np.inf)

    def _best(self, residuals: _Array) -> _Array:
        """Which cells are kept: those with the least residuals, up to a share of all points."""
        order = residuals.argsort(axis=1, kind="stable")
        sizes = np.take_along_axis(self.count, order, 1)
        within = (sizes.cumsum(1) <= self.share * sizes.sum(1, keepdims=True) + 1e-9) & (sizes > 0)
        kept = np.zeros_like(self.count)
        np.put_along_axis(kept, order, within.astype(np.float64), 1)
        return kept

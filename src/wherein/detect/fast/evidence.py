"""The evidence of a piece that may be partly occluded.

An occluder over a sixth of a motif can lower its ZNCC from 0.98 to 0.5, because the estimates of gain and
bias follow the occluder. But it covers some cells of the motif only, and all others fit as before. So the
cells that fit worst are left out, and the rest counts by its share of the texture,

    ℓ = max over fractions v of  τ(Ω_v) · −ln(1 − ρ(Ω_v)²),    τ(Ω_v) = Σ_{Ω_v} (x − x̄)² / Σ_Ω (x − x̄)² ≤ v,

where Ω_v are the cells, a fraction v of those inside the scene, with the smallest residual under a common
gain and bias, relative to their texture: least trimmed squares by cells, found by alternating fit and
selection (Rousseeuw's C-steps). Clutter gains little from this, since what fits by chance fits well
nowhere; calibration measures how much.
"""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.piece_model import Cells, PieceModel
from wherein.detect.fast.piece_search import maybe_occluded
from wherein.detect.score import MAX_ZNCC, information
from wherein.pyramid.descent import Fits
from wherein.pyramid.levels import Poses, ScenePyramid, enlarge, reduce

_KEPT_FRACTIONS = (0.75, 0.5)
"""Fractions v of the visible cells that are kept. A choice: occluders of up to a quarter, and up to a
half."""

_ROUNDS = 4
"""Rounds of fit and selection. A choice: C-steps converge in a few rounds."""

_MIN_TEXTURE = 0.25
"""Fraction of the motif's mean texture that every cell counts as having at least. A choice: without it, the
noise in a flat cell would look like a misfit."""

_Array = NDArray[np.float64]


def piece_evidence(scene: ScenePyramid, model: PieceModel, found: Fits) -> NDArray[np.float64]:
    """The information ℓ of H poses of a piece: of all of it, or of its best cells if that is more.

    Arguments:
        scene: where the piece is.
        model: the piece.
        found: poses, leaf pixels → scene, and their ZNCC.

    Returns:
        (H,); 0 where the piece was not found.
    """
    evidence, unsure = information(found.zncc), maybe_occluded(found)
    if len(unsure) and model.cells is not None:
        trimmed = _trimmed_information(scene, model.scoring_scale, found.poses[unsure], model.cells)
        evidence[unsure] = np.maximum(evidence[unsure], trimmed)
    return evidence


def _trimmed_information(scene: ScenePyramid, scale: int, poses: Poses, cells: Cells) -> NDArray[np.float64]:
    """The information of the cells that fit best, (B,).

    Arguments:
        scene: where the piece is.
        scale: at which it is compared.
        poses: leaf pixels → scene, (B, 3, 3).
        cells: of the piece, at that scale.
    """
    frames = reduce(scale) @ poses @ enlarge(scale)
    z, inside = _sampled(scene.reduced(scale), _moved(frames, cells.points))
    return _CellMoments(cells.values, z.numpy(), inside.numpy(), cells.member).information()


def _moved(frames: Poses, points: _Array) -> Float[Tensor, "B N 2"]:
    """The points (N, 2) under each of the frames, (B, 3, 3)."""
    x, y = points.T
    # No matrix product: its rounding changes with the size of the batch, and no item may depend on others.
    rows = frames[:, :2].transpose(1, 0, 2)
    moved = rows[..., :1] * x + rows[..., 1:2] * y + rows[..., 2:]
    return torch.from_numpy(moved).movedim(0, -1)


def _sampled(
    scene: Float[Tensor, "C H W"], places: Float[Tensor, "B N 2"]
) -> tuple[Float[Tensor, "B N C"], Float[Tensor, "B N"]]:
    """The scene at given places, and 1 for those inside of it, else 0."""
    size = places.new_tensor((scene.shape[-1] - 1, scene.shape[-2] - 1)).clamp_min(1)
    inside = ((places >= 0) & (places <= size)).all(-1)
    grid = (2 * places / size - 1).to(scene.dtype)
    # Linear, not cubic as in descents: accurate enough to compare cells, and faster.
    z = F.grid_sample(scene[None], grid[None], align_corners=True)[0]
    return z.permute(1, 2, 0).double(), inside.double()


class _CellMoments:
    """Moments of motif x and scene z in each cell: sums that give the fit over any selection of cells.

    In numpy, since a call of torch takes longer than the work on arrays as small as these.

    Arguments:
        x: the motif, (N, C).
        z: the scene, (B, N, C).
        inside: 1 where a point is inside the scene, (B, N).
        member: 1 where a point is in a cell, (N, K).
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
        # Repeat for each fraction along the first axis, so that all of them are selected at once.
        sums = np.tile(sums, (len(_KEPT_FRACTIONS), 1, 1))
        channels = x.shape[-1]
        self.count, self.xx, self.zz, self.xz = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3]
        self.x, self.z = sums[:, 4 : 4 + channels], sums[:, 4 + channels :]
        self.fraction = np.repeat(_KEPT_FRACTIONS, len(z))[:, None]
        self.texture = float(((x - x.mean(0)) ** 2).sum())
        points = np.maximum(self.count, 1)
        own = (self.xx - (self.x**2).sum(1) / points) / points
        self.expected = points * (own + _MIN_TEXTURE * self.texture / len(x))

    def information(self) -> _Array:
        """ℓ of the cells that fit best, (B,), for the fraction that gives most."""
        # From all cells: gain and bias are then pulled by the occluder at first, and less in each round.
        kept = (self.count > 0).astype(np.float64)
        for _ in range(_ROUNDS):
            kept = self._best_cells(self._residuals(kept))
        own, power, both, _, _ = self._fit(kept)
        rho = np.clip(both / np.sqrt(np.maximum(own * power, 1e-12)), 0.0, MAX_ZNCC)
        # At most the fraction kept: else the selection of textured cells would be rewarded.
        evidence = np.clip(own / self.texture, 0.0, self.fraction[:, 0]) * -np.log1p(-(rho**2))
        return np.asarray(evidence.reshape(len(_KEPT_FRACTIONS), -1).max(0))

    def _fit(self, kept: _Array) -> tuple[_Array, _Array, _Array, _Array, _Array]:
        """Σ(x − x̄)², Σ(z − z̄)², Σ(x − x̄)(z − z̄), x̄ and z̄ over the cells that are kept."""
        chosen = kept[..., None]
        n = np.maximum((kept * self.count).sum(1), 1)
        x, z = (self.x @ chosen)[..., 0] / n[:, None], (self.z @ chosen)[..., 0] / n[:, None]
        xx, zz, xz = ((kept * sums).sum(1) for sums in (self.xx, self.zz, self.xz))
        return xx - n * (x * x).sum(1), zz - n * (z * z).sum(1), xz - n * (x * z).sum(1), x, z

    def _residuals(self, kept: _Array) -> _Array:
        """Σ (z − α x − β)² in each cell relative to its texture, α and β from the cells that are kept.

        An empty cell has ∞.
        """
        own, _, both, x, z = self._fit(kept)
        # Not below 0: inverted contrast is no fit.
        gain = np.maximum(both / np.maximum(own, 1e-12), 0.0)[:, None]
        bias = z - gain * x
        square = self.zz - 2 * gain * self.xz + gain**2 * self.xx
        cross = (bias[..., None] * (gain[..., None] * self.x - self.z)).sum(1)
        total = square + 2 * cross + self.count * (bias**2).sum(1, keepdims=True)
        # Relative, since noise and interpolation leave larger residuals at an edge than on a flat surface.
        return np.where(self.count > 0, total / self.expected, np.inf)

    def _best_cells(self, residuals: _Array) -> _Array:
        """1 for the cells that are kept, else 0: those with the smallest residuals, up to a fraction of
        points."""
        order = residuals.argsort(axis=1, kind="stable")
        sizes = np.take_along_axis(self.count, order, 1)
        within = (sizes.cumsum(1) <= self.fraction * sizes.sum(1, keepdims=True) + 1e-9) & (sizes > 0)
        kept = np.zeros_like(self.count)
        np.put_along_axis(kept, order, within.astype(np.float64), 1)
        return kept

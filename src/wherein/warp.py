"""Sampling of a picture at any points: y∘τ and its derivatives, by cubic convolution (notation of section 3).

(y∘τ)_n = Σ_k Σ_l y_lk φ(τ_n,x − k) φ(τ_n,y − l)

with Keys' kernel φ_a, whose support is [−2, 2], and zeros outside the picture. Between two whole pixels φ
consists of four cubics, one for each tap, so a sample is a weighted sum of 16 pixels. On a CPU, PyTorch's
fastest weighted sum of gathered rows is `embedding_bag`, on a table with one row for each pixel. It takes as
long for 3 channels as for 16, about half the time of `grid_sample(mode="bicubic")` for a colour picture, and
it allows any `a`; `grid_sample` has −0.75, which does not reproduce a linear ramp.

Sampling is linear in y. Its derivative in τ is sampling with φ' instead of φ, and its adjoint in y is
`_Splat`. `_Sample` and `_Splat` call each other in `backward`, so derivatives of every order exist.
"""

from functools import cached_property, lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require

KEYS = -0.5
"""The parameter `a` that Keys chose: the only value that reproduces quadratics."""

_MARGIN = 4
"""Number of pixels added on each side of the picture: the four taps of a point that lies further out are
clamped to lie in this margin."""


@lru_cache(maxsize=64)
def _taps(a: float, order: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """φ_a^(order) at the taps −1, 0, 1, 2 as cubics in t ∈ [0, 1): coefficients (4 powers, 4 taps, 1)."""
    columns = (
        (0.0, a, -2 * a, a),
        (1.0, 0.0, -(a + 3), a + 2),
        (0.0, -a, 2 * a + 3, -(a + 2)),
        (0.0, 0.0, a, -a),
    )
    for _ in range(order):  # the derivative of c₀ + c₁ t + c₂ t² + c₃ t³
        columns = tuple((c[1], 2 * c[2], 3 * c[3], 0.0) for c in columns)  # type: ignore[assignment]
    return torch.tensor(columns, dtype=dtype, device=device).T[:, :, None].contiguous()


def _cubics(t: Tensor, a: float, order: int) -> Tensor:
    """The weights of the four taps (4, N), by Horner's rule.

    A matrix product would round differently for different numbers of points, but processing points in chunks
    must not change results.
    """
    taps = _taps(a, order, t.dtype, t.device)
    return (taps[3] * t).add_(taps[2]).mul_(t).add_(taps[1]).mul_(t).add_(taps[0])


class _Stencil:
    """The 16 rows of the table that each point needs, and its fractional position between them.

    Points that are not finite are moved far outside.

    Arguments:
        points: (N, 2).
        height, width: of one picture in the table.
        layers: the number of pictures in the table.
        layer: the picture that each point belongs to; None if there is only one.
    """

    def __init__(self, points: Tensor, height: int, width: int, layers: int, layer: Tensor | None) -> None:
        rows, stride = height + 2 * _MARGIN, width + 2 * _MARGIN
        self.table_rows = layers * rows * stride
        points = torch.nan_to_num(points.detach(), nan=-9e6, posinf=9e6, neginf=-9e6)
        x, y = points.unbind(-1)
        floor_x, floor_y = x.floor(), y.floor()
        self.x, self.y = x - floor_x, y - floor_y
        # The first tap lies one pixel before the floor. Points outside are clamped to the margin. A 32-bit
        # index takes half the time of a 64-bit one, where the table is small enough.
        index = torch.int32 if self.table_rows < 2**31 else torch.int64
        column = (floor_x + (_MARGIN - 1)).clamp_(0, width + _MARGIN).to(index)
        row = (floor_y + (_MARGIN - 1)).clamp_(0, height + _MARGIN).to(index)
        corner = row * stride + column
        if layer is not None:
            corner = corner + layer.to(index) * (rows * stride)
        step = torch.arange(4, device=points.device, dtype=index)
        self.rows = corner[:, None] + (step[:, None] * stride + step).reshape(16)

    def save(self, ctx: Any, *tensors: Tensor) -> None:
        """Save the stencil and other tensors for `backward`: checkpointing can release tensors only."""
        ctx.save_for_backward(*tensors, self.rows, self.x, self.y)
        ctx.table_rows = self.table_rows

    @staticmethod
    def saved(ctx: Any) -> "tuple[Tensor, Tensor, _Stencil]":
        """The tensors that were given to `save`, and the stencil."""
        first, second, rows, x, y = ctx.saved_tensors
        stencil = object.__new__(_Stencil)  # without `__init__`, which would compute the rows again
        stencil.rows, stencil.x, stencil.y, stencil.table_rows = rows, x, y, ctx.table_rows
        return first, second, stencil

    def weights(self, a: float, order: tuple[int, int]) -> Tensor:
        """The (N, 16) weights φ^(order x)(τ_x − k) φ^(order y)(τ_y − l)."""
        x, y = _cubics(self.x, a, order[0]), _cubics(self.y, a, order[1])
        return (y[:, None] * x).reshape(16, -1).mT.contiguous()


def _gather(table: Tensor, stencil: _Stencil, a: float, order: tuple[int, int]) -> Tensor:
    """The weighted sum of each point's 16 rows."""
    return F.embedding_bag(stencil.rows, table, per_sample_weights=stencil.weights(a, order), mode="sum")


class _Sample(torch.autograd.Function):
    """The table, sampled at each point with the kernel φ^(i)(x) φ^(j)(y)."""

    @staticmethod
    def forward(
        ctx: Any, table: Tensor, points: Tensor, stencil: _Stencil, a: float, order: tuple[int, int]
    ) -> Tensor:
        stencil.save(ctx, table, points)
        ctx.a, ctx.order = a, order
        return _gather(table, stencil, a, order)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = gradients
        table, points, stencil = _Stencil.saved(ctx)
        to_table = _Splat.apply(g, points, stencil, ctx.a, ctx.order) if ctx.needs_input_grad[0] else None
        to_points = _point_gradient(table, points, g, stencil, ctx) if ctx.needs_input_grad[1] else None
        return to_table, to_points, None, None, None


class _Splat(torch.autograd.Function):
    """The adjoint of `_Sample` in the table: spreads each value over the 16 pixels of its point."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, points: Tensor, stencil: _Stencil, a: float, order: tuple[int, int]
    ) -> Tensor:
        stencil.save(ctx, values, points)
        ctx.a, ctx.order = a, order
        spread = stencil.weights(a, order)[:, :, None] * values[:, None, :]
        table = values.new_zeros(stencil.table_rows, values.shape[1])
        return table.index_add_(0, stencil.rows.reshape(-1), spread.reshape(-1, values.shape[1]))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = gradients
        values, points, stencil = _Stencil.saved(ctx)
        to_values = _Sample.apply(g, points, stencil, ctx.a, ctx.order) if ctx.needs_input_grad[0] else None
        to_points = _point_gradient(g, points, values, stencil, ctx) if ctx.needs_input_grad[1] else None
        return to_values, to_points, None, None, None


def _point_gradient(table: Tensor, points: Tensor, values: Tensor, stencil: _Stencil, ctx: Any) -> Tensor:
    """∂⟨sample(table, points), values⟩/∂points: sampling with one more derivative of φ in x or y."""
    i, j = ctx.order
    x = (_Sample.apply(table, points, stencil, ctx.a, (i + 1, j)) * values).sum(1)
    y = (_Sample.apply(table, points, stencil, ctx.a, (i, j + 1)) * values).sum(1)
    return torch.stack((x, y), 1)


class Surface:
    """A scene as a function on the plane, prepared for sampling at many points.

    The first sample copies the scene into a table of pixels; later samples copy nothing.

    Arguments:
        scene: (C, H, W), or (S, C, H, W) for S scenes, each with its own points.
        a: the parameter of the cubic kernel.
        replicate: continue the picture by its border pixels instead of the paper's zeros.
    """

    def __init__(self, scene: Float[Tensor, "*S C H W"], a: float = KEYS, replicate: bool = False) -> None:
        require(
            scene.ndim in (3, 4),
            f"a scene must have shape (C, H, W) or (S, C, H, W), but has {tuple(scene.shape)}",
        )
        self.scene, self.a, self.replicate = scene, a, replicate
        self.layers = scene.shape[0] if scene.ndim == 4 else None
        self.channels, self.height, self.width = scene.shape[-3:]

    @cached_property
    def _table(self) -> Float[Tensor, "R C"]:
        """The scene as a table with one row for each pixel; made by the first sample, if there is any."""
        if self.replicate:
            planes = F.pad(
                self.scene[None] if self.layers is None else self.scene, (_MARGIN,) * 4, "replicate"
            )
            return planes.movedim(-3, -1).reshape(-1, self.channels)
        # Moving the channels last before padding is five times faster than after it.
        padded = F.pad(self.scene.movedim(-3, -1), (0, 0, *(_MARGIN,) * 4))
        return padded.contiguous().view(-1, self.channels)

    def __call__(self, points: Float[Tensor, "*B 2"]) -> Float[Tensor, "*B C"]:
        """y∘τ: the values of the scene at `points` (x, y)."""
        return self._sample(points, ((0, 0),))[0]

    def derivative(self, points: Float[Tensor, "*B 2"]) -> Float[Tensor, "*B C 2"]:
        """Dy∘τ: the derivatives in x and in y at `points`, last axis (x, y)."""
        return torch.stack(self._sample(points, ((1, 0), (0, 1))), -1)

    def jet(self, points: Float[Tensor, "*B 2"]) -> tuple[Float[Tensor, "*B C"], Float[Tensor, "*B C 2"]]:
        """Values and derivatives at `points`; faster than separate calls, as the stencil is shared."""
        value, x, y = self._sample(points, ((0, 0), (1, 0), (0, 1)))
        return value, torch.stack((x, y), -1)

    def _sample(self, points: Tensor, orders: tuple[tuple[int, int], ...]) -> list[Tensor]:
        # All x precede all y in memory. This is faster, and it is the layout that `transform` returns.
        flat = torch.stack((points[..., 0].reshape(-1), points[..., 1].reshape(-1))).mT
        stencil = _Stencil(flat, self.height, self.width, self.layers or 1, self._layer(points))
        shape = (*points.shape[:-1], self.channels)
        return [_Sample.apply(self._table, flat, stencil, self.a, order).reshape(shape) for order in orders]

    def _layer(self, points: Tensor) -> Tensor | None:
        """The scene that each point belongs to; None if there is one scene."""
        if self.layers is None:
            return None
        require(
            points.ndim > 1 and points.shape[0] == self.layers,
            f"for {self.layers} scenes, points must have shape ({self.layers}, …, 2), but have "
            f"{tuple(points.shape)}",
        )
        each = points[0].numel() // 2
        return torch.arange(self.layers, device=points.device).repeat_interleave(each)


class Relief(Surface):
    """A scene and its derivative as one picture, so that a jet needs one sample instead of three.

    (Dy)∘τ is then that of proposition A.1: the interpolant's derivative on the pixel grid, Dy, interpolated.
    It differs from the derivative of y∘τ by the interpolation error of Dy, which is small in a smooth scene.
    """

    @cached_property
    def _pictures(self) -> Surface:
        # φ'(±1) = ±a: Keys' derivative at whole pixels is a central difference.
        x = F.pad(self.scene[..., 2:] - self.scene[..., :-2], (1, 1)) * -self.a
        y = F.pad(self.scene[..., 2:, :] - self.scene[..., :-2, :], (0, 0, 1, 1)) * -self.a
        return Surface(torch.cat((self.scene, x, y), -3), self.a)

    def jet(self, points: Float[Tensor, "*B 2"]) -> tuple[Float[Tensor, "*B C"], Float[Tensor, "*B C 2"]]:
        """Values and derivatives at `points`."""
        value, x, y = self._pictures(points).split(self.channels, -1)
        return value, torch.stack((x, y), -1)


def warp(
    scene: Float[Tensor, "*S C H W"], field: Float[Tensor, "*B h w 2"], a: float = KEYS
) -> Float[Tensor, "*B C h w"]:
    """y∘τ: the scene resampled onto the grid of `field`.

    Arguments:
        scene: (C, H, W), or (S, C, H, W) with a field (S, …, h, w, 2).
        field: for each pixel its position (x, y) in the scene.
        a: the parameter of the cubic kernel: −0.5 is Keys', −0.75 is that of `grid_sample` and OpenCV.

    Example:
        >>> import torch
        >>> scene = torch.arange(12.0).reshape(1, 3, 4)
        >>> grid = torch.tensor([[[1.0, 1.0], [1.5, 1.0]]])
        >>> warp(scene, grid)
        tensor([[[5.0000, 5.5000]]])
    """
    return Surface(scene, a)(field).movedim(-1, -3)

"""A flat motif at one resolution, as channels, linearised over all motions of a plane.

**Its outline.** What lies around an object differs from scene to scene, and whether it is lighter or darker
than the object. So the channels of a motif with a mask are the mean over several backdrops: inside, these
agree; at the outline, every backdrop has an edge, whose direction is known but not its sign. There the
motif and the scene are compared without sign: opposite directions are averaged in both. An object without any
texture, a silhouette, is all outline, and is found by it.

**Its derivatives** are those of the channels when the motif moves, as in `formulations.motif_side`: for the
parameters of a homography about its centre, in the order shift x, shift y, rotation, scale, the two further
ones of an affine motion, and the two of perspective. A motion with fewer parameters uses the first of them.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, ChannelSettings, channels, opposite
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.native import abi
from wherein.planes.rectify import rectify

PARAMETERS = 8
"""Of a homography; other motions use the first 2, 3, 4 or 6."""

MARGIN = 8
"""Pixels by which rectified pictures reach beyond the motif. A choice: the window and the smoothing of the
channels, so that those of the motif do not see where the picture ends."""

_BACKDROPS = (
    (0.0, 0.0, 0.0),
    (1.0, 1.0, 1.0),
    (0.5, 0.5, 0.5),
    (0.8, 0.3, 0.2),
    (0.2, 0.3, 0.8),
    (0.3, 0.7, 0.3),
)
"""Colours behind a motif with a mask. A choice: dark, light and in between, and one for each colour that an
object may have, so that no outline vanishes on all of them."""

_OUTLINE_INSIDE, _OUTLINE_OUTSIDE = 2, 1
"""Pixels to either side of the outline that are compared without sign. Choices: the smoothing of the
channels."""

_MIN_COVER, _AROUND_COVER = 0.05, 2
"""Fraction of a pixel from which it counts as covered, and pixels around it that are not compared either.
Choices: the gradient reaches one pixel, and the smoothing mostly one more."""

_ROUGH_POINTS = 256
"""About how many points are compared where poses are only rated. A choice: more do not change which are
best."""

_MIN_THINNING = 1.3
"""A motif is not thinned for less than this factor. A choice: it would not save much."""

_BORDER, _BORDER_SHARE = 4, 8
"""Pixels at the border of a picture without an outline that are not compared, and how many times smaller they
are at least than the picture. Choices: the channels there depend on what lies beyond, which is not known.
With one pixel, a crop was found in its own photograph 1.2 % too large and 0.8 px aside; with four, 0.2 % and
0.1 px."""

_MIN_SEEN = 0.01
"""Fraction of a pixel that a picture must cover to have a colour there. A choice: far less than any does."""

_MIN_WEIGHT = 0.1
"""Weight of a pixel where the motif has no gradient, relative to where it has most. A choice: that nothing is
there is worth knowing, but where an object is flat a scene shows noise, which local normalisation makes as
strong as texture."""


@dataclass(frozen=True, eq=False)
class PlaneMotif:
    """A motif at one resolution.

    Attributes:
        settings: of its channels.
        from_full: pixels of the motif at full size → pixels at this resolution, 3×3.
        size: width and height at this resolution.
        centre: of its points, (x, y) in pixels at this resolution.
        radius: root mean square distance of the points from the centre, in pixels.
        points: (N, 2), from the centre and in units of the radius.
        weights: (N,).
        unsigned: at which points light and dark may be exchanged, (N,).
        target: the motif's channels, (N, 8), with mean 0 and norm 1 under the weights.
        derivatives: of the target along x and y, times the weights, (2, N, 8).
        channels: of all of the motif and its margin, (8, h, w).
    """

    settings: ChannelSettings
    from_full: NDArray[np.float64]
    size: tuple[int, int]
    centre: tuple[float, float]
    radius: float
    points: Float[Tensor, "N 2"]
    weights: Float[Tensor, " N"]
    unsigned: Bool[Tensor, " N"]
    target: Float[Tensor, "N 8"]
    derivatives: Float[Tensor, "2 N 8"]
    channels: Float[Tensor, "8 h w"]

    @staticmethod
    def of(
        motif: Motif,
        radius: float,
        settings: ChannelSettings = ChannelSettings(),
        any_polarity: bool = False,
        covered: Float[Tensor, "h w"] | None = None,
        pivot: tuple[float, float] | None = None,
    ) -> "PlaneMotif":
        """The motif reduced so that its `extent` is `radius`; at full size if it is smaller than that.

        Arguments:
            motif: at full size.
            radius: in pixels.
            settings: of the channels.
            any_polarity: compare all of it without sign, for objects that may be light on dark or dark on
                light.
            covered: where something else lies in front of it in its picture, which may be elsewhere in a
                scene: not compared there, and no outline.
            pivot: the point about which it turns, (x, y) in its pixels at full size: its pixels are weighed
                by what they say about the turn. A round hub looks the same at every turn.
        """
        factor = max(1.0, extent(motif) / radius)
        width, height = (max(2, math.ceil(side / factor - 1e-9)) for side in (motif.width, motif.height))
        # The same factor along both axes, about the centre: else a rotation at this resolution would not be
        # one at full size.
        (x, y), across, down = motif.centre, factor * (width - 1) / 2, factor * (height - 1) / 2
        to_full = np.array(((factor, 0, x - across), (0, factor, y - down), (0, 0, 1)))
        planes = _reduced(motif, covered, to_full, height, width)
        fills = bool((motif.mask > 0.5).all())
        found, where, outline = _with_backdrops(planes, settings, fills)
        unsigned = torch.ones_like(outline) if any_polarity else outline
        found = torch.where(unsigned, (found + opposite(found)) / 2, found)
        from_full = np.linalg.inv(to_full)
        about = None if pivot is None else (from_full @ (*pivot, 1.0))[:2]
        return _linearised(found, where, unsigned, settings, from_full, (width, height), about)

    def thinned(self, count: int) -> "PlaneMotif":
        """The same motif with at most about `count` of its points: for fits that need not be exact."""
        stride = len(self.points) / count
        if stride < _MIN_THINNING:
            return self
        # In a fixed random order: points at a regular stride lie on lines across the motif.
        order = np.random.default_rng(0).permutation(len(self.points))[:count]
        return self._with_points(torch.from_numpy(np.sort(order)))

    @cached_property
    def rough(self) -> "PlaneMotif":
        """The same motif with few points, to rate many poses by."""
        return self.thinned(_ROUGH_POINTS)

    def without(self, covered: Bool[Tensor, " N"]) -> "PlaneMotif":
        """The same motif without some of its points."""
        return self._with_points(torch.nonzero(~covered)[:, 0])

    def _with_points(self, own: Int[Tensor, " n"]) -> "PlaneMotif":
        """The same motif with some of its points."""
        weights, target = self.weights[own].double(), self.target[own].double()
        target = target - (weights[:, None] * target).sum() / (weights.sum() * DIRECTIONS)
        norm = (weights[:, None] * target.square()).sum().sqrt().clamp_min(1e-9)
        return replace(
            self,
            points=self.points[own],
            weights=self.weights[own],
            unsigned=self.unsigned[own],
            target=(target / norm).float(),
            derivatives=(self.derivatives[:, own].double() / norm).float(),
        )

    @cached_property
    def hessian(self) -> NDArray[np.float64]:
        """The Gauss–Newton matrix of ZNCC at the motif itself, (8, 8)."""
        # Σ w JᵀJ with J = gx x + gy y: the channels are summed first, as x and y are the same for all.
        (gx, gy), (x, y), w = self._gradients, self._fields, self.weights.double().numpy()
        xx, xy, yy = (w * np.einsum("nc,nc->n", a, b) for a, b in ((gx, gx), (gx, gy), (gy, gy)))
        mixed = x.T @ (xy[:, None] * y)
        full = x.T @ (xx[:, None] * x) + mixed + mixed.T + y.T @ (yy[:, None] * y)
        return np.asarray(
            full - np.outer(self.with_1, self.with_1) / self.weight - np.outer(*2 * [self.with_t])
        )

    @cached_property
    def with_1(self) -> NDArray[np.float64]:
        """Sums of the derivatives in each parameter, (8,)."""
        return self._summed(np.ones((1, DIRECTIONS)))

    @cached_property
    def with_t(self) -> NDArray[np.float64]:
        """Sums of the derivatives times the target, (8,)."""
        return self._summed(self.target.double().numpy())

    def _summed(self, factor: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over points and channels of the derivatives, times the weights and a factor, (8,)."""
        (gx, gy), (x, y), w = self._gradients, self._fields, self.weights.double().numpy()
        return np.asarray((w * (gx * factor).sum(1)) @ x + (w * (gy * factor).sum(1)) @ y)

    @property
    def weight(self) -> float:
        """The sum of the weights over points and channels."""
        return DIRECTIONS * float(self.weights.double().sum())

    @cached_property
    def _gradients(self) -> NDArray[np.float64]:
        """Of the target along x and y, without the weights, (2, N, 8)."""
        return self.derivatives.double().numpy() / self.weights.double().numpy()[:, None]

    @cached_property
    def _fields(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How each parameter moves a point along x, and along y, each (N, 8)."""
        u, v = self.points.double().numpy().T
        one, zero = np.ones_like(u), np.zeros_like(u)
        x = np.stack((one, zero, -v, u, u, v, -u * u, -u * v), 1)
        y = np.stack((zero, one, u, v, -v, u, -u * v, -v * v), 1)
        return x, y

    @cached_property
    def _jacobian(self) -> NDArray[np.float64]:
        """Derivatives of the target in each parameter, (N, 8, 8)."""
        (gx, gy), (x, y) = self._gradients[..., None], self._fields
        return np.asarray(gx * x[:, None] + gy * y[:, None])

    @cached_property
    def in_c(self) -> abi.PlaneMotifArrays:
        """The same for C; it points into this object, which must outlive it."""
        points, weights, target, dx, dy = kept = (
            self.points.contiguous(),
            self.weights.contiguous(),
            self.target.contiguous(),
            *(part.contiguous() for part in self.derivatives),
        )
        unsigned = self.unsigned.int().contiguous()
        hessian, with_1, with_t = self.hessian, self.with_1, self.with_t
        # Two threads may come here at the same time, and make each of these twice: none of them may go.
        self._kept.extend((*kept, unsigned, hessian, with_1, with_t))
        return abi.PlaneMotifArrays(
            points=points.data_ptr(),
            weights=weights.data_ptr(),
            unsigned_points=unsigned.data_ptr(),
            target=target.data_ptr(),
            dx=dx.data_ptr(),
            dy=dy.data_ptr(),
            hessian=hessian.ctypes.data,
            with_1=with_1.ctypes.data,
            with_t=with_t.ctypes.data,
            weight=self.weight,
            centre_x=self.centre[0],
            centre_y=self.centre[1],
            radius=self.radius,
            count=len(self.points),
            height=self.size[1],
            width=self.size[0],
            margin=MARGIN,
        )

    @cached_property
    def _kept(self) -> list[Tensor | NDArray[np.float64]]:
        return []


def extent(motif: Motif) -> float:
    """The radius of a disc that is as large as the motif, in pixels.

    "Large" is between two measures: by area, which for a thin motif is small, and by the spread of its
    pixels, which is large. A thin motif needs more resolution than a disc of the same spread, and can do with
    less than one of the same area.
    """
    rows, columns = torch.nonzero(motif.mask > 0.5, as_tuple=True)
    spread = 2 * float(rows.double().var(correction=0) + columns.double().var(correction=0)) + 1
    return math.sqrt(math.sqrt(spread * len(rows) / math.pi))


def _reduced(
    motif: Motif,
    covered: Float[Tensor, "h w"] | None,
    to_full: NDArray[np.float64],
    height: int,
    width: int,
) -> Float[Tensor, "P H W"]:
    """The motif times its mask, its mask, and what is covered, at a resolution and with the margin.

    The mask includes what is covered; all are 0 outside.
    """
    cover = torch.zeros_like(motif.mask) if covered is None else covered
    mask = torch.maximum(motif.mask, cover)
    planes = torch.cat((motif.pixels * mask, mask[None], cover[None]))
    factor = 2 ** max(0, round(math.log2(math.sqrt(to_full[0, 0] * to_full[1, 1]))))
    factor = min(factor, 2 ** int(math.log2(max(1, min(planes.shape[-2:])))))
    # Padded at full size by what reduces to whole pixels, so that nothing beyond the mask is continued.
    edge = factor * math.ceil((MARGIN + 2) * max(to_full[0, 0], to_full[1, 1]) / factor)
    rest = (edge, edge + -motif.width % factor, edge, edge + -motif.height % factor)
    padded = pool(F.pad(planes, rest), factor)
    shift = np.array(((1, 0, -MARGIN), (0, 1, -MARGIN), (0, 0, 1.0)))
    middle = (factor - 1) / 2
    to_pooled = np.array(
        ((1 / factor, 0, (edge - middle) / factor), (0, 1 / factor, (edge - middle) / factor), (0, 0, 1))
    )
    return rectify(padded, to_pooled @ to_full @ shift, height + 2 * MARGIN, width + 2 * MARGIN)[0]


def _with_backdrops(
    planes: Float[Tensor, "P h w"], settings: ChannelSettings, fills: bool
) -> tuple[Float[Tensor, "8 h w"], Bool[Tensor, "h w"], Bool[Tensor, "h w"]]:
    """Mean channels over the backdrops, which pixels are compared, and which of these belong to the outline.

    A motif that fills its rectangle has no outline: it is a part of a picture, and beyond it the picture went
    on. There the backdrop is the motif itself, continued.

    Arguments:
        planes: as of `_reduced`.
        settings: of the channels.
        fills: whether the motif fills its rectangle at full size. It need not at this resolution, where the
            pixels at the border may lie half outside.
    """
    own, mask, cover = planes[:-2], planes[-2], planes[-1]
    inside = mask > min(0.5, 0.5 * float(mask.max()))  # less where it is thin: no pixel is half covered
    free = ~_dilated(cover > _MIN_COVER, _AROUND_COVER)
    if not bool((inside & free).any()):
        free = torch.ones_like(free)
    edge = slice(MARGIN, -MARGIN)
    if fills or bool(inside[edge, edge].all()):
        inside[edge, edge] = True
        seen = own / mask.clamp_min(_MIN_SEEN)  # without the black beyond its border
        whole = F.pad(seen[None, :, edge, edge], (MARGIN,) * 4, mode="replicate")[0]
        border = max(1, min(_BORDER, (min(inside.shape) - 2 * MARGIN) // _BORDER_SHARE))
        return channels(whole, settings), _eroded(inside, border) & free, torch.zeros_like(inside)
    colours = own.new_tensor(_BACKDROPS)[:, : len(own), None, None]
    pictures = own + (1 - mask) * (colours if len(own) == 3 else colours.mean(1, keepdim=True))
    mean = torch.stack([channels(picture.contiguous(), settings) for picture in pictures]).mean(0)
    around = _dilated(inside, _OUTLINE_OUTSIDE) & free
    return mean, around, around & ~_eroded(inside, _OUTLINE_INSIDE)


def _eroded(mask: Bool[Tensor, "h w"], radius: int) -> Bool[Tensor, "h w"]:
    return ~_dilated(~mask, radius)


def _dilated(mask: Bool[Tensor, "h w"], radius: int) -> Bool[Tensor, "h w"]:
    size = 2 * radius + 1
    return F.max_pool2d(mask[None].float(), size, 1, radius)[0] > 0


def _linearised(
    found: Float[Tensor, "8 h w"],
    where: Bool[Tensor, "h w"],
    unsigned: Bool[Tensor, "h w"],
    settings: ChannelSettings,
    from_full: NDArray[np.float64],
    size: tuple[int, int],
    pivot: NDArray[np.float64] | None,
) -> PlaneMotif:
    rows, columns = torch.nonzero(where, as_tuple=True)
    places = torch.stack((columns, rows), 1).double() - MARGIN
    centre = places.mean(0)
    radius = max(1.0, float((places - centre).square().sum(1).mean().sqrt()))
    picked = found[:, rows, columns].mT.double()
    padded = F.pad(found, (1, 1, 1, 1))
    gx = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2])[:, rows, columns].mT / 2
    gy = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1])[:, rows, columns].mT / 2
    weights = _emphasis(picked.norm(dim=1))
    if pivot is not None:
        x, y = (places - torch.from_numpy(pivot)).unbind(1)
        weights = weights * _emphasis((x[:, None] * gy - y[:, None] * gx).norm(dim=1))
    mean = (weights[:, None] * picked).sum() / (weights.sum() * DIRECTIONS)
    target = picked - mean
    norm = (weights[:, None] * target.square()).sum().sqrt().clamp_min(1e-9)
    derivatives = torch.stack((gx, gy)).double() * (radius / norm) * weights[:, None]
    return PlaneMotif(
        settings,
        from_full,
        size,
        (float(centre[0]), float(centre[1])),
        radius,
        ((places - centre) / radius).float(),
        weights.float(),
        unsigned[rows, columns],
        (target / norm).float(),
        derivatives.float(),
        found,
    )


def _emphasis(strength: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Weights in proportion to a strength, from `_MIN_WEIGHT` to 1 for the strongest tenth."""
    share = (strength / strength.quantile(0.9).clamp_min(1e-9)).clamp_max(1)
    return _MIN_WEIGHT + (1 - _MIN_WEIGHT) * share

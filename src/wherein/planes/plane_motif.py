"""A flat motif at one resolution, as channels, linearised over all motions of a plane.

`planes.description` determines which pixels are compared, and their weights. The derivatives are those of the
channels under a motion of the motif, as in `formulations.motif_side`: in the parameters of a homography about
its centre, in the order shift x, shift y, rotation, scale, the two others of an affine motion, and the two of
perspective. A motion with fewer parameters uses the first ones.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, ChannelSettings
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.native import structs
from wherein.native.pointers import pointer
from wherein.planes.description import MARGIN, OUTLINE_BLUR, Description, described, emphasis, point_weights
from wherein.planes.rectify import rectify

__all__ = ["MARGIN", "PARAMETERS", "PlaneMotif"]

PARAMETERS = 8
"""Number of parameters of a homography; other motions use the first 2, 3, 4 or 6."""

_ROUGH_POINTS = 256
"""About how many points are compared when poses are rated or refined. A choice: more points do not change
which poses are best."""

_SPARSE_POINTS = 2500
"""About how many points are compared to detect covered parts. A choice: some for each cell of a large
motif."""

_MIN_THINNING = 1.3
"""A motif is not thinned by less than this factor. A choice: it would save little."""


@dataclass(frozen=True, eq=False)
class PlaneMotif:
    """A motif at one resolution.

    Attributes:
        settings: of its channels.
        from_full: pixels of the motif at full size → pixels at this resolution, 3×3.
        size: width and height at this resolution.
        centre: mean position of its points, (x, y) in pixels at this resolution.
        radius: root mean square distance of the points from the centre, in pixels.
        points: positions relative to the centre, in units of the radius, (N, 2).
        weights: (N,).
        unsigned: which points are compared without sign: light and dark may be exchanged, (N,).
        target: the motif's channels, (N, 8), with mean 0 and norm 1 under the weights.
        derivatives: of the target along x and y, times the weights, (2, N, 8).
        channels: of the whole motif and its margin, (8, h, w).
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
        even: bool = False,
        limit: int | None = None,
    ) -> "PlaneMotif":
        """The motif reduced to the extent `radius`; at full size if its `extent` is smaller.

        Arguments:
            motif: at full size.
            radius: in pixels.
            settings: of the channels.
            any_polarity: compare all pixels without sign, for objects that may be light on dark or dark on
                light.
            covered: where another part lies in front of the motif in its picture. This part may be elsewhere
                in a scene, so these pixels are not compared, and the edge of the part is no outline.
            pivot: the point about which the motif turns, (x, y) in pixels at full size. Pixels are weighted
            by
                how much they change with the turn: a round hub looks the same at every turn.
            even: for exact poses: straight edges have full weight, and the outline is as sharp as the mask.
            limit: maximum number of points, in a random choice; None: all. Computing all points of a large
                motif, only to thin them afterwards, would take most of the time.
        """
        factor = max(1.0, motif.extent / radius)
        width, height = (max(2, math.ceil(side / factor - 1e-9)) for side in (motif.width, motif.height))
        # The same factor along both axes, about the centre: otherwise a rotation at this resolution would be
        # no rotation at full size.
        (x, y), across, down = motif.centre, factor * (width - 1) / 2, factor * (height - 1) / 2
        to_full = np.array(((factor, 0, x - across), (0, factor, y - down), (0, 0, 1)))
        planes, fills = _reduced(motif, covered, to_full, height, width), motif.fills
        seen = described(planes, settings, fills, any_polarity)
        seen = seen if limit is None else seen.thinned(limit)
        from_full = np.linalg.inv(to_full)
        about = None if pivot is None else (from_full @ (*pivot, 1.0))[:2]
        weights = point_weights(seen, even)
        if not even:
            # The weights are still those of the sharp outline: the pixels beside it are less informative.
            blurred = described(planes, settings, fills, any_polarity, OUTLINE_BLUR / factor)
            seen = replace(seen, channels=blurred.channels)
        return _linearised(seen, weights, settings, from_full, (width, height), about)

    def thinned(self, count: int) -> "PlaneMotif":
        """The same motif with about `count` of its points at most, for fits that need not be exact."""
        stride = len(self.points) / count
        if stride < _MIN_THINNING:
            return self
        # A fixed random choice, since points at a regular stride lie on lines across the motif.
        order = np.random.default_rng(0).permutation(len(self.points))[:count]
        return self._with_points(torch.from_numpy(np.sort(order)))

    def informative(self, count: int) -> "PlaneMotif":
        """The same motif with the `count` points that say most about its pose, by squared derivatives."""
        if len(self.points) <= count:
            return self
        weight = self.weights.double().clamp_min(1e-9)
        known = (self.derivatives.double().square().sum((0, 2)) / weight).numpy()
        return self._with_points(torch.from_numpy(np.sort(np.argsort(-known, kind="stable")[:count])))

    def __getstate__(self) -> dict[str, object]:
        """The state for pickling, without what holds pointers for C."""
        return {name: value for name, value in vars(self).items() if name not in ("in_c", "rules", "_kept")}

    @property
    def places(self) -> NDArray[np.float64]:
        """The positions of its points in pixels at this resolution, (N, 2)."""
        return np.asarray(self.points.double().numpy() * self.radius + self.centre)

    @cached_property
    def to_full(self) -> NDArray[np.float64]:
        """Pixels at this resolution → pixels of the motif at full size, 3×3."""
        return np.asarray(np.linalg.inv(self.from_full))

    @cached_property
    def rough(self) -> "PlaneMotif":
        """The same motif with few points, for rating and refining many poses."""
        return self.thinned(_ROUGH_POINTS)

    @cached_property
    def sparse(self) -> "PlaneMotif":
        """The same motif with a few points for each of its cells, for detecting covered parts."""
        return self.thinned(_SPARSE_POINTS)

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
        """H of `plane_descent`: the Gauss–Newton matrix of the ZNCC of the motif with itself, (8, 8)."""
        # Σ w JᵀJ with J = gx x + gy y: summed over channels first, since x and y are the same for all of
        # them.
        (gx, gy), (x, y), w = self._gradients, self._fields, self.weights.double().numpy()
        xx, xy, yy = (w * np.einsum("nc,nc->n", a, b) for a, b in ((gx, gx), (gx, gy), (gy, gy)))
        mixed = x.T @ (xy[:, None] * y)
        full = x.T @ (xx[:, None] * x) + mixed + mixed.T + y.T @ (yy[:, None] * y)
        return np.asarray(
            full - np.outer(self.with_1, self.with_1) / self.weight - np.outer(*2 * [self.with_t])
        )

    @cached_property
    def with_1(self) -> NDArray[np.float64]:
        """Jᵀ1: sums of the derivatives in each parameter, (8,)."""
        return self._summed(np.ones((1, DIRECTIONS)))

    @cached_property
    def with_t(self) -> NDArray[np.float64]:
        """Jᵀt: sums of the derivatives times the target, (8,)."""
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
        """The derivatives of the target along x and y, without the weights, (2, N, 8)."""
        return self.derivatives.double().numpy() / self.weights.double().numpy()[:, None]

    @cached_property
    def _fields(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How each parameter moves the points along x, and along y, each (N, 8)."""
        u, v = self.points.double().numpy().T
        one, zero = np.ones_like(u), np.zeros_like(u)
        x = np.stack((one, zero, -v, u, u, v, -u * u, -u * v), 1)
        y = np.stack((zero, one, u, v, -v, u, -u * v, -v * v), 1)
        return x, y

    @cached_property
    def _jacobian(self) -> NDArray[np.float64]:
        """J: the derivatives of the target in each parameter, (N, channels, parameters)."""
        (gx, gy), (x, y) = self._gradients[..., None], self._fields
        return np.asarray(gx * x[:, None] + gy * y[:, None])

    @cached_property
    def in_c(self) -> structs.PlaneMotifArrays:
        """This motif for C. It holds pointers into this object, which must outlive it."""
        points, weights, target, dx, dy = kept = (
            self.points.contiguous(),
            self.weights.contiguous(),
            self.target.contiguous(),
            *(part.contiguous() for part in self.derivatives),
        )
        unsigned = self.unsigned.int().contiguous()
        hessian, with_1, with_t = self.hessian, self.with_1, self.with_t
        # Two threads may run this at the same time and make two sets of arrays: both must be kept alive.
        self._kept.extend((*kept, unsigned, hessian, with_1, with_t))
        n, each = len(points), (len(points), DIRECTIONS)
        return structs.PlaneMotifArrays(
            points=pointer(points, (n, 2)),
            weights=pointer(weights, (n,)),
            unsigned_points=pointer(unsigned, (n,), torch.int32),
            target=pointer(target, each),
            dx=pointer(dx, each),
            dy=pointer(dy, each),
            hessian=pointer(hessian, (8, 8), np.float64),
            with_1=pointer(with_1, (8,), np.float64),
            with_t=pointer(with_t, (8,), np.float64),
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
    def rules(self) -> dict[Hashable, tuple[structs.PlaneRules, Tensor]]:
        """The parameters of its fits for C, made on first use, with the arrays that they point to."""
        return {}

    @cached_property
    def _kept(self) -> list[Tensor | NDArray[np.float64]]:
        return []


def _reduced(
    motif: Motif,
    covered: Float[Tensor, "h w"] | None,
    to_full: NDArray[np.float64],
    height: int,
    width: int,
) -> Float[Tensor, "P H W"]:
    """The motif times its mask, its mask, and the covered area, at a resolution and with the margin.

    The mask includes the covered area; all are 0 outside.
    """
    cover = torch.zeros_like(motif.mask) if covered is None else covered
    mask = torch.maximum(motif.mask, cover)
    planes = torch.cat((motif.pixels * mask, mask[None], cover[None]))
    factor = 2 ** max(0, round(math.log2(math.sqrt(to_full[0, 0] * to_full[1, 1]))))
    factor = min(factor, 2 ** int(math.log2(max(1, min(planes.shape[-2:])))))
    # Padded with zeros at full size, by a multiple of the factor, so that no border pixels are continued.
    edge = factor * math.ceil((MARGIN + 2) * max(to_full[0, 0], to_full[1, 1]) / factor)
    rest = (edge, edge + -motif.width % factor, edge, edge + -motif.height % factor)
    padded = pool(F.pad(planes, rest), factor)
    shift = np.array(((1, 0, -MARGIN), (0, 1, -MARGIN), (0, 0, 1.0)))
    middle = (factor - 1) / 2
    to_pooled = np.array(
        ((1 / factor, 0, (edge - middle) / factor), (0, 1 / factor, (edge - middle) / factor), (0, 0, 1))
    )
    return rectify(padded, to_pooled @ to_full @ shift, height + 2 * MARGIN, width + 2 * MARGIN)[0]


def _linearised(
    seen: Description,
    weights: Float[Tensor, " N"],
    settings: ChannelSettings,
    from_full: NDArray[np.float64],
    size: tuple[int, int],
    pivot: NDArray[np.float64] | None,
) -> PlaneMotif:
    """The motif of a description, with the derivatives of its channels by central differences."""
    found, (rows, columns) = seen.channels, torch.nonzero(seen.where, as_tuple=True)
    places = torch.stack((columns, rows), 1).double() - MARGIN
    centre = places.mean(0)
    radius = max(1.0, float((places - centre).square().sum(1).mean().sqrt()))
    picked = found[:, rows, columns].mT.double()
    padded = F.pad(found, (1, 1, 1, 1))
    gx = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2])[:, rows, columns].mT / 2
    gy = (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1])[:, rows, columns].mT / 2
    if pivot is not None:
        x, y = (places - torch.from_numpy(pivot)).unbind(1)
        weights = weights * emphasis((x[:, None] * gy - y[:, None] * gx).norm(dim=1))
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
        seen.unsigned[rows, columns],
        (target / norm).float(),
        derivatives.float(),
        found,
    )

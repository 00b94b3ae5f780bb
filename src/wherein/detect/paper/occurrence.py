"""Final costs → occurrence map → peaks (section 4.3, step 4)."""

from enum import Enum

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from wherein.images.gaussian import Sigma, gaussian_spots

PER_PIECE = 16
"""How many spots are drawn at once: of a large scene each is a megabyte."""


class Aggregate(Enum):
    """How strides that end at the same place are put together."""

    MAXIMUM = "maximum"
    """The best of them: a part is there once, however many strides find it. As in the released code."""
    SUM = "sum"
    """All of them, as in eq. (13)."""


def confidence(
    cost: Float[Tensor, " N"], alpha: Float[Tensor, ""] | float, gamma: Float[Tensor, ""] | float
) -> Float[Tensor, " N"]:
    """exp(−α max{0, cost − γ}) (eq. 13): 1 where the fit is as good as it gets, 0 where it failed.

    >>> confidence(torch.tensor([3.0, 10.5, 40.0]), alpha=2.0, gamma=10.0)
    tensor([1.0000e+00, 3.6788e-01, 8.7565e-27])
    """
    return torch.exp(-alpha * (cost - gamma).clamp_min(0))


def occurrence_map(
    points: Float[Tensor, "N 2"],
    weights: Float[Tensor, " N"],
    sigma0: Sigma,
    size: tuple[int, int],
    aggregate: Aggregate = Aggregate.MAXIMUM,
) -> Float[Tensor, "H W"]:
    """ω: a spot of width σ0 and of mass `weight` at every point (eq. 13), cut off at the picture's border.

    Arguments:
        points: where the strides ended, (x, y) in scene pixels.
        weights: how sure each is, see `confidence`.
        sigma0: the spots' width.
        size: height and width.
        aggregate: see `Aggregate`.
    """
    drawn = points.new_zeros(size)
    for some, masses in zip(points.split(PER_PIECE), weights.split(PER_PIECE), strict=True):
        spots = gaussian_spots(some, sigma0, *size) * masses[:, None, None]
        if aggregate is Aggregate.SUM:
            drawn = drawn + spots.sum(0)
        elif len(spots):
            drawn = torch.maximum(drawn, spots.amax(0))
    return drawn


def peaks(
    occurrence: Float[Tensor, "H W"], least: float, apart: int
) -> tuple[Int[Tensor, "N 2"], Float[Tensor, " N"]]:
    """The map's local maxima, highest first: whole pixels (x, y) and values.

    Arguments:
        occurrence: a map.
        least: maxima below are not counted.
        apart: of two within so many pixels (in the maximum norm) the lower is not counted.

    >>> map = torch.zeros(5, 9)
    >>> map[2, 3], map[2, 4], map[1, 8] = 1.0, 0.9, 0.5
    >>> peaks(map, least=0.1, apart=2)
    (tensor([[3, 2],
            [8, 1]]), tensor([1.0000, 0.5000]))
    """
    around = F.max_pool2d(occurrence[None], 2 * apart + 1, stride=1, padding=apart)[0]
    rows, columns = torch.nonzero((occurrence >= around) & (occurrence >= least), as_tuple=True)
    values, order = occurrence[rows, columns].sort(descending=True, stable=True)
    places = torch.stack((columns[order], rows[order]), -1)
    # On a plateau every pixel is a maximum: the first speaks for those around it.
    alone = torch.ones(len(places), dtype=torch.bool, device=places.device)
    for index in range(1, len(places)):
        near = (places[:index] - places[index]).abs().amax(-1) <= apart
        alone[index] = not bool((near & alone[:index]).any())
    return places[alone], values[alone]

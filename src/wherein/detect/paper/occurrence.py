"""From the final costs of strides to an occurrence map, and to its peaks (section 4.3, step 4)."""

from enum import Enum

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from wherein.images.gaussian import Sigma, gaussian_spots

BATCH = 16
"""Number of spots that are drawn at once. A choice: in a large scene each of them takes a megabyte."""


class Aggregate(Enum):
    """How strides that end at the same place are combined."""

    MAXIMUM = "maximum"
    """The best of them, as in the released code: a part is there once, however many strides find it."""
    SUM = "sum"
    """The sum of all, as in eq. (14)."""


def confidence(
    cost: Float[Tensor, " N"], alpha: Float[Tensor, ""] | float, gamma: Float[Tensor, ""] | float
) -> Float[Tensor, " N"]:
    """exp(−α max{0, cost − γ}) (eq. 14): 1 where the cost is γ or less, towards 0 where the fit failed.

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
    """ω: a spot of width σ0 and of mass `weight` at every point (eq. 14), cut off at the picture's border.

    Arguments:
        points: where the strides ended, (x, y) in scene pixels.
        weights: the confidence of each, see `confidence`.
        sigma0: the spots' width.
        size: height and width.
        aggregate: see `Aggregate`.
    """
    drawn = points.new_zeros(size)
    for some, masses in zip(points.split(BATCH), weights.split(BATCH), strict=True):
        spots = gaussian_spots(some, sigma0, *size) * masses[:, None, None]
        if aggregate is Aggregate.SUM:
            drawn = drawn + spots.sum(0)
        elif len(spots):
            drawn = torch.maximum(drawn, spots.amax(0))
    return drawn


def peaks(
    occurrence: Float[Tensor, "H W"], minimum: float, distance: int
) -> tuple[Int[Tensor, "N 2"], Float[Tensor, " N"]]:
    """The local maxima of a map, highest first: pixels (x, y) and values.

    Arguments:
        occurrence: a map.
        minimum: lower maxima do not count.
        distance: of two maxima within so many pixels (in the maximum norm), only the higher one counts.

    >>> map = torch.zeros(5, 9)
    >>> map[2, 3], map[2, 4], map[1, 8] = 1.0, 0.9, 0.5
    >>> peaks(map, minimum=0.1, distance=2)
    (tensor([[3, 2],
            [8, 1]]), tensor([1.0000, 0.5000]))
    """
    around = F.max_pool2d(occurrence[None], 2 * distance + 1, stride=1, padding=distance)[0]
    rows, columns = torch.nonzero((occurrence >= around) & (occurrence >= minimum), as_tuple=True)
    values, order = occurrence[rows, columns].sort(descending=True, stable=True)
    places = torch.stack((columns[order], rows[order]), -1)
    # On a plateau every pixel is a maximum: only the first of those around it counts.
    alone = torch.ones(len(places), dtype=torch.bool, device=places.device)
    for index in range(1, len(places)):
        near = (places[:index] - places[index]).abs().amax(-1) <= distance
        alone[index] = not bool((near & alone[:index]).any())
    return places[alone], values[alone]

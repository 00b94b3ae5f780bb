"""The occurrence map from the final costs of strides, and its peaks (section 4.3, step 4)."""

from enum import Enum

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from wherein.images.gaussian import Sigma, gaussian_spots

BATCH = 16
"""Number of spots that are drawn at once. A choice: in a large scene each of them takes a megabyte."""


class Aggregate(Enum):
    """How the spots of strides that end at the same place are combined."""

    MAXIMUM = "maximum"
    """The maximum, as in the released code: a part counts once, however many strides find it."""
    SUM = "sum"
    """The sum, as in eq. (14)."""


def confidence(
    cost: Float[Tensor, " N"], alpha: Float[Tensor, ""] | float, gamma: Float[Tensor, ""] | float
) -> Float[Tensor, " N"]:
    """The confidence exp(−α max{0, cost − γ}) (eq. 14): 1 for costs up to γ, near 0 if the fit failed.

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
    """ω: a Gaussian spot of width σ0 at every point, with the point's weight as its mass (eq. 14).

    Spots are cut off at the border of the scene.

    Arguments:
        points: where the strides ended, (x, y) in scene pixels.
        weights: the confidence of each stride, see `confidence`.
        sigma0: the width of the spots, in pixels.
        size: height and width of the scene.
        aggregate: see `Aggregate`.
    """
    # In batches: all spots at once would take a picture of the scene for each stride. The maximum with zeros
    # changes nothing, since no spot is negative.
    drawn = points.new_zeros(size)
    for some, masses in zip(points.split(BATCH), weights.split(BATCH), strict=True):
        spots = gaussian_spots(some, sigma0, *size) * masses[:, None, None]
        if aggregate is Aggregate.SUM:
            drawn = drawn + spots.sum(0)
        elif len(spots):  # the maximum of nothing is an error
            drawn = torch.maximum(drawn, spots.amax(0))
    return drawn


def peaks(
    occurrence: Float[Tensor, "H W"], minimum: float, distance: int
) -> tuple[Int[Tensor, "N 2"], Float[Tensor, " N"]]:
    """The local maxima of a map: pixels (x, y) and values, the highest first.

    Arguments:
        occurrence: a map.
        minimum: lower maxima are ignored.
        distance: minimum distance in pixels (in the maximum norm); of closer maxima, the highest remains.

    >>> map = torch.zeros(5, 9)
    >>> map[2, 3], map[2, 4], map[1, 8] = 1.0, 0.9, 0.5
    >>> peaks(map, minimum=0.1, distance=2)
    (tensor([[3, 2],
            [8, 1]]), tensor([1.0000, 0.5000]))
    """
    # A pixel is a maximum of its window if it equals the maximum of the window.
    around = F.max_pool2d(occurrence[None], 2 * distance + 1, stride=1, padding=distance)[0]
    rows, columns = torch.nonzero((occurrence >= around) & (occurrence >= minimum), as_tuple=True)
    # Stable: equal values stay in the order of their pixels, whatever the device.
    values, order = occurrence[rows, columns].sort(descending=True, stable=True)
    places = torch.stack((columns[order], rows[order]), -1)
    # Every pixel of a plateau equals the maximum of its window: keep the first, and drop those around it. A
    # spot that is centred halfway between two pixels has such a plateau.
    alone = torch.ones(len(places), dtype=torch.bool, device=places.device)
    for index in range(1, len(places)):
        near = (places[:index] - places[index]).abs().amax(-1) <= distance
        alone[index] = not bool((near & alone[:index]).any())
    return places[alone], values[alone]

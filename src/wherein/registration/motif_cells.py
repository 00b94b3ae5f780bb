"""The cells of a motif: small squares with their channels and their mean colours, for `cell_match`."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from wherein.images.channels import DIRECTIONS, ChannelSettings
from wherein.images.motif import Motif
from wherein.planes.plane_motif import MARGIN, PlaneMotif

_RADIUS, SETTINGS = 22.0, ChannelSettings(sigma=1.0)
"""Extent of the motif in pixels at the resolution of the comparison, and the settings of its channels.
Choices: from 20 to 24 px, the AUC on ../shared/real/pairs changes by less than 0.004; with 16 px it is 0.02
lower."""

_SQUARE, _MIN_SQUARES = 3, 4
"""Maximum width in pixels of the squares over which channels and colours are averaged, and the minimum number
of squares along the shorter side of a motif that has enough pixels. Choices."""

_CELL = 2
"""Width and height of a cell in squares; neighbouring cells begin one square apart. A choice: with cells of
three and four squares, objects that deform were found less often."""

_COLOUR_WEIGHT = 1.5
"""β, the weight of the colours. A choice: from 1 to 2.5, the AUC on ../shared/real/pairs changes by 0.01."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a motif.

    Attributes:
        plane: the motif at the resolution of the comparison.
        square: width of the squares in pixels at that resolution.
        begin: the first pixel of the first square, (x, y).
        size: number of squares across and down.
        rows, columns: the position of the first square of each cell, (K,).
        kernels: the channels of each cell, with mean 0 and norm 1 under the mask, (K, 8, c, c).
        masks: the weights of the squares of each cell, (K, 1, c, c), or (1, 1, c, c) if all are 1.
        colours: mean lightness and opponent colours of each cell, (K, 3), or (K, 1) for a grey picture.
        weights: w and β v, (2, K); the sum of w is 1, and so is the sum of v.
    """

    plane: PlaneMotif
    square: int
    begin: tuple[int, int]
    size: tuple[int, int]
    rows: Int[Tensor, " K"]
    columns: Int[Tensor, " K"]
    kernels: Float[Tensor, "K 8 c d"]
    masks: Float[Tensor, "_ 1 c d"]
    colours: Float[Tensor, "K O"]
    weights: Float[Tensor, "2 K"]


def opponent(picture: Float[Tensor, "C H W"]) -> Float[Tensor, "O H W"]:
    """Lightness, red against green, and yellow against blue.

    Lightness has half weight, because it depends most on the light.
    """
    if len(picture) < 3:
        return 0.5 * picture[:1]
    red, green, blue = picture[:3]
    return torch.stack(((red + green + blue) / 6, red - green, (red + green) / 2 - blue))


def cells_of(motif: Motif) -> Cells | None:
    """The cells of a motif; None if no cell has enough pixels."""
    plane = PlaneMotif.of(motif, _RADIUS, SETTINGS, even=True)
    inner, square = slice(MARGIN, -MARGIN), max(1, min(_SQUARE, min(plane.size) // _MIN_SQUARES))
    (width, height), (left, top) = (
        tuple(side // square for side in plane.size),
        tuple(side % square // 2 for side in plane.size),
    )

    def averaged(some: Tensor) -> Tensor:
        return F.avg_pool2d(some[:, top : top + height * square, left : left + width * square], square)

    inside = averaged(_compared(plane)[None].float())
    # Normalised by the mask: pixels that are not compared do not enter the mean of a square.
    found, painted = (
        averaged(some * _compared(plane)) / inside.clamp_min(1e-6)
        for some in (plane.channels[:, inner, inner], opponent(_picture(motif, plane)))
    )
    across, down = min(_CELL, width), min(_CELL, height)
    rows, columns = (
        grid.flatten()
        for grid in torch.meshgrid(
            torch.arange(height - down + 1), torch.arange(width - across + 1), indexing="ij"
        )
    )

    def in_cells(some: Float[Tensor, "P h w"]) -> Float[Tensor, "K P c d"]:
        return some.unfold(1, down, 1).unfold(2, across, 1).flatten(1, 2).movedim(1, 0)

    kernels, masks, colours = in_cells(found), in_cells(inside), in_cells(painted)
    count = masks.sum((1, 2, 3), keepdim=True)
    mean = (masks * kernels).sum((1, 2, 3), keepdim=True) / (DIRECTIONS * count).clamp_min(1e-6)
    kernels = masks * (kernels - mean)
    norm = kernels.square().sum((1, 2, 3), keepdim=True).sqrt()
    # The rim has less weight: a box around an object has background in its corners.
    middle = torch.stack(((rows + down / 2) / height, (columns + across / 2) / width), 1)
    central = (-((middle - 0.5) * 2).square().sum(1)).exp() * (count.flatten() >= 0.5 * across * down)
    textured = central * norm.flatten()
    if not bool(textured.sum() > 0):
        return None
    weights = torch.stack((textured / textured.sum(), _COLOUR_WEIGHT * central / central.sum()))
    used = torch.nonzero(central > 0)[:, 0]  # cells outside the mask have no weight
    return Cells(
        plane,
        square,
        (left, top),
        (width, height),
        rows[used],
        columns[used],
        (kernels / norm.clamp_min(1e-9))[used].contiguous(),
        masks[:1].contiguous() if bool((masks == 1).all()) else masks[used].contiguous(),
        ((masks * colours).sum((2, 3)) / count[..., 0, 0].clamp_min(1e-6))[used],
        weights[:, used],
    )


def _picture(motif: Motif, plane: PlaneMotif) -> Float[Tensor, "C h w"]:
    """The motif's colours at the resolution of the comparison."""
    width, height = plane.size
    planes = F.interpolate(torch.cat((motif.masked, motif.mask[None]))[None], (height, width), mode="area")[0]
    return planes[:-1] / planes[-1].clamp_min(1e-3)


def _compared(plane: PlaneMotif) -> Bool[Tensor, "h w"]:
    """The pixels inside the motif, without its outline, which is mixed with background."""
    width, height = plane.size
    inside = torch.zeros(height, width, dtype=torch.bool)
    places = plane.points.double() * plane.radius + plane.points.new_tensor(plane.centre).double()
    columns, rows = places.round().long()[~plane.unsigned].unbind(1)
    kept = (columns >= 0) & (rows >= 0) & (columns < width) & (rows < height)
    inside[rows[kept], columns[kept]] = True
    # A fit leaves out the border pixels of a picture without a mask; here they are as good as the others.
    border = height * width - (height - 2 * MARGIN) * (width - 2 * MARGIN)
    whole = not bool(plane.unsigned.any()) and len(plane.points) >= height * width - border
    return torch.ones_like(inside) if whole else inside

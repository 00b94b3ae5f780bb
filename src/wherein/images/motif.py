"""A motif: a picture with a mask, the thing that is looked for."""

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.images.load import Source, is_array, load_mask, load_picture
from wherein.images.pool import pool


@dataclass(frozen=True, eq=False)
class Motif:
    """x_o and 1_Ω: pixels (C, h, w) in [0, 1] and how much of each belongs to the motif (h, w).

    The mask is taken as it is by the least-squares formulations: a pixel of mask ½ counts half.
    """

    pixels: Float[Tensor, "C h w"]
    mask: Float[Tensor, "h w"]

    def __post_init__(self) -> None:
        require(bool((self.mask.detach() > 0).any()), "the motif's mask is empty: give it at least one pixel")

    @staticmethod
    def whole(pixels: Float[Tensor, "C h w"]) -> "Motif":
        """The motif that fills its rectangle."""
        return Motif(pixels, torch.ones_like(pixels[0]))

    @property
    def height(self) -> int:
        """h."""
        return self.mask.shape[0]

    @property
    def width(self) -> int:
        """w."""
        return self.mask.shape[1]

    @property
    def centre(self) -> tuple[float, float]:
        """The middle of its rectangle (x, y), ((w − 1)/2, (h − 1)/2) as pixel centres are whole numbers."""
        return (self.width - 1) / 2, (self.height - 1) / 2

    @cached_property
    def masked(self) -> Float[Tensor, "C h w"]:
        """P_Ω x_o: black outside the mask."""
        return self.pixels * self.mask

    def padded(self, radius: int) -> "Motif":
        """The same motif with `radius` empty pixels on each side, black where the mask is zero."""
        pixels = self.pixels * (self.mask > 0)
        return Motif(F.pad(pixels, (radius,) * 4), F.pad(self.mask, (radius,) * 4))

    def inset(self, radius: int) -> "Motif":
        """The same motif with a mask of at most ½ where it is `radius` pixels or less from the outside.

        These pixels still say how the motif goes on, but are not well inside it any more.
        """
        inner = F.pad(self.mask > 0.5, (radius,) * 4)
        for _ in range(radius):  # a square of 3 at a time, by rows and by columns: faster than any pooling
            inner = inner[1:-1] & inner[:-2] & inner[2:]
            inner = inner[:, 1:-1] & inner[:, :-2] & inner[:, 2:]
        return Motif(self.pixels, torch.where(inner, self.mask, self.mask.clamp_max(0.5)))

    def pooled(self, factor: int) -> "Motif":
        """The motif at 1/factor of its size: each pixel the mean of factor², as far as they are in the mask.

        Pixel X of it has its centre at factor · X + (factor − 1)/2 of this one.
        """
        if factor == 1:
            return self
        planes = torch.cat((self.masked, self.mask[None]))
        rest = (0, -self.width % factor, 0, -self.height % factor)
        planes = pool(F.pad(planes, rest) if any(rest) else planes, factor)
        return Motif(planes[:-1] / planes[-1].clamp_min(torch.finfo(planes.dtype).eps), planes[-1])


def load_motif(source: Source, mask: Source | None, color: str, device: torch.device) -> Motif:
    """The motif on the scene's device, with its mask: the one given, or its alpha, or all of it.

    A scene from OpenCV may be searched for a motif from a file: `color` is about arrays.
    """
    picture = load_picture(source, color=color if is_array(source) else "rgb", role="motif")
    pixels = picture.pixels.detach().float()
    if mask is not None:
        weights = load_mask(mask).detach().float()
    else:
        weights = picture.mask.detach().float() if picture.mask is not None else torch.ones_like(pixels[0])
    require(
        weights.shape == pixels.shape[-2:],
        f"the mask is {tuple(weights.shape)}, the motif {tuple(pixels.shape[-2:])}: they must agree",
    )
    require(
        bool((weights > 0.5).any()),
        "the motif's mask is empty: at least one pixel must be more than half in it",
    )
    return Motif(pixels.to(device), weights.to(device))

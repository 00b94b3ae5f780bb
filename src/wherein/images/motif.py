"""A motif: a small picture with a mask, to be found in a scene."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.images.contours import contours
from wherein.images.load import Source, is_array, load_mask, load_picture
from wherein.images.polygons import Polygon
from wherein.images.pool import pool

_LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in grey: ITU-R BT.601, which Pillow, OpenCV and JPEG use."""


@dataclass(frozen=True, eq=False)
class Motif:
    """A picture and its mask, x_o and 1_Ω.

    Attributes:
        pixels: in [0, 1].
        mask: the fraction of each pixel that belongs to the motif, in [0, 1]. The least-squares formulations
            use it as a weight.
    """

    pixels: Float[Tensor, "C h w"]
    mask: Float[Tensor, "h w"]

    def __post_init__(self) -> None:
        require(
            bool((self.mask.detach() > 0).any()),
            "the motif's mask is empty: at least one pixel must be above 0",
        )

    @staticmethod
    def whole(pixels: Float[Tensor, "C h w"]) -> "Motif":
        """A motif without a mask, which fills its rectangle."""
        return Motif(pixels, torch.ones_like(pixels[0]))

    @property
    def height(self) -> int:
        """The height h in pixels."""
        return self.mask.shape[0]

    @property
    def width(self) -> int:
        """The width w in pixels."""
        return self.mask.shape[1]

    @property
    def centre(self) -> tuple[float, float]:
        """The centre (x, y) of its rectangle, ((w − 1)/2, (h − 1)/2): pixel centres are at whole numbers."""
        return (self.width - 1) / 2, (self.height - 1) / 2

    @cached_property
    def fills(self) -> bool:
        """Whether it has no outline but the border of its rectangle."""
        return bool((self.mask > 0.5).all())

    @cached_property
    def extent(self) -> float:
        """The radius of a disc as large as the motif, in pixels.

        It is the geometric mean of two radii: that of a disc of the same area, which is small for a thin
        motif, and that of a disc with the same spread of pixels, which is large. A thin motif needs more
        resolution than the disc of the same spread, and less than the disc of the same area.
        """
        rows, columns = torch.nonzero(self.mask > 0.5, as_tuple=True)
        spread = 2 * float(rows.double().var(correction=0) + columns.double().var(correction=0)) + 1
        return math.sqrt(math.sqrt(spread * len(rows) / math.pi))

    @cached_property
    def rings(self) -> tuple[Polygon, ...]:
        """The outlines of the pixels with a mask above ½: the largest component, the others, and holes."""
        return contours(self.mask.detach().cpu().numpy() > 0.5)

    @cached_property
    def masked(self) -> Float[Tensor, "C h w"]:
        """P_Ω x_o: the pixels times the mask, black outside."""
        return self.pixels * self.mask

    def padded(self, radius: int) -> "Motif":
        """The motif with `radius` empty pixels added on each side, black where the mask is zero."""
        pixels = self.pixels * (self.mask > 0)
        return Motif(F.pad(pixels, (radius,) * 4), F.pad(self.mask, (radius,) * 4))

    def inset(self, radius: int) -> "Motif":
        """The motif with the mask lowered to at most ½ within `radius` pixels of its outline.

        Pixels with a mask of ½ or less are not compared, but the derivatives of their neighbours use them.
        """
        inner = F.pad(self.mask > 0.5, (radius,) * 4)
        for _ in range(radius):  # eroded by 3 × 3, first along y, then along x: faster than pooling
            inner = inner[1:-1] & inner[:-2] & inner[2:]
            inner = inner[:, 1:-1] & inner[:, :-2] & inner[:, 2:]
        return Motif(self.pixels, torch.where(inner, self.mask, self.mask.clamp_max(0.5)))

    def pooled(self, factor: int) -> "Motif":
        """The motif at 1/factor of its size: each pixel is the mean of factor², weighted by the mask.

        The centre of its pixel X is at factor · X + (factor − 1)/2 of this motif.
        """
        if factor == 1:
            return self
        planes = torch.cat((self.masked, self.mask[None]))
        # Filled up with empty pixels: unlike a scene, a motif must not lose its last rows and columns.
        rest = (0, -self.width % factor, 0, -self.height % factor)
        planes = pool(F.pad(planes, rest) if any(rest) else planes, factor)
        return Motif(planes[:-1] / planes[-1].clamp_min(torch.finfo(planes.dtype).eps), planes[-1])


def alike(scene: Float[Tensor, "3 H W"], motif: Motif) -> tuple[Float[Tensor, "C H W"], Motif]:
    """A scene and a motif; both in grey, with one channel, if one of them is grey.

    Otherwise every channel of the grey one would be compared with a different colour.
    """
    if not _is_grey(scene) and not _is_grey(motif.pixels):
        return scene, motif
    return _grey(scene), Motif(_grey(motif.pixels), motif.mask)


def _is_grey(pixels: Float[Tensor, "3 H W"]) -> bool:
    return torch.equal(pixels[0], pixels[1]) and torch.equal(pixels[1], pixels[2])


def _grey(pixels: Float[Tensor, "3 H W"]) -> Float[Tensor, "1 H W"]:
    if _is_grey(pixels):
        return pixels[:1]
    red, green, blue = pixels
    return (_LUMA[0] * red + _LUMA[1] * green + _LUMA[2] * blue)[None]


def load_motif(source: Source, mask: Source | None, color: str, device: torch.device) -> Motif:
    """Load a motif onto the scene's device.

    Its mask is `mask` if that is given, else its alpha channel, else the whole picture.

    `color` applies to arrays only, so that a scene from OpenCV can be searched for a motif from a file.
    """
    picture = load_picture(source, color=color if is_array(source) else "rgb", role="motif")
    pixels = picture.pixels.detach().float()
    if mask is not None:
        weights = load_mask(mask).detach().float()
    else:
        weights = picture.mask.detach().float() if picture.mask is not None else torch.ones_like(pixels[0])
    require(
        weights.shape == pixels.shape[-2:],
        f"the mask has shape {tuple(weights.shape)} and the motif {tuple(pixels.shape[-2:])}: use the same",
    )
    require(
        bool((weights > 0.5).any()),
        "the motif's mask is empty: at least one pixel must be above 0.5",
    )
    return Motif(pixels.to(device), weights.to(device))

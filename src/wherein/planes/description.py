"""The description of a motif at one resolution: its channels, its outline, and the weight of each pixel.

**Outline.** The background of an object differs from scene to scene, and may be lighter or darker than the
object. So the channels of a motif with a mask are the mean over several backdrops. Inside the motif, these
have equal channels. At the outline, each has an edge of known direction but unknown sign. There, motif and
scene are compared without sign: opposite directions are averaged in both. So they are farther inside, where
the backdrop matters more than the texture. An object without texture, a silhouette, is found by its outline
alone.

**Weights.** The weight of a pixel increases with the strength of its gradient, and is lower

- where the edge is straight over a long distance. The pixels of a long straight edge are redundant: clutter
  that matches one of them matches all, so the handle of a wrench fits every stripe. The ends, corners and
  curves of an object are what distinguishes it;
- where the motif is transparent, and shows what lies behind.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.images.channels import DIRECTIONS, ChannelSettings, channels, opposite
from wherein.images.gaussian import blur

MARGIN = 8
"""Margin of rectified pictures around the motif, in pixels. A choice: the reach of the window and the
smoothing of the channels, so that the border of the picture does not affect the channels of the motif."""

_BACKDROPS = (
    (0.0, 0.0, 0.0),
    (1.0, 1.0, 1.0),
    (0.5, 0.5, 0.5),
    (0.8, 0.3, 0.2),
    (0.2, 0.3, 0.8),
    (0.3, 0.7, 0.3),
)
"""Backdrop colours for a motif with a mask. A choice: dark, light, grey, and one in each of three hues, so
that no outline vanishes on all of them, whatever the colour of the object."""

_OUTLINE_INSIDE, _OUTLINE_OUTSIDE = 2, 1
"""Width in pixels, inside and outside the outline, in which channels are compared without sign. Choices: the
reach of their smoothing."""

_BACKDROP_SHARE = 0.25
"""Farther inside, channels are compared without sign where their mean distance from their mean over the
backdrops is more than this share of the mean. A choice: it is 0.46 for an edge alone that is brighter outside
with five backdrops and darker with one, and 0 for texture alone."""

_MIN_COVER, _AROUND_COVER = 0.05, 2
"""A pixel counts as covered above this covered fraction; and the distance from covered pixels, in pixels,
within which none are compared. Choices: the gradient reaches one pixel, and the smoothing mostly one more."""

_BORDER, _BORDER_SHARE = 4, 8
"""Width in pixels of the border of a picture without an outline that is not compared, and its maximum as a
divisor of the picture's shorter side. Choices: channels near the border depend on what lies beyond, which is
unknown. With one pixel, a crop was found in its own photograph 1.2 % too large and 0.8 px aside; with four,
0.2 % and 0.1 px."""

OUTLINE_BLUR = 1.0
"""Blur at the outline of a mask, in pixels at full size. A mask ends within a pixel; in a photograph, lens,
sensor and compression blur an outline by about this much. Measured on 30 thin and plain things that are in no
benchmark, at the poses that were found: of 196 in photographs, 158 reach their threshold without blur, 161
with 1.0 and 163 with 1.3; in the scenes of their calibrations 556, 566 and 565."""

_SOLID = 0.99
"""Where the blurred mask is above this value, a pixel lies well inside, and the motif is not blurred."""

_MIN_SEEN = 0.01
"""Lower bound of the mask when colours are divided by it. A choice: far less than any pixel that is used."""

_MIN_WEIGHT = 0.1
"""Weight of a pixel without gradient, relative to one with a strong gradient. A choice: that the object is
flat there is informative, but in the scene local normalisation makes noise there as strong as texture."""

_STRAIGHT_REACH, _STRAIGHT_STEP = 24, 2
"""How far an edge is followed to either side, and the step between samples, in pixels. Choices: thin objects
are about 5 px wide and 100 px long."""

_STRAIGHT_SHARE = 0.5
"""Similarity of the channels along an edge at which the edge ends. A choice: 1 means equal channels, and 0.5
that the edge has turned by about 45°."""

_REDUNDANCY = 1.0
"""The weight of a pixel is divided by this power of the length of its straight edge; with 1, all n pixels of
an edge together count as one. Measured on 30 thin and plain things that are in no benchmark, at the poses
that were found: in the scenes of their calibrations 579 reach their threshold with 1, 574 with 0.75 and 572
with 0.5; with half of the reach 573, 569 and 566."""


@dataclass(frozen=True, eq=False)
class Description:
    """A motif at one resolution, with its margin.

    Attributes:
        channels: (8, h, w).
        where: which pixels are compared.
        unsigned: which pixels are compared without sign: light and dark may be exchanged.
        opacity: the share of the motif, and not of what lies behind it, in the colour of a pixel.
    """

    channels: Float[Tensor, "8 h w"]
    where: Bool[Tensor, "h w"]
    unsigned: Bool[Tensor, "h w"]
    opacity: Float[Tensor, "h w"]

    def thinned(self, count: int) -> "Description":
        """The same description with at most `count` of its pixels to compare."""
        chosen = torch.nonzero(self.where.flatten())[:, 0]
        if len(chosen) <= count:
            return self
        # A fixed random choice, since pixels at a regular stride lie on lines across the motif.
        order = torch.from_numpy(np.random.default_rng(0).permutation(len(chosen))[:count])
        where = torch.zeros_like(self.where)
        where.view(-1)[chosen[order]] = True
        return replace(self, where=where)


def described(
    planes: Float[Tensor, "P h w"],
    settings: ChannelSettings,
    fills: bool,
    any_polarity: bool,
    outline_blur: float = 0.0,
) -> Description:
    """The description of a motif at one resolution.

    Arguments:
        planes: its colours times its mask, its mask, and the covered area, with a margin.
        settings: of the channels.
        fills: whether its mask fills the whole picture at full size. This cannot be seen at this resolution,
            where the pixels at the border may lie half outside.
        any_polarity: compare all pixels without sign.
        outline_blur: blur at the outline of the mask, in pixels at this resolution.
    """
    found, where, outline = _with_backdrops(planes, settings, fills, outline_blur)
    unsigned = torch.ones_like(outline) if any_polarity else outline
    if bool(unsigned.any()):
        found = torch.where(unsigned, (found + opposite(found)) / 2, found)
    # The highest opacity nearby: at the outline, the mask is low because it ends, and not because the motif
    # is transparent.
    opacity = _highest(planes[-2], _OUTLINE_INSIDE)
    return Description(found, where, unsigned, (opacity / opacity.max().clamp_min(1e-9)).clamp(0, 1))


def point_weights(seen: Description, even: bool = False) -> Float[Tensor, " N"]:
    """The weight of each pixel that is compared, in the order of `torch.nonzero`.

    Arguments:
        seen: the motif.
        even: give straight edges their full weight, for exact poses: they say little about whether an object
            is present, but much about where it is.
    """
    rows, columns = torch.nonzero(seen.where, as_tuple=True)
    share = _share(seen.channels[:, rows, columns].norm(dim=0).double())
    novel = torch.ones_like(share) if even else straight_lengths(seen.channels, seen.where) ** -_REDUNDANCY
    # Divided by the weighted mean, so that all edges together keep their weight relative to flat areas.
    novel = novel / ((share * novel).sum() / share.sum().clamp_min(1e-9)).clamp_min(1e-9)
    opacity = seen.opacity[rows, columns].double().square()
    return opacity * (_MIN_WEIGHT + (1 - _MIN_WEIGHT) * share * novel)


def straight_lengths(found: Float[Tensor, "8 h w"], where: Bool[Tensor, "h w"]) -> Float[Tensor, " N"]:
    """The number of steps for which the edge at each pixel is straight, at least 1.

    Arguments:
        found: channels.
        where: the pixels, in the order of `torch.nonzero`.
    """
    rows, columns = torch.nonzero(where, as_tuple=True)
    both = ((found + opposite(found)) / 2).double()
    size = both.norm(dim=0).clamp_min(1e-6)
    # The direction of an edge without sign: the angle is doubled, so that opposite directions add up instead
    # of cancelling, and halved again.
    angles = torch.arange(DIRECTIONS, dtype=torch.float64) * (4 * math.pi / DIRECTIONS)
    sums = (torch.einsum("k,kn->n", wave, both[:, rows, columns]) for wave in (angles.cos(), angles.sin()))
    cosine, sine = sums
    normal = torch.atan2(sine, cosine) / 2
    own, own_size = both[:, rows, columns] / size[rows, columns], size[rows, columns]
    length = torch.ones(len(rows), dtype=torch.float64)
    for sign in (-1, 1):
        along = torch.ones_like(length)
        for distance in range(_STRAIGHT_STEP, _STRAIGHT_REACH + 1, _STRAIGHT_STEP):
            x = (columns - sign * distance * normal.sin()).round().long().clamp(0, found.shape[2] - 1)
            y = (rows + sign * distance * normal.cos()).round().long().clamp(0, found.shape[1] - 1)
            alike = (own * both[:, y, x] / size[y, x]).sum(0) * (size[y, x] / own_size).clamp_max(1)
            # The edge ends where it fades or turns. After that it does not begin again: hence the minimum.
            along = along.minimum(((alike - _STRAIGHT_SHARE) / (1 - _STRAIGHT_SHARE)).clamp(0, 1))
            length += along
    return length


def _with_backdrops(
    planes: Float[Tensor, "P h w"], settings: ChannelSettings, fills: bool, outline_blur: float
) -> tuple[Float[Tensor, "8 h w"], Bool[Tensor, "h w"], Bool[Tensor, "h w"]]:
    """The mean channels over the backdrops, which pixels are compared, and which of these are outline.

    A motif that fills its rectangle has no outline: it is cut from a picture that continues beyond it. It has
    no backdrop either, but is continued by its border pixels.
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
        kept = _eroded(inside, border) & free
        # Of a motif two pixels high nothing lies away from its border: then its border counts as well.
        kept = kept if bool(kept.any()) else inside & free
        return channels(whole, settings), kept, torch.zeros_like(inside)
    colours = own.new_tensor(_BACKDROPS)[:, : len(own), None, None]
    colours = colours if len(own) == 3 else colours.mean(1, keepdim=True)
    # The difference from the backdrop is blurred, and not the picture: it is 0 at the margin, so that zeros
    # beyond the border are right.
    above = own - mask * colours
    solid = blur(mask, outline_blur) > _SOLID
    pictures = colours + torch.where(solid, above, blur(above, outline_blur))
    found = torch.stack([channels(picture.contiguous(), settings) for picture in pictures])
    mean = found.mean(0)
    around = _dilated(inside, _OUTLINE_OUTSIDE) & free
    # Where an object has little texture, the smoothed outline dominates farther inside, with the sign of most
    # backdrops: a dark blue square, darker than five of the six, had a score of 0.82 on black, 0.97 on white.
    depends = (found - mean).norm(dim=1).mean(0) > _BACKDROP_SHARE * mean.norm(dim=0)
    return mean, around, around & (depends | ~_eroded(inside, _OUTLINE_INSIDE))


def _eroded(mask: Bool[Tensor, "h w"], radius: int) -> Bool[Tensor, "h w"]:
    return ~_dilated(~mask, radius)


def _dilated(mask: Bool[Tensor, "h w"], radius: int) -> Bool[Tensor, "h w"]:
    return _highest(mask.float(), radius) > 0


def _highest(values: Float[Tensor, "h w"], radius: int) -> Float[Tensor, "h w"]:
    """The highest value within `radius` pixels along both axes.

    Along rows, then along columns, which takes a fraction of the time of a square window.
    """
    size = 2 * radius + 1
    across = F.max_pool2d(values[None, None], (1, size), 1, (0, radius))
    return F.max_pool2d(across, (size, 1), 1, (radius, 0))[0, 0]


def emphasis(strength: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Weights that increase linearly with a strength, from `_MIN_WEIGHT` to 1 for the strongest tenth."""
    return _MIN_WEIGHT + (1 - _MIN_WEIGHT) * _share(strength)


def _share(strength: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Strengths scaled to [0, 1], limited to 1 for the strongest tenth."""
    return (strength / strength.quantile(0.9).clamp_min(1e-9)).clamp_max(1)

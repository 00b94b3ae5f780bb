"""What of a motif is compared at one resolution: its channels, its outline, and how much each pixel counts.

**Its outline.** What lies around an object differs from scene to scene, and whether it is lighter or darker
than the object. So the channels of a motif with a mask are the mean over several backdrops: inside, these
agree; at the outline, every backdrop has an edge, whose direction is known but not its sign. There the
motif and the scene are compared without sign: opposite directions are averaged in both. An object without any
texture, a silhouette, is all outline, and is found by it.

**Its weights.** A pixel counts for more the stronger its gradient, and for less

- where the edge goes straight on to both sides. Edges of ordinary things do, so that the pixels of a long
  straight edge say nearly the same, and clutter that has one such pixel has them all: the handle of a wrench
  fits every stripe. Its ends, corners and curves tell it from others;
- where it is transparent, and shows what lies behind.
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

_BORDER, _BORDER_SHARE = 4, 8
"""Pixels at the border of a picture without an outline that are not compared, and how many times smaller they
are at least than the picture. Choices: the channels there depend on what lies beyond, which is not known.
With one pixel, a crop was found in its own photograph 1.2 % too large and 0.8 px aside; with four, 0.2 % and
0.1 px."""

OUTLINE_BLUR = 1.0
"""Blur at the outline of a mask, in pixels at full size. A mask ends within a pixel; in a photograph the
lens, the sensor and the compression blur an outline by about this much. By measurement, on 30 thin and plain
things that are in no benchmark, at the poses that were found: of 196 in photographs 161 reach their threshold
instead of 158, and 163 with 1.3; of those of their calibrations 566 instead of 556, and 565."""

_SOLID = 0.99
"""Share of the blurred mask from which a pixel lies well inside: there the motif is as sharp as it is."""

_MIN_SEEN = 0.01
"""Fraction of a pixel that a picture must cover to have a colour there. A choice: far less than any does."""

_MIN_WEIGHT = 0.1
"""Weight of a pixel where the motif has no gradient, relative to where it has most. A choice: that nothing is
there is worth knowing, but where an object is flat a scene shows noise, which local normalisation makes as
strong as texture."""

_STRAIGHT_REACH, _STRAIGHT_STEP = 24, 2
"""How far an edge is followed to either side, and the steps, in pixels. Choices: what is thin is some 5 px
wide and 100 long."""

_STRAIGHT_SHARE = 0.5
"""Similarity of the channels along an edge at which it counts as ended. A choice: 1 is the same edge, and at
half of it the edge has turned by about 45°."""

_REDUNDANCY = 1.0
"""Power of the length of a straight edge by which its pixels lose weight: n of them count as one. By
measurement, on 30 thin and plain things that are in no benchmark, at the poses that were found: in the scenes
of their calibrations 579 reach their threshold, with 0.75 574 and with 0.5 572; with half of the reach 573,
569 and 566."""


@dataclass(frozen=True, eq=False)
class Description:
    """A motif at one resolution with a margin.

    Attributes:
        channels: of all of it, (8, h, w).
        where: which pixels are compared.
        unsigned: at which pixels light and dark may be exchanged.
        opacity: how much of what is seen there is the motif, and not what lies behind it.
    """

    channels: Float[Tensor, "8 h w"]
    where: Bool[Tensor, "h w"]
    unsigned: Bool[Tensor, "h w"]
    opacity: Float[Tensor, "h w"]

    def thinned(self, count: int) -> "Description":
        """The same with at most `count` of the pixels that are compared."""
        chosen = torch.nonzero(self.where.flatten())[:, 0]
        if len(chosen) <= count:
            return self
        # In a fixed random order: pixels at a regular stride lie on lines across the motif.
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
    """What of a motif is compared at one resolution.

    Arguments:
        planes: its colours times its mask, its mask, and what is covered, with a margin.
        settings: of the channels.
        fills: whether it fills its rectangle at full size. It need not at this resolution, where the pixels
            at the border may lie half outside.
        any_polarity: compare all of it without sign.
        outline_blur: blur at the outline of its mask, in pixels at this resolution.
    """
    found, where, outline = _with_backdrops(planes, settings, fills, outline_blur)
    unsigned = torch.ones_like(outline) if any_polarity else outline
    if bool(unsigned.any()):
        found = torch.where(unsigned, (found + opposite(found)) / 2, found)
    # Of the most opaque pixel near it: at the outline the mask falls off within a pixel.
    opacity = _highest(planes[-2], _OUTLINE_INSIDE)
    return Description(found, where, unsigned, (opacity / opacity.max().clamp_min(1e-9)).clamp(0, 1))


def point_weights(seen: Description, even: bool = False) -> Float[Tensor, " N"]:
    """The weight of each pixel that is compared, in the order of `torch.nonzero`.

    Arguments:
        seen: the motif.
        even: whether straight edges count in full: they tell little about whether an object is there, but
            where it is.
    """
    rows, columns = torch.nonzero(seen.where, as_tuple=True)
    share = _share(seen.channels[:, rows, columns].norm(dim=0).double())
    novel = torch.ones_like(share) if even else straight_lengths(seen.channels, seen.where) ** -_REDUNDANCY
    # Relative to their mean, so that edges as a whole keep their weight, compared with where nothing is.
    novel = novel / ((share * novel).sum() / share.sum().clamp_min(1e-9)).clamp_min(1e-9)
    opacity = seen.opacity[rows, columns].double().square()
    return opacity * (_MIN_WEIGHT + (1 - _MIN_WEIGHT) * share * novel)


def straight_lengths(found: Float[Tensor, "8 h w"], where: Bool[Tensor, "h w"]) -> Float[Tensor, " N"]:
    """For how many steps the edge at each pixel goes straight on, at least 1.

    Arguments:
        found: channels.
        where: the pixels, in the order of `torch.nonzero`.
    """
    rows, columns = torch.nonzero(where, as_tuple=True)
    both = ((found + opposite(found)) / 2).double()
    size = both.norm(dim=0).clamp_min(1e-6)
    # Of a direction and its opposite the double angle is the same.
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
            # It ends where it fades or turns, and does not begin again.
            along = along.minimum(((alike - _STRAIGHT_SHARE) / (1 - _STRAIGHT_SHARE)).clamp(0, 1))
            length += along
    return length


def _with_backdrops(
    planes: Float[Tensor, "P h w"], settings: ChannelSettings, fills: bool, outline_blur: float
) -> tuple[Float[Tensor, "8 h w"], Bool[Tensor, "h w"], Bool[Tensor, "h w"]]:
    """Mean channels over the backdrops, which pixels are compared, and which of these belong to the outline.

    A motif that fills its rectangle has no outline: it is a part of a picture, and beyond it the picture went
    on. There the backdrop is the motif itself, continued.
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
    # Only what differs from the backdrop is blurred: beyond the margin, too, there is backdrop.
    above = own - mask * colours
    solid = blur(mask, outline_blur) > _SOLID
    pictures = colours + torch.where(solid, above, blur(above, outline_blur))
    mean = torch.stack([channels(picture.contiguous(), settings) for picture in pictures]).mean(0)
    around = _dilated(inside, _OUTLINE_OUTSIDE) & free
    return mean, around, around & ~_eroded(inside, _OUTLINE_INSIDE)


def _eroded(mask: Bool[Tensor, "h w"], radius: int) -> Bool[Tensor, "h w"]:
    return ~_dilated(~mask, radius)


def _dilated(mask: Bool[Tensor, "h w"], radius: int) -> Bool[Tensor, "h w"]:
    return _highest(mask.float(), radius) > 0


def _highest(values: Float[Tensor, "h w"], radius: int) -> Float[Tensor, "h w"]:
    """The highest value within `radius` pixels along both axes: of rows, then of columns, which takes a
    fraction of the time of squares."""
    size = 2 * radius + 1
    across = F.max_pool2d(values[None, None], (1, size), 1, (0, radius))
    return F.max_pool2d(across, (size, 1), 1, (radius, 0))[0, 0]


def emphasis(strength: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Weights in proportion to a strength, from `_MIN_WEIGHT` to 1 for the strongest tenth."""
    return _MIN_WEIGHT + (1 - _MIN_WEIGHT) * _share(strength)


def _share(strength: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Strengths from 0 to 1 for the strongest tenth."""
    return (strength / strength.quantile(0.9).clamp_min(1e-9)).clamp_max(1)

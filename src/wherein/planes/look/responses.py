"""Responses of a scene: how strongly each direction of a gradient occurs near each place, at many sizes.

The channels of the scene at a size (`rectify.scene_at`) become a map in bytes for each direction. Each value
is spread to its neighbours, so that a feature that is off by a pixel still counts in full.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Integer, UInt8
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, ChannelSettings, channels
from wherein.native import kernel, look_calls, picture_calls
from wherein.native.abi import LOOK_SPAN
from wherein.planes.rectify import scene_at
from wherein.pyramid.levels import ScenePyramid

LOOK = ChannelSettings(sigma=0.8)
"""Channels of the first look. Less smooth than those of a fit: spreading gives the tolerance here."""

_GAIN, _LEVELS = 10.0, 15
"""Channels times the gain, cut to the number of levels, are the responses. A choice: the strongest edges of
ordinary pictures reach the highest level; 15 levels add up to 17 features in a byte."""

QUIET = 20.0
"""Energy that is added to that of the scene around a place before the sum is divided by its root. A choice:
that of a few weak edges, so that noise on a flat background does not rank first."""

_MARGIN = 32
"""Places around a scene without any response, at least. A choice: what the features of most motifs reach."""

MAX_KEPT = 12_000_000
"""Responses of at most so many bytes are kept for other motifs. A choice: of a megapixel. Those of a larger
scene are made again for each motif, which takes far less time than the look."""

STRIDE = 2
"""Pixels between neighbouring places. The spreading by one pixel either way covers those between."""

BYTES_PER_PIXEL = DIRECTIONS + DIRECTIONS // 2
"""Of the maps, without their margins: a byte for each direction, and for the larger of two opposite ones."""


@dataclass(frozen=True, eq=False)
class Responses:
    """How strongly each direction occurs near each place of a reduced scene.

    Attributes:
        maps: bytes, for each direction and phase; the planes after those of the directions hold the larger of
            two opposite ones.
        size: number of places down and across.
        margin: places around them without any response.
        to_full: pixels of the reduced scene → pixels at full size, 3×3.
    """

    maps: UInt8[Tensor, "12 4 h w"]
    size: tuple[int, int]
    margin: int
    to_full: NDArray[np.float64]

    def spots(self, at: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Where places lie at full size, (N, 2), from their indices row by row."""
        width = self.size[1]
        places = STRIDE * np.stack((at % width, at // width), 1)
        return np.asarray(places * self.to_full[(0, 1), (0, 1)] + self.to_full[:2, 2])

    @cached_property
    def energy(self) -> Int[Tensor, "H W"]:
        """Sum of the squares over the directions, summed from the corner: the sum of any box is four of
        these."""
        m, (height, width) = self.margin, self.size
        if kernel.accepts():
            return look_calls.energy(self.maps, m, self.size)
        # As floats, which are exact up to 2²⁴ and faster; the sums over the scene are larger.
        own = self.maps[:DIRECTIONS, 0, m : m + height, m : m + width].float().square().sum(0)
        return F.pad(own.int().cumsum(0).cumsum(1), (1, 0, 1, 0))

    def _mean_energy(self, window: int) -> tuple[Float[Tensor, "H W"], Float[Tensor, "H W"]]:
        """Mean of the squares over a window around each place, at the border over what is inside; and which
        share of the window that is."""
        (height, width), reach, table = self.size, window // 2, self.energy
        rows, columns = torch.arange(height), torch.arange(width)
        top, bottom = (rows - reach).clamp_min(0), (rows + reach + 1).clamp_max(height)
        left, right = (columns - reach).clamp_min(0), (columns + reach + 1).clamp_max(width)
        band = table[bottom] - table[top]
        sums = band[:, right] - band[:, left]
        inside = ((bottom - top)[:, None] * (right - left)).float()
        small = 2 * window <= min(self.size)
        return sums.float() / inside, inside / (2 * reach + 1) ** 2 if small else torch.ones_like(inside)

    def rated(self, best: Integer[Tensor, "H row"], window: int) -> Float[Tensor, "H W"]:
        """Sums of responses at all places, relative to the energy around each.

        Of an object that the border of the scene cuts, fewer features add up. By the square root of the share
        that is inside: then clutter is rated as high at the border as elsewhere (by measurement, with twelve
        cut-outs in four photographs), and an object that is cut stands out as far as it can. A motif of more
        than half of the scene is at the border nearly everywhere, which says nothing then.

        Arguments:
            best: the sums; rows may be longer than those of the places.
            window: width of the square over which the energy is averaged, in places.
        """
        if kernel.accepts():
            return look_calls.rate_places(best, self.size[1], self.energy, window, QUIET)
        energy, share = self._mean_energy(window)
        return best.float() / ((energy + QUIET) * share).sqrt()


def responses_at(scene: ScenePyramid, level: int, margin: int) -> Responses:
    """The responses of a scene at a level; made once for each level, unless they take much memory."""
    known = scene.kept.get(("responses", level))
    if isinstance(known, Responses) and known.margin >= margin:
        return known
    picture, to_full = scene_at(scene, level)
    maps, size = _responses(picture, max(margin, _MARGIN))
    made = Responses(maps, size, max(margin, _MARGIN), to_full)
    if maps.numel() <= MAX_KEPT:
        scene.kept["responses", level] = made
    return made


def _responses(
    picture: Float[Tensor, "C H W"], margin: int
) -> tuple[UInt8[Tensor, "12 4 h w"], tuple[int, int]]:
    """The maps of `Responses`, and the number of places."""
    height, width = picture.shape[-2:]
    size = -(-height // STRIDE), -(-width // STRIDE)
    row = -(-size[1] // LOOK_SPAN) * LOOK_SPAN + 2 * margin + LOOK_SPAN
    out = torch.zeros(BYTES_PER_PIXEL, STRIDE**2, size[0] + 2 * margin, row, dtype=torch.uint8)
    if kernel.accepts(picture):
        taps = LOOK.taps(picture).contiguous()
        rules = picture_calls.channel_rules(taps, LOOK.floor, LOOK.noise, LOOK.window)
        look_calls.features(picture, rules, _GAIN, out, margin)
        return out, size
    levels = (channels(picture, LOOK) * _GAIN).clamp_max(_LEVELS).floor()
    spread = F.max_pool2d(levels, 3, 1, 1).to(torch.uint8)
    half = DIRECTIONS // 2
    spread = torch.cat((spread, torch.maximum(spread[:half], spread[half:])))
    for phase in range(STRIDE**2):
        part = spread[:, phase // STRIDE :: STRIDE, phase % STRIDE :: STRIDE]
        out[:, phase, margin : margin + part.shape[1], margin : margin + part.shape[2]] = part
    return out, size

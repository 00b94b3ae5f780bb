"""Responses of a scene: how strongly each gradient direction occurs near each place, at many sizes.

The channels of the reduced scene (`rectify.scene_at`) are quantised to one map of bytes for each direction.
Each byte becomes the maximum over its 3 × 3 neighbourhood, so that a feature that is off by a pixel still
counts in full. Bytes, because then one vector instruction adds the responses of 32 or 64 places.
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
"""Channels of the first look. They are smoothed less than those of a fit: spreading gives the tolerance."""

_GAIN, _LEVELS = 10.0, 15
"""A response is the channel times the gain, rounded down and limited to the highest level. A choice: the
strongest edges of ordinary pictures reach it, and a byte can hold the sum of 17 features (17 · 15 = 255)."""

QUIET = 20.0
"""Energy that is added to the mean energy around a place before the sum of responses is divided by its square
root. A choice: the energy of a few weak edges, so that noise on a flat background does not rank first."""

_MARGIN = 32
"""Minimum number of empty places around a scene. A choice: the features of most motifs reach no further."""

MAX_KEPT = 12_000_000
"""Maximum size in bytes of responses that are kept for other motifs. A choice: those of a megapixel. Larger
ones are computed again for each motif, which takes far less time than the look."""

STRIDE = 2
"""Pixels between neighbouring places. Responses are spread by one pixel, which covers the pixels between."""

BYTES_PER_PIXEL = DIRECTIONS + DIRECTIONS // 2
"""Size of the maps without margins: one byte for each direction and for each pair of opposite directions."""


@dataclass(frozen=True, eq=False)
class Responses:
    """How strongly each direction occurs near each place of a reduced scene.

    A feature may lie at any pixel, but places lie at every other pixel of every other row. So there is a
    plane for each of the four phases, the parities of row and column. In it, what one feature contributes
    to consecutive places is contiguous.

    Attributes:
        maps: for each direction and phase; then the maximum of each pair of opposite directions, for
            features without sign.
        size: number of places down and across.
        margin: number of empty places on each side.
        to_full: pixels of the reduced scene → pixels at full size, 3×3.
    """

    maps: UInt8[Tensor, "12 4 h w"]
    size: tuple[int, int]
    margin: int
    to_full: NDArray[np.float64]

    def spots(self, at: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
        """Positions at full size, (N, 2), of places given by their row-major indices."""
        width = self.size[1]
        places = STRIDE * np.stack((at % width, at // width), 1)
        return np.asarray(places * self.to_full[(0, 1), (0, 1)] + self.to_full[:2, 2])

    @cached_property
    def energy(self) -> Int[Tensor, "H W"]:
        """Summed-area table of the energy, the sum of squares over the directions.

        The sum over any box is a combination of four of its values.
        """
        m, (height, width) = self.margin, self.size
        if kernel.accepts():
            return look_calls.energy(self.maps, m, self.size)
        # Squares as floats: faster, and exact up to 2²⁴. Sums over the scene exceed that: as integers.
        own = self.maps[:DIRECTIONS, 0, m : m + height, m : m + width].float().square().sum(0)
        return F.pad(own.int().cumsum(0).cumsum(1), (1, 0, 1, 0))

    def _mean_energy(self, window: int) -> tuple[Float[Tensor, "H W"], Float[Tensor, "H W"]]:
        """The mean energy in a window around each place, and the share of the window inside the scene.

        At the border, the mean is over the part inside.
        """
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
        """The rating of each place: the sum of responses, normalised by the energy around the place.

        Without normalisation, places with many strong edges would win everywhere. If the border of the scene
        cuts the motif, fewer features contribute, so the rating is also divided by the square root of the
        share inside. Then clutter is rated as high at the border as elsewhere (measured with twelve cut-outs
        in four photographs), and objects that are cut are not at a disadvantage. If the motif is larger than
        half of the scene, the border is near nearly everywhere, and the share is not used.

        Arguments:
            best: the sums of responses; rows may be longer than those of the places.
            window: width of the square over which the energy is averaged, in places.
        """
        if kernel.accepts():
            return look_calls.rate_places(best, self.size[1], self.energy, window, QUIET)
        energy, share = self._mean_energy(window)
        return best.float() / ((energy + QUIET) * share).sqrt()


def responses_at(scene: ScenePyramid, level: int, margin: int) -> Responses:
    """The responses of a scene at a level; kept with the scene unless they take much memory."""
    # A larger margin than needed is no problem, so one set of responses serves motifs of any reach.
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
    # Rows are padded so that C may read whole vectors from every place, even beyond the last feature.
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

"""The first look over a scene: features of a motif, at many rotations, sizes and tilts, at every place.

A feature is a direction of the gradient at a place. The motif is a list of its strongest features, well apart
from each other. The scene is reduced for each size of the object such that the motif always has the same
number of pixels, and becomes a map for each direction of how strongly it occurs *near* each place (the
largest response of the neighbours), so that a feature that is off by a pixel still counts in full. A place
is rated by the sum over the features, for each rotation and tilt of the list. This tolerates larger steps
between poses than correlation does, and costs one addition for each feature and 32 places. (After LINE-2D,
Hinterstoisser et al. 2012; here with channels that are normalised locally, and over sizes and tilts.)

The result is a list of starts: the optimisation that follows finds the exact pose.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Integer, UInt8
from numpy.typing import NDArray
from torch import Tensor

from wherein.errors import TemplateError
from wherein.images.channels import DIRECTIONS, ChannelSettings, channels
from wherein.images.motif import Motif
from wherein.native import bindings
from wherein.native.abi import LOOK_SPAN
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.planes.rectify import resized
from wherein.pyramid.levels import Poses, ScenePyramid

LOOK = ChannelSettings(sigma=0.8)
"""Channels of the first look. Less smooth than those of a fit: spreading gives the tolerance here."""

_FEATURES, _APART = 64, 2
"""Maximum number of features of a motif, and how far apart two of the same direction must be, in pixels.
Choices."""

_GAIN, _LEVELS = 10.0, 15
"""Channels times the gain, cut to the number of levels, are the responses. A choice: the strongest edges of
ordinary pictures reach the highest level; 15 levels add up to 17 features in a byte."""

QUIET = 20.0
"""Energy that is added to that of the scene around a place before the sum is divided by its root. A choice:
that of a few weak edges, so that noise on a flat background does not rank first."""

SCALE_STEP = 1.12
"""Factor between neighbouring sizes of the first look. A choice, with `TURN_STEP` of `first_look`."""

_MARGIN = 32
"""Places around a scene without any response, at least. A choice: what the features of most motifs reach."""

_STRIDE = 2
"""Pixels between neighbouring places. The spreading by one pixel either way covers those between."""


@dataclass(frozen=True, eq=False)
class FeatureTemplates:
    """The features of a motif at each of a list of rotations and tilts.

    Attributes:
        from_full: pixels of the motif at full size → pixels at the resolution of the look, 3×3.
        centre: (x, y), about which the motif is turned, at that resolution.
        linear: the rotation and tilt of each template, (T, 2, 2).
        places: of its features, (x, y) from the centre in whole pixels, (T, N, 2).
        planes: in which map a feature is looked up: its direction, or `DIRECTIONS` plus its direction modulo
            180° where it has no sign, (T, N).
        window: width of the square over which the scene's energy is averaged, in places.
    """

    from_full: NDArray[np.float64]
    centre: tuple[float, float]
    linear: NDArray[np.float64]
    places: NDArray[np.int64]
    planes: NDArray[np.int64]
    window: int

    @staticmethod
    def of(
        motif: Motif,
        radius: float,
        linear: NDArray[np.float64],
        any_polarity: bool = False,
        covered: Float[Tensor, "h w"] | None = None,
    ) -> "FeatureTemplates":
        """The templates of a motif.

        Arguments:
            motif: at full size.
            radius: its extent at the resolution of the look, in pixels.
            linear: rotations and tilts, (T, 2, 2).
            any_polarity: features have no sign.
            covered: as of `PlaneMotif.of`.
        """
        plane = PlaneMotif.of(motif, radius, LOOK, any_polarity, covered)
        at, direction, unsigned = _strongest(plane)
        if not len(at):
            raise TemplateError(
                "the picture has neither texture nor an outline, so nothing can be found by it: use one "
                "with edges in it, or one that is transparent around the object"
            )
        centred = at - np.array(plane.centre)
        places = np.round(np.einsum("tij,nj->tni", linear, centred)).astype(np.int64)
        # A gradient is a covector: under a linear map A it turns by A⁻ᵀ.
        angle = direction * (2 * math.pi / DIRECTIONS)
        normal = np.stack((np.cos(angle), np.sin(angle)), 1)
        turned = np.einsum("tji,nj->tni", np.linalg.inv(linear), normal)
        steps = np.arctan2(turned[..., 1], turned[..., 0]) * (DIRECTIONS / (2 * math.pi))
        planes = np.round(steps).astype(np.int64) % DIRECTIONS
        planes = np.where(unsigned, DIRECTIONS + planes % (DIRECTIONS // 2), planes)
        window = 2 * (round(math.sqrt(len(plane.points) / math.pi) / _STRIDE) // 2) * 2 + 1
        return FeatureTemplates(plane.from_full, plane.centre, linear, places, planes, max(window, 3))

    def only(self, first: int, last: int) -> "FeatureTemplates":
        """Some of the templates, from one number to before another."""
        own = slice(first, last)
        return replace(self, linear=self.linear[own], places=self.places[own], planes=self.planes[own])

    @cached_property
    def margin(self) -> int:
        """How many places the features reach beyond a scene, at most."""
        return int(np.abs(self.places).max() // _STRIDE + 2)

    @property
    def reduction(self) -> float:
        """How much smaller the motif is in the look than at full size."""
        return 1 / math.sqrt(self.from_full[0, 0] * self.from_full[1, 1])


def _strongest(plane: PlaneMotif) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """The strongest features, well apart: places (N, 2), directions (N,), and whether they have no sign."""
    height, width = plane.channels.shape[-2:]
    spots = (
        (plane.points.double() * plane.radius + plane.points.new_tensor(plane.centre) + MARGIN).round().long()
    )
    columns, rows = spots.unbind(1)
    signless = torch.zeros(height, width, dtype=torch.bool)
    signless[rows, columns] = plane.unsigned
    strength = torch.zeros_like(plane.channels)
    strength[:, rows, columns] = plane.channels[:, rows, columns]
    # Without a sign, a channel has half of what it has in a scene. That is left as it is: what is inside the
    # outline is surer than the outline, which may have been drawn within the object.
    values = strength.numpy()
    free = np.ones(values.shape, dtype=np.bool_)
    chosen: list[tuple[int, int, int]] = []
    for index in np.argsort(-values, axis=None, kind="stable"):
        k, y, x = np.unravel_index(index, values.shape)
        if values[k, y, x] <= 0 or len(chosen) == _FEATURES:
            break
        if free[k, y, x]:
            chosen.append((int(x), int(y), int(k)))
            near = (slice(max(0, y - _APART), y + _APART + 1), slice(max(0, x - _APART), x + _APART + 1))
            for turn in (-1, 0, 1):
                free[((k + turn) % DIRECTIONS, *near)] = False
                if signless[y, x]:
                    free[((k + turn + DIRECTIONS // 2) % DIRECTIONS, *near)] = False
    x, y, k = np.array(chosen, dtype=np.int64).reshape(-1, 3).T
    at = np.stack((x, y), 1).astype(np.float64) - MARGIN
    return at, k, signless.numpy()[y, x]


@dataclass(frozen=True, eq=False)
class Places:
    """Places for a motif of one size in a scene.

    Attributes:
        ratings: of each, the highest first, (N,).
        templates: of the motif.
        spots: where its centre lies at full size, (N, 2).
        which: the number of the template that fits best, (N,).
    """

    ratings: NDArray[np.float64]
    templates: FeatureTemplates
    spots: NDArray[np.float64]
    which: NDArray[np.int32]

    def poses(self, count: int, scale: float) -> Poses:
        """The poses at full size of the first `count` places.

        Arguments:
            count: how many.
            scale: the size of the motif in the scene. All poses have exactly this one: the reduced scene is
                off by up to half a pixel.
        """
        linear = scale * self.templates.linear[self.which[:count]]
        poses = np.zeros((len(linear), 3, 3))
        poses[:, :2, :2], poses[:, 2, 2] = linear, 1.0
        middle = (np.linalg.inv(self.templates.from_full) @ (*self.templates.centre, 1.0))[:2]
        poses[:, :2, 2] = self.spots[:count] - linear @ middle
        return poses


def look(scene: ScenePyramid, templates: FeatureTemplates, level: int, count: int) -> Places:
    """The best places for a motif of one size in a scene.

    Arguments:
        scene: the scene to search.
        templates: of the motif.
        level: the scene is reduced by `factor_of(level)`, which sets the size of the motif in it.
        count: maximum number of places.
    """
    values, at, which = best_places(scene, templates, level, count)
    spots = responses_at(scene, level, templates.margin).spots(at)
    return Places(values.astype(np.float64) / templates.places.shape[1], templates, spots, which)


def best_places(
    scene: ScenePyramid, templates: FeatureTemplates, level: int, count: int
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int32]]:
    """Ratings of the best places, their indices row by row, and the template that fits best at each, (N,);
    arguments as of `look`."""
    rating, which, responses = _rated(scene, templates, level)
    rows, columns, values = peaks(rating, count)
    own = which.numpy()[rows.numpy(), columns.numpy()].astype(np.int32)
    return values.numpy(), (rows * responses.size[1] + columns).numpy(), own


def ratings(scene: ScenePyramid, templates: FeatureTemplates, level: int) -> Float[Tensor, "H W"]:
    """How well a motif of one size fits at every place, at its best rotation and tilt; as of `look`."""
    return _rated(scene, templates, level)[0]


def factor_of(level: int) -> float:
    """By how much a scene is reduced at a level of the first look.

    The levels are the same for all motifs, so that the responses of a scene are made once for all of them.
    """
    return float(SCALE_STEP**level)


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
        places = _STRIDE * np.stack((at % width, at // width), 1)
        return np.asarray(places * self.to_full[(0, 1), (0, 1)] + self.to_full[:2, 2])

    @cached_property
    def energy(self) -> Int[Tensor, "H W"]:
        """Sum of the squares over the directions, summed from the corner: the sum of any box is four of
        these."""
        m, (height, width) = self.margin, self.size
        if bindings.accepts():
            return bindings.energy(self.maps, m, self.size)
        # As floats, which are exact up to 2²⁴ and faster; the sums over the scene are larger.
        own = self.maps[:DIRECTIONS, 0, m : m + height, m : m + width].float().square().sum(0)
        return F.pad(own.int().cumsum(0).cumsum(1), (1, 0, 1, 0))

    def _mean_energy(self, window: int) -> Float[Tensor, "H W"]:
        """Mean of the squares over a window around each place; at the border over what is inside."""
        (height, width), reach, table = self.size, window // 2, self.energy
        rows, columns = torch.arange(height), torch.arange(width)
        top, bottom = (rows - reach).clamp_min(0), (rows + reach + 1).clamp_max(height)
        left, right = (columns - reach).clamp_min(0), (columns + reach + 1).clamp_max(width)
        band = table[bottom] - table[top]
        sums = band[:, right] - band[:, left]
        return sums.float() / ((bottom - top)[:, None] * (right - left))

    def rated(self, best: Integer[Tensor, "H row"], window: int) -> Float[Tensor, "H W"]:
        """Sums of responses at all places, relative to the energy around each.

        Arguments:
            best: the sums; rows may be longer than those of the places.
            window: width of the square over which the energy is averaged, in places.
        """
        if bindings.accepts():
            return bindings.rate_places(best, self.size[1], self.energy, window, QUIET)
        return best.float() / (self._mean_energy(window) + QUIET).sqrt()


def responses_at(scene: ScenePyramid, level: int, margin: int) -> Responses:
    """The responses of a scene at a level of the first look; made once for each level."""
    known = scene.kept.get(("responses", level))
    if isinstance(known, Responses) and known.margin >= margin:
        return known
    picture, to_full = resized(scene, factor_of(level))
    maps, size = _responses(picture, max(margin, _MARGIN))
    made = Responses(maps, size, max(margin, _MARGIN), to_full)
    scene.kept["responses", level] = made
    return made


def _rated(
    scene: ScenePyramid, templates: FeatureTemplates, level: int
) -> tuple[Float[Tensor, "H W"], Integer[Tensor, "H row"], Responses]:
    """Ratings of all places, the best template at each (in rows that may be longer), and the responses."""
    responses = responses_at(scene, level, templates.margin)
    best, which = _best_sums(responses, templates)
    return responses.rated(best, templates.window), which, responses


def _responses(
    picture: Float[Tensor, "C H W"], margin: int
) -> tuple[UInt8[Tensor, "12 4 h w"], tuple[int, int]]:
    """The maps of `Responses`, and the number of places."""
    height, width = picture.shape[-2:]
    size = -(-height // _STRIDE), -(-width // _STRIDE)
    row = -(-size[1] // LOOK_SPAN) * LOOK_SPAN + 2 * margin + LOOK_SPAN
    count = DIRECTIONS + DIRECTIONS // 2
    out = torch.zeros(count, _STRIDE**2, size[0] + 2 * margin, row, dtype=torch.uint8)
    if bindings.accepts(picture):
        taps = LOOK.taps(picture).contiguous()
        rules = bindings.channel_rules(taps, LOOK.floor, LOOK.noise, LOOK.window)
        bindings.features(picture, rules, _GAIN, out, margin)
        return out, size
    levels = (channels(picture, LOOK) * _GAIN).clamp_max(_LEVELS).floor()
    spread = F.max_pool2d(levels, 3, 1, 1).to(torch.uint8)
    half = DIRECTIONS // 2
    spread = torch.cat((spread, torch.maximum(spread[:half], spread[half:])))
    for phase in range(_STRIDE**2):
        part = spread[:, phase // _STRIDE :: _STRIDE, phase % _STRIDE :: _STRIDE]
        out[:, phase, margin : margin + part.shape[1], margin : margin + part.shape[2]] = part
    return out, size


def offsets_in(responses: UInt8[Tensor, "12 4 h w"], templates: FeatureTemplates) -> Int[Tensor, "T N"]:
    """Of each feature, in bytes from a place in the first plane."""
    height, row = responses.shape[2:]
    x, y = templates.places[..., 0], templates.places[..., 1]
    phase = _STRIDE * (y % _STRIDE) + x % _STRIDE
    offsets = (templates.planes * _STRIDE**2 + phase) * (height * row) + (y // _STRIDE) * row + x // _STRIDE
    return torch.from_numpy(offsets.astype(np.int32))


def _best_sums(
    responses: Responses, templates: FeatureTemplates
) -> tuple[Integer[Tensor, "H row"], Integer[Tensor, "H row"]]:
    """For each place the highest sum of responses over all templates, and which template has it; rows may be
    longer than those of the places."""
    maps, size, margin = responses.maps, responses.size, responses.margin
    offsets = offsets_in(maps, templates)
    if bindings.accepts():
        return bindings.look(maps, margin, size, offsets.contiguous())
    row = maps.shape[3]
    places = (torch.arange(size[0])[:, None] + margin) * row + torch.arange(size[1]) + margin
    flat, best = maps.flatten(), torch.zeros(size, dtype=torch.int32)
    which = torch.zeros_like(best)
    for number, own in enumerate(offsets.long()):
        sums = flat[places[..., None] + own].int().sum(-1, dtype=torch.int32)
        better = sums > best
        best, which = torch.where(better, sums, best), torch.where(better, number, which)
    return best, which


def peaks(
    rating: Float[Tensor, "H W"], count: int
) -> tuple[Int[Tensor, " N"], Int[Tensor, " N"], Float[Tensor, " N"]]:
    """Rows, columns and values of the highest local maxima, the highest first."""
    index = bindings.peaks(rating) if bindings.accepts(rating) else _all_peaks(rating)
    values = rating.flatten().numpy()[index]
    if len(index) > count:
        # Only those that can be among the first are sorted; of equal values the first, so all of them.
        likely = values >= np.partition(values, len(values) - count)[len(values) - count]
        index, values = index[likely], values[likely]
    order = np.argsort(-values, kind="stable")[:count]
    best = torch.from_numpy(index[order].astype(np.int64))
    return best // rating.shape[1], best % rating.shape[1], torch.from_numpy(values[order])


def _all_peaks(rating: Float[Tensor, "H W"]) -> NDArray[np.int64]:
    """Indices of all places with a positive rating that no neighbour exceeds."""
    padded = F.pad(rating, (1, 1, 1, 1), value=-1.0)
    height, width = rating.shape
    highest = rating > 0
    for dy, dx in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)):
        highest &= rating >= padded[dy : dy + height, dx : dx + width]
    return torch.nonzero(highest.flatten())[:, 0].numpy()

"""The first look over a scene: features of a motif, at many rotations, sizes and tilts, at every place.

A feature is a position in the motif and the direction of the gradient there. The motif is represented by its
strongest features, well apart from each other. For each size of the object, the scene is reduced such that
the motif always has the same number of pixels. The reduced scene becomes one map for each direction: how
strongly this direction occurs *near* each place (`responses`). The rating of a place is the sum of the
responses at the features, at the best rotation and tilt. This tolerates larger steps between poses than
correlation does, and costs one addition for each feature and 32 places. (After LINE-2D, Hinterstoisser et al.
2012; here with channels that are normalised locally, and over sizes and tilts.)

The result is a list of starts. The optimisation that follows finds the exact pose.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Integer, UInt8
from numpy.typing import NDArray
from torch import Tensor

from wherein.errors import TemplateError
from wherein.images.channels import DIRECTIONS
from wherein.images.motif import Motif
from wherein.native import kernel, look_calls
from wherein.native.abi import LOOK_ROWS, LOOK_SPAN
from wherein.planes.look.responses import LOOK, STRIDE, Responses, responses_at
from wherein.planes.look.slender import is_slender
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.pyramid.levels import Poses, ScenePyramid

_FEATURES, _APART = 64, 2
"""Maximum number of features of a motif, and half the width of the square around a feature, in pixels, in
which there is no other with the same or a neighbouring direction. Choices."""

_ROUGHLY = 2
"""A rough look uses only the templates without tilt, and every `_ROUGHLY`-th feature. It selects the tiles of
the scene that are compared with all templates. Measured with 2: tilted cut-outs in blurred and noisy scenes
were in the first 9 % of the tiles in 98 % of the scenes, and in the first 25 % in all."""

_LOOKED_AT, _NEARLY, _MIN_TILES = 0.25, 0.75, 8
"""Share of the tiles that are compared with all templates; share of the best rating above which a tile is
compared in any case, since a scene may contain many objects; and the minimum number of tiles. Choices, by the
measurement above."""

_MAX_SHAPES = 32
"""Number of shapes of responses for which offsets are kept. A choice: more than the levels of one scene."""


@dataclass(frozen=True, eq=False)
class FeatureTemplates:
    """The features of a motif at each of a list of rotations and tilts.

    Attributes:
        from_full: pixels of the motif at full size → pixels at the resolution of the look, 3×3.
        centre: (x, y) of the point about which the motif is turned, at that resolution.
        linear: the rotation and tilt of each template, (T, 2, 2).
        places: positions of the features, (x, y) from the centre in whole pixels, (T, N, 2).
        planes: the map in which a feature is looked up: its direction; or, for a feature without sign,
            `DIRECTIONS` plus its direction modulo 180°, (T, N).
        window: width of the square over which the scene's energy is averaged, in places.
        slender: whether the motif is slender. Then no rough look narrows down where it is searched.
    """

    from_full: NDArray[np.float64]
    centre: tuple[float, float]
    linear: NDArray[np.float64]
    places: NDArray[np.int64]
    planes: NDArray[np.int64]
    window: int
    slender: bool = False
    _offsets: dict[tuple[int, ...], Int[Tensor, "T N"]] = field(default_factory=dict)

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
            any_polarity: all features are without sign.
            covered: see `PlaneMotif.of`.
        """
        # `even` is cheaper, and affects only the weights of the points, which are not used here.
        plane = PlaneMotif.of(motif, radius, LOOK, any_polarity, covered, even=True)
        at, direction, unsigned = _strongest(plane)
        if not len(at):
            raise TemplateError(
                "the picture has neither texture nor an outline, so nothing can be found by it: use one "
                "with edges in it, or one that is transparent around the object"
            )
        centred = at - np.array(plane.centre)
        # As matrix products: einsum takes ten times as long.
        places = np.round(centred @ linear.transpose(0, 2, 1)).astype(np.int64)
        # A gradient is a covector: a linear map A of the motif takes it to A⁻ᵀ g; in rows, gᵀ A⁻¹.
        angle = direction * (2 * math.pi / DIRECTIONS)
        normal = np.stack((np.cos(angle), np.sin(angle)), 1)
        turned = normal @ np.linalg.inv(linear)
        steps = np.arctan2(turned[..., 1], turned[..., 0]) * (DIRECTIONS / (2 * math.pi))
        planes = np.round(steps).astype(np.int64) % DIRECTIONS
        planes = np.where(unsigned, DIRECTIONS + planes % (DIRECTIONS // 2), planes)
        # The width of a disc with the area of the motif, in places, rounded to an odd number.
        window = 2 * (round(math.sqrt(len(plane.points) / math.pi) / STRIDE) // 2) * 2 + 1
        return FeatureTemplates(
            plane.from_full, plane.centre, linear, places, planes, max(window, 3), is_slender(motif)
        )

    def only(self, first: int, last: int) -> "FeatureTemplates":
        """The templates with the indices from `first` to before `last`."""
        own = slice(first, last)
        return self._some(self.linear[own], self.places[own], self.planes[own])

    def first_features(self, count: int) -> "FeatureTemplates":
        """The same templates with only the `count` strongest features."""
        return self._some(self.linear, self.places[:, :count], self.planes[:, :count])

    @cached_property
    def rough(self) -> "FeatureTemplates | None":
        """The templates of the rough look: those without tilt, with some of their features.

        None if no template is tilted, since then a full look takes little more time; and for a slender motif,
        which a rough look may miss.
        """
        if self.slender:
            return None
        upright = np.flatnonzero(np.abs(np.linalg.det(self.linear) - 1) < 1e-9)
        if len(upright) == len(self.linear):
            return None
        some = slice(None, None, _ROUGHLY)
        return self._some(self.linear[upright], self.places[upright, some], self.planes[upright, some])

    def _some(
        self, linear: NDArray[np.float64], places: NDArray[np.int64], planes: NDArray[np.int64]
    ) -> "FeatureTemplates":
        return replace(self, linear=linear, places=places, planes=planes, _offsets={})

    def offsets_in(self, responses: UInt8[Tensor, "12 4 h w"]) -> Int[Tensor, "T N"]:
        """The distance in bytes from a place in the first plane to each feature's response.

        With it, reading a response in C is a single addition to an address.
        """
        shape = tuple(responses.shape)
        if shape not in self._offsets:
            if len(self._offsets) >= _MAX_SHAPES:
                self._offsets.clear()
            self._offsets[shape] = _offsets(shape, self.places, self.planes)
        return self._offsets[shape]

    @cached_property
    def margin(self) -> int:
        """How far the features may reach beyond a scene, in places."""
        return int(np.abs(self.places).max() // STRIDE + 2)

    @property
    def reduction(self) -> float:
        """The factor by which the motif is reduced in the look."""
        return 1 / math.sqrt(self.from_full[0, 0] * self.from_full[1, 1])


def _strongest(plane: PlaneMotif) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
    """The strongest features: positions (N, 2), directions (N,), and whether they are without sign (N,)."""
    height, width = plane.channels.shape[-2:]
    spots = (
        (plane.points.double() * plane.radius + plane.points.new_tensor(plane.centre) + MARGIN).round().long()
    )
    columns, rows = spots.unbind(1)
    signless = torch.zeros(height, width, dtype=torch.bool)
    signless[rows, columns] = plane.unsigned
    strength = torch.zeros_like(plane.channels)
    strength[:, rows, columns] = plane.channels[:, rows, columns]
    # A channel without sign is the mean of two opposite ones, so it has half the value that it has in a
    # scene. This is not corrected, so that features inside the object are preferred: they are more reliable
    # than the outline, which may have been drawn inexactly.
    values = np.ascontiguousarray(strength.numpy())
    chosen: list[tuple[int, int, int]] = []
    # Repeated argmax instead of sorting all values: most of them are suppressed by a stronger one nearby.
    while len(chosen) < _FEATURES:
        own, row, column = (int(i) for i in np.unravel_index(values.argmax(), values.shape))
        if values[own, row, column] <= 0:
            break
        chosen.append((column, row, own))
        down, across = (slice(max(0, at - _APART), at + _APART + 1) for at in (row, column))
        for turn in (-1, 0, 1):
            values[(own + turn) % DIRECTIONS, down, across] = 0
            if signless[row, column]:
                values[(own + turn + DIRECTIONS // 2) % DIRECTIONS, down, across] = 0
    x, y, k = np.array(chosen, dtype=np.int64).reshape(-1, 3).T
    at = np.stack((x, y), 1).astype(np.float64) - MARGIN
    return at, k, signless.numpy()[y, x]


@dataclass(frozen=True, eq=False)
class Places:
    """The best places for a motif of one size in a scene.

    Attributes:
        ratings: their ratings, the highest first, (N,).
        templates: of the motif.
        spots: positions of the motif's centre in the scene at full size, (N, 2).
        which: the index of the template that fits best, (N,).
    """

    ratings: NDArray[np.float64]
    templates: FeatureTemplates
    spots: NDArray[np.float64]
    which: NDArray[np.int32]

    def poses(self, count: int, scale: float) -> Poses:
        """The poses at full size of the first `count` places.

        Arguments:
            count: number of poses.
            scale: the scale of the motif in the scene. It is given, because the scale of the reduced scene is
                inexact: its width and height are rounded to whole pixels.
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
        level: the scene is reduced by `factor_of(level)`, which determines the size of objects that fit.
        count: maximum number of places.
    """
    responses = responses_at(scene, level, templates.margin)
    values, at, which = best_places(responses, templates, count, _promising(responses, templates))
    spots = responses.spots(at)
    return Places(values.astype(np.float64) / templates.places.shape[1], templates, spots, which)


def best_places(
    responses: Responses, templates: FeatureTemplates, count: int, tiles: Bool[Tensor, "R S"] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int32]]:
    """Ratings of the best places, their row-major indices, and the best template at each, (N,).

    Arguments:
        responses: of the scene at one size.
        templates: of the motif.
        count: maximum number of places.
        tiles: the tiles that are compared; None: all.
    """
    best, which = _best_sums(responses, templates, tiles)
    rows, columns, values = peaks(responses.rated(best, templates.window), count)
    own = which.numpy()[rows.numpy(), columns.numpy()].astype(np.int32)
    return values.numpy(), (rows * responses.size[1] + columns).numpy(), own


def ratings(scene: ScenePyramid, templates: FeatureTemplates, level: int) -> Float[Tensor, "H W"]:
    """The rating of every place for a motif of one size, at its best rotation and tilt; see `look`."""
    responses = responses_at(scene, level, templates.margin)
    return responses.rated(_best_sums(responses, templates)[0], templates.window)


def _promising(responses: Responses, templates: FeatureTemplates) -> Bool[Tensor, "R S"] | None:
    """The tiles that are compared with all templates; None: all.

    A rough look is too inexact to rank places, but selects the parts of a scene that may hold an object.
    """
    if templates.rough is None:
        return None
    rated = responses.rated(_best_sums(responses, templates.rough)[0], templates.window)
    height, width = rated.shape
    padded = F.pad(rated, (0, -width % LOOK_SPAN, 0, -height % LOOK_ROWS))
    tiles = padded.unflatten(1, (-1, LOOK_SPAN)).amax(2).unflatten(0, (-1, LOOK_ROWS)).amax(1)
    count = max(_MIN_TILES, math.ceil(_LOOKED_AT * tiles.numel()))
    if count >= tiles.numel():
        return None
    least = torch.minimum(tiles.flatten().topk(count).values[-1], _NEARLY * tiles.max())
    return tiles >= least


def _offsets(
    shape: tuple[int, ...], places: NDArray[np.int64], planes: NDArray[np.int64]
) -> Int[Tensor, "T N"]:
    # Python's % and // round down, so a feature left of or above the centre also has a phase of 0 or 1.
    height, row = shape[2:]
    x, y = places[..., 0], places[..., 1]
    phase = STRIDE * (y % STRIDE) + x % STRIDE
    offsets = (planes * STRIDE**2 + phase) * (height * row) + (y // STRIDE) * row + x // STRIDE
    return torch.from_numpy(offsets.astype(np.int32))


def _best_sums(
    responses: Responses, templates: FeatureTemplates, tiles: Bool[Tensor, "R S"] | None = None
) -> tuple[Integer[Tensor, "H row"], Integer[Tensor, "H row"]]:
    """The highest sum of responses over all templates at each place, and the index of that template.

    Rows may be longer than those of the places. Both are 0 outside of the tiles.
    """
    maps, size, margin = responses.maps, responses.size, responses.margin
    offsets = templates.offsets_in(maps)
    if kernel.accepts():
        return look_calls.look(maps, margin, size, offsets, tiles)
    row = maps.shape[3]
    places = (torch.arange(size[0])[:, None] + margin) * row + torch.arange(size[1]) + margin
    flat, best = maps.flatten(), torch.zeros(size, dtype=torch.int32)
    which = torch.zeros_like(best)
    for number, own in enumerate(offsets.long()):
        sums = flat[places[..., None] + own].int().sum(-1, dtype=torch.int32)
        better = sums > best  # of equal sums, the first template
        best, which = torch.where(better, sums, best), torch.where(better, number, which)
    if tiles is None:
        return best, which
    seen = tiles.repeat_interleave(LOOK_ROWS, 0).repeat_interleave(LOOK_SPAN, 1)[: size[0], : size[1]]
    return best * seen, which * seen


def peaks(
    rating: Float[Tensor, "H W"], count: int
) -> tuple[Int[Tensor, " N"], Int[Tensor, " N"], Float[Tensor, " N"]]:
    """Rows, columns and values of the highest local maxima, the highest first."""
    index = look_calls.peaks(rating) if kernel.accepts(rating) else _all_peaks(rating)
    values = rating.flatten().numpy()[index]
    if len(index) > count:
        # Sort only values that are not below the `count`-th highest. Ties with it are all included, so that
        # the stable sort keeps the first of them.
        likely = values >= np.partition(values, len(values) - count)[len(values) - count]
        index, values = index[likely], values[likely]
    order = np.argsort(-values, kind="stable")[:count]
    best = torch.from_numpy(index[order].astype(np.int64))
    return best // rating.shape[1], best % rating.shape[1], torch.from_numpy(values[order])


def _all_peaks(rating: Float[Tensor, "H W"]) -> NDArray[np.int64]:
    """Row-major indices of all places with a positive rating that no neighbour exceeds."""
    padded = F.pad(rating, (1, 1, 1, 1), value=-1.0)
    height, width = rating.shape
    highest = rating > 0
    for dy, dx in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)):
        highest &= rating >= padded[dy : dy + height, dx : dx + width]
    return torch.nonzero(highest.flatten())[:, 0].numpy()

"""The first look for many motifs at once, at half the resolution of the look for one.

A look for one motif (`first_look`) returns thousands of places, so that an object that clutter outranks is
still found. With a hundred motifs this would take a hundred times as long. But if a motif is in the scene,
the right place mostly ranks first for it, even at a radius of 15 pixels, with rotations in steps of 15° and
32 features. Then there are a quarter as many places, fewer rotations and half as many features; and tilts
are left to the descent that follows. So each motif takes about a hundredth of the time of its own look, and
has a dozen places instead of thousands.

Motifs that are thin or plain, or have their texture in few pixels, cannot be told from clutter at that size.
How much effort a motif needs is measured (`detect.calibration.together`); most need the least.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.native import kernel, look_calls
from wherein.planes.look.features import FeatureTemplates, best_places
from wherein.planes.look.responses import BYTES_PER_PIXEL, MAX_KEPT, QUIET, Responses, responses_at
from wherein.planes.plane_range import PlaneRange
from wherein.planes.plane_search import PlaneSearch
from wherein.planes.rectify import SIZE_STEP, factor_of
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class LookEffort:
    """How thorough a shared look is for a motif.

    Attributes:
        radius: extent of the motif in the look, in pixels.
        features: maximum number of its features.
        turn_step: degrees between neighbouring rotations.
        places: maximum number of places, for each size and in the end.
    """

    radius: float
    features: int
    turn_step: float
    places: int


BRIEF_LOOK = LookEffort(15.0, 32, 15.0, 12)
"""The least effort. Choices, measured with 100 cut-outs and patches, 120 of them in photographs at half to
twice their size: the right place is among the first ten of its motif in 98 % with 15 px and 32 or 64
features, and in 90 % with 12 px; with 20° between rotations it is the first in 87 % instead of 92 %."""

_SHARE = 8
"""Number of motifs in a thread's task. A choice: few enough that all threads end at about the same time."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """Motifs that are searched at the same level with equal numbers of features and templates.

    One call of C handles a batch, whose offsets must form an array.

    Attributes:
        level: of the scene.
        count: number of places that are kept for each motif.
        motifs: indices of the motifs.
        templates: of each motif.
        scales: the scale of each motif in the scene.
        offsets: offsets of the features, by the shape of the responses.
    """

    level: int
    count: int
    motifs: list[int]
    templates: list[FeatureTemplates]
    scales: list[float]
    offsets: dict[tuple[int, ...], Int[Tensor, "M T N"]] = field(default_factory=dict)

    def offsets_in(self, responses: Responses) -> Int[Tensor, "M T N"]:
        shape = tuple(responses.maps.shape)
        if shape not in self.offsets:
            # Kept for one size of scenes only, since most scenes come from one camera.
            self.offsets.clear()
            self.offsets[shape] = torch.stack([one.offsets_in(responses.maps) for one in self.templates])
        return self.offsets[shape]

    @cached_property
    def windows(self) -> Int[Tensor, " M"]:
        return torch.tensor([one.window for one in self.templates], dtype=torch.int32)

    @cached_property
    def linear(self) -> NDArray[np.float64]:
        """The linear part of the pose of each template of each motif, (M, T, 2, 2)."""
        return np.stack([scale * one.linear for scale, one in zip(self.scales, self.templates, strict=True)])

    @cached_property
    def middles(self) -> NDArray[np.float64]:
        """The point of each motif at full size about which it is turned, (M, 2)."""
        return np.stack([(np.linalg.inv(one.from_full) @ (*one.centre, 1.0))[:2] for one in self.templates])


@dataclass(frozen=True, eq=False)
class _Found:
    """Places of several motifs as parallel arrays.

    Attributes:
        motifs: the index of the motif of each place, (N,).
        ratings: (N,).
        linear: the linear part of the poses, (N, 2, 2).
        spots: positions in the scene at full size, (N, 2).
        middles: the points of the motifs that lie there, (N, 2).
    """

    motifs: NDArray[np.int64]
    ratings: NDArray[np.float64]
    linear: NDArray[np.float64]
    spots: NDArray[np.float64]
    middles: NDArray[np.float64]

    @staticmethod
    def joined(parts: "Sequence[_Found]") -> "_Found":
        names = ("motifs", "ratings", "linear", "spots", "middles")
        return _Found(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def poses(self, chosen: NDArray[np.int64]) -> Poses:
        """The poses of some places, motif pixels → scene pixels, (N, 3, 3)."""
        made = np.zeros((len(chosen), 3, 3))
        made[:, :2, :2], made[:, 2, 2] = self.linear[chosen], 1.0
        made[:, :2, 2] = self.spots[chosen] - (self.linear[chosen] @ self.middles[chosen][..., None])[..., 0]
        return made


class SharedLook:
    """The first look for many motifs in one pass over a scene.

    Arguments:
        searches: the searches of the motifs, which hold their pictures and ranges.
        efforts: the effort for each; None: `BRIEF_LOOK`.
    """

    def __init__(self, searches: Sequence[PlaneSearch], efforts: Sequence[LookEffort] | None = None) -> None:
        efforts = efforts or [BRIEF_LOOK] * len(searches)
        self._places = [effort.places for effort in efforts]
        batches: dict[tuple[int, ...], _Batch] = {}
        for number, (search, effort) in enumerate(zip(searches, efforts, strict=True)):
            for templates, level in _looks(search, effort):
                key = (level, effort.places, *templates.places.shape[:2])
                batch = batches.setdefault(key, _Batch(level, effort.places, [], [], []))
                batch.motifs.append(number)
                batch.templates.append(templates)
                scale = factor_of(level) / templates.reduction
                batch.scales.append(float(np.clip(scale, *search.ranges.scale)))
        self._batches = [part for batch in batches.values() for part in _parts(batch)]

    def __call__(self, scene: ScenePyramid) -> list[Poses]:
        """The best places for each motif: motif pixels → scene pixels, the highest rating first."""
        margins: dict[int, int] = {}
        for batch in self._batches:
            margins[batch.level] = max(margins.get(batch.level, 0), *(one.margin for one in batch.templates))
        parts: dict[int, _Found] = {}
        for levels in _together(scene, sorted(margins)):
            # Made before the threads start, since several batches need the same responses.
            made = {level: responses_at(scene, level, margins[level]) for level in levels}
            for responses in made.values():
                _ = responses.energy
            numbers = [k for k, batch in enumerate(self._batches) if batch.level in made]
            look = partial(self._look, made)
            parts |= zip(numbers, shared_out(look, numbers, scene.threads), strict=True)
        found = _Found.joined([parts[number] for number in sorted(parts)])
        # By motif, then by rating. The parts are joined in the order of the batches and the sort is stable,
        # so threads do not change the order of ties.
        order = np.lexsort((-found.ratings, found.motifs))
        ends = np.searchsorted(found.motifs[order], np.arange(len(self._places) + 1)).tolist()
        return [
            found.poses(order[a:b][:count])
            for (a, b), count in zip(pairwise(ends), self._places, strict=True)
        ]

    def _look(self, made: Mapping[int, Responses], number: int) -> _Found:
        batch = self._batches[number]
        return _best_places(made[batch.level], batch)


def _together(scene: ScenePyramid, levels: Sequence[int]) -> Iterator[list[int]]:
    """Groups of levels whose responses are in memory at the same time.

    Small levels form one group. A level whose responses are too large to be kept is a group of its own, so
    that they can be freed before those of the next.
    """
    width, height = scene.size
    sizes = {level: BYTES_PER_PIXEL * width * height / factor_of(level) ** 2 for level in levels}
    yield from ([level] for level in levels if sizes[level] > MAX_KEPT)
    small = [level for level in levels if sizes[level] <= MAX_KEPT]
    if small:
        yield small


def _parts(batch: _Batch) -> list[_Batch]:
    """The batch divided into tasks for threads."""
    return [
        _Batch(
            batch.level,
            batch.count,
            batch.motifs[k : k + _SHARE],
            batch.templates[k : k + _SHARE],
            batch.scales[k : k + _SHARE],
        )
        for k in range(0, len(batch.motifs), _SHARE)
    ]


def _looks(search: PlaneSearch, effort: LookEffort) -> list[tuple[FeatureTemplates, int]]:
    """The templates of a motif, and the level at which each is searched; see `FirstLook.looks`."""
    size = search.motif.extent
    usual = max(1.0, size / effort.radius)
    low, high = (math.log(scale * usual) / math.log(SIZE_STEP) for scale in search.ranges.scale)
    # A single size below 0 is an interval, too.
    below = max(1, math.ceil(min(high, 0.0) - low - 1e-9)) if low < -1e-9 else 0
    # At levels below 0 the scene would have to be enlarged. Instead, the motif is reduced further: the range
    # below 0 is divided into intervals of at most one step, with the templates in the middle of each.
    steps = [low + (k + 0.5) * (min(high, 0.0) - low) / below for k in range(below)]
    looks = [(_templates(search, effort, size / usual * SIZE_STEP**step), 0) for step in steps]
    # Whole levels, since all motifs share the responses of a level: those at most half a step from the range.
    first = max(0, math.ceil(max(low, 0.0) - 0.5 - 1e-9))
    levels = range(first, math.floor(high + 0.5 - 1e-9) + 1) if high >= 0 else range(0)
    if not looks and not levels:
        levels = range(max(0, round(high)), max(0, round(high)) + 1)
    if levels:
        templates = _templates(search, effort, size / usual)
        looks += [(templates, level) for level in levels]
    return looks


def _templates(search: PlaneSearch, effort: LookEffort, radius: float) -> FeatureTemplates:
    # Without tilt: the descent that follows finds it, starting from an upright template.
    upright = PlaneRange(search.ranges.rotation, search.ranges.scale, 0.0)
    made = FeatureTemplates.of(
        search.motif, radius, upright.linear(effort.turn_step), search.any_polarity, search.covered
    )
    return made.first_features(effort.features)


def _best_places(responses: Responses, batch: _Batch) -> _Found:
    """The best places for each motif of a batch."""
    ratings, at, which = _rated(responses, batch)
    motif, rank = np.nonzero(ratings > 0)
    at, which = at[motif, rank], which[motif, rank]
    return _Found(
        np.array(batch.motifs, dtype=np.int64)[motif],
        ratings[motif, rank] / batch.templates[0].places.shape[1],
        batch.linear[motif, which],
        responses.spots(at),
        batch.middles[motif],
    )


def _rated(responses: Responses, batch: _Batch) -> tuple[NDArray[np.float64], _Numbers, _Numbers]:
    """Ratings, indices and templates of the best places, (M, K) each; unused entries have a rating of 0."""
    if kernel.accepts():
        ratings, at, which = look_calls.look_many(
            responses.maps,
            responses.margin,
            responses.size,
            responses.energy,
            batch.offsets_in(responses),
            batch.windows,
            QUIET,
            batch.count,
        )
        return ratings.double().numpy(), at.numpy(), which.numpy()
    shape = len(batch.motifs), batch.count
    ratings_, at_, which_ = np.zeros(shape), np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for number, templates in enumerate(batch.templates):
        own, places, views = best_places(responses, templates, batch.count)
        ratings_[number, : len(own)], at_[number, : len(own)], which_[number, : len(own)] = own, places, views
    return ratings_, at_, which_

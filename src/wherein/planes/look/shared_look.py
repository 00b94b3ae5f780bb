"""The first look for many motifs at once, at half the resolution of the look for one.

A look for one motif (`features`) rates thousands of places, so that an object that clutter outranks is still
found. With a hundred motifs that would take a hundred times as long. But a motif that is really there mostly
ranks first among all places for it, even where it is reduced to a radius of 15 pixels, turned in steps of 15°
and described by 32 features: the places are a quarter as many, the turns and sizes half as many each, and
tilts are left to the descent that follows. So each motif costs about a hundredth of a look of its own, and
has a dozen places instead of thousands.

What is thin or plain, or has its texture in few pixels, has lost what tells it from clutter at that size. How
much effort a motif needs is measured (`detect.calibration.together`), and most need the least.
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
from wherein.planes.plane_motif import extent
from wherein.planes.plane_range import PlaneRange
from wherein.planes.plane_search import PlaneSearch
from wherein.planes.rectify import SIZE_STEP, factor_of
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class LookEffort:
    """How thoroughly a motif is looked for.

    Attributes:
        radius: extent of the motif in the look, in pixels.
        features: maximum number of its features.
        turn_step: degrees between neighbouring rotations.
        places: how many places are kept, of each size and in the end.
    """

    radius: float
    features: int
    turn_step: float
    places: int


BRIEF_LOOK = LookEffort(15.0, 32, 15.0, 12)
"""The least effort, for motifs that need not be found in every scene. Choices, by measurement with 100
cut-outs and patches, 120 of them in photographs at half to twice their size: the right place is among the
first ten of its motif in 98 % with 15 px and 32 or 64 features, in 90 % with 12 px; with 20° between
rotations it is first in 87 % instead of 92 %."""

_SHARE = 8
"""How many motifs a thread takes at a time. A choice: few enough that all threads end at the same time."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """Motifs with equally many features and turns that are looked for at the same level.

    Attributes:
        level: of the scene.
        count: how many places of each motif are kept.
        motifs: their numbers.
        templates: of each.
        scales: the size of each motif in the scene.
        offsets: of the features, by the shape of the responses.
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
            # Of one size of scenes only: most come from one camera.
            self.offsets.clear()
            self.offsets[shape] = torch.stack([one.offsets_in(responses.maps) for one in self.templates])
        return self.offsets[shape]

    @cached_property
    def windows(self) -> Int[Tensor, " M"]:
        return torch.tensor([one.window for one in self.templates], dtype=torch.int32)

    @cached_property
    def linear(self) -> NDArray[np.float64]:
        """Of each template of each motif, at its size in the scene, (M, T, 2, 2)."""
        return np.stack([scale * one.linear for scale, one in zip(self.scales, self.templates, strict=True)])

    @cached_property
    def middles(self) -> NDArray[np.float64]:
        """The point of each motif at full size about which it is turned, (M, 2)."""
        return np.stack([(np.linalg.inv(one.from_full) @ (*one.centre, 1.0))[:2] for one in self.templates])


@dataclass(frozen=True, eq=False)
class _Found:
    """Places for motifs, side by side: numbers of the motifs, ratings (N,), linear maps and positions."""

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
        """Motif pixels → scene pixels, (N, 3, 3)."""
        made = np.zeros((len(chosen), 3, 3))
        made[:, :2, :2], made[:, 2, 2] = self.linear[chosen], 1.0
        made[:, :2, 2] = self.spots[chosen] - (self.linear[chosen] @ self.middles[chosen][..., None])[..., 0]
        return made


class SharedLook:
    """Looks for many motifs in one pass over a scene.

    Arguments:
        searches: of the motifs: their pictures, and the poses that are searched.
        efforts: of each; None: brief looks.
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
            # Made before the threads start, else each would: the finest first, which takes longest.
            made = {level: responses_at(scene, level, margins[level]) for level in levels}
            for responses in made.values():
                _ = responses.energy
            numbers = [k for k, batch in enumerate(self._batches) if batch.level in made]
            look = partial(self._look, made)
            parts |= zip(numbers, shared_out(look, numbers, scene.threads), strict=True)
        found = _Found.joined([parts[number] for number in sorted(parts)])
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
    """The levels whose responses are there at the same time: each of those that are not kept is alone."""
    width, height = scene.size
    sizes = {level: BYTES_PER_PIXEL * width * height / factor_of(level) ** 2 for level in levels}
    yield from ([level] for level in levels if sizes[level] > MAX_KEPT)
    small = [level for level in levels if sizes[level] <= MAX_KEPT]
    if small:
        yield small


def _parts(batch: _Batch) -> list[_Batch]:
    """The batch in shares for threads."""
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
    """The templates of a motif, and the level of the scene at which each is looked for."""
    size = extent(search.motif)
    usual = max(1.0, size / effort.radius)
    low, high = (math.log(scale * usual) / math.log(SIZE_STEP) for scale in search.ranges.scale)
    below = max(0, math.ceil(min(high, 0.0) - low - 1e-9))
    # Below, a scene would have to be enlarged: the motif is reduced instead, in the middle of each share.
    steps = [low + (k + 0.5) * (min(high, 0.0) - low) / below for k in range(below)]
    looks = [(_templates(search, effort, size / usual * SIZE_STEP**step), 0) for step in steps]
    # The same levels for all motifs, as responses are made for each: those that come within half a step.
    first = max(0, math.ceil(max(low, 0.0) - 0.5 - 1e-9))
    levels = range(first, math.floor(high + 0.5 - 1e-9) + 1) if high >= 0 else range(0)
    if not looks and not levels:
        levels = range(max(0, round(high)), max(0, round(high)) + 1)
    if levels:
        templates = _templates(search, effort, size / usual)
        looks += [(templates, level) for level in levels]
    return looks


def _templates(search: PlaneSearch, effort: LookEffort, radius: float) -> FeatureTemplates:
    # Without tilt: the descent finds it, from the upright template.
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
    """Ratings, indices and templates of the best places, (M, K) each; ratings are 0 where there are fewer."""
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

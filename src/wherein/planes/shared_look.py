"""The first look for many motifs at once, at half the resolution of the look for one.

A look for one motif (`features`) rates thousands of places, so that an object that clutter outranks is still
found. With a hundred motifs that would take a hundred times as long. But a motif that is really there mostly
ranks first among all places for it, even where it is reduced to a radius of 15 pixels, turned in steps of 15°
and described by 32 features: the places are a quarter as many, the turns and sizes half as many each, and
tilts are left to the descent that follows. So each motif costs about a hundredth of a look of its own, and
has a dozen places instead of thousands.

How high a motif rates by chance depends on the motif and on the scene. The places of one motif in the scene
itself tell: one that stands out from the others is likely to be the object. So places of different motifs
compare by their *prominence*, the rating relative to the median of the motif's own.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.native import bindings
from wherein.planes.features import (
    QUIET,
    SCALE_STEP,
    FeatureTemplates,
    Places,
    Responses,
    factor_of,
    look,
    offsets_in,
    places_in,
    responses_at,
)
from wherein.planes.plane_motif import extent
from wherein.planes.plane_search import PlaneRange, PlaneSearch
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_RADIUS, _FEATURES = 15.0, 32
"""Extent of a motif in the look, in pixels, and number of its features. Choices, by measurement with 100
cut-outs and patches, 120 of them in photographs at half to twice their size: the right place is among the
first ten of its motif in 98 % with 15 px and 32 or 64 features, in 90 % with 12 px."""

_TURN_STEP, _SIZE_STEP = 15.0, 2
"""Degrees between neighbouring rotations, and steps of `SCALE_STEP` between sizes. Choices, measured with
these: with 20° the right place is first in 87 % instead of 92 %."""

_PLACES = 12
"""How many places of each motif are kept, of each size and in the end. A choice."""

_SHARE = 8
"""How many motifs a thread takes at a time. A choice: few enough that all threads end at the same time."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """Motifs with equally many features that are looked for at the same level.

    Attributes:
        level: of the scene.
        motifs: their numbers.
        templates: of each.
        scales: the size of each motif in the scene.
        offsets: of the features, by the shape of the responses.
    """

    level: int
    motifs: list[int]
    templates: list[FeatureTemplates]
    scales: list[float]
    offsets: dict[tuple[int, ...], Int[Tensor, "M T N"]] = field(default_factory=dict)

    def offsets_in(self, responses: Responses) -> Int[Tensor, "M T N"]:
        shape = tuple(responses.maps.shape)
        if shape not in self.offsets:
            # Of one size of scenes only: most come from one camera.
            self.offsets.clear()
            self.offsets[shape] = torch.stack([offsets_in(responses.maps, one) for one in self.templates])
        return self.offsets[shape]

    @property
    def windows(self) -> Int[Tensor, " M"]:
        return torch.tensor([one.window for one in self.templates], dtype=torch.int32)


@dataclass(frozen=True, eq=False)
class MotifPlaces:
    """The best places for one motif.

    Attributes:
        poses: motif pixels → scene pixels, the highest rating first, (N, 3, 3).
        prominence: rating of each relative to the median of all, (N,).
    """

    poses: Poses
    prominence: NDArray[np.float64]


class SharedLook:
    """Looks for many motifs in one pass over a scene.

    Arguments:
        searches: of the motifs: their pictures, and the poses that are searched.
    """

    def __init__(self, searches: Sequence[PlaneSearch]) -> None:
        self._count = len(searches)
        batches: dict[tuple[int, int, int], _Batch] = {}
        for number, search in enumerate(searches):
            for templates, level in _looks(search):
                key = (level, *templates.places.shape[:2])
                batch = batches.setdefault(key, _Batch(level, [], [], []))
                batch.motifs.append(number)
                batch.templates.append(templates)
                scale = factor_of(level) / templates.reduction
                batch.scales.append(float(np.clip(scale, *search.ranges.scale)))
        self._batches = [part for batch in batches.values() for part in _parts(batch)]

    def __call__(self, scene: ScenePyramid) -> list[MotifPlaces]:
        """The best places for each motif."""
        margins: dict[int, int] = {}
        for batch in self._batches:
            margins[batch.level] = max(margins.get(batch.level, 0), *(one.margin for one in batch.templates))
        # Made before the threads start, else each would: the finest first, which takes longest.
        for level in sorted(margins):
            _ = responses_at(scene, level, margins[level]).energy
        found = shared_out(
            lambda batch: _best_places(scene, batch, margins[batch.level]), self._batches, scene.threads
        )
        ratings: list[list[NDArray[np.float64]]] = [[] for _ in range(self._count)]
        poses: list[list[Poses]] = [[] for _ in range(self._count)]
        for batch, places in zip(self._batches, found, strict=True):
            for number, scale, own in zip(batch.motifs, batch.scales, places, strict=True):
                ratings[number].append(own.ratings)
                poses[number].append(own.poses(len(own.ratings), scale))
        return [_merged(own, at) for own, at in zip(ratings, poses, strict=True)]


def _merged(ratings: list[NDArray[np.float64]], poses: list[Poses]) -> MotifPlaces:
    """The best places over all sizes."""
    every = np.concatenate([np.zeros(0), *ratings])
    order = np.argsort(-every, kind="stable")[: 2 * _PLACES]
    if not len(order):
        return MotifPlaces(np.zeros((0, 3, 3)), every)
    usual = float(np.median(every[order]))
    order = order[:_PLACES]
    return MotifPlaces(np.concatenate(poses)[order], every[order] / max(usual, 1e-9))


def _parts(batch: _Batch) -> list[_Batch]:
    """The batch in shares for threads."""
    return [
        _Batch(
            batch.level,
            batch.motifs[k : k + _SHARE],
            batch.templates[k : k + _SHARE],
            batch.scales[k : k + _SHARE],
        )
        for k in range(0, len(batch.motifs), _SHARE)
    ]


def _looks(search: PlaneSearch) -> list[tuple[FeatureTemplates, int]]:
    """The templates of a motif, and the level of the scene at which each is looked for."""
    size = extent(search.motif)
    usual = max(1.0, size / _RADIUS)
    low, high = (math.log(scale * usual) / math.log(SCALE_STEP) for scale in search.ranges.scale)
    count = max(1, math.ceil((high - low) / _SIZE_STEP - 1e-9))
    # Each in the middle of its share of the range.
    steps = [low + (k + 0.5) * (high - low) / count for k in range(count)]
    looks = [(_templates(search, size / usual * SCALE_STEP**step), 0) for step in steps if step < 0]
    levels = dict.fromkeys(round(step) for step in steps if step >= 0)
    if levels:
        templates = _templates(search, size / usual)
        looks += [(templates, level) for level in levels]
    return looks


def _templates(search: PlaneSearch, radius: float) -> FeatureTemplates:
    # Without tilt: the descent finds it, from the upright template.
    upright = PlaneRange(search.ranges.rotation, search.ranges.scale, 0.0)
    made = FeatureTemplates.of(
        search.motif, radius, upright.linear(_TURN_STEP), search.any_polarity, search.covered
    )
    return replace(made, places=made.places[:, :_FEATURES], planes=made.planes[:, :_FEATURES])


def _best_places(scene: ScenePyramid, batch: _Batch, margin: int) -> list[Places]:
    """The best places for each motif of a batch."""
    responses = responses_at(scene, batch.level, margin)
    if not bindings.accepts():
        return [look(scene, templates, batch.level, _PLACES) for templates in batch.templates]
    ratings, at, which = bindings.look_many(
        responses.maps,
        responses.margin,
        responses.size,
        responses.energy,
        batch.offsets_in(responses),
        batch.windows,
        QUIET,
        _PLACES,
    )
    found = []
    for own, places, views, templates in zip(ratings, at, which, batch.templates, strict=True):
        count = int((own > 0).sum())
        found.append(places_in(responses, templates, places[:count], own[:count], views[:count]))
    return found

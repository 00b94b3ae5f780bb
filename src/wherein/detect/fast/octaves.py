"""Scales from the smallest to the largest, an octave at a time.

Descent and screening want scene and motif at about one size. An object that is larger in the scene is looked
for in the scene reduced by a power of 2, one that is smaller by the template reduced; within a band what is
left of the scale is between 1/√2 and √2.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.finder import Finder, Judged, Look, Range, Steps
from wherein.detect.fast.follow import follow
from wherein.detect.fast.joints import scales
from wherein.detect.fast.leaf_scores import Follower, Told, followers, of_followers
from wherein.detect.fast.roots import SURE
from wherein.images.load import Picture
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.pyramid.levels import SceneLevels
from wherein.pyramid.register_pyramid import Poses, enlarge, reduce
from wherein.template.bundle import Template
from wherein.template.tree import Part, Tree

LIKELY = 0.8
"""Of the threshold: from there on a hypothesis is brought to rest at full size before it is judged."""

_HOPES, _CLOSE = 2, 0.55
"""Hypotheses that go on to full size where none is likely, from this share of the least score on: what
is tilted or half covered fits badly at a coarse scale. Clutter hardly comes so close."""

_TURNED, _ADRIFT = 5.0, 1.1
"""Degrees, and times the range of a band: what has drifted further from what was asked for is another thing,
or none: a speck fits on any shading."""


@dataclass(frozen=True, eq=False)
class Band:
    """A finder for one octave.

    Attributes:
        finder: of the template reduced by `canvas`, in scenes reduced by `scene`; one of the two is 1.
    """

    finder: Finder
    scene: int
    canvas: int

    def __call__(self, scene: Float[Tensor, "C H W"], look: Look, polished: float) -> Judged:
        """Polished hypotheses, in the pixels of the scene and of the template as they are."""
        levels = self.levels(scene)
        return self._polished(levels, self.finder(levels, look), polished, look.most)

    def follow(self, scene: Float[Tensor, "C H W"], roots: Poses, enough: float, polished: float) -> Judged:
        """The same near known places."""
        levels = self.levels(scene)
        return self._polished(levels, follow(self.finder, levels, self.ours(roots), enough), polished)

    def following(self, scene: Float[Tensor, "C H W"], judged: Judged) -> list[dict[str, Told]]:
        """Of each hypothesis, in the pixels of the scene as it is, the leaves that were not fitted
        themselves."""
        levels = self.levels(scene)
        frames = {home: self.ours(frames) for home, frames in judged.placed.frames.items()}
        ours = replace(judged, placed=replace(judged.placed, frames=frames))
        return [of_followers(self.followers, levels, ours, k) for k in range(len(ours.scores))]

    @cached_property
    def followers(self) -> tuple[Follower, ...]:
        """The leaves that are not fitted themselves."""
        return followers(self.finder)

    def ours(self, frames: Poses) -> Poses:
        """Frames of the template and the scene as they are, in the pixels of the finder's."""
        return np.linalg.inv(enlarge(self.scene)) @ frames @ np.linalg.inv(reduce(self.canvas))

    def levels(self, scene: Float[Tensor, "C H W"]) -> SceneLevels:
        """The scene as the finder sees it."""
        return SceneLevels(pool(scene, self.scene) if self.scene > 1 else scene)

    def _polished(self, levels: SceneLevels, found: Judged, least: float, most: int | None = None) -> Judged:
        """Those with at least a score, and the best of them, at full size and in the pixels of scene and
        template as they are; where there is none, some that come close: full size may tell more of them."""
        order = np.argsort(-found.scores, kind="stable")[:most]
        likely, close = (int((found.scores[order] >= share * least).sum()) for share in (1.0, _CLOSE))
        found = found[order[: likely or min(_HOPES, close)]]
        found = self._in_range(self.finder.polish(levels, found))
        if self.scene == self.canvas == 1:
            return found
        before, after = enlarge(self.scene), reduce(self.canvas)
        frames = {home: before @ frame @ after for home, frame in found.placed.frames.items()}
        return replace(found, placed=replace(found.placed, frames=frames))

    def _in_range(self, found: Judged) -> Judged:
        """Those in a pose that was asked for, or nearly."""
        roots, ranges = found.placed.frames[self.finder.pieces.tree.root], self.finder.ranges
        (low, high), sizes = ranges.scale, scales(roots)
        turned = np.abs(np.degrees(np.arctan2(roots[:, 1, 0], roots[:, 0, 0])))
        fits = (sizes > low / _ADRIFT) & (sizes < high * _ADRIFT) & (turned <= ranges.rotation + _TURNED)
        return found[np.flatnonzero(fits)]

    @property
    def octave(self) -> int:
        """The power of 2 by which scales are those of the finder."""
        return round(math.log2(self.scene / self.canvas))


def together(found: Sequence[Judged]) -> Judged:
    """All hypotheses, one list after the other."""
    first, *rest = found
    for other in rest:
        first = first.and_also(other)
    return first


class Bands:
    """All octaves of a range of scales.

    Arguments:
        template, ranges, weights, steps, reason: as of `Finder`.
    """

    def __init__(
        self,
        template: Template,
        ranges: Range,
        weights: Mapping[str, float],
        steps: Mapping[str, Steps],
        reason: float = SURE,
    ) -> None:
        self.whole = Finder(template, ranges, weights, steps, reason)
        self.bands = [_band(self.whole, octave, scale) for octave, scale in octaves(*ranges.scale)]

    def __call__(self, scene: Float[Tensor, "C H W"], look: Look, polished: float) -> Judged:
        """Hypotheses of all bands.

        Arguments:
            scene: where to look.
            look: how.
            polished: the least score that goes on to full size.
        """
        return together([band(scene, look, polished) for band in self.bands])

    def follow(self, scene: Float[Tensor, "C H W"], roots: Poses, enough: float, polished: float) -> Judged:
        """Hypotheses near known places, each in the band of its scale.

        Arguments:
            scene: where to look.
            roots: (N, 3, 3) canvas → scene, N > 0.
            enough: the score of a sure find.
            polished: the least score that goes on to full size.
        """
        nearest = self.nearest(roots)
        return together(
            [self.bands[k].follow(scene, roots[nearest == k], enough, polished) for k in np.unique(nearest)]
        )

    def followers(self, scene: Float[Tensor, "C H W"], judged: Judged) -> list[dict[str, Told]]:
        """Of each hypothesis the leaves that were not fitted themselves, in the band of its scale."""
        told: list[dict[str, Told]] = [{} for _ in judged.scores]
        if all(len(piece.leaves) == 1 for piece in self.whole.pieces.pieces):
            return told
        nearest = self.nearest(judged.placed.frames[self.whole.pieces.tree.root])
        for k in np.unique(nearest):
            chosen = np.flatnonzero(nearest == k)
            for index, leaves in zip(chosen, self.bands[k].following(scene, judged[chosen]), strict=True):
                told[index] = leaves
        return told

    def nearest(self, roots: Poses) -> NDArray[np.int64]:
        """The band of each root's scale."""
        sizes = np.log2(np.maximum(scales(roots), 1e-9))
        middles = [math.log2(math.prod(band.finder.ranges.scale)) / 2 + band.octave for band in self.bands]
        return np.abs(sizes[:, None] - np.array(middles)).argmin(1)


def octaves(low: float, high: float) -> list[tuple[int, tuple[float, float]]]:
    """Which powers of 2 a range of scales needs, and which part of the range falls to each."""
    first, last = (math.floor(math.log2(scale) + 0.5) for scale in (low, high))
    if high / low <= 2 and max(high, 1 / low) <= 2:
        return [(0, (low, high))]  # as one: little is lost
    return [(k, (max(low, 2 ** (k - 0.5)), min(high, 2 ** (k + 0.5)))) for k in range(first, last + 1)]


def _band(whole: Finder, octave: int, scale: tuple[float, float]) -> Band:
    scene, canvas = 2 ** max(octave, 0), 2 ** max(-octave, 0)
    low, high = (value / 2**octave for value in scale)
    template = reduced(whole.template, canvas) if canvas > 1 else whole.template
    ranges = replace(whole.ranges, scale=(low, high))
    return Band(Finder(template, ranges, whole.weights, whole.steps, whole.reason), scene, canvas)


def reduced(template: Template, factor: int) -> Template:
    """The template at 1/factor of its size."""

    def smaller(part: Part) -> Part:
        motif = _pooled(part.motif, factor) if part.motif is not None else None
        (x, y), middle = part.pivot, (factor - 1) / 2
        pivot = ((x - middle) / factor, (y - middle) / factor)
        return replace(part, motif=motif, at=(part.at[0] / factor, part.at[1] / factor), pivot=pivot)

    canvas = Picture(pool(template.canvas.pixels, factor), None)
    parts = Tree({name: smaller(part) for name, part in template.parts.items()})
    return replace(template, canvas=canvas, parts=parts)


def _pooled(motif: Motif, factor: int) -> Motif:
    """The motif at 1/factor of its size; one so thin that no pixel is half covered keeps those it has."""
    small = motif.pooled(factor)
    most = small.mask.max()
    return small if bool(most > 0.5) else Motif(small.pixels, small.mask / most)

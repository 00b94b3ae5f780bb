"""Scales from the smallest to the largest, an octave at a time.

Descent and screening want scene and motif at about one size. An object that is larger in the scene is looked
for in the scene reduced by a power of 2, one that is smaller by the template reduced; within a octave what is
left of the scale is between 1/√2 and √2.

From where an object was a moment ago to where it is now.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.assemble import LeafScore, StaticLeaf, static_leaf_scores, static_leaves
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.hypotheses import Hypotheses, Placement
from wherein.detect.fast.joints import scales
from wherein.detect.fast.piece_search import BASIN, best_of_each, refit_occluded
from wherein.detect.fast.roots import SURE
from wherein.detect.range import Effort, Range, Sampling
from wherein.images.load import Picture
from wherein.images.motif import Motif
from wherein.images.pool import pool
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import Poses, ScenePyramid, enlarge, reduce
from wherein.template.bundle import Template
from wherein.template.pose import rotations
from wherein.template.tree import Part, Tree

LIKELY = 0.8
"""Of the threshold: from there on a hypothesis is brought to rest at full size before it is scored."""

_HOPES, _CLOSE = 2, 0.55
"""Hypotheses that go on to full size where none is likely, from this share of the least score on: what
is tilted or half covered fits badly at a coarse scale. Clutter hardly comes so close."""

_TURNED, _ADRIFT = 5.0, 1.1
"""Degrees, and times the range of a octave: what has drifted further from what was asked for is another thing,
or none: a speck fits on any shading."""


@dataclass(frozen=True, eq=False)
class Octave:
    """A finder for one octave.

    Attributes:
        finder: of the template reduced by `canvas`, in scenes reduced by `scene`; one of the two is 1.
    """

    finder: Finder
    scene: int
    canvas: int

    def __call__(self, scene: Float[Tensor, "C H W"], effort: Effort, polished: float) -> Hypotheses:
        """Polished hypotheses, in the pixels of the scene and of the template as they are."""
        levels = self.levels(scene)
        return self._polished(levels, self.finder(levels, effort), polished, effort.max_hypotheses)

    def follow(
        self, scene: Float[Tensor, "C H W"], roots: Poses, enough: float, polished: float
    ) -> Hypotheses:
        """The same near known places."""
        levels = self.levels(scene)
        return self._polished(levels, follow(self.finder, levels, self.ours(roots), enough), polished)

    def static_leaf_scores(
        self, scene: Float[Tensor, "C H W"], hypotheses: Hypotheses
    ) -> list[dict[str, LeafScore]]:
        """Of each hypothesis, in the pixels of the scene as it is, the leaves that were not fitted
        themselves."""
        levels = self.levels(scene)
        frames = {name: self.ours(frames) for name, frames in hypotheses.placement.frames.items()}
        ours = replace(hypotheses, placement=replace(hypotheses.placement, frames=frames))
        return [static_leaf_scores(self.static_leaves, levels, ours, k) for k in range(len(ours.scores))]

    @cached_property
    def static_leaves(self) -> tuple[StaticLeaf, ...]:
        """The leaves that are not fitted themselves."""
        return static_leaves(self.finder)

    def ours(self, frames: Poses) -> Poses:
        """Frames of the template and the scene as they are, in the pixels of the finder's."""
        return np.linalg.inv(enlarge(self.scene)) @ frames @ np.linalg.inv(reduce(self.canvas))

    def levels(self, scene: Float[Tensor, "C H W"]) -> ScenePyramid:
        """The scene as the finder sees it."""
        return ScenePyramid(pool(scene, self.scene) if self.scene > 1 else scene)

    def _polished(
        self, levels: ScenePyramid, found: Hypotheses, least: float, most: int | None = None
    ) -> Hypotheses:
        """Those with at least a score, and the best of them, at full size and in the pixels of scene and
        template as they are; where there is none, some that come close: full size may tell more of them."""
        order = np.argsort(-found.scores, kind="stable")[:most]
        likely, close = (int((found.scores[order] >= share * least).sum()) for share in (1.0, _CLOSE))
        found = found[order[: likely or min(_HOPES, close)]]
        found = self._in_range(self.finder.polish(levels, found))
        if self.scene == self.canvas == 1:
            return found
        before, after = enlarge(self.scene), reduce(self.canvas)
        frames = {name: before @ frame @ after for name, frame in found.placement.frames.items()}
        return replace(found, placement=replace(found.placement, frames=frames))

    def _in_range(self, found: Hypotheses) -> Hypotheses:
        """Those in a pose that was asked for, or nearly."""
        roots, ranges = found.placement.frames[self.finder.pieces.tree.root], self.finder.ranges
        (low, high), sizes = ranges.scale, scales(roots)
        turned = np.abs(np.degrees(np.arctan2(roots[:, 1, 0], roots[:, 0, 0])))
        fits = (sizes > low / _ADRIFT) & (sizes < high * _ADRIFT) & (turned <= ranges.rotation + _TURNED)
        return found[np.flatnonzero(fits)]

    @property
    def octave(self) -> int:
        """The power of 2 by which scales are those of the finder."""
        return round(math.log2(self.scene / self.canvas))


def together(found: Sequence[Hypotheses]) -> Hypotheses:
    """All hypotheses, one list after the other."""
    first, *rest = found
    for other in rest:
        first = first.joined(other)
    return first


class Octaves:
    """All octaves of a range of scales.

    Arguments:
        template, ranges, weights, steps, reason: as of `Finder`.
    """

    def __init__(
        self,
        template: Template,
        ranges: Range,
        weights: Mapping[str, float],
        steps: Mapping[str, Sampling],
        reason: float = SURE,
    ) -> None:
        self.whole = Finder(template, ranges, weights, steps, reason)
        self.octaves = [_band(self.whole, octave, scale) for octave, scale in octave_ranges(*ranges.scale)]

    def __call__(self, scene: Float[Tensor, "C H W"], effort: Effort, polished: float) -> Hypotheses:
        """Hypotheses of all octaves.

        Arguments:
            scene: where to look.
            look: how.
            polished: the least score that goes on to full size.
        """
        return together([octave(scene, effort, polished) for octave in self.octaves])

    def follow(
        self, scene: Float[Tensor, "C H W"], roots: Poses, enough: float, polished: float
    ) -> Hypotheses:
        """Hypotheses near known places, each in the octave of its scale.

        Arguments:
            scene: where to look.
            roots: (N, 3, 3) canvas → scene, N > 0.
            enough: the score of a sure find.
            polished: the least score that goes on to full size.
        """
        nearest = self.nearest(roots)
        return together(
            [self.octaves[k].follow(scene, roots[nearest == k], enough, polished) for k in np.unique(nearest)]
        )

    def static_leaves(
        self, scene: Float[Tensor, "C H W"], hypotheses: Hypotheses
    ) -> list[dict[str, LeafScore]]:
        """Of each hypothesis the leaves that were not fitted themselves, in the octave of its scale."""
        told: list[dict[str, LeafScore]] = [{} for _ in hypotheses.scores]
        if all(len(piece.leaves) == 1 for piece in self.whole.pieces.pieces):
            return told
        nearest = self.nearest(hypotheses.placement.frames[self.whole.pieces.tree.root])
        for k in np.unique(nearest):
            chosen = np.flatnonzero(nearest == k)
            for index, leaves in zip(
                chosen, self.octaves[k].static_leaf_scores(scene, hypotheses[chosen]), strict=True
            ):
                told[index] = leaves
        return told

    def nearest(self, roots: Poses) -> NDArray[np.int64]:
        """The octave of each root's scale."""
        sizes = np.log2(np.maximum(scales(roots), 1e-9))
        middles = [
            math.log2(math.prod(octave.finder.ranges.scale)) / 2 + octave.octave for octave in self.octaves
        ]
        return np.abs(sizes[:, None] - np.array(middles)).argmin(1)


def octave_ranges(low: float, high: float) -> list[tuple[int, tuple[float, float]]]:
    """Which powers of 2 a range of scales needs, and which part of the range falls to each."""
    first, last = (math.floor(math.log2(scale) + 0.5) for scale in (low, high))
    if high / low <= 2 and max(high, 1 / low) <= 2:
        return [(0, (low, high))]  # as one: little is lost
    return [(k, (max(low, 2 ** (k - 0.5)), min(high, 2 ** (k + 0.5)))) for k in range(first, last + 1)]


def _band(whole: Finder, octave: int, scale: tuple[float, float]) -> Octave:
    scene, canvas = 2 ** max(octave, 0), 2 ** max(-octave, 0)
    low, high = (value / 2**octave for value in scale)
    template = reduced(whole.template, canvas) if canvas > 1 else whole.template
    ranges = replace(whole.ranges, scale=(low, high))
    return Octave(Finder(template, ranges, whole.weights, whole.steps, whole.reason), scene, canvas)


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


_FOLLOWED = 2
"""Starts of each object that go on from the coarsest scale."""


def follow(finder: Finder, scene: ScenePyramid, roots: Poses, enough: float) -> Hypotheses:
    """Hypotheses near known places, one a place: from the body, and from the limbs where that is not enough.

    Arguments:
        finder: of the object.
        scene: where to look.
        roots: (N, 3, 3) canvas → scene: where objects were, or are expected.
        enough: the score from which no more is looked for.
    """
    if finder.body_search is None:
        return finder.from_roots(scene, roots, len(roots))
    model, root = finder.body_search.model, finder.pieces.tree.root
    found = _body_near(finder, scene, roots)
    placement = Placement({root: found.poses @ model.from_canvas}, {root: found.zncc})
    hypotheses = finder.scored(scene, finder.with_limbs(scene, placement))
    if hypotheses.scores.min(initial=1.0) >= enough or not finder.pieces.hung_on_root:
        return hypotheses
    return hypotheses.joined(finder.from_roots(scene, roots, len(roots)))


def _body_near(finder: Finder, scene: ScenePyramid, roots: Poses) -> Fits:
    """The body from shifts and turns about each root that lie a basin apart."""
    assert finder.body_search is not None, "a template with a body"
    model = finder.body_search.model
    starts = roots[:, None] @ _around(finder) @ model.to_canvas
    found, factor = Fits(starts.reshape(-1, 3, 3), np.zeros(0)), model.coarsest
    while True:
        found = descend(scene, model.pyramid, finder.motion, Stage(factor, 8, pixels=600), found.poses)
        found = best_of_each(found, len(roots), _FOLLOWED if factor > model.scoring_scale else 1)
        if factor <= model.scoring_scale:
            break
        factor //= 2
    stage = Stage(model.scoring_scale, 12, pixels=1200)
    return refit_occluded(scene, model, finder.motion, stage, found)


def _around(finder: Finder) -> Poses:
    """Motions of the canvas: none; two basins in each of eight directions; a turn by two to either side."""
    assert finder.body_search is not None, "a template with a body"
    model, (width, height) = finder.body_search.model, finder.template.size
    basin = 2 * BASIN * model.coarsest
    turn = math.degrees(math.atan2(basin, math.hypot(width, height) / 2))
    moved = rotations(np.array((0.0, -turn, turn)), finder.template.centre)
    steps = np.array([(x, y) for x in (0, -1, 1) for y in (0, -1, 1)][1:], dtype=np.float64)
    shifts = np.repeat(np.eye(3)[None], len(steps), axis=0)
    shifts[:, :2, 2] = basin * steps
    return np.concatenate((moved, shifts))

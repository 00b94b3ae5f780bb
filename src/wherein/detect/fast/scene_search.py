"""The search of a scene: hypotheses of every octave of scales, exclusion, and the detections.

Screening and descent need scene and motif at about the same size. Objects that are larger in the scene are
searched for in the scene reduced by a power of 2, smaller ones with the template reduced. Within an octave
the remaining scale is between 1/√2 and √2, or between 1/2 and 2 where one octave is all there is.

Objects are followed from where they were in the last frame in the same way, each in the octave of its scale.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.assemble import (
    Assembler,
    LeafScore,
    StaticLeaf,
    fitted_leaf_scores,
    static_leaf_scores,
    static_leaves,
)
from wherein.detect.fast.exclusion import exclusive
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.joints import scales
from wherein.detect.fast.roots import STRONG_EVIDENCE
from wherein.detect.result import Detection, MethodResult
from wherein.detect.search_range import Effort, Range, Sampling
from wherein.images.pool import pool
from wherein.pyramid.levels import Poses, ScenePyramid, enlarge, reduce
from wherein.template.bundle import Template
from wherein.template.reduced import reduced_template

LIKELY = 0.8
"""Fraction of the threshold from which a hypothesis is refined at full size. A choice: refinement can raise a
score, and the time that it takes is wasted on hypotheses far below the threshold."""

_MAX_FALLBACK, _MIN_FALLBACK = 2, 0.55
"""Where no hypothesis is likely, so many are refined at full size all the same, if their scores reach this
fraction of a likely one. Choices: a tilted or half occluded object scores low at a coarse scale, and
clutter rarely as high."""

_MAX_ROTATION_EXCESS, _MAX_SCALE_EXCESS = 5.0, 1.1
"""Degrees, and factor, by which a refined pose may lie outside the range of the octave. Choices: a pose
that has drifted further is another object or none, such as a speck that fits on any shading."""

_CROWD, _CROWD_STEP, _MAX_CROWD = 6, 4, 64
"""With more detections than this there may be others that were not followed, and the search is repeated
with four times as many poses, up to 64 times as many as usual. Choices."""


@dataclass(frozen=True, eq=False)
class Octave:
    """A finder for one octave of scales.

    Attributes:
        finder: of the reduced template, in reduced scenes.
        scene_factor: by which scenes are reduced.
        canvas_factor: by which the template is reduced; one of the two factors is 1.
    """

    finder: Finder
    scene_factor: int
    canvas_factor: int

    def __call__(self, scene: Float[Tensor, "C H W"], effort: Effort, min_score: float) -> Hypotheses:
        """Hypotheses refined at full size, in pixels of the original scene and template.

        Arguments:
            scene: the original scene.
            effort: how much effort is spent on it.
            min_score: from which a hypothesis is refined.
        """
        levels = self.levels(scene)
        return self._polished(levels, self.finder(levels, effort), min_score, effort.max_hypotheses)

    def follow(
        self, scene: Float[Tensor, "C H W"], roots: Poses, stop_score: float, min_score: float
    ) -> Hypotheses:
        """The same near known places; arguments as of `Octaves.follow`."""
        levels = self.levels(scene)
        found = self.finder.follow(levels, self.to_octave(roots), stop_score)
        return self._polished(levels, found, min_score)

    def static_leaf_scores(
        self, scene: Float[Tensor, "C H W"], hypotheses: Hypotheses
    ) -> list[dict[str, LeafScore]]:
        """For each hypothesis (in pixels of the original scene) the scores of the static leaves, by name."""
        levels = self.levels(scene)
        frames = {name: self.to_octave(frames) for name, frames in hypotheses.placement.frames.items()}
        reduced = replace(hypotheses, placement=replace(hypotheses.placement, frames=frames))
        return [
            static_leaf_scores(self.static_leaves, levels, reduced, k) for k in range(len(reduced.scores))
        ]

    @cached_property
    def static_leaves(self) -> tuple[StaticLeaf, ...]:
        """The leaves that are not fitted themselves."""
        return static_leaves(self.finder)

    def to_octave(self, frames: Poses) -> Poses:
        """Frames of the original template and scene, in pixels of the reduced ones."""
        return np.linalg.inv(enlarge(self.scene_factor)) @ frames @ np.linalg.inv(reduce(self.canvas_factor))

    def levels(self, scene: Float[Tensor, "C H W"]) -> ScenePyramid:
        """The pyramid of the reduced scene."""
        return ScenePyramid(pool(scene, self.scene_factor) if self.scene_factor > 1 else scene)

    def _polished(
        self, levels: ScenePyramid, found: Hypotheses, min_score: float, count: int | None = None
    ) -> Hypotheses:
        """The likely hypotheses refined at full size, in pixels of the original scene and template.

        Arguments:
            levels: the reduced scene.
            found: hypotheses in pixels of the reduced scene.
            min_score: of a likely hypothesis.
            count: maximum number that are refined; None: all.
        """
        order = np.argsort(-found.scores, kind="stable")[:count]
        likely, close = (
            int((found.scores[order] >= share * min_score).sum()) for share in (1.0, _MIN_FALLBACK)
        )
        found = found[order[: likely or min(_MAX_FALLBACK, close)]]
        # Checked after refinement: before, a pose at the edge of the range may still be off by a basin.
        found = self._in_range(self.finder.polish(levels, found))
        if self.scene_factor == self.canvas_factor == 1:
            return found
        before, after = enlarge(self.scene_factor), reduce(self.canvas_factor)
        frames = {name: before @ frame @ after for name, frame in found.placement.frames.items()}
        return replace(found, placement=replace(found.placement, frames=frames))

    def _in_range(self, found: Hypotheses) -> Hypotheses:
        """The hypotheses whose rotation and scale are in the range, or nearly."""
        roots, ranges = found.placement.frames[self.finder.pieces.tree.root], self.finder.ranges
        (low, high), sizes = ranges.scale, scales(roots)
        turned = np.abs(np.degrees(np.arctan2(roots[:, 1, 0], roots[:, 0, 0])))
        fits = (sizes > low / _MAX_SCALE_EXCESS) & (sizes < high * _MAX_SCALE_EXCESS)
        fits &= turned <= ranges.rotation + _MAX_ROTATION_EXCESS
        return found[np.flatnonzero(fits)]

    @property
    def octave(self) -> int:
        """log₂ of the factor between a scale in the original scene and the finder's."""
        return round(math.log2(self.scene_factor / self.canvas_factor))


def _joined(found: Sequence[Hypotheses]) -> Hypotheses:
    """All hypotheses, one list after the other."""
    first, *rest = found
    for other in rest:
        first = first.joined(other)
    return first


class Octaves:
    """All octaves of a range of scales.

    Arguments:
        template, ranges, weights, sampling, min_pair_evidence: as of `Finder`.

    Attributes:
        finder: of the original template over all of the range; it searches no scene itself.
        octaves: one for each octave.
    """

    def __init__(
        self,
        template: Template,
        ranges: Range,
        weights: Mapping[str, float],
        sampling: Mapping[str, Sampling],
        min_pair_evidence: float = STRONG_EVIDENCE,
    ) -> None:
        self.finder = Finder(template, ranges, weights, sampling, min_pair_evidence)
        self.octaves = [_octave(self.finder, octave, scale) for octave, scale in octave_ranges(*ranges.scale)]

    def __call__(self, scene: Float[Tensor, "C H W"], effort: Effort, min_score: float) -> Hypotheses:
        """Hypotheses of all octaves, refined at full size.

        Arguments:
            scene: the scene to search.
            effort: how much effort is spent on it.
            min_score: from which a hypothesis is refined.
        """
        return _joined([octave(scene, effort, min_score) for octave in self.octaves])

    def follow(
        self, scene: Float[Tensor, "C H W"], roots: Poses, stop_score: float, min_score: float
    ) -> Hypotheses:
        """Hypotheses near known places, each in the octave of its scale.

        Arguments:
            scene: the scene to search.
            roots: canvas → scene, (N, 3, 3), N > 0.
            stop_score: where all hypotheses from the body reach it, none are made from the limbs.
            min_score: from which a hypothesis is refined at full size.
        """
        nearest = self.nearest(roots)
        return _joined(
            [
                self.octaves[k].follow(scene, roots[nearest == k], stop_score, min_score)
                for k in np.unique(nearest)
            ]
        )

    def static_leaf_scores(
        self, scene: Float[Tensor, "C H W"], hypotheses: Hypotheses
    ) -> list[dict[str, LeafScore]]:
        """For each hypothesis the scores of the static leaves by name, evaluated in the octave of its
        scale."""
        scores: list[dict[str, LeafScore]] = [{} for _ in hypotheses.scores]
        if all(len(piece.leaves) == 1 for piece in self.finder.pieces.pieces):
            return scores
        nearest = self.nearest(hypotheses.placement.frames[self.finder.pieces.tree.root])
        for k in np.unique(nearest):
            chosen = np.flatnonzero(nearest == k)
            found = self.octaves[k].static_leaf_scores(scene, hypotheses[chosen])
            for index, leaves in zip(chosen, found, strict=True):
                scores[index] = leaves
        return scores

    def nearest(self, roots: Poses) -> NDArray[np.int64]:
        """The index of the octave of each root's scale, (N,)."""
        # By the logarithm of the scale, since octaves are ratios.
        sizes = np.log2(np.maximum(scales(roots), 1e-9))
        middles = [
            math.log2(math.prod(octave.finder.ranges.scale)) / 2 + octave.octave for octave in self.octaves
        ]
        return np.abs(sizes[:, None] - np.array(middles)).argmin(1)


class SceneSearch:
    """Searches scenes for a template.

    Arguments:
        octaves: make the hypotheses.
        threshold: the lowest score of a detection.
        calibrated_threshold: the one that was measured.
        threads: number of threads of the first search.
    """

    def __init__(self, octaves: Octaves, threshold: float, calibrated_threshold: float, threads: int) -> None:
        self.octaves, self.threshold, self.threads = octaves, threshold, threads
        self._calibrated_threshold = calibrated_threshold
        pieces = octaves.finder.pieces
        moving = {pieces.tree.root, *(joint.name for joint in (*pieces.pieces, *pieces.groups))}
        self._assembler = Assembler(octaves.finder.template, moving)

    @property
    def stop_score(self) -> float:
        """The score from which slower ways to find hypotheses are skipped."""
        # At least the calibrated threshold: a lower one reports more, but must not end the search earlier.
        return max(self.threshold, self._calibrated_threshold)

    def __call__(self, scene: Float[Tensor, "3 H W"], count: int | None) -> MethodResult:
        """The best `count` detections in a scene; None: all."""
        found = self._result(scene, self._everywhere(scene), count)
        crowd, wanted = 1, math.inf if count is None else count
        while _CROWD * crowd < len(found.items) < wanted and crowd < _MAX_CROWD:
            crowd *= _CROWD_STEP
            more = self._result(scene, self._everywhere(scene, crowd), count)
            if len(more.items) <= len(found.items):
                break
            found = more
        return found

    def follow(
        self, scene: Float[Tensor, "3 H W"], roots: Poses, count: int | None, everywhere: bool
    ) -> MethodResult:
        """The best `count` detections near known places.

        Arguments:
            scene: the picture to search.
            roots: canvas → scene, (N, 3, 3), N > 0.
            count: maximum number of detections; None: all.
            everywhere: search the whole scene as well.
        """
        found = self.octaves.follow(scene, roots, self.stop_score, LIKELY * self.threshold)
        if everywhere:
            found = found.joined(self._everywhere(scene))
        return self._result(scene, found, count)

    def _everywhere(self, scene: Float[Tensor, "3 H W"], crowd: int = 1) -> Hypotheses:
        effort = Effort(self.stop_score, self.threads, crowd)
        return self.octaves(scene, effort, min_score=LIKELY * self.threshold)

    def _result(self, scene: Float[Tensor, "3 H W"], found: Hypotheses, count: int | None) -> MethodResult:
        items = self._assembled(scene, exclusive(self.octaves.finder, found, self.threshold, count))
        if items or not len(found.scores):
            return MethodResult(items)
        (best,) = self._assembled(scene, found[np.argsort(-found.scores)[:1]])
        return MethodResult((), (best,) if best.score >= LIKELY * self.threshold else ())

    def _assembled(self, scene: Float[Tensor, "3 H W"], hypotheses: Hypotheses) -> tuple[Detection, ...]:
        static = self.octaves.static_leaf_scores(scene, hypotheses)
        return tuple(self._detection(hypotheses, k, leaves) for k, leaves in enumerate(static))

    def _detection(self, hypotheses: Hypotheses, index: int, static: Mapping[str, LeafScore]) -> Detection:
        """The detection that one hypothesis stands for, with the scores of its static leaves."""
        frames = {name: poses[index] for name, poses in hypotheses.placement.frames.items()}
        leaves = {**fitted_leaf_scores(self.octaves.finder, hypotheses, index), **static}
        return self._assembler(frames, leaves, float(hypotheses.scores[index]))


def octave_ranges(low: float, high: float) -> list[tuple[int, tuple[float, float]]]:
    """The octaves that a range of scales needs, as powers of 2, and the part of the range in each."""
    first, last = (math.floor(math.log2(scale) + 0.5) for scale in (low, high))
    if high / low <= 2 and max(high, 1 / low) <= 2:
        # Searched as one octave: up to a factor of 2 little is lost, and half of the time is saved.
        return [(0, (low, high))]
    return [(k, (max(low, 2 ** (k - 0.5)), min(high, 2 ** (k + 0.5)))) for k in range(first, last + 1)]


def _octave(finder: Finder, octave: int, scale: tuple[float, float]) -> Octave:
    """One octave of a finder's range.

    Arguments:
        finder: of all of the range.
        octave: the power of 2.
        scale: lowest and highest scale in the original scene.
    """
    scene, canvas = 2 ** max(octave, 0), 2 ** max(-octave, 0)
    low, high = (value / 2**octave for value in scale)
    template = reduced_template(finder.template, canvas) if canvas > 1 else finder.template
    ranges = replace(finder.ranges, scale=(low, high))
    # Weights and sampling are measured at the original size only.
    own = Finder(template, ranges, finder.weights, finder.sampling, finder.min_pair_evidence)
    return Octave(own, scene, canvas)

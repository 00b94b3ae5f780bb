"""The search of a scene: makes hypotheses, refines the likely ones, excludes overlaps, and makes detections.

`SceneSearch(scene, count)` runs these steps in order; `follow` does the same near known places. The other
methods are single steps, for searches of libraries (`shared_search`) and of scenes in parts (`detect.tiled`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wherein.detect.fast.assemble import (
    Assembler,
    LeafScore,
    StaticLeaf,
    fitted_leaf_scores,
    needs_clear_turn,
    static_leaf_scores,
    static_leaves,
)
from wherein.detect.fast.exclusion import OVERLAP, Supports, exclusive
from wherein.detect.fast.finder import Finder
from wherein.detect.fast.following import Follower, Seen
from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.limbs.turn_spreads import turn_spreads
from wherein.detect.result import Detection, MethodResult
from wherein.detect.search_range import Effort
from wherein.images.picture import Samples, is_grey
from wherein.motion.homography import angles, scales, tilts
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_search import GoesOn
from wherein.pyramid.levels import Poses, ScenePyramid

LIKELY = 0.7
"""Minimum score of a hypothesis that is refined at full size, and afterwards reported as a candidate, as a
fraction of the threshold. A choice: refinement can raise a score, but its time is wasted on hypotheses far
below the threshold."""

_IN_CROWD = 0.5
"""The same fraction in a crowd, where more objects are expected. A choice: with 0.6 and one of the coins in
scikit-image's `coins` as the template, one in five of the others was not a candidate."""

_MAX_FALLBACK, _MIN_FALLBACK = 2, 0.85
"""If no hypothesis is likely, this many are refined nevertheless, provided that their scores reach this
fraction of what a likely one needs. The number is a choice; the fraction is from a measurement: for 90
hypotheses in 50 scenes of six templates that were likely after refinement, it had raised the score by at most
9 %."""

_MAX_ROTATION_EXCESS, _MAX_SCALE_EXCESS, _MAX_TILT_EXCESS = 8.0, 1.15, 12.0
"""Degrees, factor and degrees by which a refined pose may lie outside the range. Choices: a pose that has
drifted further is another object or none; tilt is measured the least exactly of the three."""

_MAX_UPRIGHT_EXCESS, _MAX_FLAT_EXCESS = 3.0, 1.07
"""The same in degrees of rotation if only upright objects are searched for, and as a factor of the size if
the range has no tilt. Choices: before a fixed camera, objects are askew by a degree or two; without a tilt,
which changes sizes too, the size is known to a few per cent."""

_CROWD, _CROWD_STEP, _MAX_CROWD = 3, 4, 64
"""Minimum number of detections and candidates with higher scores than clutter usually reaches that makes a
crowd. In a crowd there may be objects that were not followed (`plane_search` follows four poses to the end),
so the search is repeated with four times as many poses, up to 64 times as many as usual. Choices."""


@dataclass(frozen=True)
class LeafScores:
    """The scores of the leaves under one hypothesis.

    Attributes:
        scores: of each leaf, and whether it was found, by name.
        spreads: ± degrees within which the turns of the fitted leaves are known, by name.
    """

    scores: Mapping[str, LeafScore]
    spreads: Mapping[str, float]


class SceneSearch:
    """Searches scenes for a template.

    Arguments:
        finder: makes the hypotheses.
        threshold: the lowest score of a detection.
        calibrated_threshold: the threshold that calibration measured.
        usual_clutter: the score that clutter exceeds in one of ten scenes.
        threads: number of threads.
        overlap: fraction of a piece that may lie on pixels of another object.
    """

    def __init__(
        self,
        finder: Finder,
        threshold: float,
        calibrated_threshold: float,
        usual_clutter: float,
        threads: int,
        overlap: float = OVERLAP,
    ) -> None:
        self._overlap = overlap
        self.finder, self.threshold, self.threads = finder, threshold, threads
        self._calibrated_threshold, self._usual_clutter = calibrated_threshold, usual_clutter
        pieces = finder.pieces
        moving = {pieces.tree.root, *(joint.name for joint in (*pieces.pieces, *pieces.groups))}
        self._assembler = Assembler(finder.given, moving, finder.ranges.tilt > 0, finder.from_given)

    @property
    def stop_score(self) -> float:
        """The score of a hypothesis from which slower searches for others are skipped."""
        # At least the calibrated threshold: a lower threshold of the user reports more, but must not end the
        # search earlier.
        return max(self.threshold, self._calibrated_threshold)

    def __call__(self, scene: Samples, count: int | None) -> MethodResult:
        """The best `count` detections in a scene; None: all."""
        levels = self.levels(scene)
        return self.reported(levels, self.kept(levels, count), count)

    def kept(self, levels: ScenePyramid, count: int | None) -> Hypotheses:
        """The hypotheses that remain after exclusion: those of detections, and of candidates.

        Arguments:
            levels: the scene to search.
            count: how many detections are wanted at most; None: all.
        """
        found = self._exclusive(levels, self._everywhere(levels))
        # A search for the body follows every pose that stands out, so it needs no repetition. A search for
        # limbs follows pairs of them, of which there are far more, and so only a limited number.
        if self.finder.body_search is not None or self._standing_out(found) < _CROWD:
            return found
        crowd, wanted = 1, math.inf if count is None else count
        while (
            _CROWD * crowd <= len(found.scores)
            and self._count_detections(found) < wanted
            and crowd < _MAX_CROWD
        ):
            crowd *= _CROWD_STEP
            more = self._exclusive(levels, self._everywhere(levels, crowd))
            # The first repetition has candidates down to a lower score (`_IN_CROWD`) than the search before
            # it, so their numbers do not compare. Later ones must find more, or the repetitions end.
            grown = crowd == _CROWD_STEP or len(more.scores) > len(found.scores)
            found = more if self._count_detections(more) >= self._count_detections(found) else found
            if not grown:
                break
        return found

    def kept_from(
        self, levels: ScenePyramid, refined: PlaneFits, goes_on: GoesOn | None = None
    ) -> Hypotheses:
        """The hypotheses that remain after exclusion, from given poses of the body instead of a search.

        Arguments:
            levels: the scene to search.
            refined: the poses.
            goes_on: which fits of the body are followed to the next resolution; None: all.
        """
        effort = Effort(self.stop_score, least=LIKELY * self.threshold)
        found = self.finder.from_body(levels, effort, refined, goes_on)
        # Of many templates only a few are in a scene. For the others nothing is refined, not even the best
        # unlikely hypotheses (`_MAX_FALLBACK`).
        likely = found[np.flatnonzero(found.scores >= LIKELY * self.threshold)]
        return self._exclusive(levels, self.polished(levels, likely) if len(likely.scores) else likely)

    def _standing_out(self, found: Hypotheses) -> int:
        """The number of hypotheses with higher scores than clutter usually reaches."""
        return int((found.scores > self._usual_clutter).sum())

    def _count_detections(self, found: Hypotheses) -> int:
        """The number of hypotheses that reach the threshold, and so are detections."""
        return int((found.scores >= self.threshold).sum())

    def follow(
        self,
        scene: Samples,
        roots: Poses,
        count: int | None,
        everywhere: bool,
        seen: Sequence[Seen] | None = None,
    ) -> MethodResult:
        """The best `count` detections near known places.

        Arguments:
            scene: the picture to search.
            roots: canvas → scene, (N, 3, 3), N > 0.
            count: maximum number of detections; None: all.
            everywhere: search the whole scene as well.
            seen: the detection of each in the frame before, if there is one.
        """
        levels = self.levels(scene)
        return self.reported(levels, self.near(levels, roots, everywhere, seen), count)

    def near(
        self, levels: ScenePyramid, roots: Poses, everywhere: bool, seen: Sequence[Seen] | None = None
    ) -> Hypotheses:
        """The hypotheses near known places that remain after exclusion; arguments as of `follow`."""
        roots = roots @ np.linalg.inv(self.finder.from_given)
        again = None if seen is None else self._follower.again(levels, roots, seen, self.stop_score)
        if again is not None:
            found = self.in_range(again)
        else:
            found = self.polished(levels, self._follower.near(levels, roots, self.stop_score))
        if everywhere:
            found = found.joined(self._everywhere(levels))
        return self._exclusive(levels, found)

    @cached_property
    def _follower(self) -> Follower:
        return Follower(self.finder)

    def levels(self, scene: Samples) -> ScenePyramid:
        """The pyramid of a scene; a grey scene is reduced to a single plane."""
        # A gradient is that of the colour plane with the strongest change, so three equal planes give the
        # same result as one, at three times the cost.
        return ScenePyramid(scene[:1] if is_grey(scene) else scene, threads=self.threads)

    def _everywhere(self, scene: ScenePyramid, crowd: int = 1) -> Hypotheses:
        """Refined hypotheses from a search of the whole scene, with `crowd` times as many poses as usual."""
        least = LIKELY if crowd == 1 else _IN_CROWD
        found = self.finder(scene, Effort(self.stop_score, crowd, least * self.threshold))
        return self.polished(scene, found, self._least(found) * self.threshold)

    def _least(self, found: Hypotheses) -> float:
        """The fraction of the threshold from which hypotheses are refined, and reported as candidates."""
        return LIKELY if self._standing_out(found) < _CROWD else _IN_CROWD

    def polished(
        self, scene: ScenePyramid, found: Hypotheses, min_score: float | None = None, count: int | None = None
    ) -> Hypotheses:
        """The likely hypotheses refined at full size.

        Arguments:
            scene: the scene that was searched.
            found: hypotheses of the finder.
            min_score: minimum score of a likely hypothesis; None: `LIKELY` times the threshold.
            count: maximum number that are refined; None: all.
        """
        least = LIKELY * self.threshold if min_score is None else min_score
        order = np.argsort(-found.scores, kind="stable")[:count]
        likely, close = (int((found.scores[order] >= share * least).sum()) for share in (1.0, _MIN_FALLBACK))
        found = found[order[: likely or min(_MAX_FALLBACK, close)]]
        if not len(found.scores):
            return found
        # Checked after refinement: before, a pose at the edge of the range may still be off by a basin.
        return self.in_range(self.finder.polish(scene, found))

    def in_range(self, found: Hypotheses) -> Hypotheses:
        """The hypotheses whose rotation, scale and tilt lie in the range, up to a margin."""
        roots, ranges = found.placement.frames[self.finder.pieces.tree.root], self.finder.ranges
        (low, high), middle = ranges.scale, self.finder.middle
        sizes, tilted = scales(roots, middle), tilts(roots, middle)
        # A tilt by t shortens an object to cos t of its size across the axis of the tilt, and `scales` is the
        # geometric mean of both directions. Dividing by √cos t gives the size along the axis: that of the
        # object if it were upright.
        upright = sizes / np.sqrt(np.maximum(np.cos(np.radians(tilted)), 1e-3))
        # Each limit is compared with the size that keeps more: `upright` is never below `sizes`.
        factor = _MAX_SCALE_EXCESS if ranges.tilt > 0 else _MAX_FLAT_EXCESS
        further = _MAX_ROTATION_EXCESS if ranges.rotation > 0 else _MAX_UPRIGHT_EXCESS
        fits = (upright > low / factor) & (sizes < high * factor)
        fits &= np.abs(angles(roots, middle)) <= ranges.rotation + further
        fits &= (tilted <= ranges.tilt + _MAX_TILT_EXCESS) | (ranges.tilt == 0)
        return found[np.flatnonzero(fits)]

    def _exclusive(self, scene: ScenePyramid, found: Hypotheses) -> Hypotheses:
        """The hypotheses of detections and candidates that remain after exclusion."""
        # Candidates exclude each other too: a pixel is evidence for one of them only.
        least = self._least(found) * self.threshold
        return exclusive(self.finder, found, least, None, self._overlap, scene)

    def reported(self, scene: ScenePyramid, kept: Hypotheses, count: int | None) -> MethodResult:
        """The detections and candidates made from hypotheses, at most `count` detections."""
        # Hypotheses are sorted by score, so detections come first. Only they are worth the time of the last
        # fits.
        detected = self._count_detections(kept)
        items = self._assembled(scene, self.finder.uncover(scene, kept[np.arange(detected)[:count]]))
        return MethodResult(items, self._assembled(scene, kept[np.arange(detected, len(kept.scores))]))

    def _assembled(self, scene: ScenePyramid, hypotheses: Hypotheses) -> tuple[Detection, ...]:
        return self.assembled(hypotheses, self.leaves(scene, hypotheses))

    def leaves(self, scene: ScenePyramid, hypotheses: Hypotheses) -> tuple[LeafScores, ...]:
        """The scores of all leaves under each of the hypotheses that are reported."""
        limbs = [piece for piece in self.finder.pieces.limbs if piece.turn > 0]
        models = [self.finder.models[piece.name] for piece in limbs]
        # A spread from an earlier frame is not used for a limb that needs a clear turn to count as found:
        # whether its turn is clear has to be measured in this frame.
        known = {
            name: np.where(needs_clear_turn(self.finder, hypotheses, name), math.nan, spreads)
            for name, spreads in hypotheses.spreads.items()
        }
        turn_of = turn_spreads(scene, hypotheses.placement, models, known)
        leaf_of, made = {piece.name: piece.fitted_leaf.name for piece in limbs}, []
        for k in range(len(hypotheses.scores)):
            own = {leaf_of[name]: float(turns.spread[k]) for name, turns in turn_of.items()}
            clear = {leaf_of[name] for name, turns in turn_of.items() if turns.clear[k]}
            fitted = fitted_leaf_scores(self.finder, hypotheses, k, own, clear)
            static = static_leaf_scores(self._static_leaves, scene, hypotheses, k)
            made.append(LeafScores({**fitted, **static}, own))
        return tuple(made)

    def assembled(self, hypotheses: Hypotheses, leaves: Sequence[LeafScores]) -> tuple[Detection, ...]:
        """The detections made from hypotheses and the scores of their leaves."""
        found = []
        for k, own in enumerate(leaves):
            frames = {name: poses[k] for name, poses in hypotheses.placement.frames.items()}
            found.append(self._assembler(frames, own.scores, float(hypotheses.scores[k]), own.spreads))
        return tuple(found)

    def merged(self, found: Hypotheses, supports: Supports) -> Hypotheses:
        """The hypotheses that remain after exclusion, from those that remained in parts of a scene.

        Arguments:
            found: the hypotheses of all parts, in pixels of the whole scene.
            supports: the points of the scene that the evidence of their pieces comes from.
        """
        least = self._least(found) * self.threshold
        return exclusive(self.finder, found, least, None, self._overlap, supports=supports)

    @cached_property
    def _static_leaves(self) -> tuple[StaticLeaf, ...]:
        """The leaves that are not fitted themselves, but move with the fitted leaf of their piece."""
        return static_leaves(self.finder)

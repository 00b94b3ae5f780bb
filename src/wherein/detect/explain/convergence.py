"""How the fit of each piece of a detection converged, step by step.

The search keeps no record of its steps: that would slow it down. But it is deterministic, and each pose
descends on its own. So the fit of a piece can be repeated from where the search starts: for the body from
the places of the first search, for a limb from the turns about its joint. Of the starts that lead to the
detected pose, the one that fitted best is followed, scale by scale and then at full size, by the same
functions as in the search.

The trace of a descent of k steps is made by descents of 0, 1, …, k steps from the same start: they are the
same descent, stopped later and later, so the solver needs no record either. One thing differs from the
search: a limb starts from its joint where that is in the end, not where it was when the limb was first
placed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.explain.fit_trace import FinalPose, FitTrace, FitTraces, TraceStage
from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.piece_model import EUCLIDEAN, PieceModel
from wherein.detect.fast.piece_search import maybe_occluded, refit_occluded
from wherein.detect.fast.polish import FULL, polish_piece
from wherein.detect.fast.scene_search import Octave, Octaves
from wherein.detect.result import Detection
from wherein.images.motif import Motif
from wherein.motion.homography import square
from wherein.motion.models import Motion
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.tree import Tree

_SAME_END = 0.5
"""Pixels of the scene by which the ends of two descents may differ and still count as the same. A choice."""

_MAX_DISTANCE = 1.0
"""Pixels of the scene: if a descent ends further from the detected pose, it did not lead to it. A choice."""

_ROUNDING = 1e-3
"""Pixels by which two poses differ at most after one of them was rounded to float32 and back."""


def fit_traces(
    octaves: Octaves, scene: Float[Tensor, "C H W"], found: Sequence[Detection], threads: int = 1
) -> tuple[FitTraces, ...]:
    """For each detection the traces of the pieces that were found.

    Arguments:
        octaves: the search that made the detections.
        scene: where they are.
        found: the detections.
        threads: number of threads of the first search.
    """
    tree = octaves.finder.pieces.tree
    frames = [_frames(tree, item) for item in found]
    traces: list[FitTraces] = [{} for _ in found]
    nearest = octaves.nearest(np.reshape([own[tree.root] for own in frames], (-1, 3, 3)))
    for number in np.unique(nearest):
        octave, chosen = octaves.octaves[number], np.flatnonzero(nearest == number)
        tracer = _Tracer(octave, octave.levels(scene), threads, len(chosen))
        for index in chosen.tolist():
            parts = {name for name, part in found[index].parts.items() if part.found}
            traces[index] = tracer(frames[index], parts)
    return tuple(traces)


def _frames(tree: Tree, item: Detection) -> dict[str, NDArray[np.float64]]:
    """Canvas → scene of every part, 3×3, by name."""
    frames = {name: square(part.matrix) @ np.linalg.inv(tree[name].rest) for name, part in item.parts.items()}
    return {**frames, tree.root: square(item.matrix)}


@dataclass(frozen=True, eq=False)
class _Tracer:
    """Repeats the fits of detections of one octave.

    Attributes:
        octave: of their scale.
        scene: as the octave searches it.
        threads: number of threads of the first search.
        crowd: number of detections.
    """

    octave: Octave
    scene: ScenePyramid
    threads: int
    crowd: int

    def __call__(self, frames: Mapping[str, NDArray[np.float64]], parts: set[str]) -> FitTraces:
        """The traces of a detection's pieces.

        Arguments:
            frames: canvas → scene of every part, by name.
            parts: those that were found.
        """
        ours = {name: self.octave.to_octave(frame[None]) for name, frame in frames.items()}
        pieces = [piece for piece in self.octave.finder.pieces.pieces if piece.fitted_leaf.name in parts]
        models = self.octave.finder.models
        return {piece.fitted_leaf.name: self._trace(models[piece.name], ours) for piece in pieces}

    def _trace(self, model: PieceModel, frames: Mapping[str, Poses]) -> FitTrace:
        """The trace of one piece, from the search's starts if one of them leads to the detected pose."""
        piece, target = model.piece, frames[model.piece.name] @ model.to_canvas
        body = piece.name == piece.parent
        approach = self._body_approach if body else self._limb_approach(model, frames[piece.parent])
        recorder, motif = _Recorder(self.scene, model, approach.motion), piece.motif
        if len(approach.first):
            chosen = approach.leading_to(target, motif, _SAME_END / self.octave.scene_factor)
            stages, before = recorder.approach(approach[chosen], robust=body)
            trace, end = recorder.polish(stages, before, frames[piece.parent])
            if corner_distances(end, target, motif)[0] <= _MAX_DISTANCE / self.octave.scene_factor:
                return trace
        here = descend(self.scene, model.pyramid, approach.motion, Stage(model.scoring_scale, 0), target)
        return replace(recorder.polish((), here, frames[piece.parent])[0], from_search=False)

    @cached_property
    def _body_approach(self) -> "_Approach":
        """The descents of the body, which are the same for all detections."""
        search, finder = self.octave.finder.body_search, self.octave.finder
        assert search is not None, "a template with a body"
        starts = search.starts(self.scene, self.threads, self.crowd)
        return _approach(self.scene, search.model, finder.motion, search.stages, starts)

    def _limb_approach(self, model: PieceModel, parent: Poses) -> "_Approach":
        """The descents of a limb from turns about its joint."""
        starts = parent @ model.starts @ model.to_canvas
        return _approach(self.scene, model, EUCLIDEAN, model.joint_stages, starts)


@dataclass(frozen=True, eq=False)
class _Approach:
    """Descents of a piece from N starts to the scale at which it is scored.

    Attributes:
        motion: of the piece.
        stages: one after the other.
        poses: (N, 3, 3) at the beginning of each stage, and after the last.
        first: ZNCC at the starts, (N,).
        zncc: ZNCC at the end, (N,).
    """

    motion: Motion
    stages: tuple[Stage, ...]
    poses: tuple[Poses, ...]
    first: NDArray[np.float64]
    zncc: NDArray[np.float64]

    def __getitem__(self, chosen: slice) -> "_Approach":
        poses = tuple(poses[chosen] for poses in self.poses)
        return replace(self, poses=poses, first=self.first[chosen], zncc=self.zncc[chosen])

    def leading_to(self, target: Poses, motif: Motif, same_end: float) -> slice:
        """The start that ends nearest to a pose; of several that end there, the one that fits best at first.

        Arguments:
            target: (1, 3, 3).
            motif: whose corners are compared.
            same_end: distance within which two ends are the same.
        """
        distance = corner_distances(self.poses[-1], target, motif)
        best = int(np.where(distance <= distance.min() + same_end, self.first, -np.inf).argmax())
        return slice(best, best + 1)


def _approach(
    scene: ScenePyramid, model: PieceModel, motion: Motion, stages: tuple[Stage, ...], starts: Poses
) -> _Approach:
    """The descents from all starts, through all stages."""
    first = ended = descend(scene, model.pyramid, motion, replace(stages[0], steps=0), starts)
    poses = [starts]
    for stage in stages:
        ended = descend(scene, model.pyramid, motion, stage, poses[-1])
        poses.append(ended.poses)
    return _Approach(motion, stages, tuple(poses), first.zncc, ended.zncc)


def corner_distances(poses: Poses, target: Poses, motif: Motif) -> NDArray[np.float64]:
    """The largest distance of a motif's corner between each pose and the target, in scene pixels, (N,)."""
    right, bottom = motif.width - 1.0, motif.height - 1.0
    corners = np.array(((0, right, 0, right), (0, 0, bottom, bottom), (1, 1, 1, 1)))
    return np.linalg.norm(((poses - target) @ corners)[:, :2], axis=1).max(1)


@dataclass(frozen=True, eq=False)
class _Recorder:
    """Records descents of one piece step by step."""

    scene: ScenePyramid
    model: PieceModel
    motion: Motion

    def approach(self, one: _Approach, robust: bool) -> tuple[tuple[TraceStage, ...], Fits]:
        """The stages from one start to the scale at which the fit is scored, and the fit there.

        Arguments:
            one: with one start.
            robust: whether a fit that may be occluded is repeated with robust weights, as the body's is.
        """
        stages = [self.record(stage, poses) for stage, poses in zip(one.stages, one.poses[:-1], strict=True)]
        ended = Fits(one.poses[-1], one.zncc)
        if robust and len(maybe_occluded(ended)):
            again = self.model.occluded_stage
            stages.append(self.record(again, ended.poses, robust=True))
            ended = refit_occluded(self.scene, self.model, self.motion, again, ended)
        return tuple(stages), ended

    def polish(self, stages: tuple[TraceStage, ...], before: Fits, parent: Poses) -> tuple[FitTrace, Poses]:
        """The trace with the stages at full size added, and the pose that it ends in."""
        model, name = self.model, self.model.piece.name
        frames = before.poses @ model.from_canvas
        placement = Placement({model.piece.parent: parent, name: frames}, {name: before.zncc})
        placement = polish_piece(self.scene, placement, model, self.motion)
        start, end = frames @ model.to_canvas, placement.frames[name] @ model.to_canvas
        plain = descend(self.scene, model.pyramid, self.motion, FULL, start)
        stages, ends = (*stages, self.record(FULL, start)), {FinalPose.PLAIN: plain.poses}
        if len(maybe_occluded(plain)):
            stages = (*stages, self.record(FULL, plain.poses, robust=True))
            again = refit_occluded(self.scene, model, self.motion, FULL, plain)
            ends = {FinalPose.ROBUST: again.poses, **ends}
        ends[FinalPose.BEFORE] = start
        # `polish_piece` does not say which pose it chose, so the end is compared with each.
        same = (
            kept
            for kept, poses in ends.items()
            if corner_distances(poses, end, model.piece.motif)[0] <= _ROUNDING
        )
        zncc = float(placement.zncc[name][0])
        kept = next(same, FinalPose.HINGED)
        return FitTrace(stages, kept, model.scoring_scale, zncc, from_search=True), end

    def record(self, stage: Stage, start: Poses, robust: bool = False) -> TraceStage:
        """The ZNCC after 0, 1, 2, … steps of a descent, up to the number at which it ends."""

        def after(steps: int) -> Fits:
            part = replace(stage, steps=steps)
            return descend(self.scene, self.model.pyramid, self.motion, part, start, robust)

        end, zncc = after(stage.steps).poses, []
        for steps in range(stage.steps + 1):
            ended = after(steps)
            zncc.append(float(ended.zncc[0]))
            if np.array_equal(ended.poses, end):
                break
        return TraceStage(stage.scale, robust, tuple(zncc))

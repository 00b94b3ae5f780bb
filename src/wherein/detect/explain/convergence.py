"""How each piece of a find came to rest: its way, made once more for people to look at.

The search keeps no record of its steps, which would slow down what must be fast. But it is deterministic, and
each pose descends by itself. So a find's way can be gone again from where the search begins: for the body the
places of the first look, for a limb the turns about its joint. Of the starts that lead to the find the one
that looked best is followed, scale by scale and then at full size, by the same functions.

A descent of k steps is told by descents of 0, 1, …, k steps from one start: they are the same descent, cut
off ever later, so that the solver needs no record either. One thing differs from the search: a limb is looked
for about its joint where that is in the end, at full size, not where it was when the limb was first placement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.hypotheses import Placement
from wherein.detect.fast.octaves import Octave, Octaves
from wherein.detect.fast.piece_search import EUCLIDEAN, PieceModel, maybe_occluded, refit_occluded
from wherein.detect.fast.polish import FULL, polish_piece
from wherein.detect.result import Detection
from wherein.images.motif import Motif
from wherein.motion.models import Motion
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.template.tree import Tree

_TOGETHER = 0.5
"""Pixels of the scene by which ends may differ that are one."""

_MISSED = 1.0
"""Pixels of the scene from a find at which a way has led elsewhere."""

_SAME = 1e-3
"""Pixels by which two poses differ that went into float32 and came back."""


class FinalPose(Enum):
    """What was kept at full size; the value says it in words."""

    PLAIN = "all pixels count alike in the end"
    ROBUST = "pixels that do not fit count less in the end"
    HINGED = "it turns about its joint exactly"
    BEFORE = "full size was no better, and the pose before it is kept"


@dataclass(frozen=True)
class TraceStage:
    """One descent at one scale.

    Attributes:
        scale: by which the picture is reduced; 1 is full size.
        robust: whether pixels that do not fit counted less.
        zncc: of all compared pixels alike, before the first step and after each; a step that was refused
            changes nothing.
    """

    scale: int
    robust: bool
    zncc: tuple[float, ...]


@dataclass(frozen=True)
class FitTrace:
    """How a piece came to rest.

    Attributes:
        stages: from the coarsest scale to full size.
        kept: what came of full size.
        scale: at which the fit is scored.
        zncc: there, in the end.
        led: whether a start of the search's own leads to the find; if none does (the other pieces led to it)
            the way begins at the find, and there is full size alone.
    """

    stages: tuple[TraceStage, ...]
    kept: FinalPose
    scale: int
    zncc: float
    led: bool


FitTraces = Mapping[str, FitTrace]
"""By the name of the leaf that is fitted."""


def retraced(
    octaves: Octaves, scene: Float[Tensor, "C H W"], found: Sequence[Detection], threads: int = 1
) -> tuple[FitTraces, ...]:
    """Of each find the ways of the pieces that were found.

    Arguments:
        octaves: that found them.
        scene: where they are.
        found: the finds.
        threads: for the first look.
    """
    tree = octaves.whole.pieces.tree
    frames = [_frames(tree, item) for item in found]
    ways: list[FitTraces] = [{} for _ in found]
    nearest = octaves.nearest(np.reshape([own[tree.root] for own in frames], (-1, 3, 3)))
    for number in np.unique(nearest):
        octave, chosen = octaves.octaves[number], np.flatnonzero(nearest == number)
        retrace = _Retrace(octave, octave.levels(scene), threads, len(chosen))
        for index in chosen.tolist():
            seen = {name for name, part in found[index].parts.items() if part.found}
            ways[index] = retrace(frames[index], seen)
    return tuple(ways)


def _frames(tree: Tree, item: Detection) -> dict[str, NDArray[np.float64]]:
    """Canvas → scene of every part."""

    def whole(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.vstack((matrix, (0.0, 0.0, 1.0)))

    frames = {name: whole(part.matrix) @ np.linalg.inv(tree[name].rest) for name, part in item.parts.items()}
    return {**frames, tree.root: whole(item.matrix)}


@dataclass(frozen=True, eq=False)
class _Retrace:
    """Goes the ways of finds of one octave.

    Attributes:
        octave: of their scale.
        scene: as the octave sees it.
        threads: for the first look.
        crowd: how many finds there are.
    """

    octave: Octave
    scene: ScenePyramid
    threads: int
    crowd: int

    def __call__(self, frames: Mapping[str, NDArray[np.float64]], seen: set[str]) -> FitTraces:
        """Of the pieces whose leaves were seen, under the frames of a find."""
        ours = {name: self.octave.ours(frame[None]) for name, frame in frames.items()}
        pieces = [piece for piece in self.octave.finder.pieces.pieces if piece.fitted_leaf.name in seen]
        return {piece.fitted_leaf.name: self._way(self._fitting(piece.name), ours) for piece in pieces}

    def _fitting(self, name: str) -> PieceModel:
        return self.octave.finder.models[name]

    def _way(self, model: PieceModel, frames: Mapping[str, Poses]) -> FitTrace:
        piece, target = model.piece, frames[model.piece.name] @ model.to_canvas
        body = piece.name == piece.parent
        approach = self._of_body if body else self._of_limb(model, frames[piece.parent])
        path, motif = _Path(self.scene, model, approach.motion), piece.motif
        if len(approach.first):
            chosen = approach.leading_to(target, motif, _TOGETHER / self.octave.scene)
            trace, before = path.approached(approach[chosen], robust=body)
            way, end = path.to_rest(trace, before, frames[piece.parent])
            if apart(end, target, motif)[0] <= _MISSED / self.octave.scene:
                return way
        here = descend(self.scene, model.pyramid, approach.motion, Stage(model.scoring_scale, 0), target)
        return replace(path.to_rest((), here, frames[piece.parent])[0], led=False)

    @cached_property
    def _of_body(self) -> "_Approach":
        """The same for all finds."""
        search, finder = self.octave.finder.body_search, self.octave.finder
        assert search is not None, "a template with a body"
        starts = search.starts(self.scene, self.threads, self.crowd)
        return _approach(self.scene, search.model, finder.motion, search.stages, starts)

    def _of_limb(self, model: PieceModel, parent: Poses) -> "_Approach":
        starts = parent @ model.starts @ model.to_canvas
        return _approach(self.scene, model, EUCLIDEAN, model.joint_stages, starts)


@dataclass(frozen=True, eq=False)
class _Approach:
    """Descents of a piece from N starts to where it is scored.

    Attributes:
        motion: of the piece.
        stages: one after the other.
        poses: (N, 3, 3) at the beginning of each, and after the last.
        first: (N,) ZNCC at the starts.
        zncc: (N,) at the end.
    """

    motion: Motion
    stages: tuple[Stage, ...]
    poses: tuple[Poses, ...]
    first: NDArray[np.float64]
    zncc: NDArray[np.float64]

    def __getitem__(self, chosen: slice) -> "_Approach":
        poses = tuple(poses[chosen] for poses in self.poses)
        return replace(self, poses=poses, first=self.first[chosen], zncc=self.zncc[chosen])

    def leading_to(self, target: Poses, motif: Motif, together: float) -> slice:
        """The start that ends nearest to a pose; of those that end there together the one that looks best."""
        away = apart(self.poses[-1], target, motif)
        best = int(np.where(away <= away.min() + together, self.first, -np.inf).argmax())
        return slice(best, best + 1)


def _approach(
    scene: ScenePyramid, model: PieceModel, motion: Motion, stages: tuple[Stage, ...], starts: Poses
) -> _Approach:
    first = ended = descend(scene, model.pyramid, motion, replace(stages[0], steps=0), starts)
    poses = [starts]
    for stage in stages:
        ended = descend(scene, model.pyramid, motion, stage, poses[-1])
        poses.append(ended.poses)
    return _Approach(motion, stages, tuple(poses), first.zncc, ended.zncc)


def apart(poses: Poses, target: Poses, motif: Motif) -> NDArray[np.float64]:
    """How far from a pose each of the others has the corner of the motif where they differ most."""
    right, bottom = motif.width - 1.0, motif.height - 1.0
    corners = np.array(((0, right, 0, right), (0, 0, bottom, bottom), (1, 1, 1, 1)))
    return np.linalg.norm(((poses - target) @ corners)[:, :2], axis=1).max(1)


@dataclass(frozen=True, eq=False)
class _Path:
    """Tells descents of one piece step by step."""

    scene: ScenePyramid
    model: PieceModel
    motion: Motion

    def approached(self, one: _Approach, robust: bool) -> tuple[tuple[TraceStage, ...], Fits]:
        """From one start to where the fit is scored, and what came of it.

        Arguments:
            one: of one start.
            robust: whether it descends once more where it may be covered, as a body does.
        """
        trace = [self._trace(stage, poses) for stage, poses in zip(one.stages, one.poses[:-1], strict=True)]
        ended = Fits(one.poses[-1], one.zncc)
        if robust and len(maybe_occluded(ended)):
            again = self.model.occluded_stage
            trace.append(self._trace(again, ended.poses, robust=True))
            ended = refit_occluded(self.scene, self.model, self.motion, again, ended)
        return tuple(trace), ended

    def to_rest(self, trace: tuple[TraceStage, ...], before: Fits, parent: Poses) -> tuple[FitTrace, Poses]:
        """The way at full size, and the pose that it ends in."""
        model, name = self.model, self.model.piece.name
        frames = before.poses @ model.from_canvas
        placement = Placement({model.piece.parent: parent, name: frames}, {name: before.zncc})
        placement = polish_piece(self.scene, placement, model, self.motion)
        start, end = frames @ model.to_canvas, placement.frames[name] @ model.to_canvas
        plain = descend(self.scene, model.pyramid, self.motion, FULL, start)
        trace, ends = (*trace, self._trace(FULL, start)), {FinalPose.PLAIN: plain.poses}
        if len(maybe_occluded(plain)):
            trace = (*trace, self._trace(FULL, plain.poses, robust=True))
            again = refit_occluded(self.scene, model, self.motion, FULL, plain)
            ends = {FinalPose.ROBUST: again.poses, **ends}
        ends[FinalPose.BEFORE] = start
        same = (kept for kept, poses in ends.items() if apart(poses, end, model.piece.motif)[0] <= _SAME)
        zncc = float(placement.zncc[name][0])
        return FitTrace(trace, next(same, FinalPose.HINGED), model.scoring_scale, zncc, led=True), end

    def _trace(self, stage: Stage, start: Poses, robust: bool = False) -> TraceStage:
        """Descents cut off ever later, until one ends where the whole does."""

        def after(steps: int) -> Fits:
            part = replace(stage, steps=steps)
            return descend(self.scene, self.model.pyramid, self.motion, part, start, robust)

        whole, zncc = after(stage.steps).poses, []
        for steps in range(stage.steps + 1):
            ended = after(steps)
            zncc.append(float(ended.zncc[0]))
            if np.array_equal(ended.poses, whole):
                break
        return TraceStage(stage.scale, robust, tuple(zncc))

"""How each piece of a find came to rest: its way, made once more for people to look at.

The search keeps no record of its steps, which would slow down what must be fast. But it is deterministic, and
each pose descends by itself. So a find's way can be gone again from where the search begins: for the body the
places of the first look, for a limb the turns about its joint. Of the starts that lead to the find the one
that looked best is followed, scale by scale and then at full size, by the same functions.

A descent of k steps is told by descents of 0, 1, …, k steps from one start: they are the same descent, cut
off ever later, so that the solver needs no record either. One thing differs from the search: a limb is looked
for about its joint where that is in the end, at full size, not where it was when the limb was first placed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.joints import Placed
from wherein.detect.fast.octaves import Band, Bands
from wherein.detect.fast.piece_search import EUCLIDEAN, Fitting, covered, despite_covers
from wherein.detect.fast.polish import FULL, at_rest
from wherein.detect.result import Detection
from wherein.images.motif import Motif
from wherein.motion.models import Motion
from wherein.pyramid.levels import Descended, SceneLevels, descend
from wherein.pyramid.register_pyramid import Poses
from wherein.registration.plan import Stage
from wherein.template.tree import Tree

_TOGETHER = 0.5
"""Pixels of the scene by which ends may differ that are one."""

_MISSED = 1.0
"""Pixels of the scene from a find at which a way has led elsewhere."""

_SAME = 1e-3
"""Pixels by which two poses differ that went into float32 and came back."""


class Kept(Enum):
    """What was kept at full size; the value says it in words."""

    PLAIN = "all pixels count alike in the end"
    ROBUST = "pixels that do not fit count less in the end"
    HINGED = "it turns about its joint exactly"
    BEFORE = "full size was no better, and the pose before it is kept"


@dataclass(frozen=True)
class Leg:
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
class Way:
    """How a piece came to rest.

    Attributes:
        legs: from the coarsest scale to full size.
        kept: what came of full size.
        scale: at which the fit is judged.
        zncc: there, in the end.
        led: whether a start of the search's own leads to the find; if none does (the other pieces led to it)
            the way begins at the find, and there is full size alone.
    """

    legs: tuple[Leg, ...]
    kept: Kept
    scale: int
    zncc: float
    led: bool


Ways = Mapping[str, Way]
"""By the name of the leaf that is fitted."""


def retraced(
    bands: Bands, scene: Float[Tensor, "C H W"], found: Sequence[Detection], threads: int = 1
) -> tuple[Ways, ...]:
    """Of each find the ways of the pieces that were found.

    Arguments:
        bands: that found them.
        scene: where they are.
        found: the finds.
        threads: for the first look.
    """
    tree = bands.whole.pieces.tree
    frames = [_frames(tree, item) for item in found]
    ways: list[Ways] = [{} for _ in found]
    nearest = bands.nearest(np.reshape([own[tree.root] for own in frames], (-1, 3, 3)))
    for number in np.unique(nearest):
        band, chosen = bands.bands[number], np.flatnonzero(nearest == number)
        retrace = _Retrace(band, band.levels(scene), threads, len(chosen))
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
    """Goes the ways of finds of one band.

    Attributes:
        band: of their scale.
        scene: as the band sees it.
        threads: for the first look.
        crowd: how many finds there are.
    """

    band: Band
    scene: SceneLevels
    threads: int
    crowd: int

    def __call__(self, frames: Mapping[str, NDArray[np.float64]], seen: set[str]) -> Ways:
        """Of the pieces whose leaves were seen, under the frames of a find."""
        ours = {name: self.band.ours(frame[None]) for name, frame in frames.items()}
        pieces = [piece for piece in self.band.finder.pieces.pieces if piece.carrier.name in seen]
        return {piece.carrier.name: self._way(self._fitting(piece.home), ours) for piece in pieces}

    def _fitting(self, home: str) -> Fitting:
        return self.band.finder.fittings[home]

    def _way(self, fitting: Fitting, frames: Mapping[str, Poses]) -> Way:
        piece, target = fitting.piece, frames[fitting.piece.home] @ fitting.rest
        body = piece.home == piece.parent
        approach = self._of_body if body else self._of_limb(fitting, frames[piece.parent])
        path, motif = _Path(self.scene, fitting, approach.motion), piece.motif
        if len(approach.first):
            chosen = approach.leading_to(target, motif, _TOGETHER / self.band.scene)
            legs, before = path.approached(approach[chosen], robust=body)
            way, end = path.to_rest(legs, before, frames[piece.parent])
            if apart(end, target, motif)[0] <= _MISSED / self.band.scene:
                return way
        here = descend(self.scene, fitting.levels, approach.motion, Stage(fitting.judged, 0), target)
        return replace(path.to_rest((), here, frames[piece.parent])[0], led=False)

    @cached_property
    def _of_body(self) -> "_Approach":
        """The same for all finds."""
        seeker, finder = self.band.finder.of_body, self.band.finder
        assert seeker is not None, "a template with a body"
        starts = seeker.starts(self.scene, self.threads, self.crowd)
        return _approach(self.scene, seeker.fitting, finder.motion, seeker.stages, starts)

    def _of_limb(self, fitting: Fitting, parent: Poses) -> "_Approach":
        starts = parent @ fitting.starts @ fitting.rest
        return _approach(self.scene, fitting, EUCLIDEAN, fitting.about_joint, starts)


@dataclass(frozen=True, eq=False)
class _Approach:
    """Descents of a piece from N starts to where it is judged.

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
    scene: SceneLevels, fitting: Fitting, motion: Motion, stages: tuple[Stage, ...], starts: Poses
) -> _Approach:
    first = ended = descend(scene, fitting.levels, motion, replace(stages[0], steps=0), starts)
    poses = [starts]
    for stage in stages:
        ended = descend(scene, fitting.levels, motion, stage, poses[-1])
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

    scene: SceneLevels
    fitting: Fitting
    motion: Motion

    def approached(self, one: _Approach, robust: bool) -> tuple[tuple[Leg, ...], Descended]:
        """From one start to where the fit is judged, and what came of it.

        Arguments:
            one: of one start.
            robust: whether it descends once more where it may be covered, as a body does.
        """
        legs = [self._leg(stage, poses) for stage, poses in zip(one.stages, one.poses[:-1], strict=True)]
        ended = Descended(one.poses[-1], one.zncc)
        if robust and len(covered(ended)):
            again = self.fitting.under_covers
            legs.append(self._leg(again, ended.poses, robust=True))
            ended = despite_covers(self.scene, self.fitting, self.motion, again, ended)
        return tuple(legs), ended

    def to_rest(self, legs: tuple[Leg, ...], before: Descended, parent: Poses) -> tuple[Way, Poses]:
        """The way at full size, and the pose that it ends in."""
        fitting, home = self.fitting, self.fitting.piece.home
        frames = before.poses @ fitting.away
        placed = Placed({fitting.piece.parent: parent, home: frames}, {home: before.zncc})
        placed = at_rest(self.scene, placed, fitting, self.motion)
        start, end = frames @ fitting.rest, placed.frames[home] @ fitting.rest
        plain = descend(self.scene, fitting.levels, self.motion, FULL, start)
        legs, ends = (*legs, self._leg(FULL, start)), {Kept.PLAIN: plain.poses}
        if len(covered(plain)):
            legs = (*legs, self._leg(FULL, plain.poses, robust=True))
            again = despite_covers(self.scene, fitting, self.motion, FULL, plain)
            ends = {Kept.ROBUST: again.poses, **ends}
        ends[Kept.BEFORE] = start
        same = (kept for kept, poses in ends.items() if apart(poses, end, fitting.piece.motif)[0] <= _SAME)
        zncc = float(placed.zncc[home][0])
        return Way(legs, next(same, Kept.HINGED), fitting.judged, zncc, led=True), end

    def _leg(self, stage: Stage, start: Poses, robust: bool = False) -> Leg:
        """Descents cut off ever later, until one ends where the whole does."""

        def after(steps: int) -> Descended:
            part = replace(stage, steps=steps)
            return descend(self.scene, self.fitting.levels, self.motion, part, start, robust)

        whole, zncc = after(stage.steps).poses, []
        for steps in range(stage.steps + 1):
            ended = after(steps)
            zncc.append(float(ended.zncc[0]))
            if np.array_equal(ended.poses, whole):
                break
        return Leg(stage.scale, robust, tuple(zncc))

"""Poses of many motifs rated or refined together on channels of a scene: `rating` for a library.

With a hundred motifs, each has a few poses, and at most sizes of the scene one or none. A call of C for each
motif and size would take far longer than the work in it. So one call of C handles the poses of several
motifs, and selects the channels for each pose.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wherein.images.channels import ChannelSettings
from wherein.motion.models import Motion
from wherein.native import kernel, plane_calls
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import PARAMETERS_OF, PlaneFits, plane_rules
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.rating import rate_poses, refine_poses
from wherein.planes.rectify import SIZE_STEP
from wherein.planes.scene_parts import fits_whole, whole_channels
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_SHARE = 128
"""About how many poses make a task of a thread. A choice: a millisecond of work."""


@dataclass(frozen=True, eq=False)
class _Gathered:
    """The poses of several motifs, concatenated.

    Attributes:
        motifs: the motifs.
        ends: the poses of motif m are those from `ends[m]` to before `ends[m + 1]`, (M + 1,).
        own: pixels of the motif at its resolution → pixels of the scene at full size, (B, 3, 3).
        numbers: the level of the scene with the closest resolution, for each pose, (B,).
    """

    motifs: Sequence[PlaneMotif]
    ends: NDArray[np.int64]
    own: Poses
    numbers: NDArray[np.int64]

    @staticmethod
    def of(motifs: Sequence[PlaneMotif], poses: Sequence[Poses]) -> "_Gathered":
        counts = [len(one) for one in poses]
        to_full = np.repeat(np.stack([motif.to_full for motif in motifs]), counts, axis=0)
        own = np.concatenate(list(poses)) @ to_full
        # As in `scene_parts.at_levels`, but simpler: the scale of an affine pose is the same everywhere.
        sizes = np.maximum(np.nan_to_num(np.sqrt(np.abs(np.linalg.det(own[:, :2, :2])))), 1.0)
        numbers = np.round(np.log(sizes) / math.log(SIZE_STEP)).astype(np.int64)
        return _Gathered(motifs, np.concatenate(([0], np.cumsum(counts))), own, numbers)

    def shares(self) -> list[range]:
        """The motifs divided into tasks of about `_SHARE` poses, independent of the number of threads."""
        # A motif is never divided, since C steers its target once for consecutive poses of the same motif.
        cuts = np.searchsorted(self.ends, np.arange(0, int(self.ends[-1]) + _SHARE, _SHARE)).tolist()
        cuts[-1] = len(self.motifs)
        return [range(a, b) for a, b in pairwise(cuts) if b > a]


def rate_many(
    scene: ScenePyramid, motifs: Sequence[PlaneMotif], poses: Sequence[Poses]
) -> list[NDArray[np.float64]]:
    """`rate_poses` for each motif and its own poses.

    Arguments:
        scene: the scene to search.
        motifs: each at one resolution.
        poses: of each motif, motif pixels → scene pixels at full size, affine, (B, 3, 3).
    """
    gathered = _gathered(scene, motifs, poses)
    if gathered is None:
        return [rate_poses(scene, motif, own) for motif, own in zip(motifs, poses, strict=True)]
    # The rules for C depend on the settings of the channels only, which are the same for all motifs here.
    rated = np.full(len(gathered.own), -1.0)

    def rate(chosen: slice, kinds: plane_calls.PoseKinds, own: Poses, _: Poses) -> None:
        rated[chosen] = plane_calls.rate_many(kinds, plane_rules(motifs[0], PlaneStage(), 0, 1), own)

    _work_out(scene, gathered, rate)
    return [rated[a:b] for a, b in _slices(gathered)]


def refine_many(
    scene: ScenePyramid,
    motifs: Sequence[PlaneMotif],
    motion: Motion,
    stage: PlaneStage,
    poses: Sequence[Poses],
) -> list[PlaneFits]:
    """`refine_poses` for each motif and its own poses; for the arguments, see there and `rate_many`."""
    gathered = _gathered(scene, motifs, poses)
    if gathered is None:
        return [
            refine_poses(scene, motif, motion, stage, own) for motif, own in zip(motifs, poses, strict=True)
        ]
    count = len(gathered.own)
    found = PlaneFits(np.empty((count, 3, 3)), np.full(count, -1.0), np.zeros(count))

    def refine(chosen: slice, kinds: plane_calls.PoseKinds, own: Poses, to_full: Poses) -> None:
        rules = plane_rules(motifs[0], stage, PARAMETERS_OF[type(motion)], 1)
        ended, found.zncc[chosen], found.visible[chosen] = plane_calls.refine_many(kinds, rules, own)
        found.poses[chosen] = to_full @ ended

    _work_out(scene, gathered, refine)
    from_full = np.repeat(np.stack([motif.from_full for motif in motifs]), np.diff(gathered.ends), axis=0)
    ended = found.poses @ from_full
    found.poses[:] = ended / ended[:, 2:, 2:]
    return [PlaneFits(found.poses[a:b], found.zncc[a:b], found.visible[a:b]) for a, b in _slices(gathered)]


def _slices(gathered: _Gathered) -> list[tuple[int, int]]:
    ends = gathered.ends.tolist()
    return list(pairwise(ends))


def _gathered(scene: ScenePyramid, motifs: Sequence[PlaneMotif], poses: Sequence[Poses]) -> _Gathered | None:
    """The poses of all motifs; None: C is not available for them, or the scene is too large.

    In a large scene, channels are computed for the surroundings of each pose, so there is nothing to share.
    """
    settings: set[ChannelSettings] = {motif.settings for motif in motifs}
    if not sum(map(len, poses)) or len(settings) > 1 or not kernel.accepts(motifs[0].target):
        return None
    gathered = _Gathered.of(motifs, poses)
    return gathered if fits_whole(scene, int(gathered.numbers.min())) else None


def _work_out(
    scene: ScenePyramid,
    gathered: _Gathered,
    work: Callable[[slice, plane_calls.PoseKinds, Poses, Poses], None],
) -> None:
    """Call `work` for the poses of a few motifs at a time, in threads.

    Its arguments are the slice of the poses, their motifs and pictures, the poses in pixels of these
    pictures, and the matrices from there to the scene at full size.
    """
    settings = gathered.motifs[0].settings
    levels = np.unique(gathered.numbers)
    # Channels are computed before the threads start, since several tasks need the same ones.
    made = shared_out(partial(whole_channels, scene, settings), levels.tolist(), scene.threads)
    pictures = [channels.movedim(0, -1) for channels, _ in made]
    to_full = np.stack([matrix for _, matrix in made])
    # C gets each pose in pixels of the picture that it reads for it.
    from_full, which = np.linalg.inv(to_full), np.searchsorted(levels, gathered.numbers)

    def share(some: range) -> None:
        chosen = slice(int(gathered.ends[some.start]), int(gathered.ends[some.stop]))
        counts = np.diff(gathered.ends[some.start : some.stop + 1])
        kinds = plane_calls.PoseKinds(
            pictures,
            [motif.in_c for motif in gathered.motifs[some.start : some.stop]],
            which[chosen].astype(np.int32),
            np.repeat(np.arange(len(some), dtype=np.int32), counts),
        )
        own = from_full[which[chosen]] @ gathered.own[chosen]
        work(chosen, kinds, own, to_full[which[chosen]])

    shared_out(share, gathered.shares(), scene.threads)

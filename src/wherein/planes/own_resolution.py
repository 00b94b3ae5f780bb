"""The ZNCC of poses at the resolution that the scene has of them.

A fit compares a motif with the scene in the motif's own frame, at resolutions that do not depend on the pose.
Where the object is smaller in the scene than the motif at such a resolution, the picture is an enlarged one:
it has none of the fine detail of the motif, and however right the pose, they do not agree. So there a pose is
judged at a coarser resolution of the motif, one with about as many pixels as the scene has of the object.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wherein.motion.homography import scales
from wherein.motion.models import Motion
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import FitJob, PlaneFits, fit_each
from wherein.planes.plane_motif import PlaneMotif
from wherein.pyramid.levels import Poses, ScenePyramid

_ENLARGED = 1.3
"""By how much the scene may be enlarged. A choice, by 180 small objects and 245 places without one: with 1.1
to 1.3 the lowest scores of objects are the same and rise by 0.1 or more, with 1.5 by nothing; those of other
places rise most with 1.1."""

_AS_IT_IS = PlaneStage(rounds=1, steps=0)


@dataclass(frozen=True)
class JudgeJob:
    """Poses of one motif that are to be judged.

    Attributes:
        stages: the motif from coarse to fine.
        motion: of the fits.
        found: the poses, and what is known of their fits.
    """

    stages: Sequence[PlaneMotif]
    motion: Motion
    found: PlaneFits


def own_stages(stages: Sequence[PlaneMotif], poses: Poses) -> NDArray[np.int64]:
    """The number of the finest stage that asks for no more pixels than the scene has, for each pose.

    Arguments:
        stages: a motif from coarse to fine.
        poses: motif pixels → scene pixels at full size, (B, 3, 3).
    """
    own = np.zeros(len(poses), dtype=np.int64)
    for number, stage in enumerate(stages):
        # Scene pixels for each of the motif's; none for poses that turn it inside out.
        with np.errstate(divide="ignore", invalid="ignore"):
            size = scales(poses @ stage.to_full, stage.centre)
        own[size * _ENLARGED >= 1.0] = number
    return own


def judged(scene: ScenePyramid, stages: Sequence[PlaneMotif], motion: Motion, found: PlaneFits) -> PlaneFits:
    """The fits of the last stage, with the ZNCC of those of small objects at their own resolution.

    Arguments:
        scene: where they are.
        stages: the motif from coarse to fine.
        motion: of the fits.
        found: fits of the last stage.
    """
    own = own_stages(stages, found.poses)
    small = np.flatnonzero((own < len(stages) - 1) & (found.zncc > -1))
    if not len(small):
        return found
    return judge_each(scene, [JudgeJob(stages, motion, found)], [small])[0]


def judge_each(
    scene: ScenePyramid, jobs: Sequence[JudgeJob], rows: Sequence[NDArray[np.int64]] | None = None
) -> list[PlaneFits]:
    """The poses of several motifs with the ZNCC at their own resolution, shared out among threads.

    Arguments:
        scene: where they are.
        jobs: the motifs and their poses.
        rows: the numbers of the poses of each that are judged, the others stay as they are; None: all.
    """
    kinds = list[tuple[int, NDArray[np.int64], FitJob]]()
    for number, job in enumerate(jobs):
        some = np.arange(len(job.found.poses)) if rows is None else rows[number]
        own = own_stages(job.stages, job.found.poses[some])
        for stage in np.unique(own).tolist():
            chosen = some[own == stage]
            poses = job.found.poses[chosen]
            kinds.append((number, chosen, FitJob(job.stages[stage], job.motion, _AS_IT_IS, poses)))
    ended = [job.found for job in jobs]
    for (number, chosen, _), fits in zip(kinds, fit_each(scene, [job for *_, job in kinds]), strict=True):
        ended[number] = ended[number].replaced(chosen, fits)
    return ended

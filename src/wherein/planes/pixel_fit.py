"""The end of a fit by the pixels themselves, where they agree: several times as exact as channels.

Channels see an object in any light, but they are smoothed, and say little of the border of a picture that has
no outline. Where the light is even, the colours of an object and of the scene differ by a gain and a bias
only, and ZNCC of the pixels, as in `register`, uses all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from wherein.images.motif import Motif
from wherein.images.picture import unit
from wherein.images.pool import pool
from wherein.motion.homography import mapped, scale_at
from wherein.motion.models import Motion
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import FitJob, PlaneFits, fit_each
from wherein.planes.plane_motif import PlaneMotif
from wherein.pyramid.descent import Stage, solve_stage
from wherein.pyramid.levels import Poses, ScenePyramid, interval
from wherein.pyramid.motif_levels import Level, MotifPyramid
from wherein.threads import shared_out

_AGREES = 0.8
"""ZNCC of the pixels from which they are fitted. By 500 pieces of painted figures under the conditions of
photographs: with 0.8 to 0.9 places were 0.085 px off in the median by channels and 0.065 by pixels, above
that 0.055 and 0.026."""

_MAX_LOSS, _MAX_LOSS_WHOLE = 0.0, 0.2
"""ZNCC of the channels, with little smoothing, that a fit by pixels may cost: of cut-outs, whose outline only
channels see, and of pictures without an outline, whose border only pixels see. Choices: cut-outs that are
plain inside turned by up to 2° where 0.02 was allowed; parts of boards whose border tells their place lose
more than 0.1."""

_STEPS, _PIXELS, _MARGIN = 12, 20_000, 8
"""Maximum number of steps and of pixels of the motif, and pixels of the scene around it. Choices."""

_KEPT = 64
"""How many motifs are kept as pyramids, the last ones. A choice: those of a template with many parts."""

_EVALUATE = PlaneStage(rounds=1, steps=0)


@dataclass(frozen=True)
class PixelJob:
    """Poses of one motif that are to be fitted by its pixels, as long as the channels do not object.

    Attributes:
        motif: its pixels.
        exact: the same by its channels, with little smoothing.
        motion: how the poses may move.
        found: poses that are nearly right; their ZNCC remains.
    """

    motif: MotifPyramid
    exact: PlaneMotif
    motion: Motion
    found: PlaneFits

    @property
    def allowed_loss(self) -> float:
        """ZNCC of the channels that the fit may cost."""
        return _MAX_LOSS_WHOLE if self.motif.motif.fills else _MAX_LOSS


@dataclass(frozen=True)
class PixelStarts:
    """Poses of one motif; attributes as of `PixelJob`."""

    motif: MotifPyramid
    motion: Motion
    poses: Poses


def pixel_poses(scene: ScenePyramid, jobs: Sequence[PixelStarts]) -> list[Poses]:
    """The poses of several motifs fitted by the pixels, and to the byte as they were where these do not agree.

    Each on its own, in the part of the scene where it lies: a pose depends on no other.
    """
    starts = [(job, pose) for job in jobs for pose in job.poses]
    ends = iter(shared_out(lambda start: _fitted(scene, *start), starts, scene.threads))
    return [np.array(list(islice(ends, len(job.poses)))).reshape(-1, 3, 3) for job in jobs]


def fit_pixels(scene: ScenePyramid, jobs: Sequence[PixelJob]) -> list[PlaneFits]:
    """The poses of several motifs fitted by the pixels, where these agree and what channels with little
    smoothing lose by it is allowed, and as they were elsewhere."""
    poses = pixel_poses(scene, [PixelStarts(job.motif, job.motion, job.found.poses) for job in jobs])
    moved = [
        np.flatnonzero((own != job.found.poses).any((1, 2))) for job, own in zip(jobs, poses, strict=True)
    ]
    each = list(zip(jobs, poses, moved, strict=True))
    judged = fit_each(
        scene,
        [
            FitJob(job.exact, job.motion, _EVALUATE, np.concatenate((job.found.poses[rows], own[rows])))
            for job, own, rows in each
        ],
    )
    fits = []
    for (job, own, rows), both in zip(each, judged, strict=True):
        before, after = both.zncc.reshape(2, -1)
        good = rows[after >= before - job.allowed_loss]
        fits.append(job.found.replaced(good, replace(job.found[good], poses=own[good])))
    return fits


def _fitted(scene: ScenePyramid, job: PixelStarts, pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """The pose fitted by the pixels; the same where they do not agree."""
    motif, motion = job.motif, job.motion
    size = scale_at(pose, motif.motif.centre)
    if not (math.isfinite(size) and size > 0):
        return pose
    octaves, pixels = round(math.log2(size)), motif.motif.width * motif.motif.height
    scales = 2 ** max(0, octaves), 2 ** max(0, -octaves)
    # Whether they agree is asked of all of them, reduced: those that change most, which tell the pose, are
    # the lines and specks in which specimens differ.
    coarse = 2 ** max(0, math.ceil(math.log(pixels / scales[1] ** 2 / _PIXELS, 4)))
    judge = _level(scene, motif, motion, pose, (coarse * scales[0], coarse * scales[1]))
    if judge is None:
        return pose
    _, before = solve_stage(judge, Stage(1, 0), pose[None])
    if not 1 - float(before.cost[0]) >= _AGREES:
        return pose
    level = judge
    if coarse > 1:
        level = _level(scene, motif, motion, pose, scales) or judge
        _, before = solve_stage(level, Stage(1, 0), pose[None])
    (ended,), after = solve_stage(level, Stage(1, _STEPS), pose[None])
    return ended / ended[2, 2] if float(after.cost[0]) < float(before.cost[0]) else pose


def _level(
    scene: ScenePyramid,
    motif: MotifPyramid,
    motion: Motion,
    pose: NDArray[np.float64],
    scales: tuple[int, int],
) -> Level | None:
    """The motif and the part of the scene around a pose, both reduced; None: there is no such part."""
    (scene_scale, motif_scale), (width, height) = scales, (motif.motif.width, motif.motif.height)
    corners = mapped(pose, [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)])
    low, high = corners.min(0) - _MARGIN * scene_scale, corners.max(0) + _MARGIN * scene_scale
    (left, right), (top, bottom) = (
        interval(*ends, scene_scale) for ends in zip(low, high, scene.size, strict=True)
    )
    part = pool(unit(scene.samples[:, top:bottom, left:right]), scene_scale).contiguous()
    if not part.numel():
        return None
    side = motif.side(motif_scale, motion, _PIXELS)
    return Level(part, side, motion, scene_scale, motif_scale, (left, top))


@lru_cache(maxsize=_KEPT)
def pixels_of(motif: Motif, planes: int) -> MotifPyramid:
    """The pixels of a motif, with as many planes as a scene has: a grey scene has one."""
    known = motif.pixels
    if len(known) != planes:
        known = known.mean(0, keepdim=True) if planes == 1 else known.expand(planes, -1, -1).contiguous()
    return MotifPyramid(Motif(known, motif.mask), inset=True)

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

from wherein.images.motif import Motif
from wherein.images.picture import unit
from wherein.images.pool import pool
from wherein.motion.homography import mapped, scales
from wherein.motion.models import Motion
from wherein.planes.plane_descent import PlaneStage
from wherein.planes.plane_fit import FitJob, PlaneFits, fit_each, shares_of
from wherein.planes.plane_motif import PlaneMotif
from wherein.pyramid.descent import Stage, solve_each
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

_JUDGED = 20_000
"""Pixels by which it is told whether they agree, at most. A choice."""

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
    """The poses of several motifs fitted by the pixels, to the byte as they were where these do not agree.

    Each on its own, in the part of the scene where it lies: a pose depends on no other.
    """
    each = [shares_of(job.poses, scene.threads) for job in jobs]
    shares = [(job, poses) for job, own in zip(jobs, each, strict=True) for poses in own]
    ends = iter(shared_out(lambda share: _fitted(scene, *share), shares, scene.threads))
    return [
        np.concatenate([job.poses[:0], *islice(ends, len(own))]) for job, own in zip(jobs, each, strict=True)
    ]


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


def _fitted(scene: ScenePyramid, job: PixelStarts, poses: Poses) -> Poses:
    """The poses fitted by the pixels; the same where they do not agree."""
    with np.errstate(divide="ignore", invalid="ignore"):
        octaves = np.round(np.log2(scales(poses, job.motif.motif.centre)))
    ended = poses.copy()
    for octave in np.unique(octaves[np.isfinite(octaves)]).tolist():
        own = np.flatnonzero(octaves == octave)
        ended[own] = _fitted_at(scene, job, int(octave), poses[own])
    return ended


def _fitted_at(scene: ScenePyramid, job: PixelStarts, octave: int, poses: Poses) -> Poses:
    """The same for poses of nearly one size, 2 to the power of `octave`."""
    motif, scales = job.motif.motif, (2 ** max(0, octave), 2 ** max(0, -octave))
    # Whether they agree is asked of all of them, reduced: those that change most, which tell the pose, are
    # the lines and specks in which specimens differ.
    coarse = 2 ** max(0, math.ceil(math.log(motif.width * motif.height / scales[1] ** 2 / _JUDGED, 4)))
    levels = _levels(scene, job, poses, (coarse * scales[0], coarse * scales[1]))
    there = np.array([k for k, level in enumerate(levels) if level is not None], dtype=np.int64)
    known = [level for level in levels if level is not None]
    _, cost = solve_each(known, Stage(1, 0), poses[there])
    agree = np.flatnonzero(1 - cost >= _AGREES)
    rows, known = there[agree], [known[k] for k in agree]
    here, before = poses[rows], cost[agree]
    if coarse > 1:
        here, _ = solve_each(known, Stage(1, _STEPS), here)
        exact = _levels(scene, job, poses[rows], scales)
        known = [fine or rough for fine, rough in zip(exact, known, strict=True)]
        _, before = solve_each(known, Stage(1, 0), poses[rows])
    here, after = solve_each(known, Stage(1, _STEPS), here)
    better, ended = after < before, poses.copy()
    ended[rows[better]] = here[better] / here[better][:, 2:, 2:]
    return ended


def _levels(
    scene: ScenePyramid, job: PixelStarts, poses: Poses, scales: tuple[int, int]
) -> list[Level | None]:
    """The motif and the part of the scene around each pose, both reduced; None: there is no such part."""
    (scene_scale, motif_scale), (width, height) = scales, (job.motif.motif.width, job.motif.motif.height)
    corners = mapped(poses, [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)])
    side, margin = job.motif.side(motif_scale, job.motion, _PIXELS), _MARGIN * scene_scale
    made = list[Level | None]()
    for low, high in zip((corners.min(1) - margin).tolist(), (corners.max(1) + margin).tolist(), strict=True):
        (left, right), (top, bottom) = (
            interval(*ends, scene_scale) for ends in zip(low, high, scene.size, strict=True)
        )
        part = pool(unit(scene.samples[:, top:bottom, left:right]), scene_scale).contiguous()
        level = Level(part, side, job.motion, scene_scale, motif_scale, (left, top))
        made.append(level if part.numel() else None)
    return made


@lru_cache(maxsize=_KEPT)
def pixels_of(motif: Motif, planes: int) -> MotifPyramid:
    """The pixels of a motif, with as many planes as a scene has: a grey scene has one."""
    known = motif.pixels
    if len(known) != planes:
        known = known.mean(0, keepdim=True) if planes == 1 else known.expand(planes, -1, -1).contiguous()
    return MotifPyramid(Motif(known, motif.mask), inset=True)

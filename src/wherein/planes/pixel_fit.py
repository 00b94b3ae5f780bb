"""The last step of a fit: by the pixels themselves, where they agree; several times as exact as channels.

Channels hardly depend on the light. But they are smoothed, and contain little about the border of a picture
without an outline. In even light, the colours of object and scene differ only by a gain and a bias. Then the
ZNCC of the pixels, as in `register`, makes use of all the detail.

The fit by pixels is accepted only if it improves their ZNCC and hardly lowers that of the channels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

import numpy as np

from wherein.formulations.correlation import CorrelationObjective
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
"""Minimum ZNCC of the pixels for a fit by pixels. Measured with 500 pieces of painted figures under the
conditions of photographs: with a ZNCC of 0.8 to 0.9 the median error of positions was 0.085 px by channels
and 0.065 px by pixels, above 0.9 it was 0.055 px and 0.026 px."""

_MAX_LOSS, _MAX_LOSS_WHOLE = 0.0, 0.2
"""Maximum loss of the channels' ZNCC, with little smoothing, by a fit by pixels: for cut-outs, whose outline
is seen only by channels, and for pictures without an outline, whose border is seen only by pixels. Choices:
where a loss of 0.02 was allowed, cut-outs that are plain inside were rotated by up to 2°; correct fits of
parts of boards that are located by their border lose more than 0.1."""

_STEPS, _PIXELS, _MARGIN = 12, 20_000, 8
"""Maximum number of steps, maximum number of pixels of the motif, and margin of the scene around it.
Choices."""

_JUDGED = 20_000
"""Maximum number of pixels that decide whether motif and scene agree. A choice."""

_KEPT = 64
"""Number of motifs whose pyramids are cached. A choice: those of a template with many parts."""

_EVALUATE = PlaneStage(rounds=1, steps=0)
"""Computes the ZNCC of the channels without moving the poses."""


@dataclass(frozen=True)
class PixelJob:
    """Poses of one motif to fit by its pixels, unless this lowers the ZNCC of its channels too much.

    Attributes:
        motif: the pixels of the motif.
        exact: the channels of the motif, with little smoothing.
        motion: how the poses may move.
        found: poses that are nearly right. Their ZNCC is not changed by the fit.
    """

    motif: MotifPyramid
    exact: PlaneMotif
    motion: Motion
    found: PlaneFits

    @property
    def allowed_loss(self) -> float:
        """Maximum loss of the channels' ZNCC by the fit."""
        return _MAX_LOSS_WHOLE if self.motif.motif.fills else _MAX_LOSS


@dataclass(frozen=True)
class PixelStarts:
    """Poses of one motif; for the attributes, see `PixelJob`."""

    motif: MotifPyramid
    motion: Motion
    poses: Poses


def pixel_poses(scene: ScenePyramid, jobs: Sequence[PixelStarts]) -> list[Poses]:
    """The poses of several motifs fitted by the pixels; where these do not agree, unchanged to the byte.

    Each pose is fitted on its own, in the part of the scene where it lies, and does not depend on others.
    """
    each = [shares_of(job.poses, scene.threads) for job in jobs]
    shares = [(job, poses) for job, own in zip(jobs, each, strict=True) for poses in own]
    ends = iter(shared_out(lambda share: _fitted(scene, *share), shares, scene.threads))
    return [
        np.concatenate([job.poses[:0], *islice(ends, len(own))]) for job, own in zip(jobs, each, strict=True)
    ]


def fit_pixels(scene: ScenePyramid, jobs: Sequence[PixelJob]) -> list[PlaneFits]:
    """The poses of several motifs fitted by the pixels.

    Poses whose pixels do not agree, or whose channels would lose more ZNCC than allowed, stay as they are.
    """
    poses = pixel_poses(scene, [PixelStarts(job.motif, job.motion, job.found.poses) for job in jobs])
    moved = [
        np.flatnonzero((own != job.found.poses).any((1, 2))) for job, own in zip(jobs, poses, strict=True)
    ]
    each = list(zip(jobs, poses, moved, strict=True))
    # The ZNCC of the channels before and after, of all moved poses in one call.
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
    """The poses fitted by the pixels; where these do not agree, unchanged."""
    # Grouped by size, since poses of about the same size use the same reductions of scene and motif.
    with np.errstate(divide="ignore", invalid="ignore"):
        octaves = np.round(np.log2(scales(poses, job.motif.motif.centre)))
    ended = poses.copy()
    for octave in np.unique(octaves[np.isfinite(octaves)]).tolist():
        own = np.flatnonzero(octaves == octave)
        ended[own] = _fitted_at(scene, job, int(octave), poses[own])
    return ended


def _fitted_at(scene: ScenePyramid, job: PixelStarts, octave: int, poses: Poses) -> Poses:
    """The same for poses of nearly one size, 2 to the power of `octave`."""
    # The larger of motif and scene is reduced, so that both have about the same resolution.
    motif, scales = job.motif.motif, (2 ** max(0, octave), 2 ** max(0, -octave))
    # A fit uses the pixels with the strongest gradients, which determine the pose. But these are also the
    # lines and specks in which one specimen differs from another. So agreement is decided by all pixels,
    # reduced until there are few enough.
    coarse = 2 ** max(0, math.ceil(math.log(motif.width * motif.height / scales[1] ** 2 / _JUDGED, 4)))
    levels = _levels(scene, job, poses, (coarse * scales[0], coarse * scales[1]))
    there = np.array([k for k, level in enumerate(levels) if level is not None], dtype=np.int64)
    known = [level for level in levels if level is not None]
    _, cost = solve_each(known, Stage(1, 0), poses[there])
    agree = np.flatnonzero(1 - cost >= _AGREES)
    rows, known = there[agree], [known[k] for k in agree]
    here, before = poses[rows], cost[agree]
    if coarse > 1:
        # First at the reduced size, where the basin of attraction is larger.
        here, _ = solve_each(known, Stage(1, _STEPS), here)
        exact = _levels(scene, job, poses[rows], scales)
        known = [fine or rough for fine, rough in zip(exact, known, strict=True)]
        _, before = solve_each(known, Stage(1, 0), poses[rows])
    here, after = solve_each(known, Stage(1, _STEPS), here)
    # Costs are 1 − ZNCC. The fit ends where its gradient vanishes, which is closer to the true pose than the
    # minimum of the cost: interpolation smooths noise, and so favours poses between pixels. Not if one of the
    # two is reduced: then the gradient vanishes where the pixels of the reduced picture happen to lie.
    slack = CorrelationObjective.slack if octave == 0 else 0.0
    better, ended = after <= before * (1 + slack), poses.copy()
    ended[rows[better]] = here[better] / here[better][:, 2:, 2:]
    return ended


def _levels(
    scene: ScenePyramid, job: PixelStarts, poses: Poses, scales: tuple[int, int]
) -> list[Level | None]:
    """The motif and the part of the scene around each pose, both reduced; None: it is outside the scene."""
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
    """The pixels of a motif, with as many colour planes as the scene: one for a grey scene."""
    known = motif.pixels
    if len(known) != planes:
        known = known.mean(0, keepdim=True) if planes == 1 else known.expand(planes, -1, -1).contiguous()
    return MotifPyramid(Motif(known, motif.mask), inset=True)

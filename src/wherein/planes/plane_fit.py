"""The fit of a flat motif to a scene by channels: many poses at one resolution, each on its own.

A fit consists of rounds. A round

1. rectifies the scene by the current pose, into the motif's own frame and resolution;
2. computes the channels of the rectified picture;
3. maximises the ZNCC with the motif's channels by damped Gauss–Newton steps, starting from the identity and
   linearised on the motif's side (`plane_descent`).

The next round starts from the new pose. Channels are computed *after* rectification, so that gradients are
compared in the motif's frame and resolution, whatever the rotation, tilt and size of the object in the scene.
This makes the ZNCC of different poses comparable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TypeVar, cast

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import ChannelSettings
from wherein.images.motif import Motif
from wherein.motion.homography import local_map
from wherein.motion.models import Affine, Euclidean, Homography, Motion, Similarity, Translation
from wherein.native import kernel, picture_calls, plane_calls, structs
from wherein.planes.plane_descent import (
    DAMPING,
    EASE,
    EXTRAPOLATED,
    MAX_STEP,
    MIN_AGREEMENT,
    MIN_VARIANCE,
    MIN_VISIBLE,
    REACH,
    SLACK,
    TIGHTEN,
    PlaneStage,
    Settling,
    Surface,
    descend,
    evaluate,
    level_of,
    patch_of,
)
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.planes.rectify import SceneLevels, scene_levels
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

PARAMETERS_OF: dict[type[Motion], int] = {
    Translation: 2,
    Euclidean: 3,
    Similarity: 4,
    Affine: 6,
    Homography: 8,
}
"""The number of parameters of each motion; they are the first ones in the order of `plane_motif`."""

_RADII = (30.0, 42.0, 60.0, 100.0)
"""Extent of the motif in the stages of the fit, in pixels; a smaller motif ends at its full size. A choice:
beyond 100 px the score gets no more certain. With two stages instead of three up to 60 px, fits that ended a
little off the coarsest optimum do not recover."""

_MIN_GAIN = 1.2
"""A stage is omitted if the motif would have to be enlarged by at least this factor. A choice."""

CHANNELS, SHARP = ChannelSettings(), ChannelSettings(sigma=0.5)
"""Settings of the channels for fits, and for their last steps: with less smoothing, poses are more exact. On
../shared/scenes the error of parts was 0.034 px with 0.5, 0.041 px with 0.7 and 0.045 px with 1.3."""

_Kind = TypeVar("_Kind", bound=np.generic)

_SHARES = 4
"""Number of tasks for each thread. A choice, above 1 because some poses take longer than others."""


def motif_stages(
    motif: Motif, any_polarity: bool = False, covered: Float[Tensor, "h w"] | None = None
) -> tuple[PlaneMotif, ...]:
    """The motif at each resolution of the fits, from coarse to fine; arguments: see `PlaneMotif.of`."""
    return tuple(PlaneMotif.of(motif, radius, CHANNELS, any_polarity, covered) for radius in _radii_of(motif))


def finest_stage(
    motif: Motif,
    any_polarity: bool = False,
    covered: Float[Tensor, "h w"] | None = None,
    pivot: tuple[float, float] | None = None,
    settings: ChannelSettings = CHANNELS,
    even: bool = False,
) -> PlaneMotif:
    """The last of `motif_stages`, without computing the others; arguments: see `PlaneMotif.of`."""
    return PlaneMotif.of(motif, _radii_of(motif)[-1], settings, any_polarity, covered, pivot, even)


def _radii_of(motif: Motif) -> list[float]:
    """The extent of a motif at each resolution of its fits."""
    largest = motif.extent
    return [radius for radius in _RADII if radius < _MIN_GAIN * largest] or [largest]


@dataclass(frozen=True)
class PlaneFits:
    """Poses of a flat motif, 3×3, motif pixels → scene pixels at full size.

    Attributes:
        poses: (B, 3, 3).
        zncc: ZNCC of the channels, over the part of the motif that is in the scene; −1 if there is no fit.
        visible: the fraction of the motif that is in the scene.
    """

    poses: Poses
    zncc: NDArray[np.float64]
    visible: NDArray[np.float64]

    def __getitem__(self, chosen: NDArray[np.int64]) -> "PlaneFits":
        return PlaneFits(self.poses[chosen], self.zncc[chosen], self.visible[chosen])

    def __len__(self) -> int:
        return len(self.zncc)

    def replaced(self, chosen: NDArray[np.int64], others: "PlaneFits") -> "PlaneFits":
        """A copy in which the fits with the indices `chosen` are replaced by `others`."""
        poses, zncc, visible = self.poses.copy(), self.zncc.copy(), self.visible.copy()
        poses[chosen], zncc[chosen], visible[chosen] = others.poses, others.zncc, others.visible
        return PlaneFits(poses, zncc, visible)

    def joined(self, *others: "PlaneFits") -> "PlaneFits":
        """These fits followed by others."""
        parts = (self, *others)
        return PlaneFits(
            np.concatenate([part.poses for part in parts]),
            np.concatenate([part.zncc for part in parts]),
            np.concatenate([part.visible for part in parts]),
        )


def fit_planes(
    scene: ScenePyramid,
    motif: PlaneMotif,
    motion: Motion,
    stage: PlaneStage,
    poses: Poses,
) -> PlaneFits:
    """Fit poses of a motif at one resolution, each independently of the others.

    Arguments:
        scene: the scene to search.
        motif: at one resolution.
        motion: how the poses may move.
        stage: number of rounds and steps, and tolerance.
        poses: motif pixels → scene pixels at full size, (B, 3, 3).
    """
    return fit_each(scene, [FitJob(motif, motion, stage, poses)])[0]


@dataclass(frozen=True)
class FitJob:
    """Poses of one motif to fit; for the attributes, see the arguments of `fit_planes`."""

    motif: PlaneMotif
    motion: Motion
    stage: PlaneStage
    poses: Poses


def fit_each(scene: ScenePyramid, jobs: Sequence[FitJob]) -> list[PlaneFits]:
    """`fit_planes` for several motifs with their own poses, all of them shared among the threads.

    Limbs have few poses each: one motif after the other, most threads would be idle.
    """
    each = [shares_of(job.poses @ job.motif.to_full, scene.threads) for job in jobs]
    levels = scene_levels(scene)
    shares = [
        (job, starts, finest_levels(job.motif, job.motion, starts, len(levels)))
        for job, own in zip(jobs, each, strict=True)
        for starts in own
    ]
    if not shares:
        return [_joined(job, []) for job in jobs]
    fit = _fit_of(scene, levels, min(int(finest.min()) for _, _, finest in shares))
    if len(shares) > 1 and scene.threads > 1:
        for job in jobs:
            _ = job.motif.in_c  # made before the threads start
    found = iter(shared_out(lambda share: fit(*share), shares, scene.threads))
    return [_joined(job, list(islice(found, len(own)))) for job, own in zip(jobs, each, strict=True)]


def shares_of(items: NDArray[_Kind], threads: int) -> list[NDArray[_Kind]]:
    """Poses, or their indices, divided into a few tasks for each thread; an empty list if there are none."""
    if not len(items):
        return []
    return np.array_split(items, min(len(items), threads * _SHARES)) if threads > 1 else [items]


def _joined(job: FitJob, fits: Sequence[PlaneFits]) -> PlaneFits:
    """The fits of all tasks of a job, with poses of the motif at full size."""
    if not fits:
        return PlaneFits(job.poses, np.zeros(0), np.zeros(0))
    found = fits[0] if len(fits) == 1 else fits[0].joined(*fits[1:])
    ended = found.poses @ job.motif.from_full
    return replace(found, poses=ended / ended[:, 2:, 2:])


_SHRINKS, _SAME_SIZE = 1.25, 1.0 + 1e-6
"""Factor by which a fit may shrink a pose and still use the scene level with the closest resolution; and the
same for motions that keep the size, where only rounding changes it. The first is a choice: a fit that shrinks
by more has left its object."""

_Finest = NDArray[np.int32]


def finest_levels(motif: PlaneMotif, motion: Motion, starts: Poses, count: int) -> _Finest:
    """The finest of `count` scene levels that the fit of each pose may use, (B,).

    The level for a pose that is smaller than the start by the factor above. The finer levels of a large scene
    take time and memory, so only those that may be needed are computed. The bound depends on each pose alone,
    so results do not depend on which other poses are fitted.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.sqrt(np.linalg.det(local_map(starts, motif.centre)))
    shrinks = _SHRINKS if motion.scales else _SAME_SIZE
    # Mirrored or undefined poses are not fitted at all, and may have any level.
    return level_of(np.where(sizes > 0, sizes, np.inf) / shrinks, count).astype(np.int32)


def _fit_of(
    scene: ScenePyramid, levels: SceneLevels, finest: int
) -> Callable[[FitJob, Poses, _Finest], PlaneFits]:
    """A function that fits poses of a motif at its resolution, in C if possible, otherwise in torch.

    Arguments:
        scene, levels: the scene and its levels.
        finest: the finest level that any of the poses needs.
    """
    in_c = levels_in_c(scene, levels, finest)
    if in_c is None:
        return partial(_fit_in_torch, levels)

    def fit(job: FitJob, starts: Poses, finest: _Finest) -> PlaneFits:
        rules = plane_rules(job.motif, job.stage, PARAMETERS_OF[type(job.motion)], len(levels))
        return PlaneFits(*plane_calls.fit_planes(in_c, job.motif.in_c, rules, starts, finest))

    return fit


def levels_in_c(scene: ScenePyramid, levels: SceneLevels, finest: int) -> "plane_calls.Levels | None":
    """The levels of a scene for C, from level `finest` on; None: C does not handle this scene."""
    if not kernel.accepts(levels[len(levels) - 1]):
        return None
    known = cast("tuple[int, plane_calls.Levels, list[Tensor]] | None", scene.kept.get("levels in C"))
    if known is None or known[0] > finest:
        # Kept, because a scene is fitted to dozens of times; with the tensors, since it points to them.
        contiguous = [levels[number].contiguous() for number in range(finest, len(levels))]
        known = finest, plane_calls.levels_of(contiguous, finest), contiguous
        scene.kept["levels in C"] = known
    return known[1]


def plane_rules(motif: PlaneMotif, stage: PlaneStage, parameters: int, levels: int) -> structs.PlaneRules:
    """The parameters of a fit for C; they are shared and must not be modified."""
    known = motif.rules
    key = (stage, parameters, levels)
    if key not in known:
        # The rules hold a pointer to the taps, so both are kept. `setdefault` is atomic: of two threads that
        # come here at the same time, one makes the rules that both use.
        taps = motif.settings.taps(motif.points).contiguous()
        known.setdefault(key, (_rules(motif, stage, parameters, levels, taps), taps))
    return known[key][0]


def _rules(
    motif: PlaneMotif, stage: PlaneStage, parameters: int, levels: int, taps: Tensor
) -> structs.PlaneRules:
    settings = motif.settings
    return structs.PlaneRules(
        channels=picture_calls.channel_rules(taps, settings.floor, settings.noise, settings.window),
        damping=DAMPING,
        ease=EASE,
        tighten=TIGHTEN,
        tolerance=stage.tolerance,
        extrapolated=EXTRAPOLATED,
        reach=REACH,
        slack=SLACK,
        max_step=MAX_STEP,
        min_agreement=MIN_AGREEMENT,
        min_visible=MIN_VISIBLE,
        min_variance=MIN_VARIANCE,
        parameters=parameters,
        rounds=stage.rounds,
        steps=stage.steps,
        levels=levels,
        settles=int(stage.settles),
    )


def _fit_in_torch(levels: Sequence[Tensor], job: FitJob, starts: Poses, finest: _Finest) -> PlaneFits:
    """The same in torch: the reference implementation for C."""
    ended = [_fit_one(levels, job, start, int(own)) for start, own in zip(starts, finest, strict=True)]
    poses, zncc, visible = zip(*ended, strict=True)
    return PlaneFits(np.stack(poses), np.array(zncc), np.array(visible))


def _fit_one(
    levels: Sequence[Tensor], job: FitJob, pose: NDArray[np.float64], finest: int
) -> tuple[NDArray[np.float64], float, float]:
    motif, stage, parameters = job.motif, job.stage, PARAMETERS_OF[type(job.motion)]
    (x, y), r = motif.centre, motif.radius
    # A motion is in the motif's units: from its centre, divided by its radius, so that all parameters are of
    # similar magnitude.
    from_unit = np.array(((r, 0, x), (0, r, y), (0, 0, 1.0)))
    in_patch = np.array(((r, 0, x + MARGIN), (0, r, y + MARGIN), (0, 0, 1.0)))
    zncc, visible, settling = -1.0, 0.0, Settling(motif, parameters)
    for number in range(stage.rounds):
        patch = patch_of(levels, motif, pose, finest=finest)
        if patch is None:
            return pose, -1.0, visible
        surface = Surface(patch.channels, patch.inside)
        if stage.settles:
            found = evaluate(motif, surface, in_patch)
            last = number == stage.rounds - 1
            if settling.led_too_far(found):
                pose = settling.back(not last) @ np.linalg.inv(from_unit)
                pose = pose / pose[2, 2]
                continue
            if found.zncc <= -1:
                return pose, found.zncc, found.visible
            best, moved = settling.move(pose @ from_unit, found)
            if last and moved > REACH:  # no further round would check so long a step
                return pose, found.zncc, found.visible
        else:
            best, found = descend(motif, surface, in_patch, parameters, stage)
            moved = float(np.linalg.norm(best - np.eye(3))) * r
        zncc, visible = found.zncc, found.visible
        pose = pose @ from_unit @ best @ np.linalg.inv(from_unit)
        pose = pose / pose[2, 2]
        if moved < stage.tolerance:
            break
    return pose, zncc, visible

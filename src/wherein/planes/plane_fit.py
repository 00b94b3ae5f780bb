"""The fit of a flat motif to a scene, by its channels: many poses at one resolution, each on its own.

A round rectifies the scene by the pose so far, which brings it into the motif's own frame and resolution;
makes the channels of that picture; and maximises ZNCC with the motif's channels by damped Gauss–Newton from
the identity, linearised on the motif's side. Then the next round begins at the pose that was found. Because
channels are made *after* rectification, gradients are compared in the motif's frame, whatever the rotation or
tilt in the scene, and always at the same resolution, whatever the object's size: so scores compare.
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
from wherein.planes.plane_motif import MARGIN, PlaneMotif, extent
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
"""How many of a plane's parameters a motion has, in the order of `plane_motif`."""

_RADII = (30.0, 42.0, 60.0, 100.0)
"""Extent of the motif at the stages of the fit, in pixels; a smaller motif ends at its full size. A choice:
beyond 100 px the score gets no surer. With two stages instead of three up to 60 px, fits that ended a little
off the coarsest optimum lose their way."""

_MIN_GAIN = 1.2
"""A stage is left out where the motif would have to be enlarged by more than this. A choice."""

CHANNELS, SHARP = ChannelSettings(), ChannelSettings(sigma=0.5)
"""Of the fits, and of their last steps: with less smoothing poses are more exact. On ../shared/scenes parts
were 0.034 px off with 0.5, 0.041 with 0.7 and 0.045 with 1.3."""

_Kind = TypeVar("_Kind", bound=np.generic)

_SHARES = 4
"""Shares of the poses for each thread. A choice: some poses take longer than others."""


def motif_stages(
    motif: Motif, any_polarity: bool = False, covered: Float[Tensor, "h w"] | None = None
) -> tuple[PlaneMotif, ...]:
    """The resolutions at which a motif is fitted, from coarse to fine; arguments as of `PlaneMotif.of`."""
    return tuple(PlaneMotif.of(motif, radius, CHANNELS, any_polarity, covered) for radius in _radii_of(motif))


def finest_stage(
    motif: Motif,
    any_polarity: bool = False,
    covered: Float[Tensor, "h w"] | None = None,
    pivot: tuple[float, float] | None = None,
    settings: ChannelSettings = CHANNELS,
    even: bool = False,
) -> PlaneMotif:
    """The last of `motif_stages`, without the work for the others; arguments as of `PlaneMotif.of`."""
    return PlaneMotif.of(motif, _radii_of(motif)[-1], settings, any_polarity, covered, pivot, even)


def _radii_of(motif: Motif) -> list[float]:
    """The extent of a motif at each resolution at which it is fitted."""
    largest = extent(motif)
    return [radius for radius in _RADII if radius < _MIN_GAIN * largest] or [largest]


@dataclass(frozen=True)
class PlaneFits:
    """Poses of a flat motif, 3×3, motif pixels → scene pixels at full size.

    Attributes:
        poses: (B, 3, 3).
        zncc: of the channels, over the part of the motif that is in the scene; −1 where there is no fit.
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
        """These with some of them replaced by others."""
        poses, zncc, visible = self.poses.copy(), self.zncc.copy(), self.visible.copy()
        poses[chosen], zncc[chosen], visible[chosen] = others.poses, others.zncc, others.visible
        return PlaneFits(poses, zncc, visible)

    def joined(self, *others: "PlaneFits") -> "PlaneFits":
        """These and others, in this order."""
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
        stage: how long.
        poses: motif pixels → scene pixels at full size, (B, 3, 3).
    """
    return fit_each(scene, [FitJob(motif, motion, stage, poses)])[0]


@dataclass(frozen=True)
class FitJob:
    """Poses of one motif that are to be fitted; attributes as the arguments of `fit_planes`."""

    motif: PlaneMotif
    motion: Motion
    stage: PlaneStage
    poses: Poses


def fit_each(scene: ScenePyramid, jobs: Sequence[FitJob]) -> list[PlaneFits]:
    """The fits of several motifs, each of its own poses: `fit_planes` of each, shared out among threads.

    Limbs have one or a few poses each: one by one, all threads but one would wait most of the time.
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
    """Poses, or their numbers, in a few shares for each thread; none if there are none."""
    if not len(items):
        return []
    return np.array_split(items, min(len(items), threads * _SHARES)) if threads > 1 else [items]


def _joined(job: FitJob, fits: Sequence[PlaneFits]) -> PlaneFits:
    """The fits of all shares of a job, at full size."""
    if not fits:
        return PlaneFits(job.poses, np.zeros(0), np.zeros(0))
    found = fits[0] if len(fits) == 1 else fits[0].joined(*fits[1:])
    ended = found.poses @ job.motif.from_full
    return replace(found, poses=ended / ended[:, 2:, 2:])


_SHRINKS, _SAME_SIZE = 1.25, 1.0 + 1e-6
"""Factor by which a fit may make a pose smaller and still be compared with the level closest to it, and the
same for a motion that keeps sizes, but for rounding. The first is a choice: a fit that goes further has left
its object."""

_Finest = NDArray[np.int32]


def finest_levels(motif: PlaneMotif, motion: Motion, starts: Poses, count: int) -> _Finest:
    """The finest of `count` levels that the fit of each pose may need, (B,).

    That for the motif at a smaller size than it starts with: the finer levels of a large scene take time and
    memory, and are only made if they are needed.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.sqrt(np.linalg.det(local_map(starts, motif.centre)))
    shrinks = _SHRINKS if motion.scales else _SAME_SIZE
    # Poses without a meaning are not fitted at all, and need none.
    return level_of(np.where(sizes > 0, sizes, np.inf) / shrinks, count).astype(np.int32)


def _fit_of(
    scene: ScenePyramid, levels: SceneLevels, finest: int
) -> Callable[[FitJob, Poses, _Finest], PlaneFits]:
    """What fits poses at the resolution of a motif to a scene, in C where that is possible.

    Arguments:
        scene, levels: where they are fitted.
        finest: number of the finest level that any of the poses needs.
    """
    in_c = levels_in_c(scene, levels, finest)
    if in_c is None:
        return partial(_fit_in_torch, levels)

    def fit(job: FitJob, starts: Poses, finest: _Finest) -> PlaneFits:
        rules = plane_rules(job.motif, job.stage, PARAMETERS_OF[type(job.motion)], len(levels))
        return PlaneFits(*plane_calls.fit_planes(in_c, job.motif.in_c, rules, starts, finest))

    return fit


def levels_in_c(scene: ScenePyramid, levels: SceneLevels, finest: int) -> "plane_calls.Levels | None":
    """The levels of a scene for C, from that with the number `finest` on; None: they are for torch."""
    if not kernel.accepts(levels[len(levels) - 1]):
        return None
    known = cast("tuple[int, plane_calls.Levels, list[Tensor]] | None", scene.kept.get("levels in C"))
    if known is None or known[0] > finest:
        # Kept with the tensors that it points to: a scene is fitted to dozens of times.
        contiguous = [levels[number].contiguous() for number in range(finest, len(levels))]
        known = finest, plane_calls.levels_of(contiguous, finest), contiguous
        scene.kept["levels in C"] = known
    return known[1]


def plane_rules(motif: PlaneMotif, stage: PlaneStage, parameters: int, levels: int) -> structs.PlaneRules:
    """Every number that C would otherwise have to know by itself; they must not be changed."""
    known = motif.rules
    key = (stage, parameters, levels)
    if key not in known:
        # The rules point to the taps, which are kept with them.
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
    """The same in torch: the reference for C."""
    ended = [_fit_one(levels, job, start, int(own)) for start, own in zip(starts, finest, strict=True)]
    poses, zncc, visible = zip(*ended, strict=True)
    return PlaneFits(np.stack(poses), np.array(zncc), np.array(visible))


def _fit_one(
    levels: Sequence[Tensor], job: FitJob, pose: NDArray[np.float64], finest: int
) -> tuple[NDArray[np.float64], float, float]:
    motif, stage, parameters = job.motif, job.stage, PARAMETERS_OF[type(job.motion)]
    (x, y), r = motif.centre, motif.radius
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
            if last and moved > REACH:  # nothing would tell whether so long a step was good
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

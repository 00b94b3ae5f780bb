"""The fit of a flat motif to a scene, by its channels: many poses at one resolution, each on its own.

A round rectifies the scene by the pose so far, which brings it into the motif's own frame and resolution;
makes the channels of that picture; and maximises ZNCC with the motif's channels by damped Gauss–Newton from
the identity, linearised on the motif's side. Then the next round begins at the pose that was found. Because
channels are made *after* rectification, gradients are compared in the motif's frame, whatever the rotation or
tilt in the scene, and always at the same resolution, whatever the object's size: so scores compare.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import channels
from wherein.motion.models import Affine, Euclidean, Homography, Motion, Similarity, Translation
from wherein.native import abi, bindings
from wherein.planes.plane_descent import (
    DAMPING,
    EASE,
    MAX_STEP,
    MIN_VARIANCE,
    MIN_VISIBLE,
    TIGHTEN,
    PlaneStage,
    Surface,
    descend,
)
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.planes.rectify import rectify, scene_levels
from wherein.pyramid.levels import Poses, ScenePyramid, reduce
from wherein.threads import shared_out

PARAMETERS_OF: dict[type[Motion], int] = {
    Translation: 2,
    Euclidean: 3,
    Similarity: 4,
    Affine: 6,
    Homography: 8,
}
"""How many of a plane's parameters a motion has, in the order of `plane_motif`."""

_SHARES = 4
"""Shares of the poses for each thread. A choice: some poses take longer than others."""


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
    if not len(poses):
        return PlaneFits(poses, np.zeros(0), np.zeros(0))
    levels, parameters = scene_levels(scene), PARAMETERS_OF[type(motion)]
    starts = poses @ np.linalg.inv(motif.from_full)
    threads = scene.threads
    shares = np.array_split(starts, min(len(starts), threads * _SHARES)) if threads > 1 else [starts]
    work = partial(_fit, levels, motif, parameters, stage)
    if len(shares) == 1:
        found = work(starts)
    else:
        _ = motif.in_c  # made before the threads start
        first, *others = shared_out(work, shares, threads)
        found = first.joined(*others)
    ended = found.poses @ motif.from_full
    return replace(found, poses=ended / ended[:, 2:, 2:])


def _fit(
    levels: Sequence[Tensor], motif: PlaneMotif, parameters: int, stage: PlaneStage, starts: Poses
) -> PlaneFits:
    """The fits of poses at the motif's resolution, in C where that is possible."""
    if not bindings.accepts(*levels):
        return _fit_in_torch(levels, motif, parameters, stage, starts)
    levels = [level.contiguous() for level in levels]
    taps = motif.settings.taps(levels[0]).contiguous()
    rules = plane_rules(motif, stage, parameters, len(levels), taps)
    return PlaneFits(*bindings.fit_planes(levels, motif.in_c, rules, starts))


def plane_rules(
    motif: PlaneMotif, stage: PlaneStage, parameters: int, levels: int, taps: Tensor
) -> abi.PlaneRules:
    """Every number that C would otherwise have to know by itself."""
    settings = motif.settings
    return abi.PlaneRules(
        channels=bindings.channel_rules(taps, settings.floor, settings.noise, settings.window),
        damping=DAMPING,
        ease=EASE,
        tighten=TIGHTEN,
        tolerance=stage.tolerance,
        max_step=MAX_STEP,
        min_visible=MIN_VISIBLE,
        min_variance=MIN_VARIANCE,
        parameters=parameters,
        rounds=stage.rounds,
        steps=stage.steps,
        levels=levels,
        unchecked=int(stage.unchecked),
    )


def _fit_in_torch(
    levels: Sequence[Tensor], motif: PlaneMotif, parameters: int, stage: PlaneStage, starts: Poses
) -> PlaneFits:
    """The same in torch: the reference for C."""
    ended = [_fit_one(levels, motif, parameters, stage, start) for start in starts]
    poses, zncc, visible = zip(*ended, strict=True)
    return PlaneFits(np.stack(poses), np.array(zncc), np.array(visible))


def _fit_one(
    levels: Sequence[Tensor], motif: PlaneMotif, parameters: int, stage: PlaneStage, pose: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float, float]:
    (x, y), r = motif.centre, motif.radius
    from_unit = np.array(((r, 0, x), (0, r, y), (0, 0, 1.0)))
    in_patch = np.array(((r, 0, x + MARGIN), (0, r, y + MARGIN), (0, 0, 1.0)))
    zncc, visible = -1.0, 0.0
    for _ in range(stage.rounds):
        patch = patch_of(levels, motif, pose)
        if patch is None:
            return pose, -1.0, visible
        best, found = descend(motif, Surface(patch.channels, patch.inside), in_patch, parameters, stage)
        zncc, visible = found.zncc, found.visible
        pose = pose @ from_unit @ best @ np.linalg.inv(from_unit)
        pose = pose / pose[2, 2]
        if np.linalg.norm(best - np.eye(3)) * r < stage.tolerance:
            break
    return pose, zncc, visible


@dataclass(frozen=True)
class Patch:
    """The scene in the motif's frame: the picture, its channels, and which pixels lie in the scene."""

    picture: Float[Tensor, "C h w"]
    channels: Float[Tensor, "8 h w"]
    inside: Bool[Tensor, "h w"]


def patch_of(
    levels: Sequence[Tensor],
    motif: PlaneMotif,
    pose: NDArray[np.float64],
    size: tuple[int, int] | None = None,
) -> Patch | None:
    """The scene in the frame and at the resolution of a motif, and `MARGIN` pixels around it.

    Arguments:
        levels: of the scene.
        motif: whose channels are wanted.
        pose: pixels at its resolution → scene pixels at full size.
        size: width and height without the margin; None: those of the motif.

    Returns:
        The patch, or None where the pose is mirrored or behind.
    """
    across, down = size or motif.size
    scale = _local_scale(pose, motif.centre if size is None else ((across - 1) / 2, (down - 1) / 2))
    if not scale > 0:
        return None
    # The level whose pixels come closest to the motif's: finer ones would alias, coarser ones are blurred.
    level = int(np.clip(np.ceil(np.log2(scale / np.sqrt(2))), 0, len(levels) - 1))
    to_level = reduce(2**level)
    from_patch = np.array(((1, 0, -MARGIN), (0, 1, -MARGIN), (0, 0, 1.0)))
    width, height = (side + 2 * MARGIN for side in (across, down))
    picture, inside = rectify(levels[level], to_level @ pose @ from_patch, height, width)
    return Patch(picture, channels(picture, motif.settings), inside)


def _local_scale(pose: NDArray[np.float64], at: tuple[float, float]) -> float:
    """How much larger a motif pixel is in the scene, at a point; 0 where the pose is mirrored or behind."""
    x, y, depth = pose @ (*at, 1.0)
    if not depth > 0:
        return 0.0
    linear = (pose[:2, :2] - np.outer((x / depth, y / depth), pose[2, :2])) / depth
    area = np.linalg.det(linear)
    return float(np.sqrt(area)) if area > 0 and np.isfinite(area) else 0.0

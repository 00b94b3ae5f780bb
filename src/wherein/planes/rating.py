"""Many poses of a flat motif compared with channels that are computed once: rated, or refined by a descent.

A fit (`plane_fit`) rectifies the scene and computes new channels for each pose. For hundreds of poses this
would cost more than the rest of a search. So here channels are computed once: of the whole scene, or of the
plane of a body in which a limb turns about its joint. Each pose then samples these channels, and rotates
their directions into the motif's frame: the eight channels of a pixel are samples of a smooth function of the
direction, and trigonometric interpolation gives its value at any other direction (*steering*). The result
differs from the channels of the rotated picture, but is good enough to choose the starts of fits, and to
bring them close.

Rating a pose means computing its ZNCC without moving it; refining means Gauss–Newton steps from it.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, opposite
from wherein.images.motif import Motif
from wherein.motion.homography import rotations
from wherein.motion.models import Motion
from wherein.native import kernel, plane_calls
from wherein.native.abi import STEERING
from wherein.planes.plane_descent import (
    MIN_VARIANCE,
    MIN_VISIBLE,
    PlaneStage,
    Surface,
    descend,
    on_picture,
    patch_of,
    sampled,
    steering,
)
from wherein.planes.plane_fit import PARAMETERS_OF, PlaneFits, plane_rules
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.planes.rectify import scene_levels
from wherein.planes.scene_parts import (
    ScenePart,
    at_levels,
    neighbourhoods,
    part_channels,
    parts_with_poses,
    squares,
)
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_LIKE_STEP, _ALIKE, _LIKE_BASIN = 7.5, 0.3, 20.0
"""Degrees between the turns at which a motif is compared with itself, ZNCC above which such a turn may be
mistaken for no turn, and degrees below which it is nearly the same pose. Choices: descents from half of the
step end at the same pose; a plate with four dials reaches the ZNCC upside down, and a round dial at every
turn."""


def rate_turns(scene: ScenePyramid, motif: PlaneMotif, planes: Poses, turns: Poses) -> NDArray[np.float64]:
    """The approximate ZNCC of the motif at every turn in every plane, (P, T); −1 outside the scene.

    Arguments:
        scene: the scene to search.
        motif: at one resolution.
        planes: plane → scene pixels at full size, (P, 3, 3).
        turns: motif pixels → plane, affine, (T, 3, 3).
    """
    view = _PlaneView(motif, turns)
    rated = np.full((len(planes), len(turns)), -1.0)
    # One rectified picture serves all turns in a plane: a turn only samples it.
    for row, plane in zip(rated, planes, strict=True):
        patch = patch_of(scene_levels(scene), motif, plane @ view.from_patch, view.size)
        if patch is not None:
            row[:] = _rated(motif.rough, patch.channels, patch.inside, view.turns)
    return rated


def best_turns(
    scene: ScenePyramid,
    motif: PlaneMotif,
    motion: Motion,
    stage: PlaneStage,
    planes: Poses,
    turns: Sequence[Poses],
    count: int,
) -> PlaneFits:
    """The best-rated turns in each plane, refined; `count` poses for each plane, one plane after the other.

    Arguments:
        scene, motif, planes: see `rate_turns`.
        motion: how the motif may move in the plane.
        stage: number of steps and tolerance.
        turns: motif pixels → plane, affine, (T, 3, 3) for each plane.
        count: number of poses for each plane, at most the largest number of turns of a plane. If a plane has
            fewer turns, its last pose is repeated with a ZNCC of −1, so that all planes have equally many
            poses, and the poses of one do not depend on the others.
    """
    count = min(count, max(map(len, turns)))

    def found_in(each: tuple[NDArray[np.float64], Poses]) -> PlaneFits:
        plane, turns = each
        view = _PlaneView(motif, turns)
        patch = patch_of(scene_levels(scene), motif, plane @ view.from_patch, view.size)
        if patch is None:
            return _filled(PlaneFits(plane @ turns[:1], np.full(1, -1.0), np.zeros(1)), count)
        rated = _rated(motif.rough, patch.channels, patch.inside, view.turns)
        best = view.turns[np.argsort(-rated, kind="stable")[:count]]
        fits = _refined(motif.rough, patch.channels, patch.inside, motion, stage, best)
        # Motif at full size → motif at its resolution → picture with margin → without → plane → scene.
        poses = plane @ view.from_patch @ view.to_patch @ fits.poses @ motif.from_full
        return _filled(PlaneFits(poses / poses[:, 2:, 2:], fits.zncc, fits.visible), count)

    _ = motif.rough.in_c  # made before the threads start
    first, *others = shared_out(found_in, list(zip(planes, turns, strict=True)), scene.threads)
    return first.joined(*others)


def _filled(found: PlaneFits, count: int) -> PlaneFits:
    """The poses, filled up to `count` with copies of the last that have a ZNCC of −1."""
    more = count - len(found)
    if more <= 0:
        return found
    rest = PlaneFits(np.repeat(found.poses[-1:], more, axis=0), np.full(more, -1.0), np.zeros(more))
    return found.joined(rest)


class _PlaneView:
    """The frame of a picture of a plane, at the resolution of a motif and large enough for all its turns.

    Arguments:
        motif: at one resolution.
        turns: motif pixels at full size → plane, affine, (T, 3, 3).

    Attributes:
        size: width and height without the margin.
        from_patch: pixels of the picture, without its margin → plane.
        to_patch: pixels of the picture, with its margin → without.
        turns: pixels of the motif at its resolution → pixels of the picture, with its margin, (T, 3, 3).
    """

    def __init__(self, motif: PlaneMotif, turns: Poses) -> None:
        to_full = np.linalg.inv(motif.from_full)
        width, height = motif.size
        corners = np.array(((0, width - 1, width - 1, 0), (0, 0, height - 1, height - 1), (1, 1, 1, 1)))
        own = motif.from_full @ turns @ to_full
        ends = (own @ corners)[:, :2]
        # The bounding box of the motif at all its turns; `begin` moves its corner to the origin.
        low, high = np.floor(ends.min((0, 2))), np.ceil(ends.max((0, 2)))
        across, down = (int(side) for side in high - low + 1)
        self.size = across, down
        begin = np.array(((1, 0, -low[0]), (0, 1, -low[1]), (0, 0, 1)))
        self.from_patch = to_full @ np.linalg.inv(begin)
        self.to_patch = np.array(((1, 0, -MARGIN), (0, 1, -MARGIN), (0, 0, 1.0)))
        self.turns = np.linalg.inv(self.to_patch) @ begin @ own


def rate_poses(scene: ScenePyramid, motif: PlaneMotif, poses: Poses) -> NDArray[np.float64]:
    """The approximate ZNCC of the motif at poses anywhere in the scene, (B,); −1 outside the scene.

    Arguments:
        scene: the scene to search.
        motif: at one resolution; a few of its points suffice.
        poses: motif pixels → scene pixels at full size, affine, (B, 3, 3).
    """
    own, numbers = at_levels(motif, poses)
    rated = np.full(len(poses), -1.0)

    def rate(part: ScenePart) -> None:
        found, to_full = part_channels(scene, motif, part)
        in_picture = np.linalg.inv(to_full) @ own[part.poses]
        rated[part.poses] = _rated(motif, found, None, in_picture)

    _ = motif.in_c  # made before the threads start
    shared_out(rate, parts_with_poses(scene, numbers, partial(squares, scene, motif, own)), scene.threads)
    return rated


def similar_turns(motif: Motif, rough: PlaneMotif) -> Poses:
    """The turns of a motif about its middle at which it looks much like itself, (T, 3, 3).

    Arguments:
        motif: at full size.
        rough: the same motif at the coarsest resolution, which is compared.
    """
    # The scene is the motif itself on a background of its mean colour, with room for its corners.
    width, height = motif.width, motif.height
    room, mask = math.ceil((math.hypot(width, height) - min(width, height)) / 2) + 1, motif.mask
    mean = (motif.pixels * mask).sum((1, 2)) / mask.sum()
    level = mean[:, None, None]
    own = F.pad((motif.pixels - level) * mask, (room, room, room, room)) + level
    at = np.arange(0.0, 360.0, _LIKE_STEP)
    turns = rotations(at, motif.centre)
    shift = np.array(((1.0, 0, room), (0, 1, room), (0, 0, 1)))
    rated = rate_poses(ScenePyramid(own), rough, shift @ turns)
    return turns[(rated >= _ALIKE) & (np.minimum(at, 360 - at) >= _LIKE_BASIN)]


def refine_poses(
    scene: ScenePyramid, motif: PlaneMotif, motion: Motion, stage: PlaneStage, poses: Poses
) -> PlaneFits:
    """The poses after a descent on channels of the whole scene.

    They are close to those of a fit, which takes ten times as long.

    Arguments:
        scene: the scene to search.
        motif: at one resolution; a few hundred of its points suffice.
        motion: how the poses may move.
        stage: number of steps and tolerance; there is a single round.
        poses: motif pixels → scene pixels at full size, (B, 3, 3).
    """
    if not len(poses):
        return PlaneFits(poses, np.zeros(0), np.zeros(0))
    own, numbers = at_levels(motif, poses)
    found = PlaneFits(poses.copy(), np.full(len(poses), -1.0), np.zeros(len(poses)))
    to_motif = motif.from_full
    _ = motif.in_c  # made before the threads start

    def refine(part: ScenePart) -> None:
        chosen, (picture, to_full) = part.poses, part_channels(scene, motif, part)
        in_picture = np.linalg.inv(to_full) @ own[chosen]
        fits = _refined(motif, picture, None, motion, stage, in_picture)
        ended = to_full @ fits.poses @ to_motif
        found.poses[chosen] = ended / ended[:, 2:, 2:]
        found.zncc[chosen], found.visible[chosen] = fits.zncc, fits.visible

    parts = parts_with_poses(scene, numbers, partial(neighbourhoods, scene, motif, own))
    # Channels of whole levels are computed before the threads start, since several shares need the same ones.
    whole = {part.number: part for part in parts if part.box is None}
    shared_out(partial(part_channels, scene, motif), list(whole.values()), scene.threads)
    shared_out(refine, [share for part in parts for share in part.shares()], scene.threads)
    return found


def _rated(
    motif: PlaneMotif,
    found: Float[Tensor, "8 h w"],
    inside: Bool[Tensor, "h w"] | None,
    poses: Poses,
) -> NDArray[np.float64]:
    """ZNCC of the motif at poses in a picture of channels, (T,).

    `inside`: which pixels of the picture lie in the scene; None: all.
    """
    if not kernel.accepts(found):
        seen = torch.ones(found.shape[1:], dtype=torch.bool) if inside is None else inside
        return np.array([_rated_in_torch(motif, found, seen, pose) for pose in poses])
    rules = plane_rules(motif, PlaneStage(), 0, 1)
    seen_in_c = None if inside is None else inside.contiguous()
    return plane_calls.rate_poses(found.movedim(0, -1).contiguous(), seen_in_c, motif.in_c, rules, poses)


def _rated_in_torch(
    motif: PlaneMotif, found: Float[Tensor, "8 h w"], inside: Bool[Tensor, "h w"], pose: NDArray[np.float64]
) -> float:
    """The same for one pose in torch: the reference implementation for C.

    Unlike in `plane_descent.evaluate`, the pose is affine, and its rotation is rounded to one of `STEERING`
    steps.
    """
    spots = torch.from_numpy(motif.places) @ torch.from_numpy(pose[:2, :2]).mT + torch.from_numpy(pose[:2, 2])
    scene, seen = sampled(found, inside, spots)
    seen &= on_picture(found, spots)
    scene = scene.double()
    both = (scene + opposite(scene.mT[..., None])[..., 0].mT) / 2
    y = torch.where(motif.unsigned[:, None], both, scene)
    # The target is steered instead of the scene: C steers it only once for all poses of the same rotation.
    # Both are equivalent in ⟨t, y⟩, since steering by −φ is the adjoint of steering by φ.
    turn = math.atan2(pose[1, 0] - pose[0, 1], pose[0, 0] + pose[1, 1]) / (2 * math.pi)
    t, weights = motif.target.double(), motif.weights.double()
    turned = t @ steering(-round(turn * STEERING) * DIRECTIONS / STEERING)
    w = torch.where(seen, weights, 0.0)[:, None]
    if not float(w.sum()) > 0 or float(w.sum()) < MIN_VISIBLE * float(weights.sum()):
        return -1.0
    # The target has mean 0 and norm 1 over all points, but not over those that are visible.
    total = DIRECTIONS * float(w.sum())
    mean_t, mean_y = float((w * t).sum()) / total, float((w * y).sum()) / total
    power = max(float((w * (y - mean_y).square()).sum()), MIN_VARIANCE * total)
    size = max(float((w * (t - mean_t).square()).sum()), 1e-12)
    return float((w * (turned - mean_t) * (y - mean_y)).sum()) / math.sqrt(size * power)


def _refined(
    motif: PlaneMotif,
    found: Float[Tensor, "8 h w"],
    inside: Bool[Tensor, "h w"] | None,
    motion: Motion,
    stage: PlaneStage,
    poses: Poses,
) -> PlaneFits:
    """Poses in a picture of channels after a descent; `inside`: which pixels lie in the scene, None: all."""
    parameters = PARAMETERS_OF[type(motion)]
    if not kernel.accepts(found):
        seen = torch.ones(found.shape[1:], dtype=torch.bool) if inside is None else inside
        return _refined_in_torch(motif, Surface(found, seen, steered=True), parameters, stage, poses)
    rules = plane_rules(motif, stage, parameters, 1)
    seen_in_c = None if inside is None else inside.contiguous()
    picture = found.movedim(0, -1).contiguous()
    return PlaneFits(*plane_calls.refine_poses(picture, seen_in_c, motif.in_c, rules, poses))


def _refined_in_torch(
    motif: PlaneMotif, surface: Surface, parameters: int, stage: PlaneStage, poses: Poses
) -> PlaneFits:
    """The same in torch: the reference implementation for C."""
    (x, y), r = motif.centre, motif.radius
    from_unit = np.array(((r, 0, x), (0, r, y), (0, 0, 1.0)))
    ended, zncc, visible = poses.copy(), np.zeros(len(poses)), np.zeros(len(poses))
    for index, pose in enumerate(poses):
        best, there = descend(motif, surface, pose @ from_unit, parameters, stage)
        moved = pose @ from_unit @ best @ np.linalg.inv(from_unit)
        ended[index] = moved / moved[2, 2]
        zncc[index], visible[index] = there.zncc, there.visible
    return PlaneFits(ended, zncc, visible)

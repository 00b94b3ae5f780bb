"""Many poses of a flat motif, rated at once on channels that are there already.

To rectify the scene and make channels for each of hundreds of poses would cost more than all the rest of a
search. So channels are made once: of the whole scene, or of the plane of a body in which a limb turns about
its joint. A pose then samples them, and turns their directions as well: the channels of a pixel sample a
smooth function of the direction, which trigonometric interpolation gives at any other. Not the same as
channels of the turned picture, but close enough to choose where fits start.
"""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, channels, opposite
from wherein.native import bindings
from wherein.planes.plane_fit import (
    MIN_VARIANCE,
    MIN_VISIBLE,
    PlaneStage,
    patch_of,
    plane_rules,
    sampled,
)
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.planes.rectify import resized, scene_levels
from wherein.pyramid.levels import Poses, ScenePyramid

_LEVEL_STEP = 1.25
"""Factor between the sizes at which a scene has channels. A choice: an object is at most an eighth off."""

_MAX_KEPT = 1_000_000
"""Channels of a scene of at most so many pixels are kept for other motifs. A choice: 32 MB."""


def rate_turns(scene: ScenePyramid, motif: PlaneMotif, planes: Poses, turns: Poses) -> NDArray[np.float64]:
    """ZNCC of the motif at every turn in every plane, approximately; −1 where it lies outside, (P, T).

    Arguments:
        scene: the scene to search.
        motif: at one resolution.
        planes: plane → scene pixels at full size, (P, 3, 3).
        turns: motif pixels → plane, affine, (T, 3, 3).
    """
    levels, to_full = scene_levels(scene), np.linalg.inv(motif.from_full)
    turns = turns @ to_full
    # A patch of the plane at the motif's resolution with room for all turns.
    width, height = motif.size
    corners = np.array(((0, width - 1, width - 1, 0), (0, 0, height - 1, height - 1), (1, 1, 1, 1)))
    ends = (motif.from_full @ turns @ corners)[:, :2]
    low, high = np.floor(ends.min((0, 2))), np.ceil(ends.max((0, 2)))
    across, down = (int(side) for side in high - low + 1)
    begin = np.array(((1, 0, -low[0]), (0, 1, -low[1]), (0, 0, 1)))
    # Both in pixels of the patch, and within its margin.
    in_patch = np.array(((1, 0, MARGIN), (0, 1, MARGIN), (0, 0, 1.0))) @ begin @ motif.from_full @ turns
    from_patch = to_full @ np.linalg.inv(begin)
    rated = np.full((len(planes), len(turns)), -1.0)
    for row, plane in zip(rated, planes @ from_patch, strict=True):
        patch = patch_of(levels, motif, plane, (across, down))
        if patch is not None:
            row[:] = _rated(motif.rough, patch.channels, patch.inside, in_patch)
    return rated


def rate_poses(scene: ScenePyramid, motif: PlaneMotif, poses: Poses) -> NDArray[np.float64]:
    """ZNCC of the motif at many poses all over the scene, approximately; −1 where it lies outside, (B,).

    Arguments:
        scene: the scene to search.
        motif: at one resolution; a few of its points are enough.
        poses: motif pixels → scene pixels at full size, affine, (B, 3, 3).
    """
    own = poses @ np.linalg.inv(motif.from_full)
    # The scene is reduced to the motif's resolution, but not enlarged.
    levels = np.log(np.sqrt(np.abs(np.linalg.det(own[:, :2, :2])))) / math.log(_LEVEL_STEP)
    numbers = np.maximum(np.round(levels), 0).astype(np.int64)
    rated = np.full(len(poses), -1.0)

    def rate(number: int) -> None:
        chosen = np.flatnonzero(numbers == number)
        found, to_full = _scene_channels(scene, motif, number)
        in_picture = np.linalg.inv(to_full).astype(np.float64) @ own[chosen]
        rated[chosen] = _rated(motif, found, None, in_picture)

    _ = scene_levels(scene), motif.in_c  # made before the threads start
    with ThreadPoolExecutor(scene.threads) as pool:
        list(pool.map(rate, np.unique(numbers).tolist()))
    return rated


def _scene_channels(
    scene: ScenePyramid, motif: PlaneMotif, number: int
) -> tuple[Float[Tensor, "8 h w"], NDArray[np.float64]]:
    """Channels of the scene at a level, and the matrix from its pixels to those at full size."""
    known = scene.kept.get(("channels", motif.settings, number))
    if known is not None:
        return known  # type: ignore[return-value]
    picture, to_full = resized(scene, _LEVEL_STEP**number)
    # The channels of a pixel lie side by side in memory: poses read all of them at once.
    made = channels(picture, motif.settings).movedim(0, -1).contiguous().movedim(-1, 0), to_full
    if picture[0].numel() <= _MAX_KEPT:
        scene.kept["channels", motif.settings, number] = made
    return made


def _rated(
    motif: PlaneMotif,
    found: Float[Tensor, "8 h w"],
    inside: Bool[Tensor, "h w"] | None,
    poses: Poses,
) -> NDArray[np.float64]:
    """ZNCC of the motif at poses in a picture of channels; `inside`: which pixels lie in the scene, (T,)."""
    if not bindings.accepts(found):
        seen = torch.ones(found.shape[1:], dtype=torch.bool) if inside is None else inside
        return np.array([_rated_in_torch(motif, found, seen, pose) for pose in poses])
    rules = plane_rules(motif, PlaneStage(), 0, 1, motif.settings.taps(found).contiguous())
    seen_in_c = None if inside is None else inside.contiguous()
    return bindings.rate_poses(found.movedim(0, -1).contiguous(), seen_in_c, motif.in_c, rules, poses)


def _rated_in_torch(
    motif: PlaneMotif, found: Float[Tensor, "8 h w"], inside: Bool[Tensor, "h w"], pose: NDArray[np.float64]
) -> float:
    """The same for one pose in torch: the reference for C."""
    spots = motif.points.double() * motif.radius + motif.points.new_tensor(motif.centre).double()
    spots = spots @ torch.from_numpy(pose[:2, :2]).mT + torch.from_numpy(pose[:2, 2])
    raw, seen = sampled(found, inside, spots)
    limits = spots.new_tensor((found.shape[2] - 0.5, found.shape[1] - 0.5))
    seen &= ((spots >= -0.5) & (spots <= limits)).all(1)
    turn = math.atan2(pose[1, 0] - pose[0, 1], pose[0, 0] + pose[1, 1]) * DIRECTIONS / (2 * math.pi)
    scene = raw.double() @ _steering(turn)
    both = (scene + opposite(scene.mT[..., None])[..., 0].mT) / 2
    y = torch.where(motif.unsigned[:, None], both, scene)
    t, weights = motif.target.double(), motif.weights.double()
    w = torch.where(seen, weights, 0.0)[:, None]
    if not float(w.sum()) > 0 or float(w.sum()) < MIN_VISIBLE * float(weights.sum()):
        return -1.0
    total = DIRECTIONS * float(w.sum())
    mean_t, mean_y = float((w * t).sum()) / total, float((w * y).sum()) / total
    power = max(float((w * (y - mean_y).square()).sum()), MIN_VARIANCE * total)
    size = max(float((w * (t - mean_t).square()).sum()), 1e-12)
    return float((w * (t - mean_t) * (y - mean_y)).sum()) / math.sqrt(size * power)


def _steering(turn: float) -> Float[Tensor, "8 8"]:
    """The matrix that turns channels by so many directions, from the right: trigonometric interpolation."""
    number = torch.arange(DIRECTIONS, dtype=torch.float64)
    at = (number[:, None] - number - turn) * (2 * math.pi / DIRECTIONS)
    orders = torch.arange(1, DIRECTIONS // 2)[:, None, None]
    return (1 + 2 * (orders * at).cos().sum(0) + (DIRECTIONS // 2 * at).cos()) / DIRECTIONS

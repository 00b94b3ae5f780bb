"""Many turns of a flat motif in a plane that is known: rated at once, on one picture of the plane.

A limb that turns about its joint in the plane of its body is compared at hundreds of turns. To rectify the
scene and make channels for each of them would cost more than all the rest of a search. So the plane is
rectified once, as far as the motif reaches, and its channels are made once. A turn then samples them, and
turns their directions as well: the channels of a pixel sample a smooth function of the direction, which
trigonometric interpolation gives at any other. Not the same as channels of the turned picture, but close
enough to choose where fits start.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import DIRECTIONS, opposite
from wherein.native import bindings
from wherein.planes.plane_fit import (
    MIN_VARIANCE,
    MIN_VISIBLE,
    Patch,
    PlaneStage,
    patch_of,
    plane_rules,
    sampled,
    scene_levels,
)
from wherein.planes.plane_motif import MARGIN, PlaneMotif
from wherein.pyramid.levels import Poses, ScenePyramid

_POINTS = 256
"""About how many points of the motif are compared. A choice: more do not change which turns are best."""


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
    stride = max(1, len(motif.points) // _POINTS)
    rated = np.full((len(planes), len(turns)), -1.0)
    for row, plane in zip(rated, planes @ from_patch, strict=True):
        patch = patch_of(levels, motif, plane, (across, down))
        if patch is not None:
            row[:] = _rated(motif, patch, in_patch, stride)
    return rated


def _rated(motif: PlaneMotif, patch: Patch, poses: Poses, stride: int) -> NDArray[np.float64]:
    """ZNCC of every `stride`-th point of the motif at poses in a patch, (T,)."""
    if not bindings.accepts(patch.channels):
        return np.array([_rated_in_torch(motif, patch, pose, stride) for pose in poses])
    taps = motif.settings.taps(patch.channels).contiguous()
    rules = plane_rules(motif, PlaneStage(), 0, 1, taps)
    own = patch.channels.movedim(0, -1).contiguous()
    return bindings.rate_turns(own, patch.inside.contiguous(), motif.in_c, rules, stride, poses)


def _rated_in_torch(motif: PlaneMotif, patch: Patch, pose: NDArray[np.float64], stride: int) -> float:
    """The same for one pose in torch: the reference for C."""
    own = slice(stride // 2, None, stride)
    spots = motif.points[own].double() * motif.radius + motif.points.new_tensor(motif.centre).double()
    linear, shift = torch.from_numpy(pose[:2, :2]), torch.from_numpy(pose[:2, 2])
    raw, inside = sampled(patch, spots @ linear.mT + shift)
    turn = math.atan2(pose[1, 0] - pose[0, 1], pose[0, 0] + pose[1, 1]) * DIRECTIONS / (2 * math.pi)
    scene = raw.double() @ _steering(turn)
    both = (scene + opposite(scene.mT[..., None])[..., 0].mT) / 2
    y = torch.where(motif.unsigned[own, None], both, scene)
    t, weights = motif.target[own].double(), motif.weights[own].double()
    w = torch.where(inside, weights, 0.0)[:, None]
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

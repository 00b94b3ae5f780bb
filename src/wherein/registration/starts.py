"""Poses to begin a search from: turned, scaled, stretched and shifted about a motif's centre."""

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.images.motif import Motif
from wherein.motion.models import Motion, rotation
from wherein.pyramid.screen import Kernels, PoseGrid, peaks, screen
from wherein.registration.plan import Search
from wherein.registration.problem import Problem

_SCALES = (0.7, 0.85, 1.18, 1.4)
_STRETCH = 1.2

_NEAR = 75.0
"""The sector, in degrees, that is searched about a start that somebody chose."""


_TURN, _SIZES, _RATIO = 12.0, (0.75, 1.33), 1.15
"""Of a first look everywhere: degrees between rotations, the scales, and the factor between two of these."""

_PLACES, _POINTS, _WORK = 64, 100, 4e9
"""That are gone on from; pixels of the motif that are compared; comparisons at most: under a second."""


def around(motion: Motion, motif: Motif, search: Search, everywhere: bool) -> NDArray[np.float64]:
    """Poses (N, 3, 3) about the motif's centre, motif pixels → motif pixels.

    Arguments:
        motion: how the motif may move: a search leaves alone what it cannot.
        motif: its size says where the centre is.
        search: how dense, how far.
        everywhere: whether to try every rotation, and not only those near by.
    """
    turned = _rotations(
        _angles(search.turns, 360.0 if everywhere else _NEAR) if motion.rotates else np.zeros(1)
    )
    shapes = _shapes(motion) if search.shapes else np.eye(2)[None]
    linear = search.size * (turned[:, None] @ shapes).reshape(-1, 2, 2)
    places = np.arange(-search.shifts, search.shifts + 1) * search.spacing
    shifts = np.array([(x, y) for y in places for x in places])
    centre = np.array(motif.centre)
    moved = np.tile(np.eye(3), (len(shifts), len(linear), 1, 1))
    moved[:, :, :2, :2] = linear
    moved[:, :, :2, 2] = centre - linear @ centre + shifts[:, None]
    return moved.reshape(-1, 3, 3)


def anywhere(problem: Problem, scale: int) -> NDArray[np.float64]:
    """Poses (N, 3, 3) all over the scene, motif pixels → scene pixels: the best places of a first look.

    Arguments:
        problem: the scene and the motif.
        scale: at which to look.
    """
    motif, motion = problem.motif.motif, problem.motion
    looks = PoseGrid.over(
        180.0 if motion.rotates else 0.0, _TURN, _SIZES if motion.scales else (1.0, 1.0), _RATIO
    )
    kernels = Kernels.of(Motif(motif.pixels.cpu(), motif.mask.cpu()), scale, looks, limit=_POINTS)
    corner, scene = problem.scene.middle(scale, _WORK / sum(map(len, kernels.offsets)))
    problem.tally.convolutions += 2 * len(kernels.values) / scale**2
    spots, _ = peaks(screen(scene.cpu(), kernels), kernels, _PLACES)
    linear = spots[:, 3, None, None] * _rotations(spots[:, 2])
    centre = np.array(motif.centre)
    poses = np.tile(np.eye(3), (len(spots), 1, 1))
    poses[:, :2, :2] = linear
    poses[:, :2, 2] = spots[:, :2] + corner - linear @ centre
    return poses


def _angles(apart: float, sector: float) -> NDArray[np.float64]:
    """Degrees over a sector around 0. The basin's half-width is about 10° at the coarsest scale."""
    return np.arange(apart / 2 - sector / 2, sector / 2, apart)


@cache
def _shapes(motion: Motion) -> NDArray[np.float64]:
    """Sizes and stretches (N, 2, 2) that a motion allows, the motif's own first."""
    shapes = [np.eye(2)]
    if motion.scales:
        shapes += [scale * np.eye(2) for scale in _SCALES]
    if motion.shears:
        axes = _rotations(np.array((0.0, 45.0, 90.0, 135.0)))
        shapes += list(axes @ np.diag((_STRETCH, 1 / _STRETCH)) @ axes.transpose(0, 2, 1))
    return np.stack(shapes)


def _rotations(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    return rotation(torch.from_numpy(degrees).deg2rad()).numpy()

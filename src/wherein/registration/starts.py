"""Starts of a search: poses rotated, scaled, stretched and shifted about the centre of a motif."""

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.images.motif import Motif
from wherein.motion.models import Motion, rotation
from wherein.pyramid.first_search import Kernels, PoseGrid, peaks, screen
from wherein.registration.plan import MultiStart
from wherein.registration.problem import Problem

_SCALES = (0.7, 0.85, 1.18, 1.4)
"""Scales of the starts besides 1. A choice: factors of about 1.2, within the basin of attraction."""

_STRETCH = 1.2
"""Factor by which starts are stretched along one axis and shrunk along the other. A choice as `_SCALES`."""

_SECTOR = 75.0
"""Width of the sector, in degrees, that is searched around a given start. A choice: five starts 15° apart."""

_ANGLE_STEP = 12.0
"""Degrees between the rotations of `anywhere`. A choice: the basin of attraction reaches about 10° to each
side at the coarsest scale."""

_SCALE_RANGE, _SCALE_RATIO = (0.75, 1.33), 1.15
"""The range of scales of `anywhere`, and the largest factor between two of them. A choice: each additional
scale costs as much as all rotations at one scale."""

_MAX_STARTS = 64
"""Maximum number of places that `anywhere` returns: as many as the first stage of a search keeps."""

_MAX_POINTS = 100
"""Maximum number of motif pixels that `anywhere` compares. A choice: its maxima are only starts."""

_MAX_WORK = 4e9
"""Maximum number of comparisons of single pixels in `anywhere`. A choice: under a second. If a scene would
need more, only its middle is searched."""


def around(motion: Motion, motif: Motif, search: MultiStart, everywhere: bool) -> NDArray[np.float64]:
    """Poses (N, 3, 3) about the motif's centre, motif pixels → motif pixels.

    Arguments:
        motion: how the motif may move; only rotations, scales and stretches that it allows are used.
        motif: its size determines the centre.
        search: the density and the range of the starts.
        everywhere: whether to try every rotation instead of those near the start only.
    """
    rotated = _rotations(
        _angles(search.turns, 360.0 if everywhere else _SECTOR) if motion.rotates else np.zeros(1)
    )
    # Stretched before they are rotated: the axes of a stretch belong to the motif.
    shapes = _shapes(motion) if search.shapes else np.eye(2)[None]
    linear = search.size * (rotated[:, None] @ shapes).reshape(-1, 2, 2)
    places = np.arange(-search.shifts, search.shifts + 1) * search.spacing
    shifts = np.array([(x, y) for y in places for x in places])
    centre = np.array(motif.centre)
    moved = np.tile(np.eye(3), (len(shifts), len(linear), 1, 1))
    moved[:, :, :2, :2] = linear
    moved[:, :, :2, 2] = centre - linear @ centre + shifts[:, None]  # x ↦ A (x − c) + c + shift
    return moved.reshape(-1, 3, 3)


def anywhere(problem: Problem, scale: int) -> NDArray[np.float64]:
    """Poses (N, 3, 3) at the best places of the whole scene, motif pixels → scene pixels.

    These are the highest local maxima of ZNCC, computed at every place for a grid of rotations and scales.

    Arguments:
        problem: the scene and the motif.
        scale: the factor by which both are reduced.
    """
    motif, motion = problem.motif.motif, problem.motion
    grid = PoseGrid.over(
        180.0 if motion.rotates else 0.0,
        _ANGLE_STEP,
        _SCALE_RANGE if motion.scales else (1.0, 1.0),
        _SCALE_RATIO,
    )
    # Copied to the CPU, since `screen` is numpy and C.
    kernels = Kernels.of(Motif(motif.pixels.cpu(), motif.mask.cpu()), scale, grid, limit=_MAX_POINTS)
    corner, scene = problem.scene.middle(scale, _MAX_WORK / sum(map(len, kernels.offsets)))
    # Each kernel is correlated with the reduced scene and with its square.
    problem.tally.convolutions += 2 * len(kernels.values) / scale**2
    # ZNCC of different rotations at one place are correlated; `peaks` keeps one for each sector and place.
    spots, _ = peaks(screen(scene.cpu(), kernels), kernels, _MAX_STARTS)
    linear = spots[:, 3, None, None] * _rotations(spots[:, 2])
    centre = np.array(motif.centre)
    poses = np.tile(np.eye(3), (len(spots), 1, 1))
    poses[:, :2, :2] = linear
    poses[:, :2, 2] = spots[:, :2] + corner - linear @ centre
    return poses


def _angles(apart: float, sector: float) -> NDArray[np.float64]:
    """Angles in degrees over a sector around 0. The basin's half-width is about 10° at the coarsest scale."""
    # They begin half a step inside the sector, so that a full circle does not have an angle twice.
    return np.arange(apart / 2 - sector / 2, sector / 2, apart)


@cache
def _shapes(motion: Motion) -> NDArray[np.float64]:
    """Scalings and stretches (N, 2, 2) that a motion allows; the identity is the first."""
    shapes = [np.eye(2)]
    if motion.scales:
        shapes += [scale * np.eye(2) for scale in _SCALES]
    if motion.shears:
        # R diag(s, 1/s) Rᵀ: stretched along the axis at each angle, with the area preserved.
        axes = _rotations(np.array((0.0, 45.0, 90.0, 135.0)))
        shapes += list(axes @ np.diag((_STRETCH, 1 / _STRETCH)) @ axes.transpose(0, 2, 1))
    return np.stack(shapes)


def _rotations(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    return rotation(torch.from_numpy(degrees).deg2rad()).numpy()

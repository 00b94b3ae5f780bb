"""Poses to begin a search from: turned, scaled, stretched and shifted about a motif's centre."""

from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.images.motif import Motif
from wherein.motion import Motion, rotation
from wherein.pyramid.register_pyramid import Pyramid
from wherein.pyramid.screen import Kernels, Looks, peaks, screen
from wherein.registration.plan import Search

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
    size = motion.size if search.shapes else min(motion.size, 3)
    linear = search.size * _linear(size, search.turns, 360.0 if everywhere else _NEAR)
    places = np.arange(-search.shifts, search.shifts + 1) * search.spacing
    shifts = np.array([(x, y) for y in places for x in places])
    centre = np.array(((motif.width - 1) / 2, (motif.height - 1) / 2))
    moved = np.tile(np.eye(3), (len(shifts), len(linear), 1, 1))
    moved[:, :, :2, :2] = linear
    moved[:, :, :2, 2] = centre - linear @ centre + shifts[:, None]
    return moved.reshape(-1, 3, 3)


def anywhere(pyramid: Pyramid, scale: int) -> NDArray[np.float64]:
    """Poses (N, 3, 3) all over the scene, motif pixels → scene pixels: the best places of a first look.

    Arguments:
        pyramid: the scene and the motif.
        scale: at which to look.
    """
    motif, parameters = pyramid.motif, pyramid.motion.size
    looks = Looks.over(
        180.0 if parameters > 2 else 0.0, _TURN, _SIZES if parameters >= 4 else (1.0, 1.0), _RATIO
    )
    kernels = Kernels.of(Motif(motif.pixels.cpu(), motif.mask.cpu()), scale, looks, limit=_POINTS)
    corner, scene = pyramid.middle(scale, _WORK / sum(map(len, kernels.offsets)))
    pyramid.tally.convolutions += 2 * len(kernels.values) / scale**2
    spots, _ = peaks(screen(scene.cpu(), kernels), kernels, _PLACES)
    linear = spots[:, 3, None, None] * _rotations(spots[:, 2])
    centre = np.array(((motif.width - 1) / 2, (motif.height - 1) / 2))
    poses = np.tile(np.eye(3), (len(spots), 1, 1))
    poses[:, :2, :2] = linear
    poses[:, :2, 2] = spots[:, :2] + corner - linear @ centre
    return poses


@cache
def _linear(size: int, turns: float, sector: float) -> NDArray[np.float64]:
    """Rotations `turns` degrees apart over a sector around 0, each with every shape that `size` allows.

    The basin's half-width is about 10° at the coarsest scale.
    """
    angles = np.arange(turns / 2 - sector / 2, sector / 2, turns) if size > 2 else np.zeros(1)
    shapes = [np.eye(2)]
    if size >= 4:
        shapes += [scale * np.eye(2) for scale in _SCALES]
    if size >= 6:
        axes = _rotations(np.array((0.0, 45.0, 90.0, 135.0)))
        shapes += list(axes @ np.diag((_STRETCH, 1 / _STRETCH)) @ axes.transpose(0, 2, 1))
    linear: NDArray[np.float64] = _rotations(angles)[:, None] @ np.stack(shapes)
    return linear.reshape(-1, 2, 2)


def _rotations(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    return rotation(torch.from_numpy(degrees).deg2rad()).numpy()

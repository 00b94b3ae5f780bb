"""The parts of a scene in which poses lie, and their channels.

A pose is compared at the level of the scene at which object and motif have the same size. The channels of a
whole large level would take 32 bytes for each pixel, and most of them are not needed. So channels of a large
level are computed for squares, or for the neighbourhoods of poses.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.channels import ChannelSettings, channels
from wherein.motion.homography import mapped, scales
from wherein.planes.plane_motif import PlaneMotif
from wherein.planes.rectify import SIZE_STEP, frame_at, part_at, scene_at, size_at
from wherein.pyramid.levels import Box, Poses, ScenePyramid

_MAX_KEPT = 1_000_000
"""Maximum number of pixels of a level whose channels are computed as a whole, and kept for other motifs. A
choice: 32 MB."""

_Channels = tuple[Float[Tensor, "8 h w"], NDArray[np.float64]]
"""Channels of a scene at a level, and the matrix from its pixels to those at full size."""

_SQUARE, _STRETCH = 1024, 1.9
"""Width in pixels of the squares of larger levels in which places are rated; and by how much a tilted motif
may be longer than an upright one of the same area. Choices: 48 MB; at a tilt of 70° it is 1.7, which is 1 /
√cos 70°."""

_DRIFT, _AROUND = 0.25, 12
"""Maximum move of a pose during refinement, as a share of its size; and the distance in pixels within which a
picture affects its channels. Choices: a pose that moves further has left the object on which it was found."""

_SHARE = 64
"""Number of poses in a task of a thread that refines. A choice: a millisecond of work."""


@dataclass(frozen=True, eq=False)
class ScenePart:
    """Poses in a part of a scene at one level.

    Attributes:
        number: of the level.
        box: the part, in pixels of the scene at that level; None: all of it.
        poses: their indices.
    """

    number: int
    box: Box | None
    poses: NDArray[np.int64]

    def shares(self) -> "list[ScenePart]":
        """This part divided into tasks of a few poses for threads."""
        # The channels of a box are computed where they are used: every further task would compute them again.
        if self.box is not None:
            return [self]
        some = np.array_split(self.poses, max(1, len(self.poses) // _SHARE))
        return [replace(self, poses=share) for share in some]


def parts_with_poses(
    scene: ScenePyramid,
    numbers: NDArray[np.int64],
    divided: Callable[[int, NDArray[np.int64]], list[ScenePart]],
) -> list[ScenePart]:
    """Poses grouped by their level, the finest first; those of a large level are divided further.

    The part of a pose depends on this pose alone, so that its result does not depend on which others there
    are.

    Arguments:
        scene: the scene.
        numbers: the level of each pose, (B,).
        divided: returns the parts of a level, given its number and the indices of its poses.
    """
    made = []
    for number in np.unique(numbers).tolist():
        chosen = np.flatnonzero(numbers == number)
        made += [ScenePart(number, None, chosen)] if fits_whole(scene, number) else divided(number, chosen)
    return made


def squares(
    scene: ScenePyramid, motif: PlaneMotif, poses: Poses, number: int, chosen: NDArray[np.int64]
) -> list[ScenePart]:
    """The squares of a level in which the middles of poses lie, each enlarged by the reach of a motif."""
    # Half of the diagonal, so that the motif has room at every rotation about its middle.
    size, reach = size_at(scene, number), _STRETCH * math.hypot(*motif.size) / 2 + _AROUND
    middles = mapped(np.linalg.inv(frame_at(scene, number)) @ poses[chosen], [motif.centre])[:, 0]
    cells = np.clip(np.nan_to_num(middles) // _SQUARE, 0, np.array(size) // _SQUARE).astype(np.int64)
    return [
        ScenePart(number, _box(_SQUARE * cell, _SQUARE * (cell + 1), reach, size), chosen[own])
        for cell in np.unique(cells, axis=0)
        for own in [np.flatnonzero((cells == cell).all(1))]
    ]


def neighbourhoods(
    scene: ScenePyramid, motif: PlaneMotif, poses: Poses, number: int, chosen: NDArray[np.int64]
) -> list[ScenePart]:
    """The part of a level around each pose, with room for its moves during refinement."""
    right, bottom = motif.size[0] - 1, motif.size[1] - 1
    corners = np.array(((0, 0), (right, 0), (right, bottom), (0, bottom)), dtype=np.float64)
    ends = np.nan_to_num(mapped(np.linalg.inv(frame_at(scene, number)) @ poses[chosen], corners))
    size, reach = size_at(scene, number), _DRIFT * max(motif.size) + _AROUND
    return [
        ScenePart(number, _box(own.min(0), own.max(0), reach, size), chosen[k : k + 1])
        for k, own in enumerate(ends)
    ]


def _box(
    low: NDArray[np.number[Any]], high: NDArray[np.number[Any]], reach: float, size: tuple[int, int]
) -> Box:
    """A box in a level, enlarged by `reach` and clipped to the level.

    At least two pixels wide, even for a box outside the level: interpolation needs two.
    """
    left, top = (int(np.clip(at - reach, 0, side - 2)) for at, side in zip(low, size, strict=True))
    right, bottom = (int(np.clip(at + reach + 1, 2, side)) for at, side in zip(high, size, strict=True))
    return left, top, max(right, left + 2), max(bottom, top + 2)


def inside(scene: ScenePyramid, poses: Poses, corners: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which poses have all corners of a motif in the scene, (B,)."""
    ends = mapped(poses, corners)
    return np.asarray(((ends >= 0) & (ends <= np.array(scene.size) - 1.0)).all((1, 2)))


def at_levels(motif: PlaneMotif, poses: Poses) -> tuple[Poses, NDArray[np.int64]]:
    """Poses of the motif at its own resolution, and the level of the scene with the closest resolution."""
    own = poses @ np.linalg.inv(motif.from_full)
    # Rounded in steps of SIZE_STEP, so object and motif differ in size by √SIZE_STEP, or 9 %, at most.
    # At least 1: the scene is reduced to the motif's resolution, but never enlarged.
    sizes = np.maximum(np.nan_to_num(scales(own, motif.centre)), 1.0)
    return own, np.round(np.log(sizes) / math.log(SIZE_STEP)).astype(np.int64)


def fits_whole(scene: ScenePyramid, number: int) -> bool:
    """Whether the channels of a level are computed as a whole."""
    return math.prod(size_at(scene, number)) <= _MAX_KEPT


def whole_channels(scene: ScenePyramid, settings: ChannelSettings, number: int) -> _Channels:
    """Channels of a whole level of the scene, and the matrix from its pixels to those at full size."""
    key = "channels", settings, number
    known = scene.kept.get(key)
    if known is None:
        known = scene.kept[key] = _channels_of(*scene_at(scene, number), settings)
    return known  # type: ignore[return-value]


def part_channels(scene: ScenePyramid, motif: PlaneMotif, part: ScenePart) -> _Channels:
    """Channels of a part of the scene, and the matrix from its pixels to those at full size."""
    if part.box is None:
        return whole_channels(scene, motif.settings, part.number)
    return _channels_of(*part_at(scene, part.number, part.box), motif.settings)


def _channels_of(
    picture: Float[Tensor, "C h w"], to_full: NDArray[np.float64], settings: ChannelSettings
) -> _Channels:
    # Stored as (h, w, 8): a pose reads all channels of a pixel at once. Viewed as (8, h, w) as elsewhere.
    return channels(picture, settings).movedim(0, -1).contiguous().movedim(-1, 0), to_full

"""The C functions that fit and rate poses of a flat motif by its channels."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.errors import ArgumentError
from wherein.native import abi, kernel, structs
from wherein.native.pointers import planes_of, pointer

_Fits = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Poses, ZNCC and visible fractions."""


Levels: TypeAlias = "ctypes.Array[structs.Planes]"
"""The levels of a scene in the form that C needs."""


def levels_of(levels: Sequence[Float[Tensor, "C _ _"]], missing: int = 0) -> Levels:
    """The levels of a scene for C, which reads them in place: keep them alive as long as C uses them.

    Arguments:
        levels: each has half the size of the one before; contiguous.
        missing: number of finer levels that are not available; numbers of levels include them.
    """
    # Placeholders, so that the number of a level does not depend on which levels are available.
    absent = (
        structs.Planes(pixels=None, plane_stride=0, row_stride=0, channels=len(levels[0]), height=0, width=0)
        for _ in range(missing)
    )
    return (structs.Planes * (missing + len(levels)))(*absent, *map(planes_of, levels))


def fit_planes(
    levels: Levels,
    motif: structs.PlaneMotifArrays,
    rules: structs.PlaneRules,
    poses: NDArray[np.float64],
    finest: NDArray[np.int32],
) -> _Fits:
    """`wherein.planes.plane_fit.fit_planes`: poses, ZNCC and visible fractions.

    Arguments:
        levels: from `levels_of`.
        motif, rules: in the form that C needs.
        poses: pixels of the motif at its resolution → pixels of the first level, (B, 3, 3).
        finest: number of the finest level that each pose may be compared with, (B,).

    Raises:
        ArgumentError: one of these levels is missing.
    """
    _check_finest(levels, finest)
    return _fitted("wherein_fit_planes", levels, (motif, rules), poses, finest)


def uncover(
    levels: Levels,
    motif: structs.PlaneMotifArrays,
    rules: structs.PlaneRules,
    cover: structs.CoverRules,
    poses: NDArray[np.float64],
    finest: NDArray[np.int32],
) -> NDArray[np.float64]:
    """`wherein.planes.cover.fit_uncovered`: the poses; identical to those given where nothing is occluded.

    Arguments:
        levels, motif, rules, poses, finest: see `fit_planes`.
        cover: the constants that decide what is occluded.

    Raises:
        ArgumentError: one of these levels is missing.
    """
    _check_finest(levels, finest)
    found, _, _ = _fitted("wherein_uncover", levels, (motif, rules, cover), poses, finest)
    return found


def distinct(
    corners: NDArray[np.float64],
    middles: NDArray[np.float64],
    sizes: NDArray[np.float64],
    zncc: NDArray[np.float64],
    most: int,
    thresholds: tuple[float, float, float],
) -> NDArray[np.int32]:
    """`wherein.planes.look.pose_filter.PoseFilter.distinct`: the indices of the poses that are kept.

    Arguments:
        corners, middles, sizes, zncc: of the poses, the best first: (B, 4, 2), (B, 2), (B,) and (B,).
        most: maximum number of poses that are kept.
        thresholds: `same_place`, `same_middle` and `worse` of `structs.DistinctPoses`.
    """
    count = len(zncc)
    kept, number = np.empty(count, dtype=np.int32), np.zeros(1, dtype=np.int32)
    same_place, same_middle, worse = thresholds
    poses = structs.DistinctPoses(
        corners=pointer(corners, (count, 4, 2), np.float64),
        middles=pointer(middles, (count, 2), np.float64),
        sizes=pointer(sizes, (count,), np.float64),
        zncc=pointer(zncc, (count,), np.float64),
        same_place=same_place,
        same_middle=same_middle,
        worse=worse,
        count=count,
    )
    at, to = pointer(kept, (count,), np.int32), pointer(number, (1,), np.int32)
    kernel.call("wherein_distinct", poses, min(most, count), at, to)
    return kept[: number[0]]


def _check_finest(levels: Levels, finest: NDArray[np.int32]) -> None:
    if len(finest) and not (finest.min() >= 0 and finest.max() < len(levels) and levels[finest.min()].pixels):
        raise ArgumentError(f"levels {finest.min()} to {finest.max()} are not all among the levels for C")


def rate_poses(
    channels: Float[Tensor, "H W 8"],
    inside: Bool[Tensor, "H W"] | None,
    motif: structs.PlaneMotifArrays,
    rules: structs.PlaneRules,
    poses: NDArray[np.float64],
) -> NDArray[np.float64]:
    """`wherein.planes.rating` on one picture: the ZNCC of each pose.

    Arguments:
        channels: of the picture, contiguous.
        inside: which of its pixels lie in the scene, contiguous; None: all.
        motif, rules: in the form that C needs.
        poses: pixels of the motif at its resolution → pixels of the picture, affine, (B, 3, 3).
    """
    _, zncc, _ = _fitted("wherein_rate_poses", _channel_picture(channels, inside), (motif, rules), poses)
    return zncc


def refine_poses(
    channels: Float[Tensor, "H W 8"],
    inside: Bool[Tensor, "H W"] | None,
    motif: structs.PlaneMotifArrays,
    rules: structs.PlaneRules,
    poses: NDArray[np.float64],
) -> _Fits:
    """Refined poses with their ZNCC and visible fractions; the arguments are those of `rate_poses`."""
    return _fitted("wherein_refine_poses", _channel_picture(channels, inside), (motif, rules), poses)


@dataclass(frozen=True, eq=False)
class PoseKinds:
    """Poses of many motifs in many pictures.

    Attributes:
        pictures: the channels of each, (H, W, 8), contiguous.
        motifs: in the form that C needs.
        picture, motif: the numbers of picture and motif for each pose, (B,); poses of a motif should be
            adjacent.
    """

    pictures: Sequence[Float[Tensor, "_ _ 8"]]
    motifs: Sequence[structs.PlaneMotifArrays]
    picture: NDArray[np.int32]
    motif: NDArray[np.int32]

    def in_c(self, count: int) -> tuple[structs.PoseKinds, tuple[Any, ...]]:
        """The struct for C, and the objects that it points to: keep these alive as long as C uses it.

        Raises:
            ArgumentError: a number is not that of a picture or motif.
        """
        for numbers, of in ((self.picture, self.pictures), (self.motif, self.motifs)):
            if count and not (numbers.min() >= 0 and numbers.max() < len(of)):
                raise ArgumentError(f"poses of {numbers.min()} to {numbers.max()}, but there are {len(of)}")
        pictures = (structs.ChannelPicture * len(self.pictures))(
            *(_channel_picture(one, None) for one in self.pictures)
        )
        motifs = (structs.PlaneMotifArrays * len(self.motifs))(*self.motifs)
        kinds = structs.PoseKinds(
            pictures=ctypes.addressof(pictures),
            motifs=ctypes.addressof(motifs),
            picture=pointer(self.picture, (count,), np.int32),
            motif=pointer(self.motif, (count,), np.int32),
        )
        return kinds, (pictures, motifs)


def rate_many(kinds: PoseKinds, rules: structs.PlaneRules, poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """`rate_poses` for poses of many motifs: pixels of the motif at its resolution → those of its picture."""
    known, kept = kinds.in_c(len(poses))
    _, zncc, _ = _fitted("wherein_rate_many", known, (rules,), poses)
    del kept  # alive until here: the struct holds only addresses
    return zncc


def refine_many(kinds: PoseKinds, rules: structs.PlaneRules, poses: NDArray[np.float64]) -> _Fits:
    """`refine_poses` for poses of many motifs; the arguments are those of `rate_many`."""
    known, kept = kinds.in_c(len(poses))
    found = _fitted("wherein_refine_many", known, (rules,), poses)
    del kept  # alive until here: the struct holds only addresses
    return found


def _fitted(
    function: str,
    picture: "structs.ChannelPicture | structs.PoseKinds | Levels",
    settings: tuple[ctypes.Structure, ...],
    poses: NDArray[np.float64],
    finest: NDArray[np.int32] | None = None,
) -> _Fits:
    """Call a function with a copy of the poses; returns poses, ZNCC and visible fractions.

    `settings` are the function's arguments between the picture and the poses.
    """
    count = len(poses)
    found = np.array(poses, dtype=np.float64, order="C")  # a copy, as C writes the results into it
    zncc, visible = np.zeros(count), np.zeros(count)
    fits = structs.PlaneFits(
        poses=pointer(found, (count, 3, 3), np.float64),
        zncc=pointer(zncc, (count,), np.float64),
        visible=pointer(visible, (count,), np.float64),
        finest=None if finest is None else pointer(finest, (count,), np.int32),
        count=count,
    )
    kernel.call(function, picture, *settings, fits)
    return found, zncc, visible


def _channel_picture(
    channels: Float[Tensor, "H W 8"], inside: Bool[Tensor, "H W"] | None
) -> structs.ChannelPicture:
    height, width, _ = channels.shape
    return structs.ChannelPicture(
        channels=pointer(channels, (height, width, abi.DIRECTIONS)),
        inside=None if inside is None else pointer(inside, (height, width), torch.bool),
        height=height,
        width=width,
    )

"""The functions of the C library, on tensors.

Ask `accepts` first. The functions check nothing: they hand pointers to C.
"""

import ctypes
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8, UInt16
from numpy.typing import NDArray
from torch import Tensor

from wherein.native import abi

if TYPE_CHECKING:
    from wherein.native.library import Library

_Counts = Int[Tensor, " B"]

_FLOAT = 4
"""Bytes of a float32."""


@cache
def _loaded() -> "tuple[Library | None, str]":
    # Here and not above: what finds, compiles and checks the library is needed once, on first use.
    from wherein.native.library import UnavailableError, cache_folder, load

    try:
        with suppress(OSError):  # no home, or no folder yet
            _remove_unsafe(cache_folder())
        loaded = load()
        if loaded.source == "compiled" and loaded.file.exists():
            loaded.file.chmod(0o600)  # the compiler left it as the umask allows
        return loaded, ""
    except UnavailableError as error:
        return None, str(error)
    except ValueError as error:  # the command in CC cannot be parsed
        return None, f"CC={os.environ.get('CC', '')}: {error}"


def _remove_unsafe(folder: Path) -> None:
    """Remove compiled libraries that another user could have changed: to load one is to run it."""
    for file in folder.glob("*.so"):
        mode = file.lstat().st_mode
        if not stat.S_ISREG(mode) or mode & (stat.S_IWGRP | stat.S_IWOTH):
            file.unlink()


def library() -> "Library | None":
    """The library, or None; the first call loads it, and compiles it if need be."""
    return _loaded()[0]


def available() -> bool:
    """Whether there is a library."""
    return library() is not None


def reason() -> str:
    """Why there is no library; empty where there is one."""
    return _loaded()[1]


def accepts(*tensors: Tensor) -> bool:
    """Whether C can take these tensors: float32, on the CPU, and no gradient is asked for."""
    plain = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors)
    graph = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
    return plain and not graph and available()


def align(
    scene: Float[Tensor, "C H W"],
    points: Float[Tensor, "N 2"],
    known: Float[Tensor, "N C K"],
    unit: Float[Tensor, " P"],
    radius: Float[Tensor, ""],
    motion: abi.MotionKind,
    poses: Float[Tensor, "B 3 3"],
    rules: abi.SolverRules,
) -> tuple[Float[Tensor, "B 3 3"], Float[Tensor, " B"], _Counts, _Counts, _Counts]:
    """`gauss_newton` of a `CorrelationObjective`.

    Arguments:
        scene: of the surface.
        points, known, unit, radius: of the motif's side.
        motion: for which the side was made.
        poses: where to start.
        rules: of the solver and of the objective.

    Returns:
        Poses, costs, steps taken, evaluations of the cost, and statuses (indices into `abi.STATUSES`).
    """
    # The layout that C needs is the one that `motif_side` leaves, so nothing is copied here.
    points, known = points.mT.contiguous(), known.permute(1, 2, 0).contiguous()
    unit, scene = _with_contiguous_rows(unit, scene)
    found, batch = poses.clone(memory_format=torch.contiguous_format), len(poses)
    costs, (steps, evaluations) = found.new_empty(batch), found.new_empty(2, batch, dtype=torch.int64)
    statuses = found.new_empty(batch, dtype=torch.int32)
    side = abi.SideArrays(
        centre=None,
        radius=radius.data_ptr(),
        unit=unit.data_ptr(),
        points=points.data_ptr(),
        known=known.data_ptr(),
        motion=motion,
        count=points.shape[1],
    )
    fits = abi.FitArrays(
        poses=found.data_ptr(),
        costs=costs.data_ptr(),
        steps=steps.data_ptr(),
        evaluations=evaluations.data_ptr(),
        statuses=statuses.data_ptr(),
        count=batch,
    )
    _call("wherein_align", _planes(scene), side, rules, fits)
    return found, costs, steps, evaluations, statuses


def motif_side(
    pixels: Float[Tensor, "C h w"], mask: Float[Tensor, "h w"], motion: abi.MotionKind, rules: abi.SideRules
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The fields of a `MotifSide`: centre, radius, unit, points and known."""
    pixels, mask = _with_contiguous_rows(pixels, mask)
    channels, size, most = len(pixels), motion.parameters, min(rules.limit, mask.numel())
    columns, points, known = size + 1, 3 + size, 3 + size + 2 * most
    out = pixels.new_empty(known + channels * columns * most)  # one for all: allocating takes microseconds
    start = out.data_ptr()
    side = abi.SideArrays(
        centre=start,
        radius=start + 2 * _FLOAT,
        unit=start + 3 * _FLOAT,
        points=start + points * _FLOAT,
        known=start + known * _FLOAT,
        motion=motion,
        count=0,
    )
    _call("wherein_motif_side", _planes(pixels), _planes(mask[None]), rules, side)
    n = side.count
    return (
        out[:2],
        out[2],
        out[3:points],
        out.as_strided((n, 2), (1, n), points),
        out.as_strided((n, channels, columns), (1, columns * n, n), known),
    )


def pool(pixels: Float[Tensor, "C H W"], factor: int) -> Float[Tensor, "C h w"]:
    """`wherein.images.pool.pool`."""
    (pixels,) = _with_contiguous_rows(pixels)
    channels, height, width = pixels.shape
    out = pixels.new_empty(channels, height // factor, width // factor)
    _call("wherein_pool", _planes(pixels), factor, out.data_ptr())
    return out


def separable(picture: Float[Tensor, "*B H W"], taps: Float[Tensor, " K"]) -> Float[Tensor, "*B H W"]:
    """`wherein.images.gaussian.separable`."""
    picture, taps = picture.contiguous(), taps.contiguous()
    out = torch.empty_like(picture)
    if picture.numel():
        planes = _planes(picture.reshape(-1, *picture.shape[-2:]))
        _call("wherein_separable", planes, taps.data_ptr(), len(taps), out.data_ptr())
    return out


def screen(
    padded: Float[Tensor, "2 h w"],
    margin: int,
    kernels: tuple[Int[Tensor, " M"], Float[Tensor, " M"], Int[Tensor, " A"]],
    first: int,
    min_variance: float,
    best: Float[Tensor, "H W"],
    which: Int[Tensor, "H W"],
) -> None:
    """The best ZNCC over some kernels at every place, into `best` and `which` where it is better.

    Arguments:
        padded: the scene, one channel, and its square; `margin` pixels larger on each side, and at least
            `abi.SCREEN_SPAN` more to the right.
        margin: how far the centre of the first place lies from the corner, along both axes.
        kernels: for every point the offset of its pixel from that of the centre, in floats; its value; and
            for every kernel its number of points. Integers are int32.
        first: the number of the first kernel.
        min_variance: a place with less counts as flat.
        best, which: float32 and int32, contiguous.
    """
    offsets, values, counts = kernels
    height, width = best.shape
    places = abi.Planes(
        pixels=padded[:, margin:, margin:].data_ptr(),
        plane_stride=padded.stride(0),
        row_stride=padded.stride(1),
        channels=1,
        height=height,
        width=width,
    )
    points = abi.ScreenKernels(
        offsets=offsets.data_ptr(),
        values=values.data_ptr(),
        counts=counts.data_ptr(),
        count=len(counts),
        first=first,
    )
    maps = abi.ScreenMaps(best=best.data_ptr(), which=which.data_ptr())
    _call("wherein_screen", places, points, min_variance, maps)


def channels(
    picture: Float[Tensor, "C H W"], taps: Float[Tensor, " K"], floor: float, noise: float, window: int
) -> Float[Tensor, "H W 8"]:
    """`wherein.images.channels.channels`, with the channels of a pixel side by side."""
    (picture,) = _with_contiguous_rows(picture)
    taps = taps.contiguous()
    out = picture.new_empty(*picture.shape[-2:], abi.DIRECTIONS)
    _call("wherein_channels", _planes(picture), channel_rules(taps, floor, noise, window), out.data_ptr())
    return out


def channel_rules(taps: Float[Tensor, " K"], floor: float, noise: float, window: int) -> abi.ChannelRules:
    """The rules as C wants them; `taps` must be contiguous, and kept for as long as they are used."""
    return abi.ChannelRules(taps=taps.data_ptr(), floor=floor, noise=noise, window=window, count=taps.numel())


def fit_planes(
    levels: Sequence[Float[Tensor, "C _ _"]],
    motif: abi.PlaneMotifArrays,
    rules: abi.PlaneRules,
    poses: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """`wherein.planes.plane_fit.fit_planes`: poses, ZNCC and visible fractions.

    Arguments:
        levels: the scene, each level half of the last; contiguous.
        motif, rules: as C wants them.
        poses: pixels of the motif at its resolution → pixels of the first level, (B, 3, 3).
    """
    found = np.ascontiguousarray(poses, dtype=np.float64).copy()
    zncc, visible = np.empty(len(found)), np.empty(len(found))
    fits = abi.PlaneFits(
        poses=found.ctypes.data, zncc=zncc.ctypes.data, visible=visible.ctypes.data, count=len(found)
    )
    planes = (abi.Planes * len(levels))(*map(_planes, levels))
    _call("wherein_fit_planes", planes, motif, rules, fits)
    return found, zncc, visible


def rate_poses(
    channels: Float[Tensor, "H W 8"],
    inside: Bool[Tensor, "H W"] | None,
    motif: abi.PlaneMotifArrays,
    rules: abi.PlaneRules,
    poses: NDArray[np.float64],
) -> NDArray[np.float64]:
    """`wherein.planes.rating` on one picture: the ZNCC of each pose.

    Arguments:
        channels: of the picture, contiguous.
        inside: which of its pixels lie in the scene, contiguous; None: all.
        motif, rules: as C wants them.
        poses: pixels of the motif at its resolution → pixels of the picture, affine, (B, 3, 3).
    """
    poses = np.ascontiguousarray(poses, dtype=np.float64)
    zncc = np.empty(len(poses))
    fits = abi.PlaneFits(poses=poses.ctypes.data, zncc=zncc.ctypes.data, visible=None, count=len(poses))
    _call("wherein_rate_poses", _channel_picture(channels, inside), motif, rules, fits)
    return zncc


def refine_poses(
    channels: Float[Tensor, "H W 8"],
    inside: Bool[Tensor, "H W"] | None,
    motif: abi.PlaneMotifArrays,
    rules: abi.PlaneRules,
    poses: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The same after a descent on that picture: poses, ZNCC and visible fractions; arguments likewise."""
    found = np.ascontiguousarray(poses, dtype=np.float64).copy()
    zncc, visible = np.empty(len(found)), np.empty(len(found))
    fits = abi.PlaneFits(
        poses=found.ctypes.data, zncc=zncc.ctypes.data, visible=visible.ctypes.data, count=len(found)
    )
    _call("wherein_refine_poses", _channel_picture(channels, inside), motif, rules, fits)
    return found, zncc, visible


def _channel_picture(
    channels: Float[Tensor, "H W 8"], inside: Bool[Tensor, "H W"] | None
) -> abi.ChannelPicture:
    return abi.ChannelPicture(
        channels=channels.data_ptr(),
        inside=None if inside is None else inside.data_ptr(),
        height=channels.shape[0],
        width=channels.shape[1],
    )


def rectify(
    scene: Float[Tensor, "C H W"], matrix: NDArray[np.float64], height: int, width: int
) -> tuple[Float[Tensor, "C h w"], Bool[Tensor, "h w"]]:
    """`wherein.planes.rectify.rectify`."""
    (scene,) = _with_contiguous_rows(scene)
    matrix = np.ascontiguousarray(matrix, dtype=np.float64)
    out = scene.new_empty(len(scene), height, width)
    inside = scene.new_empty(height, width, dtype=torch.bool)
    _call(
        "wherein_rectify",
        _planes(scene),
        matrix.ctypes.data,
        height,
        width,
        out.data_ptr(),
        inside.data_ptr(),
    )
    return out, inside


def features(
    picture: Float[Tensor, "C H W"],
    rules: abi.ChannelRules,
    gain: float,
    responses: UInt8[Tensor, "12 4 h w"],
    margin: int,
) -> None:
    """The responses of a picture for each direction and phase, into `responses`, `margin` from its edges."""
    (picture,) = _with_contiguous_rows(picture)
    maps = abi.FeatureMaps(
        responses=responses.data_ptr(), height=responses.shape[2], width=responses.shape[3], margin=margin
    )
    _call("wherein_features", _planes(picture), rules, gain, maps)


def look(
    responses: UInt8[Tensor, "12 4 h w"],
    margin: int,
    size: tuple[int, int],
    offsets: Int[Tensor, "T N"],
) -> tuple[UInt16[Tensor, "H row"], UInt16[Tensor, "H row"]]:
    """For each place the highest sum of responses over all templates, and the number of that template.

    Rows are filled up to a multiple of `abi.LOOK_SPAN`.

    Arguments:
        responses: of a scene, with enough margin for every offset.
        margin: how far the first place lies from the edges of each plane.
        size: height and width of the places.
        offsets: of each feature of each template, in bytes from a place of the first plane; int32.
    """
    height, width = size
    row = -(-width // abi.LOOK_SPAN) * abi.LOOK_SPAN
    best = torch.empty(height, row, dtype=torch.uint16)
    which = torch.empty(height, row, dtype=torch.uint16)
    places = abi.LookPlaces(stride=responses.shape[3], height=height, width=width, row=row)
    first = responses.data_ptr() + margin * responses.shape[3] + margin
    count, each = offsets.shape
    _call("wherein_look", first, places, offsets.data_ptr(), count, each, best.data_ptr(), which.data_ptr())
    return best, which


def energy(responses: UInt8[Tensor, "12 4 h w"], margin: int, size: tuple[int, int]) -> Int[Tensor, "H W"]:
    """The energy of `wherein.planes.features.Responses`, summed from the corner."""
    maps = abi.FeatureMaps(
        responses=responses.data_ptr(), height=responses.shape[2], width=responses.shape[3], margin=margin
    )
    table = torch.empty(size[0] + 1, size[1] + 1, dtype=torch.int64)
    _call("wherein_energy", maps, *size, table.data_ptr())
    return table


def rate_places(
    best: UInt16[Tensor, "H row"], width: int, table: Int[Tensor, "h w"], window: int, quiet: float
) -> Float[Tensor, "H W"]:
    """Sums of responses over the root of the mean energy around each place.

    Arguments:
        best: of `look`.
        width: of the places.
        table: of `energy`.
        window: width of the square over which the energy is averaged.
        quiet: is added to the mean.
    """
    ratings = torch.empty(len(best), width)
    places = abi.LookPlaces(stride=0, height=len(best), width=width, row=best.shape[1])
    _call("wherein_rate_places", places, best.data_ptr(), table.data_ptr(), window, quiet, ratings.data_ptr())
    return ratings


def peaks(ratings: Float[Tensor, "H W"]) -> NDArray[np.int32]:
    """Indices of all places with a positive rating that no neighbour exceeds, (N,), in their order."""
    height, width = ratings.shape
    at, count = np.empty(height * width, dtype=np.int32), ctypes.c_int32(0)
    _call("wherein_peaks", ratings.data_ptr(), height, width, at.ctypes.data, ctypes.addressof(count))
    return at[: count.value]


def look_many(
    responses: UInt8[Tensor, "12 4 h w"],
    margin: int,
    size: tuple[int, int],
    table: Int[Tensor, "H1 W1"],
    offsets: Int[Tensor, "M T N"],
    windows: Int[Tensor, " M"],
    quiet: float,
    keep: int,
) -> tuple[Float[Tensor, "M K"], Int[Tensor, "M K"], Int[Tensor, "M K"]]:
    """The best places of each of many motifs: ratings, indices of the places, numbers of the templates.

    Arguments:
        responses, margin, size: as of `look`.
        table: of `energy`.
        offsets: of each feature of each template of each motif; int32.
        windows: as of `rate_places`, of each motif; int32.
        quiet: as of `rate_places`.
        keep: how many places of each motif; the rating is 0 where there are fewer.
    """
    height, width = size
    row = -(-width // abi.LOOK_SPAN) * abi.LOOK_SPAN
    places = abi.LookPlaces(stride=responses.shape[3], height=height, width=width, row=row)
    first = responses.data_ptr() + margin * responses.shape[3] + margin
    count, templates, each = offsets.shape
    motifs = abi.ManyMotifs(
        offsets=offsets.data_ptr(),
        windows=windows.data_ptr(),
        count=count,
        templates=templates,
        features=each,
        quiet=quiet,
    )
    ratings = torch.empty(count, keep)
    at, which = (torch.empty(count, keep, dtype=torch.int32) for _ in range(2))
    out = abi.BestPlaces(ratings=ratings.data_ptr(), at=at.data_ptr(), which=which.data_ptr(), keep=keep)
    _call("wherein_look_many", first, places, table.data_ptr(), motifs, out)
    return ratings, at, which


def _call(name: str, *arguments: "ctypes.Structure | ctypes.Array[Any] | float | None") -> None:
    loaded = library()
    assert loaded is not None, "ask accepts() first"
    values = (ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments)
    if getattr(loaded.functions, name)(*values) == abi.NO_MEMORY:
        raise MemoryError


def _with_contiguous_rows(*pictures: Tensor) -> tuple[Tensor, ...]:
    """The pictures themselves, or copies where the pixels of a row are not contiguous."""
    return tuple(picture if picture.stride(-1) == 1 else picture.contiguous() for picture in pictures)


def _planes(picture: Float[Tensor, "C H W"]) -> abi.Planes:
    channels, height, width = picture.shape
    return abi.Planes(
        pixels=picture.data_ptr(),
        plane_stride=picture.stride(0),
        row_stride=picture.stride(1),
        channels=channels,
        height=height,
        width=width,
    )

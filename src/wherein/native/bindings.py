"""The functions of the C library, on tensors.

Ask `accepts` first. Every tensor and array is checked before its address goes to C, which cannot: one that is
elsewhere, of another type or size, or not contiguous would crash the process, or silently give wrong numbers.
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

from wherein.errors import ArgumentError
from wherein.native import abi

if TYPE_CHECKING:
    from wherein.native.library import Library

_Counts = Int[Tensor, " B"]

_CPU = torch.device("cpu")
"""Said wherever a tensor is made for C: the caller's default device may be another."""

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


def pointer(values: "Tensor | NDArray[Any]", shape: tuple[int, ...], dtype: Any = torch.float32) -> int:
    """The address of a tensor or an array, for C.

    Arguments:
        values: what C reads or writes; keep it for as long as C does.
        shape, dtype: that C takes for granted.

    Raises:
        ArgumentError: it is of another shape or type, not contiguous, or not in the memory of the CPU.
    """
    if isinstance(values, np.ndarray):
        right, address = values.flags.c_contiguous, values.ctypes.data
    else:
        right = values.device.type == "cpu" and values.layout == torch.strided and values.is_contiguous()
        address = values.data_ptr() if right else 0
    if not right or values.dtype != dtype or tuple(values.shape) != shape:
        where = "" if isinstance(values, np.ndarray) else f" on {values.device}"
        raise ArgumentError(
            f"the C kernel needs {dtype} of shape {shape}, contiguous and on the CPU, but got {values.dtype} "
            f"of shape {tuple(values.shape)}{where}"
        )
    return address


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
    count = points.shape[1]
    side = abi.SideArrays(
        centre=None,
        radius=pointer(radius, ()),
        unit=pointer(unit, (motion.parameters,)),
        points=pointer(points, (2, count)),
        known=pointer(known, (len(scene), motion.parameters + 1, count)),
        motion=motion,
        count=count,
    )
    fits = abi.FitArrays(
        poses=pointer(found, (batch, 3, 3)),
        costs=pointer(costs, (batch,)),
        steps=pointer(steps, (batch,), torch.int64),
        evaluations=pointer(evaluations, (batch,), torch.int64),
        statuses=pointer(statuses, (batch,), torch.int32),
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
    start = pointer(out, tuple(out.shape))
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
    _call("wherein_pool", _planes(pixels), factor, pointer(out, tuple(out.shape)))
    return out


def separable(picture: Float[Tensor, "*B H W"], taps: Float[Tensor, " K"]) -> Float[Tensor, "*B H W"]:
    """`wherein.images.gaussian.separable`."""
    picture, taps = picture.contiguous(), taps.contiguous()
    out = torch.empty_like(picture)
    if picture.numel():
        planes = _planes(picture.reshape(-1, *picture.shape[-2:]))
        length = taps.numel()
        _call("wherein_separable", planes, pointer(taps, (length,)), length, pointer(out, picture.shape))
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
    corner = margin * padded.stride(1) + margin
    _check_reach(padded[0].numel(), corner, (height - 1) * padded.stride(1) + width - 1, offsets)
    places = abi.Planes(
        pixels=pointer(padded, tuple(padded.shape)) + _FLOAT * corner,
        plane_stride=padded.stride(0),
        row_stride=padded.stride(1),
        channels=1,
        height=height,
        width=width,
    )
    points = abi.ScreenKernels(
        offsets=pointer(offsets, (int(counts.sum()),), torch.int32),
        values=pointer(values, tuple(offsets.shape)),
        counts=pointer(counts, (len(counts),), torch.int32),
        count=len(counts),
        first=first,
    )
    maps = abi.ScreenMaps(
        best=pointer(best, (height, width)), which=pointer(which, (height, width), torch.int32)
    )
    _call("wherein_screen", places, points, min_variance, maps)


def channels(
    picture: Float[Tensor, "C H W"], taps: Float[Tensor, " K"], floor: float, noise: float, window: int
) -> Float[Tensor, "H W 8"]:
    """`wherein.images.channels.channels`, with the channels of a pixel side by side."""
    (picture,) = _with_contiguous_rows(picture)
    taps = taps.contiguous()
    out = picture.new_empty(*picture.shape[-2:], abi.DIRECTIONS)
    rules = channel_rules(taps, floor, noise, window)
    _call("wherein_channels", _planes(picture), rules, pointer(out, tuple(out.shape)))
    return out


def channel_rules(taps: Float[Tensor, " K"], floor: float, noise: float, window: int) -> abi.ChannelRules:
    """The rules as C wants them; `taps` must be contiguous, and kept for as long as they are used."""
    return abi.ChannelRules(
        taps=pointer(taps, (taps.numel(),)), floor=floor, noise=noise, window=window, count=taps.numel()
    )


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
    fits = _plane_fits(found, zncc, visible)
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
    fits = _plane_fits(poses, zncc, None)
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
    fits = _plane_fits(found, zncc, visible)
    _call("wherein_refine_poses", _channel_picture(channels, inside), motif, rules, fits)
    return found, zncc, visible


def _plane_fits(
    poses: NDArray[np.float64], zncc: NDArray[np.float64], visible: NDArray[np.float64] | None
) -> abi.PlaneFits:
    count = len(poses)
    return abi.PlaneFits(
        poses=pointer(poses, (count, 3, 3), np.float64),
        zncc=pointer(zncc, (count,), np.float64),
        visible=None if visible is None else pointer(visible, (count,), np.float64),
        count=count,
    )


def _channel_picture(
    channels: Float[Tensor, "H W 8"], inside: Bool[Tensor, "H W"] | None
) -> abi.ChannelPicture:
    height, width, _ = channels.shape
    return abi.ChannelPicture(
        channels=pointer(channels, (height, width, abi.DIRECTIONS)),
        inside=None if inside is None else pointer(inside, (height, width), torch.bool),
        height=height,
        width=width,
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
        pointer(matrix, (3, 3), np.float64),
        height,
        width,
        pointer(out, (len(scene), height, width)),
        pointer(inside, (height, width), torch.bool),
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
    maps = _feature_maps(responses, margin)
    _call("wherein_features", _planes(picture), rules, gain, maps)


def _feature_maps(responses: UInt8[Tensor, "12 4 h w"], margin: int) -> abi.FeatureMaps:
    directions, phases, height, width = responses.shape
    return abi.FeatureMaps(
        responses=pointer(responses, (directions, phases, height, width), torch.uint8),
        height=height,
        width=width,
        margin=margin,
    )


def look(
    responses: UInt8[Tensor, "12 4 h w"],
    margin: int,
    size: tuple[int, int],
    offsets: Int[Tensor, "T N"],
    tiles: Bool[Tensor, "R S"] | None = None,
) -> tuple[UInt16[Tensor, "H row"], UInt16[Tensor, "H row"]]:
    """For each place the highest sum of responses over all templates, and the number of that template.

    Rows are filled up to a multiple of `abi.LOOK_SPAN`.

    Arguments:
        responses: of a scene, with enough margin for every offset.
        margin: how far the first place lies from the edges of each plane.
        size: height and width of the places.
        offsets: of each feature of each template, in bytes from a place of the first plane; int32.
        tiles: which tiles of `abi.LOOK_ROWS` × `abi.LOOK_SPAN` places are looked at; None: all. Elsewhere
            sums are 0.
    """
    height, width = size
    row = -(-width // abi.LOOK_SPAN) * abi.LOOK_SPAN
    best = torch.empty(height, row, dtype=torch.uint16, device=_CPU)
    which = torch.empty(height, row, dtype=torch.uint16, device=_CPU)
    shape = -(-height // abi.LOOK_ROWS), row // abi.LOOK_SPAN
    tiles = None if tiles is None else tiles.contiguous()
    places = abi.LookPlaces(
        tiles=None if tiles is None else pointer(tiles, shape, torch.bool),
        stride=responses.shape[3],
        height=height,
        width=width,
        row=row,
    )
    count, each = offsets.shape
    _call(
        "wherein_look",
        _first_place(responses, margin, size, offsets),
        places,
        pointer(offsets, (count, each), torch.int32),
        count,
        each,
        pointer(best, (height, row), torch.uint16),
        pointer(which, (height, row), torch.uint16),
    )
    return best, which


def _first_place(
    responses: UInt8[Tensor, "12 4 h w"], margin: int, size: tuple[int, int], offsets: Int[Tensor, "..."]
) -> int:
    """The address of the first place, from which all features of all places lie within the responses."""
    # Whole spans are read, also beyond the last place of a row.
    stride, row = responses.shape[3], -(-size[1] // abi.LOOK_SPAN) * abi.LOOK_SPAN
    corner, last = margin * stride + margin, (size[0] - 1) * stride + row - 1
    _check_reach(responses.numel(), corner, last, offsets)
    return pointer(responses, tuple(responses.shape), torch.uint8) + corner


def _check_reach(length: int, first: int, last: int, offsets: Int[Tensor, "..."]) -> None:
    """Refuse offsets that lead out of a buffer.

    Arguments:
        length: of the buffer, in elements.
        first: where the first place is.
        last: how far the last place is from it.
        offsets: that are added to every place.
    """
    if not offsets.numel():
        return
    low, high = (int(value) for value in offsets.aminmax())
    if first + low < 0 or first + last + high >= length:
        raise ArgumentError(
            f"offsets of {low} to {high} from places {first} to {first + last} lead out of {length} elements"
        )


def energy(responses: UInt8[Tensor, "12 4 h w"], margin: int, size: tuple[int, int]) -> Int[Tensor, "H W"]:
    """The energy of `wherein.planes.features.Responses`, summed from the corner."""
    maps = _feature_maps(responses, margin)
    table = torch.empty(size[0] + 1, size[1] + 1, dtype=torch.int64, device=_CPU)
    _call("wherein_energy", maps, *size, pointer(table, (size[0] + 1, size[1] + 1), torch.int64))
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
    height, row = best.shape
    ratings = torch.empty(height, width, dtype=torch.float32, device=_CPU)
    _call(
        "wherein_rate_places",
        abi.LookPlaces(tiles=None, stride=0, height=height, width=width, row=row),
        pointer(best, (height, row), torch.uint16),
        pointer(table, (height + 1, width + 1), torch.int64),
        window,
        quiet,
        pointer(ratings, (height, width)),
    )
    return ratings


def peaks(ratings: Float[Tensor, "H W"]) -> NDArray[np.int32]:
    """Indices of all places with a positive rating that no neighbour exceeds, (N,), in their order."""
    height, width = ratings.shape
    at, count = np.empty(height * width, dtype=np.int32), ctypes.c_int32(0)
    address = pointer(ratings, (height, width))
    _call("wherein_peaks", address, height, width, at.ctypes.data, ctypes.addressof(count))
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
    places = abi.LookPlaces(tiles=None, stride=responses.shape[3], height=height, width=width, row=row)
    count, templates, each = offsets.shape
    motifs = abi.ManyMotifs(
        offsets=pointer(offsets, (count, templates, each), torch.int32),
        windows=pointer(windows, (count,), torch.int32),
        count=count,
        templates=templates,
        features=each,
        quiet=quiet,
    )
    ratings = torch.empty(count, keep, dtype=torch.float32, device=_CPU)
    at, which = (torch.empty(count, keep, dtype=torch.int32, device=_CPU) for _ in range(2))
    out = abi.BestPlaces(
        ratings=pointer(ratings, (count, keep)),
        at=pointer(at, (count, keep), torch.int32),
        which=pointer(which, (count, keep), torch.int32),
        keep=keep,
    )
    first = _first_place(responses, margin, size, offsets)
    energies = pointer(table, (height + 1, width + 1), torch.int64)
    _call("wherein_look_many", first, places, energies, motifs, out)
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
    # Rows may be part of longer ones, and so on: only the pixels of a row need be side by side. The stride of
    # a single pixel means nothing, and torch leaves any number there.
    side_by_side = picture.stride(2) == 1 or width <= 1
    if picture.dtype != torch.float32 or picture.device.type != "cpu" or not side_by_side:
        raise ArgumentError(
            f"the C kernel needs rows of float32 on the CPU, but got {picture.dtype} on {picture.device} "
            f"with strides {picture.stride()}"
        )
    return abi.Planes(
        pixels=picture.data_ptr(),
        plane_stride=picture.stride(0),
        row_stride=picture.stride(1),
        channels=channels,
        height=height,
        width=width,
    )

"""The C functions of the first search: responses of a scene, and the places where their sums are high."""

import ctypes

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8, UInt16
from numpy.typing import NDArray
from torch import Tensor

from wherein.native import abi, kernel, structs
from wherein.native.pointers import CPU, check_reach, planes_of, pointer, with_contiguous_rows


def features(
    picture: Float[Tensor, "C H W"],
    rules: structs.ChannelRules,
    gain: float,
    responses: UInt8[Tensor, "12 4 h w"],
    margin: int,
) -> None:
    """Write a picture's responses for each direction and phase, `margin` from the edges of `responses`."""
    (picture,) = with_contiguous_rows(picture)
    maps = _feature_maps(responses, margin)
    kernel.call("wherein_features", planes_of(picture), rules, gain, maps)


def energy(responses: UInt8[Tensor, "12 4 h w"], margin: int, size: tuple[int, int]) -> Int[Tensor, "H W"]:
    """The energy of `wherein.planes.look.responses.Responses` as a summed-area table."""
    maps = _feature_maps(responses, margin)
    table = torch.empty(size[0] + 1, size[1] + 1, dtype=torch.int64, device=CPU)
    kernel.call("wherein_energy", maps, *size, pointer(table, (size[0] + 1, size[1] + 1), torch.int64))
    return table


def look(
    responses: UInt8[Tensor, "12 4 h w"],
    margin: int,
    size: tuple[int, int],
    offsets: Int[Tensor, "T N"],
    tiles: Bool[Tensor, "R S"] | None = None,
) -> tuple[UInt16[Tensor, "H row"], UInt16[Tensor, "H row"]]:
    """For each place the highest sum of responses over all templates, and the number of that template.

    Rows are padded to a multiple of `abi.LOOK_SPAN`.

    Arguments:
        responses: of a scene, with enough margin for every offset.
        margin: the distance of the first place from the edges of each plane.
        size: height and width of the grid of places.
        offsets: of each feature of each template, in bytes from a place of the first plane; int32.
        tiles: which tiles of `abi.LOOK_ROWS` × `abi.LOOK_SPAN` places are searched; None: all. Elsewhere
            sums are 0.
    """
    height, width = size
    row = -(-width // abi.LOOK_SPAN) * abi.LOOK_SPAN  # rounded up: C processes whole spans
    best = torch.empty(height, row, dtype=torch.uint16, device=CPU)
    which = torch.empty(height, row, dtype=torch.uint16, device=CPU)
    shape = -(-height // abi.LOOK_ROWS), row // abi.LOOK_SPAN
    tiles = None if tiles is None else tiles.contiguous()
    places = structs.LookPlaces(
        tiles=None if tiles is None else pointer(tiles, shape, torch.bool),
        stride=responses.shape[3],
        height=height,
        width=width,
        row=row,
    )
    count, each = offsets.shape
    kernel.call(
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
        responses, margin, size: see `look`.
        table: from `energy`.
        offsets: of each feature of each template of each motif; int32.
        windows: `window` of `rate_places`, for each motif; int32.
        quiet: see `rate_places`.
        keep: the number of places for each motif; the rating is 0 where there are fewer.
    """
    height, width = size
    row = -(-width // abi.LOOK_SPAN) * abi.LOOK_SPAN
    places = structs.LookPlaces(tiles=None, stride=responses.shape[3], height=height, width=width, row=row)
    count, templates, each = offsets.shape
    motifs = structs.ManyMotifs(
        offsets=pointer(offsets, (count, templates, each), torch.int32),
        windows=pointer(windows, (count,), torch.int32),
        count=count,
        templates=templates,
        features=each,
        quiet=quiet,
    )
    ratings = torch.empty(count, keep, dtype=torch.float32, device=CPU)
    at, which = (torch.empty(count, keep, dtype=torch.int32, device=CPU) for _ in range(2))
    out = structs.BestPlaces(
        ratings=pointer(ratings, (count, keep)),
        at=pointer(at, (count, keep), torch.int32),
        which=pointer(which, (count, keep), torch.int32),
        keep=keep,
    )
    first = _first_place(responses, margin, size, offsets)
    energies = pointer(table, (height + 1, width + 1), torch.int64)
    kernel.call("wherein_look_many", first, places, energies, motifs, out)
    return ratings, at, which


def rate_places(
    best: UInt16[Tensor, "H row"], width: int, table: Int[Tensor, "h w"], window: int, quiet: float
) -> Float[Tensor, "H W"]:
    """The sum of responses at each place, divided by the square root of the mean energy around it.

    Arguments:
        best: from `look`.
        width: the number of places in a row, without padding.
        table: from `energy`.
        window: width of the square over which the energy is averaged.
        quiet: added to the mean.
    """
    height, row = best.shape
    ratings = torch.empty(height, width, dtype=torch.float32, device=CPU)
    kernel.call(
        "wherein_rate_places",
        structs.LookPlaces(tiles=None, stride=0, height=height, width=width, row=row),
        pointer(best, (height, row), torch.uint16),
        pointer(table, (height + 1, width + 1), torch.int64),
        window,
        quiet,
        pointer(ratings, (height, width)),
    )
    return ratings


def peaks(ratings: Float[Tensor, "H W"]) -> NDArray[np.int32]:
    """Indices of all places with a positive rating that no neighbour exceeds, (N,), in ascending order."""
    height, width = ratings.shape
    at, count = np.empty(height * width, dtype=np.int32), ctypes.c_int32(0)
    address = pointer(ratings, (height, width))
    kernel.call("wherein_peaks", address, height, width, at.ctypes.data, ctypes.addressof(count))
    return at[: count.value]


def _first_place(
    responses: UInt8[Tensor, "12 4 h w"], margin: int, size: tuple[int, int], offsets: Int[Tensor, "..."]
) -> int:
    """The address of the first place, after a check that all features of all places lie in the responses."""
    # C reads whole spans, also beyond the last place of a row.
    stride, row = responses.shape[3], -(-size[1] // abi.LOOK_SPAN) * abi.LOOK_SPAN
    corner, last = margin * stride + margin, (size[0] - 1) * stride + row - 1
    check_reach(responses.numel(), corner, last, offsets)
    return pointer(responses, tuple(responses.shape), torch.uint8) + corner


def _feature_maps(responses: UInt8[Tensor, "12 4 h w"], margin: int) -> structs.FeatureMaps:
    directions, phases, height, width = responses.shape
    return structs.FeatureMaps(
        responses=pointer(responses, (directions, phases, height, width), torch.uint8),
        height=height,
        width=width,
        margin=margin,
    )

"""ZNCC of a motif at every place of a reduced scene, for a coarse grid of rotations and scales.

With gain and bias eliminated, the plain objective (2) at a fixed rotation and scale can be computed for every
translation at once by a few correlations: of the scene with the motif x (zero mean, unit norm), and of the
scene and its square with the mask,

    ZNCC = ⟨y, x⟩ / √(⟨y², 1_Ω⟩ − ⟨y, 1_Ω⟩² / |Ω|),

where y is the scene projected onto one direction in colour space: the one in which the motif has most of its
contrast. The grid is only as fine as the basin of attraction requires: the maxima are starts for the
optimisation, which finds the exact pose.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.motif import Motif
from wherein.motion.field import lattice
from wherein.native import correlation_calls, kernel
from wherein.native.abi import SCREEN_SPAN
from wherein.threads import shared_out

MIN_VARIANCE = 1e-4
"""Minimum variance of the scene in ZNCC: a flatter place is treated as if it had this variance. A choice: a
standard deviation of a hundredth of the full range, about that of noise."""

SECTORS = 4
"""Number of sectors of rotation; at each place, the best pose of each sector is kept. A choice: if a motif
resembles itself rotated by 90° or 180°, all these rotations remain candidates."""

_WORTH_THREADS = 3e8
"""Number of comparisons (points × places) from which several threads are used: for less work their overhead
exceeds the gain."""


@dataclass(frozen=True)
class PoseGrid:
    """The rotations (in degrees) and scales of the kernels; both arrays have one item for each kernel."""

    angles: NDArray[np.float64]
    scales: NDArray[np.float64]

    @staticmethod
    def over(rotation: float, turn: float, scale: tuple[float, float], ratio: float) -> "PoseGrid":
        """A grid over ±`rotation` degrees and a range of scales.

        Arguments:
            rotation: half the range of rotations in degrees; 180 is a full circle.
            turn: maximum step between rotations in degrees.
            scale: the lowest and the highest scale.
            ratio: maximum factor between neighbouring scales.
        """
        # A full circle has no end point, as −180° and 180° are the same. Subtracting 1e-9 keeps rounding
        # from raising a whole quotient to the next number.
        full = rotation >= 180
        count = max(1, math.ceil(2 * rotation / turn - 1e-9)) + (0 if full or rotation == 0 else 1)
        step = 2 * rotation / max(1, count if full else count - 1)
        angles = -rotation + step * np.arange(count)
        levels = max(1, math.ceil(math.log(scale[1] / scale[0]) / math.log(ratio) - 1e-9) + 1)
        scales = np.geomspace(scale[0], scale[1], levels) if levels > 1 else np.array(scale[:1])
        grid = np.array([(a, s) for a in angles for s in scales])
        return PoseGrid(grid[:, 0], grid[:, 1])


@dataclass(frozen=True, eq=False)
class Kernels:
    """A motif at each rotation and scale of a grid, as points on the pixels of a reduced scene.

    Attributes:
        factor: the factor by which the scene is reduced.
        grid: the rotation and scale of each kernel.
        tint: the direction in colour space that is compared, in which the motif's colours vary most.
        offsets: for each kernel, its points (x, y) relative to its centre, in whole pixels.
        values: for each kernel, the motif at these points, with zero mean and unit norm.
        radius: maximum distance of a point from the centre, along an axis.
    """

    factor: int
    grid: PoseGrid
    tint: Float[Tensor, " C"]
    offsets: tuple[Int[Tensor, "_ 2"], ...]
    values: tuple[Float[Tensor, "1 _"], ...]
    radius: int

    @staticmethod
    def of(motif: Motif, factor: int, grid: PoseGrid, limit: int) -> "Kernels":
        """The kernels of a motif: the reduced motif, sampled at the pixels of each rotated and scaled copy.

        Arguments:
            motif: at full size.
            factor: the factor by which the scene is reduced.
            grid: the rotations and scales.
            limit: maximum number of points of a kernel; if there are more, an even selection is used.
        """
        small = motif.pooled(factor)
        tint = _tint(small)
        planes = torch.stack((torch.einsum("chw,c->hw", small.masked, tint), small.mask))
        centre = planes.new_tensor(motif.centre)
        middle = (centre - (factor - 1) / 2) / factor  # the centre in pixels of the reduced motif
        half = math.hypot(motif.width, motif.height) / 2 / factor
        made = [
            _kernel(planes, middle, half * s, float(a), float(s), limit)
            for a, s in zip(grid.angles, grid.scales, strict=True)
        ]
        radius = max(int(offsets.abs().max()) for offsets, _ in made)
        return Kernels(factor, grid, tint, tuple(o for o, _ in made), tuple(v for _, v in made), radius)


def _tint(motif: Motif) -> Float[Tensor, " C"]:
    """The first principal component of the motif's colours, with the sign that makes bright positive."""
    colours = motif.pixels[:, motif.mask > 0.5]
    colours = colours - colours.mean(1, keepdim=True)
    direction = (
        torch.linalg.eigh(colours.double() @ colours.double().mT).eigenvectors[:, -1].to(colours.dtype)
    )
    return direction * torch.where(direction.sum() < 0, -1.0, 1.0)


def _kernel(
    planes: Float[Tensor, "2 h w"], middle: Tensor, reach: float, angle: float, scale: float, limit: int
) -> tuple[Int[Tensor, "n 2"], Float[Tensor, "1 n"]]:
    """Offsets and values of one kernel. Linear interpolation is enough, as poses are approximate here."""
    radius = math.ceil(reach) + 1
    offsets = lattice(2 * radius + 1, 2 * radius + 1, middle).reshape(-1, 2) - radius
    c, s = math.cos(math.radians(angle)) / scale, math.sin(math.radians(angle)) / scale
    # Each point of the rotated and scaled motif is looked up at R(−angle) · offset / scale from the centre.
    spots = offsets @ offsets.new_tensor(((c, -s), (s, c))) + middle
    size = spots.new_tensor((max(planes.shape[2] - 1, 1), max(planes.shape[1] - 1, 1)))
    grid = (2 * spots / size - 1)[None, None]  # the first pixel's centre is at −1, the last one's at 1
    value, mask = F.grid_sample(planes[None], grid, align_corners=True)[0, :, 0]
    inside = torch.nonzero(mask > _enough(mask))[:, 0]
    if len(inside) > limit:
        inside = inside[torch.linspace(0, len(inside) - 1, limit).round().long()]
    # Divided by the mask, because near the outline the interpolated colour is mixed with the black outside.
    values = (value[inside] / mask[inside])[None]
    values = values - values.mean()
    return offsets[inside].round().to(torch.int32), values / values.norm().clamp_min(1e-9)


def _enough(mask: Tensor) -> float:
    """The value of the mask above which a sample is used.

    Samples on the outline are half background. They are left out, unless too few others would remain.
    """
    pure, half = (mask > 0.85).sum(), (mask > 0.5).sum()
    return 0.85 if pure >= 0.4 * half and pure >= 24 else min(0.5, float(mask.max()) / 2)


@dataclass(frozen=True, eq=False)
class Maps:
    """The best ZNCC at every place for each sector of rotation, and the number of the kernel that reaches it.

    Entry (i, j) is for the motif's centre at (j − margin, i − margin) of the reduced scene.
    """

    best: Float[Tensor, "S H W"]
    which: Int[Tensor, "S H W"]
    margin: int


def screen(scene: Float[Tensor, "C H W"], kernels: Kernels, threads: int = 1) -> Maps:
    """The best ZNCC of the kernels of each sector at every place of a scene that is already reduced.

    The scene is continued by its mean colour. Centres may lie outside of it by half the kernels' radius.
    """
    if not scene.numel():
        return Maps(scene.new_zeros(1, 0, 0), torch.zeros(1, 0, 0, dtype=torch.int32), 0)
    margin = kernels.radius // 2
    pad = kernels.radius + margin
    plane = torch.einsum("chw,c->hw", scene, kernels.tint)[None]
    # numpy's mean, since the last bit of torch's depends on the number of threads. With a mean of 0, the
    # zeros of the padding continue the scene by its mean colour, and squares lose fewer digits.
    plane -= float(plane.numpy().mean(dtype=np.float64))
    padded = F.pad(torch.cat((plane, plane.square())), (pad, pad + SCREEN_SPAN, pad, pad))
    height, width = scene.shape[-2] + 2 * margin, scene.shape[-1] + 2 * margin
    sectors = _sectors(len(kernels.values))
    best = scene.new_full((len(sectors), height, width), -1.0)
    which = torch.zeros(best.shape, dtype=torch.int32)
    work = _in_c if kernel.accepts(scene) else _in_torch

    def run(sector: int) -> None:
        work(padded, kernels, sectors[sector], best[sector], which[sector])

    # Each sector has its own maps, so threads need no lock and cannot change the result.
    worth = best[0].numel() * sum(map(len, kernels.offsets)) >= _WORTH_THREADS
    shared_out(run, range(len(sectors)), threads if worth else 1)
    return Maps(best, which, margin)


def _sectors(count: int) -> list[range]:
    """The kernels of each sector. The grid is sorted by angle, so a sector is a range of numbers."""
    edges = [round(count * k / SECTORS) for k in range(SECTORS + 1)]  # with few kernels, some are empty
    return [range(a, b) for a, b in pairwise(edges) if b > a]


def _in_c(padded: Tensor, kernels: Kernels, sector: range, best: Tensor, which: Tensor) -> None:
    offsets = torch.cat([kernels.offsets[k] for k in sector])
    # C gets each point as an offset in memory, and no coordinates.
    places = (offsets[:, 1] * padded.stride(1) + offsets[:, 0]).to(torch.int32)
    values = torch.cat([kernels.values[k].flatten() for k in sector])
    counts = torch.tensor([len(kernels.offsets[k]) for k in sector], dtype=torch.int32)
    margin = kernels.radius
    correlation_calls.screen(
        padded, margin, (places, values, counts), sector.start, MIN_VARIANCE, best, which
    )


def _in_torch(padded: Tensor, kernels: Kernels, sector: range, best: Tensor, which: Tensor) -> None:
    """The reference for `_in_c`, by FFT."""
    height, width = padded.shape[-2:]
    spectrum = torch.fft.rfft2(padded)
    for k in sector:
        corner = kernels.offsets[k].long() + kernels.radius
        zncc = _zncc_map(spectrum, corner, kernels.values[k], (height, width))
        zncc = zncc[: best.shape[0], : best.shape[1]]
        better = zncc > best
        best.copy_(torch.where(better, zncc, best))
        which[better] = k


def _zncc_map(spectrum: Tensor, places: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    channels, n = values.shape
    planes = values.new_zeros(channels + 1, *size)
    x, y = places.unbind(1)
    planes[:-1, y, x] = values
    planes[-1, y, x] = 1.0
    # A product with the conjugate spectrum is a correlation. The last plane is the kernel's support 1_Ω: it
    # gives the sums of y and of y² under the mask.
    kernel = torch.fft.rfft2(planes).conj()
    overlap = torch.fft.irfft2(_product(spectrum[:-1], kernel[:-1]).sum(0), s=size)
    sums = torch.fft.irfft2(_product(spectrum, kernel[-1]), s=size)
    energy = sums[-1] - sums[:-1].square().sum(0) / n
    return overlap / energy.clamp_min(MIN_VARIANCE * n * channels).sqrt()


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a · b of complex numbers, written out.

    Torch's own product rounds the last few elements of each thread's share differently, so that the result
    would depend on the number of threads.
    """
    return torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def _local_maxima(values: Float[Tensor, "H W"]) -> Bool[Tensor, "H W"]:
    """Which places are not lower than any of their eight neighbours; comparing is faster than max pooling."""
    padded = F.pad(values, (1, 1, 1, 1), value=-torch.inf)
    height, width = values.shape[-2:]
    highest = torch.ones_like(values, dtype=torch.bool)
    for dy, dx in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)):
        highest &= values >= padded[dy : dy + height, dx : dx + width]
    return highest


def peaks(maps: Maps, kernels: Kernels, count: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """The `count` highest local maxima and their ZNCC.

    Returns:
        (count, 4): x, y, degrees and scale of the motif's centre at full size; and (count,) values of ZNCC.
    """
    places, values = [], []
    # One sector at a time: for a large scene each map has tens of megabytes.
    for number, sector in enumerate(maps.best):
        maxima = torch.nonzero(_local_maxima(sector).flatten() & (sector.flatten() > 0))[:, 0].numpy()
        heights = sector.flatten().numpy()[maxima]
        # A stable sort: among equal maxima the first in memory is kept, so results are reproducible.
        highest = np.argsort(-heights, kind="stable")[:count]
        places.append(maxima[highest] + number * sector.numel())
        values.append(heights[highest])
    order = np.argsort(-np.concatenate(values), kind="stable")[:count]
    index, zncc = np.concatenate(places)[order], np.concatenate(values)[order]
    _, height, width = maps.best.shape
    row, column = index // width % height, index % width
    kernel = maps.which.flatten().numpy()[index]
    f = kernels.factor
    x, y = (f * (v - maps.margin) + (f - 1) / 2 for v in (column, row))
    poses = np.stack((x, y, kernels.grid.angles[kernel], kernels.grid.scales[kernel]), 1)
    return poses, zncc

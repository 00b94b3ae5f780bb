"""Where could it be? ZNCC of a motif at every place of a reduced scene, rotations and scales a basin apart.

With gain and bias eliminated the plain objective (2) at a fixed rotation and scale is, for every translation
at once, a few correlations: of the scene with the motif (zero mean, its squares summing to 1), of the scene
and of its square with the mask,

    ZNCC = ⟨y, x⟩ / √(⟨y², 1_Ω⟩ − ⟨y, 1_Ω⟩² / |Ω|),

y the scene along the one direction of colour in which the motif has most of its contrast. The poses are
sampled no finer than the basin of attraction asks for: what is right is found by optimisation from here.
"""

import math
from concurrent.futures import ThreadPoolExecutor
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
from wherein.native import bindings
from wherein.native.abi import SCREEN_SPAN

LEAST_VARIANCE = 1e-4
"""A hundredth of the full range, squared: a place with less contrast is flat, and nothing is there."""

SECTORS = 4
"""Of rotation: in each the best is kept, so that a motif's likeness to itself upside down hides nothing."""

_WORTH_THREADS = 3e8
"""Points times places: with less to do, threads cost more than they give."""


@dataclass(frozen=True)
class PoseGrid:
    """Rotations (degrees) and scales at which a motif is looked for, in the order of the kernels."""

    angles: NDArray[np.float64]
    scales: NDArray[np.float64]

    @staticmethod
    def over(rotation: float, turn: float, scale: tuple[float, float], ratio: float) -> "PoseGrid":
        """A grid over ± `rotation` and the scales, no coarser than `turn` degrees and a factor of `ratio`."""
        full = rotation >= 180
        count = max(1, math.ceil(2 * rotation / turn - 1e-9)) + (0 if full or rotation == 0 else 1)
        step = 2 * rotation / max(1, count if full else count - 1)
        angles = -rotation + step * np.arange(count)
        octaves = max(1, math.ceil(math.log(scale[1] / scale[0]) / math.log(ratio) - 1e-9) + 1)
        scales = np.geomspace(scale[0], scale[1], octaves) if octaves > 1 else np.array(scale[:1])
        grid = np.array([(a, s) for a in angles for s in scales])
        return PoseGrid(grid[:, 0], grid[:, 1])


@dataclass(frozen=True, eq=False)
class Kernels:
    """A motif at every look, as points on the lattice of a scene that is reduced by `factor`.

    Attributes:
        factor: of the scene.
        looks: one a kernel.
        tint: what of a colour is compared: the direction in which the motif's colours differ most.
        offsets: (x, y) of each kernel's points from its centre, in whole pixels.
        values: of each kernel, zero mean, the squares summing to 1.
        radius: the farthest that a point lies from the centre, along an axis.
    """

    factor: int
    looks: PoseGrid
    tint: Float[Tensor, " C"]
    offsets: tuple[Int[Tensor, "_ 2"], ...]
    values: tuple[Float[Tensor, "1 _"], ...]
    radius: int

    @staticmethod
    def of(motif: Motif, factor: int, looks: PoseGrid, limit: int) -> "Kernels":
        """Sample the motif, reduced, on the lattice turned and scaled the other way.

        Arguments:
            motif: at full size.
            factor: of the scene.
            looks: which rotations and scales.
            limit: the most points of a kernel, evenly chosen.
        """
        small = motif.pooled(factor)
        tint = _tint(small)
        planes = torch.stack((torch.einsum("chw,c->hw", small.masked, tint), small.mask))
        centre = planes.new_tensor(motif.centre)
        middle = (centre - (factor - 1) / 2) / factor
        half = math.hypot(motif.width, motif.height) / 2 / factor
        made = [
            _kernel(planes, middle, half * s, float(a), float(s), limit)
            for a, s in zip(looks.angles, looks.scales, strict=True)
        ]
        radius = max(int(offsets.abs().max()) for offsets, _ in made)
        return Kernels(factor, looks, tint, tuple(o for o, _ in made), tuple(v for _, v in made), radius)


def _tint(motif: Motif) -> Float[Tensor, " C"]:
    """The first principal direction of the motif's colours, brightness positive."""
    colours = motif.pixels[:, motif.mask > 0.5]
    colours = colours - colours.mean(1, keepdim=True)
    direction = (
        torch.linalg.eigh(colours.double() @ colours.double().mT).eigenvectors[:, -1].to(colours.dtype)
    )
    return direction * torch.where(direction.sum() < 0, -1.0, 1.0)


def _kernel(
    planes: Float[Tensor, "2 h w"], middle: Tensor, reach: float, angle: float, scale: float, limit: int
) -> tuple[Int[Tensor, "n 2"], Float[Tensor, "1 n"]]:
    """The motif's points at one look; linear interpolation does, as no pose is exact here."""
    radius = math.ceil(reach) + 1
    offsets = lattice(2 * radius + 1, 2 * radius + 1, middle).reshape(-1, 2) - radius
    c, s = math.cos(math.radians(angle)) / scale, math.sin(math.radians(angle)) / scale
    spots = offsets @ offsets.new_tensor(((c, -s), (s, c))) + middle
    size = spots.new_tensor((max(planes.shape[2] - 1, 1), max(planes.shape[1] - 1, 1)))
    grid = (2 * spots / size - 1)[None, None]
    value, mask = F.grid_sample(planes[None], grid, align_corners=True)[0, :, 0]
    inside = torch.nonzero(mask > _enough(mask))[:, 0]
    if len(inside) > limit:
        inside = inside[torch.linspace(0, len(inside) - 1, limit).round().long()]
    values = (value[inside] / mask[inside])[None]
    values = values - values.mean()
    return offsets[inside].round().to(torch.int32), values / values.norm().clamp_min(1e-9)


def _enough(mask: Tensor) -> float:
    """Above which a sample counts: on the outline it is half background, unless there is little else."""
    pure, half = (mask > 0.85).sum(), (mask > 0.5).sum()
    return 0.85 if pure >= 0.4 * half and pure >= 24 else min(0.5, float(mask.max()) / 2)


@dataclass(frozen=True, eq=False)
class Maps:
    """The best ZNCC at every place, for each sector of rotation, and the number of the kernel that had it.

    Place (i, j) is the motif's centre on the reduced scene at (j − margin, i − margin).
    """

    best: Float[Tensor, "S H W"]
    which: Int[Tensor, "S H W"]
    margin: int


def screen(scene: Float[Tensor, "C H W"], kernels: Kernels, threads: int = 1) -> Maps:
    """ZNCC of every kernel at every place of a scene that is already reduced.

    What lies outside counts as the scene's mean colour. Centres may lie outside by half of the radius.
    """
    if not scene.numel():
        return Maps(scene.new_zeros(1, 0, 0), torch.zeros(1, 0, 0, dtype=torch.int32), 0)
    margin = kernels.radius // 2
    pad = kernels.radius + margin
    plane = torch.einsum("chw,c->hw", scene, kernels.tint)[None]
    plane -= float(plane.numpy().mean(dtype=np.float64))  # torch's depends on its threads in the last bit
    padded = F.pad(torch.cat((plane, plane.square())), (pad, pad + SCREEN_SPAN, pad, pad))
    height, width = scene.shape[-2] + 2 * margin, scene.shape[-1] + 2 * margin
    sectors = _sectors(len(kernels.values))
    best = scene.new_full((len(sectors), height, width), -1.0)
    which = torch.zeros(best.shape, dtype=torch.int32)
    work = _in_c if bindings.accepts(scene) else _in_torch

    def run(sector: int) -> None:
        work(padded, kernels, sectors[sector], best[sector], which[sector])

    if threads == 1 or best[0].numel() * sum(map(len, kernels.offsets)) < _WORTH_THREADS:
        for sector in range(len(sectors)):
            run(sector)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, range(len(sectors))))
    return Maps(best, which, margin)


def _sectors(count: int) -> list[range]:
    edges = [round(count * k / SECTORS) for k in range(SECTORS + 1)]
    return [range(a, b) for a, b in pairwise(edges) if b > a]


def _in_c(padded: Tensor, kernels: Kernels, sector: range, best: Tensor, which: Tensor) -> None:
    offsets = torch.cat([kernels.offsets[k] for k in sector])
    places = (offsets[:, 1] * padded.stride(1) + offsets[:, 0]).to(torch.int32)
    values = torch.cat([kernels.values[k].flatten() for k in sector])
    counts = torch.tensor([len(kernels.offsets[k]) for k in sector], dtype=torch.int32)
    margin = kernels.radius
    bindings.screen(padded, margin, (places, values, counts), sector.start, LEAST_VARIANCE, best, which)


def _in_torch(padded: Tensor, kernels: Kernels, sector: range, best: Tensor, which: Tensor) -> None:
    """The same by FFT."""
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
    kernel = torch.fft.rfft2(planes).conj()
    overlap = torch.fft.irfft2(_product(spectrum[:-1], kernel[:-1]).sum(0), s=size)
    sums = torch.fft.irfft2(_product(spectrum, kernel[-1]), s=size)
    energy = sums[-1] - sums[:-1].square().sum(0) / n
    return overlap / energy.clamp_min(LEAST_VARIANCE * n * channels).sqrt()


def _product(a: Tensor, b: Tensor) -> Tensor:
    """a · b of complex numbers, step by step: torch fuses the steps, but for the last few numbers of each
    thread's share, so that bits would depend on the number of threads."""
    return torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def _summits(values: Float[Tensor, "H W"]) -> Bool[Tensor, "H W"]:
    """Which places are no lower than their eight neighbours; comparing is faster than pooling."""
    padded = F.pad(values, (1, 1, 1, 1), value=-torch.inf)
    height, width = values.shape[-2:]
    highest = torch.ones_like(values, dtype=torch.bool)
    for dy, dx in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2)):
        highest &= values >= padded[dy : dy + height, dx : dx + width]
    return highest


def peaks(maps: Maps, kernels: Kernels, count: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """The `count` best local maxima as (x, y, degrees, scale) of the motif's centre, full size; and their
    ZNCC."""
    places, values = [], []
    for number, sector in enumerate(maps.best):  # one at a time: of a large scene each is tens of megabytes
        summits = torch.nonzero(_summits(sector).flatten() & (sector.flatten() > 0))[:, 0].numpy()
        heights = sector.flatten().numpy()[summits]
        highest = np.argsort(-heights, kind="stable")[:count]
        places.append(summits[highest] + number * sector.numel())
        values.append(heights[highest])
    order = np.argsort(-np.concatenate(values), kind="stable")[:count]
    index, zncc = np.concatenate(places)[order], np.concatenate(values)[order]
    _, height, width = maps.best.shape
    row, column = index // width % height, index % width
    look = maps.which.flatten().numpy()[index]
    f = kernels.factor
    x, y = (f * (v - maps.margin) + (f - 1) / 2 for v in (column, row))
    poses = np.stack((x, y, kernels.looks.angles[look], kernels.looks.scales[look]), 1)
    return poses, zncc

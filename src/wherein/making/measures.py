"""Measurements of motifs and parts that need no scene."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.planes.plane_fit import motif_stages
from wherein.template.bundle import Template
from wherein.template.tree import Point

_DIRECTIONS = 8
"""In which a motif is shifted, over half a circle: the other half gives the same numbers. A choice."""

_MIN_OVERLAP = 0.25
"""Share of a motif that two shifted copies must have in common to be compared. A choice: few pixels agree by
chance."""


def pixel_count(motif: Motif) -> int:
    """Pixels that are more than half in the mask."""
    return int((motif.mask > 0.5).sum())


def thickness(motif: Motif, limit: int) -> int:
    """The side of the largest square inside the mask, an odd number; not measured beyond `limit`."""
    inner: Tensor = torch.nn.functional.pad(motif.mask > 0.5, (1,) * 4)
    side = -1
    while side < limit and bool(inner.any()):
        side += 2
        inner = inner[1:-1] & inner[:-2] & inner[2:]
        inner = inner[:, 1:-1] & inner[:, :-2] & inner[:, 2:]
        inner = torch.nn.functional.pad(inner, (1,) * 4)
    return max(side, 0)


def contrast(motif: Motif) -> float:
    """The standard deviation of the levels in [0, 1], at half size: the scale at which fits are scored."""
    small = motif.pooled(2) if min(motif.width, motif.height) > 1 else motif
    inside = small.mask > 0.5
    if not bool(inside.any()):
        return 0.0
    return float(small.pixels[:, inside].var(1, correction=0).mean().sqrt())


def outline_share(motif: Motif) -> float:
    """The share of what the detector compares that lies at the outline: 0 for a motif that fills its picture,
    close to 1 for a shape of one colour."""
    compared = motif_stages(motif)[0]
    energy = compared.weights * compared.target.square().sum(1)
    return float(energy[compared.unsigned].sum() / energy.sum().clamp_min(1e-12))


def shift_similarity(motif: Motif) -> tuple[float, float]:
    """The largest ZNCC of a motif with itself, shifted by a quarter of its shorter side, and that distance.

    It is high for stripes and smooth shading, in which nothing says where along them one is.
    """
    inside = motif.mask > 0.5
    distance = max(2.0, min(motif.width, motif.height) / 4)
    best = -1.0
    for k in range(_DIRECTIONS):
        angle = math.pi * k / _DIRECTIONS
        dx, dy = round(distance * math.cos(angle)), round(distance * math.sin(angle))
        best = max(best, _zncc_shifted(motif.pixels, inside, dx, dy))
    return best, distance


def _zncc_shifted(pixels: Float[Tensor, "3 h w"], inside: Bool[Tensor, "h w"], dx: int, dy: int) -> float:
    """ZNCC of a picture with itself, dx columns (of either sign) and dy rows further; −1 without overlap."""
    height, width = inside.shape
    left, right = max(0, dx), max(0, -dx)
    first = slice(dy, height), slice(left, width - right)
    second = slice(0, height - dy), slice(right, width - left)
    both = inside[first] & inside[second]
    if both.sum() < _MIN_OVERLAP * inside.sum():
        return -1.0
    a, b = (pixels[:, rows, columns][:, both] for rows, columns in (first, second))
    a, b = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
    energy = float(a.square().sum() * b.square().sum())
    return float((a * b).sum()) / math.sqrt(energy) if energy > 0 else 1.0


def part_pixels(template: Template, name: str) -> Float[Tensor, "N 2"]:
    """The pixels (x, y) of a part on the canvas; of a group, those of all leaves below it."""
    pixels = []
    for leaf in template.parts.leaves_below(name):
        part = template.parts[leaf]
        assert part.motif is not None, "a leaf"
        rows, columns = torch.nonzero(part.motif.mask > 0.5, as_tuple=True)
        pixels.append(torch.stack((columns, rows), 1) + torch.tensor(part.at))
    return torch.cat(pixels)


def joint_distance(template: Template, name: str) -> tuple[float, float]:
    """How far the joint of a part is from its nearest pixel, and the diagonal of the box around the part."""
    pixels = part_pixels(template, name)
    joint: Point = template.parts[name].joint
    distance = float((pixels - torch.tensor(joint)).square().sum(1).min().sqrt())
    low, high = pixels.amin(0), pixels.amax(0)
    return distance, float((high - low + 1).square().sum().sqrt())

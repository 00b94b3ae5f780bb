"""What can be measured of a motif before any scene is seen."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.images.motif import Motif
from wherein.template.bundle import Template
from wherein.template.tree import Point

_DIRECTIONS = 8
_OVERLAP = 0.25
"""Of the motif: with less in common, two shifted copies are not compared."""


def area(motif: Motif) -> int:
    """Pixels that are more than half in the mask."""
    return int((motif.mask > 0.5).sum())


def thickness(motif: Motif, most: int) -> int:
    """The side of the largest square of pixels in the mask, odd; not counted beyond `most`."""
    inner: Tensor = torch.nn.functional.pad(motif.mask > 0.5, (1,) * 4)
    side = -1
    while side < most and bool(inner.any()):
        side += 2
        inner = inner[1:-1] & inner[:-2] & inner[2:]
        inner = inner[:, 1:-1] & inner[:, :-2] & inner[:, 2:]
        inner = torch.nn.functional.pad(inner, (1,) * 4)
    return max(side, 0)


def contrast(motif: Motif) -> float:
    """The standard deviation of its levels at half size, where a fit is judged; 1 is black to white."""
    small = motif.pooled(2) if min(motif.width, motif.height) > 1 else motif
    inside = small.mask > 0.5
    if not bool(inside.any()):
        return 0.0
    return float(small.pixels[:, inside].var(1, correction=0).mean().sqrt())


def sliding(motif: Motif) -> tuple[float, float]:
    """How alike the motif is to itself, shifted by a quarter of its width or height: ZNCC, and the shift.

    Stripes and smooth shading are: nothing in them says where along it one is.
    """
    inside = motif.mask > 0.5
    reach = max(2.0, min(motif.width, motif.height) / 4)
    best = -1.0
    for k in range(_DIRECTIONS):
        angle = math.pi * k / _DIRECTIONS
        dx, dy = round(reach * math.cos(angle)), round(reach * math.sin(angle))
        best = max(best, _shifted(motif.pixels, inside, dx, dy))
    return best, reach


def _shifted(pixels: Float[Tensor, "3 h w"], inside: Bool[Tensor, "h w"], dx: int, dy: int) -> float:
    """ZNCC of a picture with itself, dx columns (of either sign) and dy rows further."""
    height, width = inside.shape
    left, right = max(0, dx), max(0, -dx)
    first = slice(dy, height), slice(left, width - right)
    second = slice(0, height - dy), slice(right, width - left)
    both = inside[first] & inside[second]
    if both.sum() < _OVERLAP * inside.sum():
        return -1.0
    a, b = (pixels[:, rows, columns][:, both] for rows, columns in (first, second))
    a, b = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
    energy = float(a.square().sum() * b.square().sum())
    return float((a * b).sum()) / math.sqrt(energy) if energy > 0 else 1.0


def extent(template: Template, name: str) -> Float[Tensor, "N 2"]:
    """The places of a part's pixels on the canvas, all leaves below it included."""
    places = []
    for leaf in template.parts.leaves_below(name):
        part = template.parts[leaf]
        assert part.motif is not None, "a leaf"
        rows, columns = torch.nonzero(part.motif.mask > 0.5, as_tuple=True)
        places.append(torch.stack((columns, rows), 1) + torch.tensor(part.at))
    return torch.cat(places)


def off_joint(template: Template, name: str) -> tuple[float, float]:
    """How far a part's joint is from its nearest pixel, and the diagonal of the box around the part."""
    places = extent(template, name)
    joint: Point = template.parts[name].joint
    distance = float((places - torch.tensor(joint)).square().sum(1).min().sqrt())
    low, high = places.amin(0), places.amax(0)
    return distance, float((high - low + 1).square().sum().sqrt())

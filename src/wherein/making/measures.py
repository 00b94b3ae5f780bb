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
"""Number of directions in which a motif is shifted, over half a circle: the opposite shift has the same ZNCC.
A choice."""

_MIN_OVERLAP = 0.25
"""Minimum overlap of a motif and its shifted copy, as a share of the motif. A choice: fewer pixels may agree
by chance."""


def pixel_count(motif: Motif) -> int:
    """The number of pixels whose mask is above 0.5."""
    return int((motif.mask > 0.5).sum())


def thickness(motif: Motif, limit: int) -> int:
    """The side of the largest square of odd side inside the mask; not measured beyond `limit`."""
    # Each erosion by a 3 × 3 square, rows and then columns, leaves the centres of squares larger by 2. The
    # padding counts pixels beyond the picture as outside.
    inner: Tensor = torch.nn.functional.pad(motif.mask > 0.5, (1,) * 4)
    side = -1
    while side < limit and bool(inner.any()):
        side += 2
        inner = inner[1:-1] & inner[:-2] & inner[2:]
        inner = inner[:, 1:-1] & inner[:, :-2] & inner[:, 2:]
        inner = torch.nn.functional.pad(inner, (1,) * 4)
    return max(side, 0)


def contrast(motif: Motif) -> float:
    """The standard deviation of levels in [0, 1], at half size: the resolution at which fits are scored."""
    small = motif.pooled(2) if min(motif.width, motif.height) > 1 else motif
    inside = small.mask > 0.5
    if not bool(inside.any()):
        return 0.0
    return float(small.pixels[:, inside].var(1, correction=0).mean().sqrt())


def outline_share(motif: Motif) -> float:
    """The share of the compared energy that lies at the outline: 0 for a motif that fills its picture, close
    to 1 for a shape of one colour."""
    compared = motif_stages(motif)[0]
    # At the coarsest resolution. At the points that are `unsigned`, light and dark may be exchanged: these
    # are the points at the outline, where the other side is an unknown background.
    energy = compared.weights * compared.target.square().sum(1)
    return float(energy[compared.unsigned].sum() / energy.sum().clamp_min(1e-12))


def shift_similarity(motif: Motif) -> tuple[float, float]:
    """The maximum ZNCC of a motif with a copy that is shifted by a quarter of its shorter side; the distance.

    It is high for stripes and smooth shading, along which the position is undetermined.
    """
    inside = motif.mask > 0.5
    # At least two pixels: neighbouring pixels of any picture are similar.
    distance = max(2.0, min(motif.width, motif.height) / 4)
    best = -1.0
    for k in range(_DIRECTIONS):
        angle = math.pi * k / _DIRECTIONS
        dx, dy = round(distance * math.cos(angle)), round(distance * math.sin(angle))
        best = max(best, _zncc_shifted(motif.pixels, inside, dx, dy))
    return best, distance


def _zncc_shifted(pixels: Float[Tensor, "3 h w"], inside: Bool[Tensor, "h w"], dx: int, dy: int) -> float:
    """ZNCC of a picture with a copy shifted by dx columns (of either sign) and dy ≥ 0 rows.

    −1 if they overlap too little; 1 if one has no texture, since any shift of it looks the same.
    """
    height, width = inside.shape
    left, right = max(0, dx), max(0, -dx)
    first = slice(dy, height), slice(left, width - right)
    second = slice(0, height - dy), slice(right, width - left)
    both = inside[first] & inside[second]
    if both.sum() < _MIN_OVERLAP * inside.sum():
        return -1.0
    a, b = (pixels[:, rows, columns][:, both] for rows, columns in (first, second))
    # Channel by channel, so that a coloured light does not count as similarity.
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
    """The distance of a part's joint from its nearest pixel, and the diagonal of the part's bounding box."""
    pixels = part_pixels(template, name)
    joint: Point = template.parts[name].joint
    distance = float((pixels - torch.tensor(joint)).square().sum(1).min().sqrt())
    low, high = pixels.amin(0), pixels.amax(0)
    return distance, float((high - low + 1).square().sum().sqrt())

"""Whether what was found is there: the motif's cells are asked one by one."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.images.load import Source, load_picture
from wherein.images.motif import load_motif
from wherein.motion.field import shift_matrix, transform
from wherein.pyramid.cells import cell_numbers
from wherein.registration.register import Registration
from wherein.warp import Surface

_CELLS, _CELL = 8, 5
"""Cells along each axis at most, and how many pixels wide and high they are at least."""

_MOST = 4096
"""Pixels of the motif that are looked at, at most."""

_ASIDE = 1.5
"""Pixels of the motif: so far a cell is shifted to see whether it would rather be elsewhere."""

_FLAT, _FEW = 1e-5, 9
"""A cell of less variance (of less than a grey level of 255) or fewer pixels in sight has no opinion."""


def certainty(
    scene: Source, motif: Source, found: Registration, mask: Source | None = None, *, color: str = "rgb"
) -> float:
    """The share of the motif's cells that, each by itself, fit best where the motif was found.

    A wrong pose can have a high ZNCC, because two shadings agree, and a right one a low ZNCC, because half of
    the motif is covered or in noise. But of a motif that is there every cell in sight fits worse when it is
    shifted by 1.5 pixels, whichever way, and of one that is not, hardly any.
    Above 0.25 it is most likely there.

    Arguments:
        scene, motif, mask, color: as they were given to `register`.
        found: what it returned.

    Returns:
        In [0, 1]; 0 where no cell has an opinion.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> scene = np.kron(rng.random((24, 32)), np.ones((4, 4)))
        >>> motif = scene[30:70, 40:90]
        >>> from wherein import register
        >>> certainty(scene, motif, register(scene, motif, start=[[1, 0, 38], [0, 1, 31]])) > 0.9
        True
    """
    pixels = load_picture(scene, color=color, role="scene").pixels.detach().float()
    wanted = load_motif(motif, mask, color, pixels.device)
    rows, columns = torch.nonzero(wanted.mask > 0.5, as_tuple=True)
    every = math.ceil(len(rows) / _MOST)
    rows, columns = rows[::every], columns[::every]
    points, values = torch.stack((columns, rows), -1).double(), wanted.pixels[:, rows, columns].mT
    with torch.no_grad():
        seen, looks = _look(pixels, _full(found.matrix, points), points)
        return _votes(values[seen], looks[:, seen], cell_numbers(points, _CELLS, _CELL)[seen])


def _full(matrix: NDArray[np.float64], like: Tensor) -> Float[Tensor, "3 3"]:
    full = np.eye(3)
    full[: len(matrix)] = matrix
    return torch.from_numpy(full).to(like)


def _look(
    scene: Float[Tensor, "C H W"], pose: Float[Tensor, "3 3"], points: Float[Tensor, "N 2"]
) -> tuple[Tensor, Float[Tensor, "9 M C"]]:
    """Which points are in the scene, and what is there: at the pose, and with the motif shifted about it."""
    angles = torch.arange(8, dtype=points.dtype, device=points.device) * (math.pi / 4)
    aside = _ASIDE * torch.stack((angles.cos(), angles.sin()), -1)
    shifts = torch.cat((torch.zeros_like(aside[:1]), aside))
    places = transform(pose @ torch.stack([shift_matrix(shift) for shift in shifts]), points)
    limits = places.new_tensor((scene.shape[-1] - 1, scene.shape[-2] - 1))
    seen = ((places[0] >= 0) & (places[0] <= limits)).all(-1)
    return seen, Surface(scene, replicate=True)(places.to(scene.dtype))


def _votes(values: Float[Tensor, "N C"], looks: Float[Tensor, "9 N C"], cell: Int[Tensor, " N"]) -> float:
    """The share of the cells with an opinion whose ZNCC is highest in the first look."""
    member = torch.zeros(_CELLS**2, len(cell), dtype=values.dtype, device=values.device)
    member[cell, torch.arange(len(cell), device=cell.device)] = 1
    count = member.sum(1)

    def centred(some: Tensor) -> Tensor:
        means = member @ some / count.clamp_min(1)[:, None]
        return some - means[..., cell, :]

    x, z = centred(values), centred(looks)
    own = member @ x.square().sum(-1)
    power = (member @ z.square().sum(-1, keepdim=True))[..., 0]
    fits = (member @ (x * z).sum(-1, keepdim=True))[..., 0] / power.clamp_min(1e-12).sqrt()
    asked = (count >= _FEW) & (own > _FLAT * count)
    if not bool(asked.any()):
        return 0.0
    best = (fits[0] > fits[1:].amax(0)) & (fits[0] > 0)
    return float(best[asked].double().mean())

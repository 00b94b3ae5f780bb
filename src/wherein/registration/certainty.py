"""The certainty that a registered motif is really in the scene, from tests of its cells."""

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from wherein.errors import require
from wherein.images.load import Source, load_picture
from wherein.images.motif import alike, load_motif
from wherein.motion.field import shift_matrix, transform
from wherein.pyramid.cells import cell_numbers, cell_size
from wherein.registration.register import Registration
from wherein.threads import plain_torch
from wherein.warp import Surface

LIKELY = 0.25
"""Above this certainty a motif is most likely in the scene. A choice: by chance hardly any cell fits best."""

_MAX_CELLS = 8
"""Maximum number of cells along each axis. A choice: 64 cells resolve the fraction to 1/64."""

_MIN_CELL_SIZE = 5
"""Minimum width and height of a cell in pixels. A choice: the ZNCC of fewer pixels says little."""

_MAX_PIXELS = 4096
"""Maximum number of motif pixels that are compared. A choice: 64 for each of the 64 cells are enough."""

_SHIFT = 1 / 6
"""Distance by which a cell is shifted for comparison, relative to its smaller side. A choice: many times the
error of a pose that edges found, even in a large motif, but within the same detail of most textures."""

_MIN_SHIFT = 1.5
"""Minimum of that distance, in motif pixels. A choice: many times the error of a converged pose."""

_MIN_VARIANCE = 1e-5
"""Minimum variance of a tested cell. A choice: its square root, 0.003, is below one of 256 grey levels."""

_MIN_PIXELS = 9
"""Minimum number of visible pixels of a tested cell. A choice: 3 × 3."""


@plain_torch()
def certainty(
    scene: Source, motif: Source, found: Registration, mask: Source | None = None, *, color: str = "rgb"
) -> float:
    """Return the share of the motif's texture that fits best at the pose that `register` found.

    ZNCC alone does not decide whether a motif is there: a wrong pose can have a high ZNCC because two
    shadings agree, and a right one a low ZNCC because half of the motif is occluded or noisy. So the motif is
    divided into cells, and each cell is shifted by 1.5 pixels in eight directions. If the motif is there,
    nearly every visible cell fits worse when it is shifted; if it is not, hardly any does.
    Above 0.25 the motif is most likely there.

    Arguments:
        scene, motif, mask, color: as they were given to `register`.
        found: what `register` returned.

    Returns:
        A share in [0, 1]; 0 if no cell has enough texture and visible pixels to be tested.

    Raises:
        ArgumentError: `found` is not a `Registration`, or another argument is invalid for `register`.
        PictureError: a picture cannot be read.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> scene = np.kron(rng.random((24, 32)), np.ones((4, 4)))
        >>> motif = scene[30:70, 40:90]
        >>> from wherein import register
        >>> certainty(scene, motif, register(scene, motif, start=[[1, 0, 38], [0, 1, 31]])) > 0.9
        True
    """
    require(
        isinstance(found, Registration),
        f"found is a {type(found).__name__}, but must be what `register` returned for this scene and motif",
    )
    pixels = load_picture(scene, color=color, role="scene").pixels.detach().float()
    pixels, loaded = alike(pixels, load_motif(motif, mask, color, pixels.device))
    rows, columns = torch.nonzero(loaded.mask > 0.5, as_tuple=True)
    # Every n-th pixel: a regular selection needs no random numbers.
    every = math.ceil(len(rows) / _MAX_PIXELS)
    rows, columns = rows[::every], columns[::every]
    points, values = torch.stack((columns, rows), -1).double(), loaded.pixels[:, rows, columns].mT
    distance = _SHIFT * float(cell_size(points, _MAX_CELLS, _MIN_CELL_SIZE).amin())
    visible, samples = _sample(pixels, _full(found.matrix, points), points, max(distance, _MIN_SHIFT))
    return _best_share(
        values[visible], samples[:, visible], cell_numbers(points, _MAX_CELLS, _MIN_CELL_SIZE)[visible]
    )


def _full(matrix: NDArray[np.float64], like: Tensor) -> Float[Tensor, "3 3"]:
    """The 2×3 or 3×3 matrix as 3×3."""
    full = np.eye(3)
    full[: len(matrix)] = matrix
    return torch.from_numpy(full).to(like)


def _sample(
    scene: Float[Tensor, "C H W"], pose: Float[Tensor, "3 3"], points: Float[Tensor, "N 2"], distance: float
) -> tuple[Tensor, Float[Tensor, "9 M C"]]:
    """Which points lie in the scene, and the scene's values at the points of nine poses.

    The first is the pose itself, the others have the motif shifted by the distance in eight directions.
    """
    angles = torch.arange(8, dtype=points.dtype, device=points.device) * (math.pi / 4)
    around = distance * torch.stack((angles.cos(), angles.sin()), -1)
    shifts = torch.cat((torch.zeros_like(around[:1]), around))
    places = transform(pose @ torch.stack([shift_matrix(shift) for shift in shifts]), points)
    limits = places.new_tensor((scene.shape[-1] - 1, scene.shape[-2] - 1))
    visible = ((places[0] >= 0) & (places[0] <= limits)).all(-1)
    # Replicated borders: with zeros outside, a cell at the border would always fit worse when shifted.
    return visible, Surface(scene, replicate=True)(places.to(scene.dtype))


def _best_share(
    values: Float[Tensor, "N C"], samples: Float[Tensor, "9 N C"], cell: Int[Tensor, " N"]
) -> float:
    """The share of the tested cells, by contrast, whose ZNCC is highest in the first of the samples."""
    # Sums over cells are products with the membership matrix, whose order of summation is fixed.
    member = torch.zeros(_MAX_CELLS**2, len(cell), dtype=values.dtype, device=values.device)
    member[cell, torch.arange(len(cell), device=cell.device)] = 1
    count = member.sum(1)

    def centred(some: Tensor) -> Tensor:
        means = member @ some / count.clamp_min(1)[:, None]
        return some - means[..., cell, :]

    x, z = centred(values), centred(samples)
    motif_energy = member @ x.square().sum(-1)
    scene_energy = (member @ z.square().sum(-1, keepdim=True))[..., 0]
    # ZNCC without the motif's norm, which is the same for all nine samples of a cell.
    fits = (member @ (x * z).sum(-1, keepdim=True))[..., 0] / scene_energy.clamp_min(1e-12).sqrt()
    tested = (count >= _MIN_PIXELS) & (motif_energy > _MIN_VARIANCE * count)  # else ZNCC is mostly noise
    if not bool(tested.any()):
        return 0.0
    best = (fits[0] > fits[1:].amax(0)) & (fits[0] > 0)
    contrast = motif_energy[tested].double().sqrt()
    return float((best[tested] * contrast).sum() / contrast.sum())

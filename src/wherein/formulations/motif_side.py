"""The motif's side of the fast objective: what of it can be made once, before any scene is seen."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein import native
from wherein.errors import require
from wherein.images.motif import Motif
from wherein.motion import field as fields
from wherein.motion.models import STANDARD, Motion

PURE, HALF, SHARE = 0.9, 0.5, 0.4
"""See `_threshold`; motif.c has the same."""


@dataclass(frozen=True, eq=False)
class MotifSide:
    """N pixels of the motif, and how they change where the motif moves.

    Attributes:
        centre: the mean of the pixels compared, in motif pixels (x, y).
        radius: their root mean square distance from it, at least 1.
        unit: step units in which one unit of any parameter moves the motif by about a pixel.
        points: the pixels, centred.
        known: K = (J, x), J = Dx · ∂M/∂p at the identity and in those units, with the channels' means off.
    """

    centre: Float[Tensor, "2"]
    radius: Float[Tensor, ""]
    unit: Float[Tensor, " P"]
    points: Float[Tensor, "N 2"]
    known: Float[Tensor, "N C K"]


def motif_side(motif: Motif, motion: Motion, limit: int | None = None) -> MotifSide:
    """Linearise a motif over a motion.

    Arguments:
        motif: of it the pixels well inside the mask are compared; see `_threshold`.
        motion: how it may move.
        limit: compare no more than this many pixels, those where the motif changes most; None: all.
    """
    require(limit is None or limit > 0, f"limit must be a number of pixels or None, but came as {limit}")
    few = type(motion) in STANDARD and len(motif.pixels) <= native.CHANNELS
    if few and native.serves(motif.pixels, motif.mask):
        return MotifSide(*native.motif_side(motif.pixels, motif.mask, motion.size, limit))
    gradients = _extended_gradient(motif)
    rows, columns = _support(motif, gradients, limit)
    points = torch.stack((columns, rows), -1).to(motif.pixels.dtype)
    centre = points.mean(0)
    points = points - centre
    radius = points.pow(2).sum(1).mean().sqrt().clamp_min(1.0)
    x = motif.pixels[:, rows, columns].mT
    gradient = gradients[:, :, rows, columns].permute(2, 1, 0)
    identity = motion.identity(like=x)
    change = motion.jacobian(identity)
    unit = _units(change, radius)
    tangent = fields.tangent(motion.matrix(identity), change * unit, points[None])[0]
    known = torch.cat((torch.einsum("nci,nip->ncp", gradient, tangent), x[..., None]), -1)
    # The means do not matter to the objective, which takes them off, but to its conditioning.
    return MotifSide(centre, radius, unit, points, known - known.mean(0))


def _units(change: Float[Tensor, "3 3 P"], radius: Float[Tensor, ""]) -> Float[Tensor, " P"]:
    """1 for a shift, 1/r for the linear part, 1/r² for a perspective."""
    shift = change[:2, 2].abs().sum(0) > 0
    perspective = change[2].abs().sum(0) > 0
    turn = torch.where(perspective, radius**-2, 1 / radius)
    return torch.where(shift, torch.ones_like(turn), turn)


def _threshold(mask: Float[Tensor, "h w"]) -> float:
    """Above which value of the mask a pixel is compared.

    At a coarse scale a pixel on the outline is partly background, which the motif knows nothing of: it is
    left out, unless the motif is so thin that too little would stay.
    """
    most = float(mask.detach().amax())
    if most <= HALF:
        return most / 2
    pure, half = (float((mask > limit).sum()) for limit in (PURE, HALF))
    return PURE if pure >= SHARE * half else HALF


def _support(motif: Motif, gradients: Float[Tensor, "2 C h w"], limit: int | None) -> tuple[Tensor, Tensor]:
    """Rows and columns of the pixels to compare, in reading order."""
    rows, columns = torch.nonzero(motif.mask > _threshold(motif.mask), as_tuple=True)
    if limit is None or len(rows) <= limit:
        return rows, columns
    strength = gradients.pow(2).sum((0, 1))[rows, columns]
    chosen = strength.topk(limit, sorted=False).indices.sort().values
    return rows[chosen], columns[chosen]


def _extended_gradient(motif: Motif) -> Float[Tensor, "2 C h w"]:
    """Dx by central differences, the motif continued past its mask by the mean of its neighbours there."""
    inside, mask = F.pad(motif.masked, (1,) * 4), F.pad(motif.mask[None], (1,) * 4)
    around = F.avg_pool2d(inside, 3, 1, 1) / F.avg_pool2d(mask, 3, 1, 1).clamp_min(1e-3)
    whole = torch.where(mask > 0.05, inside / mask.clamp_min(0.05), around)
    x = (whole[:, 1:-1, 2:] - whole[:, 1:-1, :-2]) / 2
    y = (whole[:, 2:, 1:-1] - whole[:, :-2, 1:-1]) / 2
    return torch.stack((x, y))

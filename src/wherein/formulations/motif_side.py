"""The motif's side of the fast objective: the part that is computed once, before there is a scene."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.images.motif import Motif
from wherein.motion import field as fields
from wherein.motion.models import Affine, Euclidean, Homography, Motion, Similarity, Translation
from wherein.native import abi, correlation_calls, kernel, structs

PURE, HALF, SHARE = 0.9, 0.5, 0.4
"""A choice: a pixel with a mask above PURE is the motif alone, above HALF more motif than background. The
pure ones are enough where they are at least SHARE of the others; see `_threshold`."""

INSIDE = 0.05
"""A choice: with a mask above this a pixel has a colour of its own, else the mean of its neighbours'."""

MIN_WEIGHT = 1e-3
"""Mean mask of the 3 × 3 neighbours, so that where there is none at all nothing is divided by 0."""

MOTION_KINDS: dict[type[Motion], abi.MotionKind] = {
    Translation: abi.MotionKind.TRANSLATION,
    Euclidean: abi.MotionKind.EUCLIDEAN,
    Similarity: abi.MotionKind.SIMILARITY,
    Affine: abi.MotionKind.AFFINE,
    Homography: abi.MotionKind.HOMOGRAPHY,
}
"""The motions that C knows, by their very class: a subclass may mean something else by its parameters.

Here and not in `wherein.native`, which stands before `wherein.motion` in the order of imports."""


@dataclass(frozen=True, eq=False)
class MotifSide:
    """N pixels of the motif, and how they change when the motif moves.

    Attributes:
        centre: the mean position of the pixels that are compared, in motif pixels (x, y).
        radius: their root mean square distance from it, at least 1.
        unit: step units in which one unit of any parameter moves the motif by about a pixel.
        points: the pixels, relative to the centre.
        known: K = (J, x), J = Dx · ∂M/∂p at the identity and in those units, with the mean of each channel
            subtracted.
    """

    centre: Float[Tensor, "2"]
    radius: Float[Tensor, ""]
    unit: Float[Tensor, " P"]
    points: Float[Tensor, "N 2"]
    known: Float[Tensor, "N C K"]


def motif_side(motif: Motif, motion: Motion, limit: int | None = None) -> MotifSide:
    """The motif linearised over a motion.

    Arguments:
        motif: the pixels well inside its mask are compared; see `_threshold`.
        motion: how it may move.
        limit: compare no more than this many pixels, those where the motif changes most; None: all.
    """
    require(limit is None or limit > 0, f"limit must be a number of pixels or None, but is {limit}")
    kind = MOTION_KINDS.get(type(motion))
    few = len(motif.pixels) <= abi.MAX_CHANNELS
    if kind is not None and few and kernel.accepts(motif.pixels, motif.mask):
        return MotifSide(*correlation_calls.motif_side(motif.pixels, motif.mask, kind, _rules(motif, limit)))
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
    # The objective subtracts the means anyway; without them there is less to cancel, and less rounding.
    return MotifSide(centre, radius, unit, points, known - known.mean(0))


def _rules(motif: Motif, limit: int | None) -> structs.SideRules:
    """Every number that C would otherwise have to know by itself."""
    return structs.SideRules(
        pure=PURE,
        half=HALF,
        share=SHARE,
        inside=INSIDE,
        min_weight=9 * MIN_WEIGHT,  # C sums the neighbours where `_extended_gradient` takes their mean
        limit=motif.mask.numel() if limit is None else min(limit, motif.mask.numel()),
    )


def _units(change: Float[Tensor, "3 3 P"], radius: Float[Tensor, ""]) -> Float[Tensor, " P"]:
    """1 for a shift, 1/r for the linear part, 1/r² for a perspective: about a pixel of movement each."""
    shift = change[:2, 2].abs().sum(0) > 0
    perspective = change[2].abs().sum(0) > 0
    turn = torch.where(perspective, radius**-2, 1 / radius)
    return torch.where(shift, torch.ones_like(turn), turn)


def _threshold(mask: Float[Tensor, "h w"]) -> float:
    """The value of the mask above which a pixel is compared.

    At a coarse scale a pixel on the outline is partly background, which differs from scene to scene: it is
    left out, unless the motif is so thin that too little would remain.
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
    """Dx by central differences; outside of its mask the motif is the mean of its neighbours."""
    inside, mask = F.pad(motif.masked, (1,) * 4), F.pad(motif.mask[None], (1,) * 4)
    around = F.avg_pool2d(inside, 3, 1, 1) / F.avg_pool2d(mask, 3, 1, 1).clamp_min(MIN_WEIGHT)
    whole = torch.where(mask > INSIDE, inside / mask.clamp_min(INSIDE), around)
    x = (whole[:, 1:-1, 2:] - whole[:, 1:-1, :-2]) / 2
    y = (whole[:, 2:, 1:-1] - whole[:, :-2, 1:-1]) / 2
    return torch.stack((x, y))

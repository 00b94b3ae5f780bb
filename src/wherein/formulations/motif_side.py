"""The linearised motif of the fast objective (`correlation`), computed once and independent of the scene."""

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
"""A pixel with a mask above PURE shows the motif alone; with a mask above HALF, more motif than background.
Only pure pixels are compared if they are at least SHARE of those above HALF; see `_threshold`. Choices."""

INSIDE = 0.05
"""A pixel with a mask above this keeps its own colour; any other gets the mean colour of its neighbours. A
choice."""

MIN_WEIGHT = 1e-3
"""Minimum of the mean mask of 3 × 3 pixels, which avoids a division by 0 where the mask is empty."""

MOTION_KINDS: dict[type[Motion], abi.MotionKind] = {
    Translation: abi.MotionKind.TRANSLATION,
    Euclidean: abi.MotionKind.EUCLIDEAN,
    Similarity: abi.MotionKind.SIMILARITY,
    Affine: abi.MotionKind.AFFINE,
    Homography: abi.MotionKind.HOMOGRAPHY,
}
"""The motions that C implements, by their exact class: a subclass may use its parameters differently.

The table is not in `wherein.native`, which may not import `wherein.motion`."""


@dataclass(frozen=True, eq=False)
class MotifSide:
    """N pixels of the motif, and their derivatives with respect to the motion.

    Attributes:
        centre: the mean position of the compared pixels, in motif pixels (x, y).
        radius: the root mean square distance of the compared pixels from the centre, at least 1.
        unit: the unit of each parameter: one unit moves the motif by about a pixel.
        points: the positions of the compared pixels, relative to the centre.
        known: K = (J, x), with J = Dx · ∂M/∂p at the identity, in units of `unit`, and the mean of each
            channel subtracted.
    """

    centre: Float[Tensor, "2"]
    radius: Float[Tensor, ""]
    unit: Float[Tensor, " P"]
    points: Float[Tensor, "N 2"]
    known: Float[Tensor, "N C K"]


def motif_side(motif: Motif, motion: Motion, limit: int | None = None) -> MotifSide:
    """The motif linearised for a motion.

    Arguments:
        motif: the pixels well inside its mask are compared; see `_threshold`.
        motion: how it may move.
        limit: compare at most this many pixels, those with the strongest gradient; None: all.
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
    # Columns of similar size: the Gauss–Newton matrix is then well conditioned for motifs of any size.
    unit = _units(change, radius)
    tangent = fields.tangent(motion.matrix(identity), change * unit, points[None])[0]
    known = torch.cat((torch.einsum("nci,nip->ncp", gradient, tangent), x[..., None]), -1)
    # The objective subtracts the means anyway; doing it here as well leaves less cancellation and rounding.
    return MotifSide(centre, radius, unit, points, known - known.mean(0))


def _rules(motif: Motif, limit: int | None) -> structs.SideRules:
    """The constants of this module for C, so that each number is written once."""
    return structs.SideRules(
        pure=PURE,
        half=HALF,
        share=SHARE,
        inside=INSIDE,
        min_weight=9 * MIN_WEIGHT,  # C sums the neighbours where `_extended_gradient` takes their mean
        limit=motif.mask.numel() if limit is None else min(limit, motif.mask.numel()),
    )


def _units(change: Float[Tensor, "3 3 P"], radius: Float[Tensor, ""]) -> Float[Tensor, " P"]:
    """1 for a shift, 1/r for the linear part, 1/r² for perspective: each moves a point at r by a pixel."""
    shift = change[:2, 2].abs().sum(0) > 0
    perspective = change[2].abs().sum(0) > 0
    other = torch.where(perspective, radius**-2, 1 / radius)
    return torch.where(shift, torch.ones_like(other), other)


def _threshold(mask: Float[Tensor, "h w"]) -> float:
    """The value of the mask above which a pixel is compared.

    At a coarse scale a pixel on the outline is partly background, which differs from scene to scene. Such
    pixels are left out, unless the motif is so thin that too few others would remain.
    """
    highest = float(mask.detach().amax())
    if highest <= HALF:  # a thin or faint motif: no pixel would pass either limit
        return highest / 2
    pure, half = (float((mask > limit).sum()) for limit in (PURE, HALF))
    return PURE if pure >= SHARE * half else HALF


def _support(motif: Motif, gradients: Float[Tensor, "2 C h w"], limit: int | None) -> tuple[Tensor, Tensor]:
    """Rows and columns of the pixels to compare, in reading order."""
    rows, columns = torch.nonzero(motif.mask > _threshold(motif.mask), as_tuple=True)
    if limit is None or len(rows) <= limit:
        return rows, columns
    strength = gradients.pow(2).sum((0, 1))[rows, columns]
    chosen = strength.topk(limit, sorted=False).indices.sort().values  # in memory order again
    return rows[chosen], columns[chosen]


def _extended_gradient(motif: Motif) -> Float[Tensor, "2 C h w"]:
    """Dx by central differences; outside its mask the motif is continued by the mean of its neighbours."""
    # Without the continuation, the step from the motif to black would dominate the gradient at its outline.
    inside, mask = F.pad(motif.masked, (1,) * 4), F.pad(motif.mask[None], (1,) * 4)
    around = F.avg_pool2d(inside, 3, 1, 1) / F.avg_pool2d(mask, 3, 1, 1).clamp_min(MIN_WEIGHT)
    whole = torch.where(mask > INSIDE, inside / mask.clamp_min(INSIDE), around)
    x = (whole[:, 1:-1, 2:] - whole[:, 1:-1, :-2]) / 2
    y = (whole[:, 2:, 1:-1] - whole[:, :-2, 1:-1]) / 2
    return torch.stack((x, y))

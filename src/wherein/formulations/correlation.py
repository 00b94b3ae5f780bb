"""The fast objective: ZNCC on the motif's support, linearised on the motif's side.

The plain cost (2) without smoothing, least over a gain and a bias a channel of the light, is

    min_{a, b} ‖a z + b − x‖²  =  ‖x − x̄‖² (1 − ZNCC(z, x)²),    z = y∘τ on Ω.

Here a step does not move the scene but the motif: z ≈ α x∘M(δ) + β ≈ α (x + J δ) + β, J = Dx · ∂M/∂p. J belongs
to the motif, so it, and the Gauss–Newton matrix after α and β are eliminated, are made once; a step costs one
interpolation of the scene and one product with J, and the pose follows by composition, F ← F · M(−δ). Beside the
speed there are two gains: no noise and no background enters the Jacobian, and where z = x is reached the gradient
vanishes whatever J is, so that nothing in J can bias the pose.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.formulations.base import Evaluation
from wherein.formulations.objective import Objective, Variables
from wherein.images.motif import Motif
from wherein.motion import field as fields
from wherein.motion.models import Motion
from wherein.warp import Surface

_LEAST_SEEN = 0.25
"""Of the support: with less of it inside the scene, a correlation says nothing."""

_LONGEST_STEP = 0.35
"""Of the motif's radius: beyond it the linearisation has no claim."""


class CorrelationObjective(Objective):
    """1 − ZNCC over a motion, as a least-squares problem in steps about the current pose.

    Its pose is the frame itself, (B, 3, 3): centred motif points → scene. Scene and motif are of one scale.

    Arguments:
        surface: the scene.
        motif: pixels whose mask exceeds ½ are compared.
        motion: how the pose may move.
        limit: compare no more than this many pixels, those where the motif changes most; None: all.
        robust: down-weight pixels that do not fit (occlusion).
    """

    def __init__(
        self, surface: Surface, motif: Motif, motion: Motion, limit: int | None = None, robust: bool = False
    ) -> None:
        self.surface, self.motion, self.robust = surface, motion, robust
        gradients = _extended_gradient(motif)
        rows, columns = _support(motif, gradients, limit)
        points = torch.stack((columns, rows), -1).to(motif.pixels.dtype)
        self.centre = points.mean(0)
        self.points = points - self.centre
        self.radius = self.points.pow(2).sum(1).mean().sqrt().clamp_min(1.0)
        self._box = _corners(self.points)
        x = motif.pixels[:, rows, columns].mT
        gradient = gradients[:, :, rows, columns].permute(2, 1, 0)
        identity = motion.identity(like=x)
        self._unit = self._units()
        change = motion.jacobian(identity) * self._unit
        tangent = fields.tangent(motion.matrix(identity), change, self.points[None])[0]
        # The columns J, and x itself behind them, with the channels' means taken off for conditioning.
        known = torch.cat((torch.einsum("nci,nip->ncp", gradient, tangent), x[..., None]), -1)
        known = known - known.mean(0)
        self.size = motion.size
        self._columns = known.reshape(-1, self.size + 1)
        self._squares = torch.einsum("nck,ncl->nkl", known, known).flatten(1)
        self._sums = known
        self.texture = float(known[..., -1].pow(2).mean())
        self._whole = self._gram(torch.ones_like(self.points[None, :, 0]))
        # Below this, differences of the cost are rounding.
        self.noise = 8 * torch.finfo(x.dtype).eps

    def _units(self) -> Float[Tensor, " P"]:
        """Step units in which one unit of any parameter moves the motif by about a pixel."""
        moved = self.motion.jacobian(self.motion.identity(like=self.points))
        shift = moved[:2, 2].abs().sum(0) > 0
        perspective = moved[2].abs().sum(0) > 0
        turn = torch.where(perspective, self.radius**-2, 1 / self.radius)
        return torch.where(shift, torch.ones_like(turn), turn)

    def start(self, pose: Float[Tensor, "B 3 3"] | None = None) -> Variables:
        """Variables at a frame; the motif where its own pixels are in the scene, unless told."""
        eye = torch.eye(3, dtype=self.points.dtype, device=self.points.device)
        return self.at(eye[None]) if pose is None else Variables(pose)

    def at(self, matrix: Float[Tensor, "B 3 3"]) -> Variables:
        """The variables of given matrices, motif pixels → scene pixels."""
        return Variables(matrix @ fields.shift_matrix(self.centre))

    def matrix(self, at: Variables) -> Float[Tensor, "B 3 3"]:  # noqa: D102
        return at.pose @ fields.shift_matrix(-self.centre)

    def move(self, at: Variables, step: Float[Tensor, "B P"]) -> Variables:
        """F ← F · M(step), no further than the linearisation can be trusted."""
        length = step.norm(dim=1, keepdim=True)
        step = step * (_LONGEST_STEP * self.radius / length.clamp_min(1e-12)).clamp_max(1)
        pose = at.pose @ self.motion.matrix(step * self._unit)
        return replace(at, pose=pose / pose[:, 2:, 2:])

    def length(self, step: Float[Tensor, "B P"]) -> Float[Tensor, "B"]:  # noqa: D102
        return step.norm(dim=1)

    def seen(self, at: Variables) -> Float[Tensor, "B"]:  # noqa: D102
        return self._inside(fields.transform(at.pose, self.points)).to(at.pose.dtype).mean(1)

    def evaluate(self, at: Variables) -> Evaluation:  # noqa: D102
        return replace(self.linearise(at), hessian=None)

    def linearise(self, at: Variables) -> Evaluation:
        """1 − ZNCC at the poses, and the normal equations of the next step."""
        weights, scene = self._look(at.pose)
        if self.robust:
            weights = self._trusted(scene, weights)
        gram, overlap, energy = self._moments(scene, weights)
        # Eliminate α: what of J is along x is a change of contrast, not of pose.
        along = gram[:, :-1, -1] / gram[:, -1:, -1]
        hessian = gram[:, :-1, :-1] - along[:, :, None] * gram[:, None, -1, :-1]
        contrast = overlap[:, -1]
        gain = (contrast / gram[:, -1, -1]).clamp_min(0.05 * (energy / gram[:, -1, -1]).sqrt())
        gradient = (overlap[:, :-1] - along * contrast[:, None]) / gain[:, None]
        zncc = contrast / (energy * gram[:, -1, -1]).sqrt()
        # Without a number: no texture, or too little of the motif in sight.
        cost = torch.where(zncc.isfinite(), 1 - zncc, torch.inf)
        return Evaluation(cost, torch.nan_to_num(gradient), torch.nan_to_num(hessian))

    def probes(self, at: Variables, count: int, drop: float) -> Variables:
        """The first pose, and neighbours of it along the `count` directions in which it is least certain.

        Where a coarse scale leaves a direction undetermined, the pose it hands on can lie in the wrong basin of
        the next. The directions are the weakest eigenvectors of the Gauss–Newton matrix; each neighbour lies
        where the quadratic model expects 1 − ZNCC² to have risen by `drop`.
        """
        gram = self._whole[0][0]
        hessian = gram[:-1, :-1] - gram[:-1, -1:] * gram[-1:, :-1] / gram[-1, -1]
        values, vectors = torch.linalg.eigh(hessian / gram[-1, -1])
        reach = (drop / values[:count].clamp_min(1e-9)).sqrt()
        steps = (reach * vectors[:, :count]).mT
        first = Variables(at.pose[:1].expand(2 * len(steps), 3, 3))
        around = self.move(first, torch.cat((steps, -steps)))
        return Variables(torch.cat((at.pose, around.pose)))

    def _look(self, pose: Float[Tensor, "B 3 3"]) -> tuple[Tensor | None, Float[Tensor, "B N C"]]:
        """The scene under the support, and the weights of its points: None where all are inside."""
        scene = self.surface(fields.transform(pose, self.points))
        if bool(self._inside(fields.transform(pose, self._box)).all()):
            return None, scene
        return self._inside(fields.transform(pose, self.points)).to(scene.dtype), scene

    def _inside(self, points: Float[Tensor, "B N 2"]) -> Bool[Tensor, "B N"]:
        limits = points.new_tensor((self.surface.width - 1, self.surface.height - 1))
        return ((points >= 0) & (points <= limits)).all(-1)

    def _gram(self, weights: Float[Tensor, "B N"]) -> tuple[Tensor, Tensor, Tensor]:
        """KᵀWK with the channels' weighted means taken off, K = (J, x); the means' sums; the total weight."""
        total = weights.sum(1)
        sums = torch.einsum("bn,nck->bck", weights, self._sums)
        gram = (weights @ self._squares).unflatten(1, (self.size + 1,) * 2)
        gram = gram - torch.einsum("bck,bcl->bkl", sums, sums) / total[:, None, None]
        enough = total >= _LEAST_SEEN * len(self.points)
        return torch.where(enough[:, None, None], gram, torch.nan), sums, total

    def _moments(self, scene: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """KᵀWK, KᵀWz and zᵀWz, means taken off."""
        if weights is None:
            gram, sums, total = self._whole
            weighted = scene
        else:
            gram, sums, total = self._gram(weights)
            weighted = weights[..., None] * scene
        of_scene = weighted.sum(1)
        overlap = weighted.flatten(1) @ self._columns
        overlap = (
            overlap - torch.einsum("bc,bck->bk", of_scene, sums.expand(len(scene), -1, -1)) / total[:, None]
        )
        energy = (weighted * scene).sum((1, 2)) - of_scene.pow(2).sum(1) / total
        return gram.expand(len(scene), -1, -1), overlap, energy

    def _trusted(self, scene: Tensor, weights: Tensor | None) -> Tensor:
        """Weights 1/(1 + e²/s²)² (Geman–McClure), s from the median residual of what is seen."""
        seen = torch.ones_like(scene[..., 0]) if weights is None else weights
        trust = seen
        motif = self._sums[..., -1]
        for _ in range(2):
            gram, overlap, _ = self._moments(scene, trust)
            gain = (overlap[:, -1] / gram[:, -1, -1]).clamp_min(1e-3)[:, None, None]
            share = trust[..., None] / trust.sum(1)[:, None, None].clamp_min(1e-12)
            bias = (share * (scene - gain * motif)).sum(1, keepdim=True)
            error = (scene - gain * motif - bias).pow(2).sum(-1) / gain[..., 0] ** 2
            scale = torch.nanmedian(torch.where(seen > 0, error, torch.nan), 1, keepdim=True).values
            trust = seen / (1 + error / (6 * scale + 1e-5)) ** 2
        return trust


def _support(motif: Motif, gradients: Float[Tensor, "2 C h w"], limit: int | None) -> tuple[Tensor, Tensor]:
    """Rows and columns of the pixels to compare, in reading order."""
    rows, columns = torch.nonzero(motif.mask > 0.5, as_tuple=True)
    if limit is None or len(rows) <= limit:
        return rows, columns
    strength = gradients.pow(2).sum((0, 1))[rows, columns]
    chosen = strength.topk(limit, sorted=False).indices.sort().values
    return rows[chosen], columns[chosen]


def _corners(points: Float[Tensor, "N 2"]) -> Float[Tensor, "4 2"]:
    low, high = points.amin(0), points.amax(0)
    return torch.stack((low, torch.stack((high[0], low[1])), torch.stack((low[0], high[1])), high))


def _extended_gradient(motif: Motif) -> Float[Tensor, "2 C h w"]:
    """Dx by central differences, the motif continued past its mask by the mean of its neighbours there."""
    inside, mask = F.pad(motif.masked, (1,) * 4), F.pad(motif.mask[None], (1,) * 4)
    around = F.avg_pool2d(inside, 3, 1, 1) / F.avg_pool2d(mask, 3, 1, 1).clamp_min(1e-3)
    whole = torch.where(mask > 0.05, inside / mask.clamp_min(0.05), around)
    x = (whole[:, 1:-1, 2:] - whole[:, 1:-1, :-2]) / 2
    y = (whole[:, 2:, 1:-1] - whole[:, :-2, 1:-1]) / 2
    return torch.stack((x, y))

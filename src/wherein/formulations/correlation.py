"""The fast objective: ZNCC on the motif's support, linearised on the motif's side.

The plain cost (2) without smoothing, least over a gain and a bias a channel of the light, is

    min_{a, b} ‖a z + b − x‖²  =  ‖x − x̄‖² (1 − ZNCC(z, x)²),    z = y∘τ on Ω.

Here a step does not move the scene but the motif: z ≈ α x∘M(δ) + β ≈ α (x + J δ) + β, J = Dx · ∂M/∂p. J
belongs to the motif, so it, and the Gauss–Newton matrix after α and β are eliminated, are made once; a step
costs one interpolation of the scene and one product with J, and the pose follows by composition,
F ← F · M(−δ). Beside the speed there are two gains: no noise and no background enters the Jacobian, and where
z = x is reached the gradient vanishes whatever J is, so that nothing in J can bias the pose.
"""

from dataclasses import replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.motif_side import MotifSide, motif_side
from wherein.formulations.objective import Evaluation, Objective, Variables
from wherein.formulations.robust import Robust
from wherein.images.motif import Motif
from wherein.motion import field as fields
from wherein.motion.models import Motion
from wherein.warp import Surface

MIN_VISIBLE = 0.25
"""Fraction of the motif that must lie inside the scene. A choice: a correlation over less says little."""

LONGEST_STEP = 0.35
"""Of the motif's radius: beyond it the linearisation has no claim."""

ROBUST = Robust(hidden=0.25)
"""Far from the pose all of the motif fits badly, and a loss that allows for more trusts what happens to fit:
at 0.4, half of the searches from afar fail. A third that is hidden is seen past all the same."""

ROUNDS, LEAST_GAIN = 2, 1e-3
"""Of robust weights and lighting by turns; and the gain, below which the motif's contrast cannot be seen."""

EDGE = 1e-3
"""In pixels: a point on the scene's very edge is inside, whichever way its coordinates were rounded."""

LEAST_VARIANCE = 1e-7
"""A variance below this (a hundredth of a grey level of 255, squared) is rounding, not texture."""


class CorrelationObjective(Objective):
    """1 − ZNCC over a motion, as a least-squares problem in steps about the current pose.

    Its pose is the frame itself, (B, 3, 3): centred motif points → scene. Scene and motif are of one scale.

    Arguments:
        surface: the scene.
        motif: its pixels well inside the mask are compared; or its side, where that was made before.
        motion: how the pose may move; the side's.
        limit: compare no more than this many pixels, those where the motif changes most; None: all.
        robust: down-weight pixels that do not fit (occlusion).
    """

    min_visible = MIN_VISIBLE

    slack = 0.01
    """The gradient is taken on the motif's side and vanishes where z = x, a little off the least cost of a
    noisy scene and closer to the truth: a rise of this share on the way there is no failure."""

    def __init__(
        self,
        surface: Surface,
        motif: Motif | MotifSide,
        motion: Motion,
        limit: int | None = None,
        robust: bool = False,
    ) -> None:
        # Between the last pixel's centre and its edge, zeros would make a step that is not in the scene.
        self.surface = Surface(surface.scene, surface.a, replicate=True)
        self.motion, self.robust = motion, robust
        self.side = motif if isinstance(motif, MotifSide) else motif_side(motif, motion, limit)
        channels, size = self.side.known.shape[1], len(self.side.unit)
        require(
            surface.channels == channels,
            f"scene and motif need the same channels, but came {surface.channels} and {channels}",
        )
        require(
            size == motion.size,
            f"the motif's side was made for {size} parameters, but {motion.name} has {motion.size}",
        )
        self.centre, self.radius, self.points = self.side.centre, self.side.radius, self.side.points
        self.size = motion.size
        # Below this, differences of the cost are rounding.
        self.noise = 8 * torch.finfo(self.points.dtype).eps

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
        step = step * (LONGEST_STEP * self.radius / length.clamp_min(1e-12)).clamp_max(1)
        pose = at.pose @ self.motion.matrix(step * self.side.unit)
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
        enough = True if weights is None else weights.mean(1) >= MIN_VISIBLE
        if self.robust:
            weights = self._trusted(scene, weights)
        gram, overlap, energy, total = self._moments(scene, weights)
        # Eliminate α: what of J is along x is a change of contrast, not of pose.
        along = gram[:, :-1, -1] / gram[:, -1:, -1]
        hessian = gram[:, :-1, :-1] - along[:, :, None] * gram[:, None, -1, :-1]
        contrast = overlap[:, -1]
        gain = (contrast / gram[:, -1, -1]).clamp_min(0.05 * (energy / gram[:, -1, -1]).sqrt())
        gradient = (overlap[:, :-1] - along * contrast[:, None]) / gain[:, None]
        zncc = contrast / (energy * gram[:, -1, -1]).sqrt()
        least = LEAST_VARIANCE * total * scene.shape[-1]
        flat = ~((energy > least) & (gram[:, -1, -1] > least))
        # Without a number: too little of the motif in sight, or no texture.
        cost = torch.where(zncc.isfinite() & ~flat & enough, 1 - zncc, torch.inf)
        numbers = (cost, torch.nan_to_num(gradient), torch.nan_to_num(hessian))
        cost, gradient, hessian = (number.to(at.pose.dtype) for number in numbers)
        return Evaluation(cost, gradient, flat, hessian)

    def probes(self, at: Variables, count: int, drop: float) -> Variables:
        """The first pose, and neighbours of it along the `count` directions in which it is least certain.

        Where a coarse scale leaves a direction undetermined, the pose it hands on can lie in the wrong basin
        of the next. The directions are the weakest eigenvectors of the Gauss–Newton matrix; each neighbour
        lies where the quadratic model expects 1 − ZNCC² to have risen by `drop`.
        """
        gram = self._whole[0][0]
        hessian = gram[:-1, :-1] - gram[:-1, -1:] * gram[-1:, :-1] / gram[-1, -1]
        values, vectors = torch.linalg.eigh(hessian / gram[-1, -1])
        reach = (drop / values[:count].clamp_min(1e-9)).sqrt()
        steps = (reach * vectors[:, :count]).mT.to(at.pose.dtype)
        first = Variables(at.pose[:1].expand(2 * len(steps), 3, 3))
        around = self.move(first, torch.cat((steps, -steps)))
        return Variables(torch.cat((at.pose, around.pose)))

    def _look(self, pose: Float[Tensor, "B 3 3"]) -> tuple[Tensor | None, Float[Tensor, "B N C"]]:
        """The scene under the support, and the weights of its points: None where all are inside.

        From here on all is in float64. In float32 the order of a sum, which changes with the batch, would
        decide where a descent with little to go by ends.
        """
        scene = self.surface(fields.transform(pose, self.points)).to(self._exact)
        if bool(self._inside(fields.transform(pose, self._box)).all()):
            return None, scene
        return self._inside(fields.transform(pose, self.points)).to(scene.dtype), scene

    def _inside(self, points: Float[Tensor, "B N 2"]) -> Bool[Tensor, "B N"]:
        limits = points.new_tensor((self.surface.width - 1, self.surface.height - 1))
        return ((points >= -EDGE) & (points <= limits + EDGE)).all(-1)

    def _gram(self, weights: Float[Tensor, "B N"]) -> tuple[Tensor, Tensor, Tensor]:
        """KᵀWK with the channels' weighted means taken off, K = (J, x); the means' sums; the total weight."""
        total = weights.sum(1)
        sums = torch.einsum("bn,nck->bck", weights, self._known)
        gram = (weights @ self._squares).unflatten(1, (self.size + 1,) * 2)
        gram = gram - torch.einsum("bck,bcl->bkl", sums, sums) / total[:, None, None]
        return gram, sums, total

    @cached_property
    def _whole(self) -> tuple[Tensor, Tensor, Tensor]:
        """`_gram` with every point in the scene."""
        sums, total = self._known.sum(0, keepdim=True), self._known.new_tensor((len(self.points),))
        gram = self._columns.mT @ self._columns - (sums[0].mT @ sums[0]) / total
        return gram[None], sums, total

    @cached_property
    def _box(self) -> Float[Tensor, "4 2"]:
        """The corners of the points' rectangle."""
        low, high = self.points.amin(0), self.points.amax(0)
        return torch.stack((low, torch.stack((high[0], low[1])), torch.stack((low[0], high[1])), high))

    @property
    def _exact(self) -> torch.dtype:
        """Of sums; Apple's GPUs have none better than float32."""
        return torch.float32 if self.points.device.type == "mps" else torch.float64

    @cached_property
    def _known(self) -> Float[Tensor, "N C K"]:
        return self.side.known.to(self._exact)

    @cached_property
    def _columns(self) -> Float[Tensor, "NC K"]:
        return self._known.reshape(-1, self.size + 1)

    @cached_property
    def _squares(self) -> Float[Tensor, "N KK"]:
        return torch.einsum("nck,ncl->nkl", self._known, self._known).flatten(1)

    def _moments(self, scene: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """KᵀWK, KᵀWz and zᵀWz, means taken off, and the total weight."""
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
        # Not Σ z² − (Σ z)²/n, which for a bright and even scene is a difference of roundings.
        centred = scene - (of_scene / total[:, None])[:, None]
        energy = (centred.pow(2) if weights is None else weights[..., None] * centred.pow(2)).sum((1, 2))
        return gram.expand(len(scene), -1, -1), overlap, energy, total

    def _trusted(self, scene: Tensor, weights: Tensor | None) -> Tensor:
        """The weights times the trust in each point, found by turns with gain and bias of the light."""
        seen = torch.ones_like(scene[..., 0]) if weights is None else weights
        trusted, motif = seen, self._known[..., -1]
        for _ in range(ROUNDS):
            gram, overlap, *_ = self._moments(scene, trusted)
            gain = (overlap[:, -1] / gram[:, -1, -1]).clamp_min(LEAST_GAIN)[:, None, None]
            share = trusted[..., None] / trusted.sum(1)[:, None, None].clamp_min(1e-12)
            bias = (share * (scene - gain * motif)).sum(1, keepdim=True)
            squares = (scene - gain * motif - bias).pow(2).sum(-1) / gain[..., 0] ** 2
            _, trusted = ROBUST(squares, seen)
        return trusted

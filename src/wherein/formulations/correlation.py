"""The fast objective: ZNCC on the motif's support, linearised in the motif (inverse composition).

The plain cost (2) without smoothing, minimised over a gain and a bias for each channel, is

    min_{a, b} ‖a z + b − x‖²  =  ‖x − x̄‖² (1 − ZNCC(z, x)²),    z = y∘τ on Ω.

A step moves the motif instead of the scene: z ≈ α x∘M(δ) + β ≈ α (x + J δ) + β, J = Dx · ∂M/∂p. J depends on
the motif alone, so J and the Gauss–Newton matrix (after α and β are eliminated) are computed once. A step
costs one interpolation of the scene and one product with J, and F ← F · M(−δ) updates the pose by
composition. Besides speed this has two advantages: neither noise nor background enters the Jacobian, and
where z = x the gradient vanishes for any J, so that errors of J do not bias the pose.
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
"""Minimum fraction of the motif inside the scene. A choice: the ZNCC of a smaller fraction says little."""

LONGEST_STEP = 0.35
"""Maximum length of a step as a fraction of the motif's radius. A choice: a longer step leaves the region in
which the linearisation is valid."""

ROBUST = Robust(hidden=0.25)
"""The robust loss, with a lower fraction than its default of 0.4. A choice: far from the right pose the whole
motif fits badly, and a loss that allows for more occlusion gives its weight to pixels that fit by chance.
With 0.4, half of the searches that start far away fail. A third of the motif may still be occluded."""

ROUNDS, LEAST_GAIN = 2, 1e-3
"""Number of alternations between robust weights and lighting, and the minimum gain. Choices: the next step
alternates again anyway; and below this gain the motif's contrast in the scene is less than one grey level of
255."""

EDGE = 1e-3
"""A point up to this many pixels outside the scene counts as inside. A choice: more than the rounding error
of float32 coordinates, so that a point on the border is always inside."""

ROUNDING = 8
"""Rounding error of a cost, in units of the machine epsilon: 1 − ZNCC is a difference of numbers near 1. A
choice."""

LEAST_VARIANCE = 1e-7
"""A smaller variance is rounding error, not texture. A choice: its square root is a twelfth of a grey level
of 255."""


class CorrelationObjective(Objective):
    """1 − ZNCC over a motion, as a least-squares problem in steps about the current pose.

    The pose is the frame, (B, 3, 3): centred motif points → scene. Scene and motif must be at the same scale.

    Arguments:
        surface: the scene.
        motif: the motif, or its linearisation. Only pixels well inside the mask are compared.
        motion: how the pose may move; the same motion as that of a linearisation.
        limit: compare at most this many pixels, those with the strongest gradient; None: all.
        robust: give less weight to pixels that do not fit (occlusion).
    """

    min_visible = MIN_VISIBLE

    slack = 0.01
    """A choice. The gradient of the inverse composition vanishes where z = x. In a noisy scene this is not
    quite the minimum of the cost, but closer to the true pose. So a step that raises the cost a little is
    accepted."""

    def __init__(
        self,
        surface: Surface,
        motif: Motif | MotifSide,
        motion: Motion,
        limit: int | None = None,
        robust: bool = False,
    ) -> None:
        # Zeros outside would make an edge between the centre of a border pixel and the scene's border.
        self.surface = Surface(surface.scene, surface.a, replicate=True)
        self.motion, self.robust = motion, robust
        self.side = motif if isinstance(motif, MotifSide) else motif_side(motif, motion, limit)
        channels, size = self.side.known.shape[1], len(self.side.unit)
        require(
            surface.channels == channels,
            "scene and motif must have the same number of channels, but have "
            f"{surface.channels} and {channels}",
        )
        require(
            size == motion.size,
            f"the motif was linearised for {size} parameters, but motion {motion.name} has {motion.size}",
        )
        self.centre, self.radius, self.points = self.side.centre, self.side.radius, self.side.points
        self.size = motion.size
        self.noise = ROUNDING * torch.finfo(self.points.dtype).eps

    def start(self, pose: Float[Tensor, "B 3 3"] | None = None) -> Variables:
        """The variables at a frame; by default motif pixel (x, y) lies at scene pixel (x, y)."""
        eye = torch.eye(3, dtype=self.points.dtype, device=self.points.device)
        return self.at(eye[None]) if pose is None else Variables(pose)

    def at(self, matrix: Float[Tensor, "B 3 3"]) -> Variables:
        """The variables for given matrices, motif pixels → scene pixels."""
        return Variables(matrix @ fields.shift_matrix(self.centre))

    def matrix(self, at: Variables) -> Float[Tensor, "B 3 3"]:  # noqa: D102
        return at.pose @ fields.shift_matrix(-self.centre)

    def move(self, at: Variables, step: Float[Tensor, "B P"]) -> Variables:
        """F ← F · M(step), with the step shortened to `LONGEST_STEP` if it is longer."""
        # Steps are in units of `side.unit`, so their norm is about a movement in pixels.
        length = step.norm(dim=1, keepdim=True)
        step = step * (LONGEST_STEP * self.radius / length.clamp_min(1e-12)).clamp_max(1)
        pose = at.pose @ self.motion.matrix(step * self.side.unit)
        # A homography is defined up to scale; without normalisation the scale drifts from step to step.
        return replace(at, pose=pose / pose[:, 2:, 2:])

    def length(self, step: Float[Tensor, "B P"]) -> Float[Tensor, "B"]:  # noqa: D102
        return step.norm(dim=1)

    def visible_fraction(self, at: Variables) -> Float[Tensor, "B"]:  # noqa: D102
        return self._inside(fields.transform(at.pose, self.points)).to(at.pose.dtype).mean(1)

    def evaluate(self, at: Variables) -> Evaluation:  # noqa: D102
        return replace(self.linearise(at), hessian=None)

    def linearise(self, at: Variables) -> Evaluation:
        """1 − ZNCC at the poses, and the normal equations of the next step."""
        weights, scene = self._sample(at.pose)
        enough = True if weights is None else weights.mean(1) >= MIN_VISIBLE
        if self.robust:
            weights = self._robust_weights(scene, weights)
        gram, overlap, energy, total = self._moments(scene, weights)
        # The last row and column of the Gram matrix belong to x. Eliminate α: the part of J along x changes
        # the contrast and not the pose. With J⊥ = J − x (xᵀJ) / (xᵀx), H = J⊥ᵀJ⊥ is a Schur complement.
        along = gram[:, :-1, -1] / gram[:, -1:, -1]
        hessian = gram[:, :-1, :-1] - along[:, :, None] * gram[:, None, -1, :-1]
        contrast = overlap[:, -1]
        # α = xᵀz / xᵀx, but at least that of a ZNCC of 0.05: at a wrong pose α may be near 0 or negative, and
        # the step would be arbitrarily long.
        gain = (contrast / gram[:, -1, -1]).clamp_min(0.05 * (energy / gram[:, -1, -1]).sqrt())
        # g = J⊥ᵀz / α, so δ = H⁻¹ g, and the solver's step −H⁻¹ g is the −δ of F ← F · M(−δ).
        gradient = (overlap[:, :-1] - along * contrast[:, None]) / gain[:, None]
        zncc = contrast / (energy * gram[:, -1, -1]).sqrt()
        minimum = LEAST_VARIANCE * total * scene.shape[-1]
        flat = ~((energy > minimum) & (gram[:, -1, -1] > minimum))
        # ZNCC is not defined if too little of the motif is visible, or without texture.
        cost = torch.where(zncc.isfinite() & ~flat & enough, 1 - zncc, torch.inf)
        numbers = (cost, torch.nan_to_num(gradient), torch.nan_to_num(hessian))
        cost, gradient, hessian = (number.to(at.pose.dtype) for number in numbers)
        return Evaluation(cost, gradient, flat, hessian)

    def probes(self, at: Variables, count: int, drop: float) -> Variables:
        """The poses of `at`, then neighbours of the first along the `count` least certain directions.

        If a coarse scale does not determine a direction, its result can lie in the wrong basin of the next
        scale. The directions are the eigenvectors of the Gauss–Newton matrix with the smallest eigenvalues.
        Each neighbour lies where the quadratic model predicts that 1 − ZNCC² has risen by `drop`.
        """
        gram = self._full_gram[0][0]
        hessian = gram[:-1, :-1] - gram[:-1, -1:] * gram[-1:, :-1] / gram[-1, -1]
        values, vectors = torch.linalg.eigh(hessian / gram[-1, -1])
        reach = (drop / values[:count].clamp_min(1e-9)).sqrt()  # λ r² = drop along an eigenvector
        steps = (reach * vectors[:, :count]).mT.to(at.pose.dtype)  # `eigh` sorts in ascending order
        first = Variables(at.pose[:1].expand(2 * len(steps), 3, 3))
        around = self.move(first, torch.cat((steps, -steps)))
        return Variables(torch.cat((at.pose, around.pose)))

    def _sample(self, pose: Float[Tensor, "B 3 3"]) -> tuple[Tensor | None, Float[Tensor, "B N C"]]:
        """The weights of the points (None if all are inside the scene), and the scene at the points.

        The values returned and all sums of them are in float64: the order of a sum changes with the batch,
        and in float32 its rounding would decide where a descent on a nearly flat cost ends.
        """
        scene = self.surface(fields.transform(pose, self.points)).to(self._exact)
        # If the corners of their bounding box are inside, all points are: four tests instead of thousands.
        if bool(self._inside(fields.transform(pose, self._box)).all()):
            return None, scene
        return self._inside(fields.transform(pose, self.points)).to(scene.dtype), scene

    def _inside(self, points: Float[Tensor, "B N 2"]) -> Bool[Tensor, "B N"]:
        """Which points lie inside the scene."""
        limits = points.new_tensor((self.surface.width - 1, self.surface.height - 1))
        return ((points >= -EDGE) & (points <= limits + EDGE)).all(-1)

    def _gram(self, weights: Float[Tensor, "B N"]) -> tuple[Tensor, Tensor, Tensor]:
        """KᵀWK for K = (J, x), centred in each channel; the weighted sums WᵀK; and the total weight."""
        # Σ w (K − K̄)(K − K̄)ᵀ = Σ w K Kᵀ − (Σ w K)(Σ w K)ᵀ / Σ w, summed over the channels.
        total = weights.sum(1)
        sums = torch.einsum("bn,nck->bck", weights, self._known)
        gram = (weights @ self._squares).unflatten(1, (self.size + 1,) * 2)
        gram = gram - torch.einsum("bck,bcl->bkl", sums, sums) / total[:, None, None]
        return gram, sums, total

    @cached_property
    def _full_gram(self) -> tuple[Tensor, Tensor, Tensor]:
        """`_gram` with all weights 1, computed once: most poses lie entirely inside the scene."""
        sums, total = self._known.sum(0, keepdim=True), self._known.new_tensor((len(self.points),))
        gram = self._columns.mT @ self._columns - (sums[0].mT @ sums[0]) / total
        return gram[None], sums, total

    @cached_property
    def _box(self) -> Float[Tensor, "4 2"]:
        """The corners of the points' bounding box."""
        low, high = self.points.amin(0), self.points.amax(0)
        return torch.stack((low, torch.stack((high[0], low[1])), torch.stack((low[0], high[1])), high))

    @property
    def _exact(self) -> torch.dtype:
        """The dtype of sums: float64, but float32 on Apple's GPUs, which have no float64."""
        return torch.float32 if self.points.device.type == "mps" else torch.float64

    @cached_property
    def _known(self) -> Float[Tensor, "N C K"]:
        return self.side.known.to(self._exact)

    @cached_property
    def _columns(self) -> Float[Tensor, "NC K"]:
        return self._known.reshape(-1, self.size + 1)

    @cached_property
    def _squares(self) -> Float[Tensor, "N KK"]:
        # K Kᵀ of every point: with weights, the Gram matrices of a batch are then one matrix product.
        return torch.einsum("nck,ncl->nkl", self._known, self._known).flatten(1)

    def _moments(self, scene: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """KᵀWK, KᵀWz and zᵀWz, centred in each channel, and the total weight."""
        if weights is None:
            gram, sums, total = self._full_gram
            weighted = scene
        else:
            gram, sums, total = self._gram(weights)
            weighted = weights[..., None] * scene
        of_scene = weighted.sum(1)
        overlap = weighted.flatten(1) @ self._columns
        overlap = (
            overlap - torch.einsum("bc,bck->bk", of_scene, sums.expand(len(scene), -1, -1)) / total[:, None]
        )
        # Not Σ z² − (Σ z)²/n: for a bright, nearly constant scene the difference is only rounding error.
        centred = scene - (of_scene / total[:, None])[:, None]
        energy = (centred.pow(2) if weights is None else weights[..., None] * centred.pow(2)).sum((1, 2))
        return gram.expand(len(scene), -1, -1), overlap, energy, total

    def _robust_weights(self, scene: Tensor, weights: Tensor | None) -> Tensor:
        """The weights times the robust weight of each point, computed alternately with gain and bias."""
        # The residual is z/α − x − β/α: in the motif's units, so that the loss's minimum scale applies.
        visible = torch.ones_like(scene[..., 0]) if weights is None else weights
        weighted, motif = visible, self._known[..., -1]
        for _ in range(ROUNDS):
            gram, overlap, *_ = self._moments(scene, weighted)
            gain = (overlap[:, -1] / gram[:, -1, -1]).clamp_min(LEAST_GAIN)[:, None, None]
            share = weighted[..., None] / weighted.sum(1)[:, None, None].clamp_min(1e-12)
            bias = (share * (scene - gain * motif)).sum(1, keepdim=True)
            squares = (scene - gain * motif - bias).pow(2).sum(-1) / gain[..., 0] ** 2
            _, weighted = ROBUST(squares, visible)
        return weighted

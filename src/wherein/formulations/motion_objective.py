"""Objectives for the solvers: a formulation over a motion model, or over free vector fields."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.base import Formulation, QuadraticFormulation
from wherein.formulations.objective import Evaluation, Objective, Variables
from wherein.motion import field as fields
from wherein.motion.models import Motion


def _identities(formulation: Formulation) -> Float[Tensor, "B 3 3"]:
    """The identity matrix, repeated for each scene."""
    eye = torch.eye(3, dtype=formulation.points.dtype, device=formulation.points.device)
    return eye.expand(formulation.surface.layers or 1, 3, 3)


class MotionObjective(Objective):
    """φ over a motion model: τ(u) = base · (M(p) u + c), with u relative to the motif's centre c (eq. 20).

    Arguments:
        formulation: bound to a scene and a motif.
        motion: the motion model; the start is its identity.
        base: (B, 3, 3), the start of each item, such as a stride or a known pose. The motion acts before it.
        inverse: optimise p of M(p)⁻¹ instead (eq. 15, proposition A.3).
    """

    def __init__(
        self,
        formulation: Formulation,
        motion: Motion,
        base: Float[Tensor, "B 3 3"] | None = None,
        inverse: bool = False,
    ) -> None:
        points = formulation.points
        self.formulation, self.motion, self.inverse = formulation, motion, inverse
        base = _identities(formulation) if base is None else base
        # The cost of an item with a non-finite start is infinite. Replacing only the result with `where` is
        # not enough: in backward, NaN · 0 = NaN would reach the gradients of the other items. So such an item
        # is computed from the identity instead.
        self._invalid = ~base.detach().flatten(1).isfinite().all(1)
        self.base = torch.where(self._invalid[:, None, None], _identities(formulation)[:1], base)
        # A nonzero last row of ∂M/∂p: the motion can add perspective.
        perspective = bool(motion.jacobian(motion.identity(like=points))[2].any())
        require(
            not (formulation.affine and (perspective or fields.is_projective(self.base))),
            f"complementary smoothing is defined for affine poses, but the {motion.name} motion or its start "
            "has perspective: use an affine motion, or a formulation other than Spikes",
        )
        # F = base · shift(c) · M(p): what does not depend on p is multiplied once.
        self._anchor = self.base @ fields.shift_matrix(formulation.centre)
        spread = points.reshape(-1, 2).detach()
        self._radius = float(spread.pow(2).sum(-1).mean().sqrt())

    def start(self, pose: Float[Tensor, "B P"] | None = None) -> Variables:  # noqa: D102
        if pose is None:
            pose = self.motion.identity(len(self.base), like=self.formulation.points)
        field = fields.transform(self._frame(pose), self.formulation.points)
        return Variables(pose, self.formulation.start_background(field))

    def evaluate(self, at: Variables) -> Evaluation:
        """∇_p φ = ⟨∇_F φ, ∂F/∂p⟩: the field's gradient projected onto Aff(2), then onto the motion."""
        found = self.formulation.evaluate(self._frame(at.pose), at.background)
        gradient = torch.einsum("bij,bijp->bp", found.gradient, self._change(at.pose))
        return replace(found, cost=self._valid_cost(found.cost), gradient=gradient)

    def linearise(self, at: Variables) -> Evaluation:  # noqa: D102
        found = self.formulation.linearise(self._frame(at.pose), self._change(at.pose), at.background)
        return replace(found, cost=self._valid_cost(found.cost))

    def matrix(self, at: Variables) -> Float[Tensor, "B 3 3"]:  # noqa: D102
        return self._frame(at.pose) @ fields.shift_matrix(-self.formulation.centre)

    def length(self, step: Float[Tensor, "B P"]) -> Float[Tensor, "B"]:
        """The root mean square movement of a pixel: the shift, and the linear part at the mean radius."""
        change = self.motion.matrix(self.motion.identity(like=step) + step)
        change = change - torch.eye(3, dtype=step.dtype, device=step.device)
        # A point at the radius r moves by 1 for a shift, r for the linear part, r² for the perspective.
        change = torch.cat((change[..., :2, :], self._radius * change[..., 2:, :]), -2)
        return (
            change[..., 2].norm(dim=-1) ** 2 + (self._radius * change[..., :2].norm(dim=(-2, -1))) ** 2
        ).sqrt()

    def visible_fraction(self, at: Variables) -> Float[Tensor, "B"]:  # noqa: D102
        return self.formulation.visible_fraction(self._frame(at.pose))

    def _valid_cost(self, cost: Float[Tensor, "B"]) -> Float[Tensor, "B"]:
        """The cost; infinite for items whose start is not finite."""
        return torch.where(self._invalid, torch.inf, cost)

    def _frame(self, pose: Tensor) -> Tensor:
        """The frame F, a matrix from centred motif points to scene pixels."""
        moved = self.motion.matrix(pose)
        # The inverse of the motion alone: base and centre stay, so the start is the same in both cases.
        return self._anchor @ (torch.linalg.inv(moved) if self.inverse else moved)

    def _change(self, pose: Tensor) -> Tensor:
        """∂F/∂p. The inverse parameterisation uses d(N⁻¹) = −N⁻¹ dN N⁻¹: in (A, b), proposition A.3."""
        change = self.motion.jacobian(pose)
        if self.inverse:
            inverse = torch.linalg.inv(self.motion.matrix(pose))
            change = -torch.einsum("bij,bjkp,bkl->bilp", inverse, change, inverse)
        return torch.einsum("bij,bjkp->bikp", self._anchor.expand(len(pose), 3, 3), change)


class FieldObjective(Objective):
    """φ(y∘τ) + λρ(τ) over free vector fields (eq. 1); ρ penalises differences of neighbouring displacements.

    The pose is the displacement of each pixel, (B, h, w, 2). There is no Gauss–Newton matrix, since it would
    have (2hw)² entries: use `proximal_gradient`.

    Arguments:
        formulation: bound to a scene and a motif.
        strength: λ.
        base: (B, 3, 3), the start of each item.
    """

    def __init__(
        self, formulation: QuadraticFormulation, strength: float, base: Float[Tensor, "B 3 3"] | None = None
    ) -> None:
        require(strength >= 0, f"the regulariser's strength must be 0 or more, but is {strength}")
        points = formulation.points
        base = _identities(formulation) if base is None else base
        self.formulation, self.strength = formulation, strength
        self._base_field = fields.transform(base @ fields.shift_matrix(formulation.centre), points)

    def start(self, pose: Float[Tensor, "B h w 2"] | None = None) -> Variables:  # noqa: D102
        pose = torch.zeros_like(self._base_field) if pose is None else pose
        return Variables(pose, self.formulation.start_background(self._base_field + pose))

    def evaluate(self, at: Variables) -> Evaluation:
        """The cost with the regulariser, and the gradient of φ alone: the regulariser acts through `prox`."""
        found = self.formulation.evaluate_field(self._base_field + at.pose, at.background)
        return replace(found, cost=found.cost + self.strength * fields.smoothness(at.pose))

    def linearise(self, at: Variables) -> Evaluation:  # noqa: D102
        raise NotImplementedError(
            "a free vector field has too many unknowns for Gauss–Newton: use proximal_gradient"
        )

    def matrix(self, at: Variables) -> Float[Tensor, "B 3 3"]:
        """The affine part of the field: its least-squares projection onto Aff(2)."""
        points = self.formulation.points
        sums = fields.project(self._base_field + at.pose, points)
        # A full lattice is symmetric about its centre, so Σ x, Σ y and Σ xy vanish and the normal equations
        # are diagonal: each sum is divided by Σ x², Σ y² or the number of points.
        squares = points.pow(2).sum((0, 1))
        count = points.shape[0] * points.shape[1]
        affine = sums / torch.cat((squares, squares.new_full((1,), count)))
        last = affine.new_tensor((0.0, 0.0, 1.0)).expand(len(affine), 1, 3)
        return torch.cat((affine, last), -2) @ fields.shift_matrix(-self.formulation.centre)

    def length(self, step: Float[Tensor, "B h w 2"]) -> Float[Tensor, "B"]:  # noqa: D102
        return step.norm(dim=-1).amax((-2, -1))

    def visible_fraction(self, at: Variables) -> Float[Tensor, "B"]:  # noqa: D102
        frame = self.matrix(at) @ fields.shift_matrix(self.formulation.centre)
        return self.formulation.visible_fraction(frame)

    def prox(self, pose: Tensor, step: Tensor | float) -> Tensor:  # noqa: D102
        return fields.smoothness_prox(pose, self.strength * step)

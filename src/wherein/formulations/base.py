"""What a formulation is: a quadratic misfit of the warped scene, on a lattice of the motif's plane.

Every cost of the paper but (10) has the form

    φ(z) = ½ ⟨z − x̂, Q (z − x̂)⟩ + k,    z = y∘τ,

with a target x̂, a symmetric metric Q ⪰ 0 that acts on each channel alike, and a floor k that no
transformation can go below. A formulation is these three; its gradient in τ (proposition 1),

    ∇_τ φ = Σ_channels Q(z − x̂) ⊙ (Dy∘τ),

its projection onto a motion, and the normal equations of Gauss–Newton, JᵀQJ, follow here once for all.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.motion import field as fields
from wherein.warp import Surface


@dataclass
class Tally:
    """How many pictures were interpolated and convolved, the currency of the paper's Figure 1."""

    interpolations: int = 0
    convolutions: int = 0

    @property
    def operations(self) -> int:
        """Both together: what the paper calls convolution-like operations."""
        return self.interpolations + self.convolutions


@dataclass(frozen=True)
class Evaluation:
    """A cost at a point and what a solver wants to know of its neighbourhood; B items side by side."""

    cost: Float[Tensor, "B"]
    gradient: Float[Tensor, "B ..."]
    hessian: Float[Tensor, "B P P"] | None = None
    background: Float[Tensor, "B C h w"] | None = None
    """The gradient in the background model, where the formulation has one."""


class Formulation(ABC):
    """A cost of the frame F: the 3×3 matrix that takes centred motif points u to the scene, τ = F u.

    Arguments:
        points: the lattice of centred points u on which the warped scene is compared, (h, w, 2).
    """

    points: Float[Tensor, "h w 2"]
    centre: Float[Tensor, "2"]

    def __init__(self) -> None:
        self.tally = Tally()

    @abstractmethod
    def evaluate(self, frame: Float[Tensor, "B 3 3"], background: Tensor | None = None) -> Evaluation:
        """The cost and its gradient in the frame, (B, 3, 3), as the paper derives it."""

    @abstractmethod
    def linearise(
        self,
        frame: Float[Tensor, "B 3 3"],
        change: Float[Tensor, "B 3 3 P"],
        background: Tensor | None = None,
    ) -> Evaluation:
        """Cost, gradient (B, P) and Gauss–Newton matrix (B, P, P) along ∂F/∂p = `change`."""

    def start_background(self, frame: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B C h w"] | None:
        """A first background model at that frame; None where the formulation has none."""
        del frame
        return None

    def seen(self, frame: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        """Which fraction of the lattice falls inside the scene."""
        field = fields.transform(frame, self.points)
        limits = field.new_tensor((self.surface.width - 0.5, self.surface.height - 0.5))
        return ((field >= -0.5) & (field <= limits)).all(-1).to(field.dtype).mean((-2, -1))

    surface: Surface

    def _jet(self, field: Float[Tensor, "*B h w 2"]) -> tuple[Tensor, Tensor]:
        """y∘τ and Dy∘τ, channels first."""
        self.tally.interpolations += 3 * field[..., 0, 0, 0].numel()
        warped, derivative = self.surface.jet(field)
        return warped.movedim(-1, -3), derivative.movedim(-2, -4)


class QuadraticFormulation(Formulation):
    """φ(z) = ½ ⟨z − x̂, Q (z − x̂)⟩ + k: the subclass says what x̂, Q and k are.

    Arguments:
        surface: the scene, ready for sampling.
        points, centre: the lattice in centred coordinates, and where its origin lies in the motif.
        lighting: eliminate a gain and a bias a channel of the scene, min over a ≥ 0, b of φ(a z + b).
    """

    def __init__(
        self, surface: Surface, points: Float[Tensor, "h w 2"], centre: Float[Tensor, "2"], lighting: bool
    ) -> None:
        super().__init__()
        self.surface, self.points, self.centre, self.lighting = surface, points, centre, lighting

    @abstractmethod
    def metric(self, change: Float[Tensor, "*B C h w"]) -> Float[Tensor, "*B C h w"]:
        """Q: the metric applied to each channel."""

    @abstractmethod
    def target(self, background: Tensor | None) -> Float[Tensor, "*B C h w"]:
        """x̂: what the warped scene should look like."""

    floor: Float[Tensor, ""]

    def misfit(
        self, warped: Float[Tensor, "*B C h w"], background: Tensor | None = None
    ) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B C h w"]]:
        """φ(z) and its derivative ∂φ/∂z."""
        cost, slope, gain = self._compare(warped, background)
        return cost, gain * slope

    def _compare(self, warped: Tensor, background: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """φ(z), Q(a z + b − x̂) and the gain a: ∂φ/∂z is their product, −∂φ/∂x̂ the second alone."""
        target = self.target(background)
        gain, lit = self._light(warped, target)
        slope = self.metric(lit - target)
        return 0.5 * ((lit - target) * slope).sum((-3, -2, -1)) + self.floor, slope, gain

    def evaluate_field(
        self, field: Float[Tensor, "B h w 2"], background: Tensor | None = None
    ) -> tuple[Float[Tensor, "B"], Float[Tensor, "B h w 2"], Tensor | None]:
        """φ and its gradient in the vector field, ∇_τ φ (proposition 1), and in the background model."""
        warped, derivative = self._jet(field)
        cost, slope, gain = self._compare(warped, background)
        gradient = torch.einsum("bchw,bchwi->bhwi", gain * slope, derivative)
        return cost, gradient, self.background_gradient(slope)

    def evaluate(self, frame: Float[Tensor, "B 3 3"], background: Tensor | None = None) -> Evaluation:  # noqa: D102
        field = fields.transform(frame, self.points)
        cost, gradient, of_background = self.evaluate_field(field, background)
        return Evaluation(
            cost, fields.project_projective(gradient, self.points, frame), background=of_background
        )

    def linearise(  # noqa: D102
        self,
        frame: Float[Tensor, "B 3 3"],
        change: Float[Tensor, "B 3 3 P"],
        background: Tensor | None = None,
    ) -> Evaluation:
        warped, derivative = self._jet(fields.transform(frame, self.points))
        cost, slope, gain = self._compare(warped, background)
        columns = torch.einsum("bchwi,bhwip->bpchw", derivative, fields.tangent(frame, change, self.points))
        if self.lighting:
            columns = gain[:, None] * self._unlit(columns, warped)
        weighted = self.metric(columns).flatten(2)
        hessian = weighted @ columns.flatten(2).mT
        gradient = torch.einsum("bpchw,bchw->bp", columns, slope)
        return Evaluation(cost, gradient, hessian, self.background_gradient(slope))

    textured: ClassVar[bool] = True
    """Whether only differences of brightness count; spikes stand on black, and black means none."""

    def similarity(self, frame: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        """ZNCC of scene and target under Q, NCC for spikes: 0 where there is nothing to see.

        NCC = ⟨z, Qx̂⟩ / √(⟨z, Qz⟩⟨x̂, Qx̂⟩); for ZNCC the channels' means are removed first.
        """
        warped, target = self._warp(fields.transform(frame, self.points)), self.target(None)
        if self.textured:
            warped, target = self._demean(warped), self._demean(target)
        overlap, energy, whole = (
            (left * self.metric(right)).sum((-3, -2, -1))
            for left, right in ((warped, target), (warped, warped), (target, target))
        )
        return overlap / (energy * whole).sqrt().clamp_min(torch.finfo(warped.dtype).tiny)

    def background_gradient(self, slope: Float[Tensor, "B C h w"]) -> Float[Tensor, "B C h w"] | None:
        """∇_β φ from Q(a z + b − x̂), where there is a background model β."""
        del slope
        return None

    def _warp(self, field: Tensor) -> Tensor:
        self.tally.interpolations += field[..., 0, 0, 0].numel()
        return self.surface(field).movedim(-1, -3)

    # Lighting: with s = ⟨1, Q1⟩ and means taken under Q1, the best bias of each channel makes the means of
    # a·z and x̂ agree, and the best gain is then a one-dimensional regression of x̂ on z under Q.

    def _light(self, warped: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """The gain (…, 1, 1, 1), and a z + b; 1 and the scene itself where lighting is not eliminated."""
        if not self.lighting:
            return warped.new_ones(()), warped
        scene, motif = self._demean(warped), self._demean(target)
        measured = self.metric(scene)
        energy = (scene * measured).sum((-3, -2, -1), keepdim=True)
        overlap = (motif * measured).sum((-3, -2, -1), keepdim=True)
        gain = overlap.clamp_min(0) / energy.clamp_min(torch.finfo(energy.dtype).tiny)
        return gain, gain * scene + (target - motif)

    def _demean(self, picture: Tensor) -> Tensor:
        under = self.metric(torch.ones_like(picture[..., :1, :, :]))
        mean = (picture * under).sum((-2, -1), keepdim=True) / under.sum((-2, -1), keepdim=True)
        return picture - mean

    def _unlit(self, columns: Tensor, warped: Tensor) -> Tensor:
        """The Jacobian's columns without what a change of gain and bias explains (variable projection)."""
        columns, scene = self._demean(columns), self._demean(warped)[:, None]
        measured = self.metric(scene)
        energy = (scene * measured).sum((-3, -2, -1), keepdim=True).clamp_min(torch.finfo(scene.dtype).tiny)
        return columns - (columns * measured).sum((-3, -2, -1), keepdim=True) / energy * scene

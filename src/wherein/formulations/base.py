"""Base classes of the formulations: a quadratic cost of the warped scene, on a lattice in the motif's plane.

Every cost of the paper except (10) has the form

    φ(z) = ½ Σ_n w_n |S(z − x̂)|²_n + k,    z = y∘τ,

with a target x̂, a symmetric smoothing S that is the same for all channels, a weight w ≥ 0 for each pixel,
and a constant k, the lower bound of the cost. A formulation defines these four. Its gradient in τ
(proposition A.1),

    ∇_τ φ = Σ_channels Q(z − x̂) ⊙ (Dy∘τ),    Q = S w S,

its projection onto a motion, and the Gauss–Newton matrix JᵀQJ follow from them and are implemented here,
once. If the motif may be partly occluded, a robust loss replaces the sum of squares (see `robust`). The
formulas remain the same, with w multiplied by the robust weight of each pixel.

A formulation may compare features F(z) of the warped scene, such as channels, instead of z itself. Then F(z)
replaces z in φ, the gradient gets the factor DF(z)ᵀ, and the columns of J the factor DF(z); see `Features`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations import lighting
from wherein.formulations.objective import Evaluation, Tally
from wherein.formulations.robust import LeastSquares, Loss, Robust, weigh
from wherein.images.gaussian import Sigma, gaussian_1d, separable
from wherein.images.motif import Motif
from wherein.motion import field as fields
from wherein.warp import Surface

Taps = Float[Tensor, " K"]

FAINT = 0.1
"""The similarity of spikes falls to 0 with their amplitude if it is below this fraction of the expected one.
A choice."""


def taps_of(sigma: Sigma, taps: Taps | None, like: Tensor) -> Taps:
    """The filter of a formulation: `taps` if they are given, else a Gaussian."""
    return gaussian_1d(sigma, like=like) if taps is None else taps


class Formulation(ABC):
    """A cost as a function of the frame F: the 3×3 matrix from centred motif points u to the scene, τ = F u.

    Arguments:
        surface: the scene, prepared for sampling.
        motif: the picture that is compared with the scene.
        pad: how many pixels the lattice extends beyond the motif on each side.
        spacing: compare only every `spacing`-th pixel along each axis.

    Attributes:
        points: the lattice of centred points u at which scene and motif are compared.
        inside: which of these points belong to the motif.
        centre: the origin of the centred points, in motif pixels.
        motif: the motif, padded. Index with `thin` to get the values on the lattice.
        thin: an index that selects every `spacing`-th row and column.
    """

    affine: ClassVar[bool] = False
    """Whether the cost is defined for affine frames only."""

    def __init__(self, surface: Surface, motif: Motif, pad: int = 0, spacing: int = 1) -> None:
        channels = len(motif.pixels)
        require(
            surface.channels == channels,
            "scene and motif must have the same number of channels, but have "
            f"{surface.channels} and {channels}",
        )
        self.tally, self.surface, self.motif = Tally(), surface, motif.padded(pad)
        self.centre = fields.centre_of(motif.height, motif.width, motif.pixels)
        self.thin = (..., *2 * (slice(None, None, spacing),))
        # Centred, so that the linear part and the shift of a motion are orthogonal (eq. 20).
        lattice = fields.lattice(motif.height, motif.width, motif.pixels, pad)
        self.points = lattice[::spacing, ::spacing] - self.centre
        self.inside = self.motif.mask[self.thin] > 0

    @abstractmethod
    def evaluate(self, frame: Float[Tensor, "B 3 3"], background: Tensor | None = None) -> Evaluation:
        """The cost and its analytic gradient in the frame, (B, 3, 3), as in the paper."""

    @abstractmethod
    def linearise(
        self,
        frame: Float[Tensor, "B 3 3"],
        change: Float[Tensor, "B 3 3 P"],
        background: Tensor | None = None,
    ) -> Evaluation:
        """Cost, gradient (B, P) and Gauss–Newton matrix (B, P, P) in p, given ∂F/∂p as `change`."""

    def start_background(self, field: Float[Tensor, "B h w 2"]) -> Float[Tensor, "B C h w"] | None:
        """The initial background model for the lattice at `field`; None if the formulation has none."""
        del field
        return None

    def visible_fraction(self, frame: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        """The fraction of the motif's pixels that lies inside the scene."""
        # A pixel extends half a pixel beyond its centre, so the scene spans [−½, width − ½].
        field = fields.transform(frame, self.points[self.inside])
        limits = field.new_tensor((self.surface.width - 0.5, self.surface.height - 0.5))
        return ((field >= -0.5) & (field <= limits)).all(-1).to(field.dtype).mean(-1)

    def _jet(self, field: Float[Tensor, "*B h w 2"]) -> tuple[Tensor, Tensor]:
        """y∘τ and Dy∘τ with the channels first."""
        self.tally.interpolations += 3 * field[..., 0, 0, 0].numel()  # the value, and two derivatives
        warped, derivative = self.surface.jet(field)
        return warped.movedim(-1, -3), derivative.movedim(-2, -4)

    @staticmethod
    def _is_flat(
        warped: Float[Tensor, "B C h w"], derivative: Float[Tensor, "B C h w 2"]
    ) -> Bool[Tensor, "B"]:
        """Whether the scene is constant up to rounding."""
        # 32 ε: about the rounding of a weighted sum of 16 pixels.
        rounding = 32 * torch.finfo(warped.dtype).eps * warped.detach().abs().amax((-3, -2, -1))
        return derivative.detach().abs().amax((-4, -3, -2, -1)) <= rounding


_MAX_ROUNDS = 100
"""Maximum number of alternations between robust weights and lighting. A choice: about ten are enough if the
motif fits at all."""


@runtime_checkable
class Features(Protocol):
    """The features F(z) of a warped scene z, and their derivative DF(z)."""

    @property
    def values(self) -> Float[Tensor, "*B K h w"]:
        """F(z)."""

    def push(self, change: Float[Tensor, "*B P C h w"]) -> Float[Tensor, "*B P K h w"]:
        """DF(z) applied to P changes of z."""

    def pull(self, slope: Float[Tensor, "*B K h w"]) -> Float[Tensor, "*B C h w"]:
        """DF(z)ᵀ applied to a derivative with respect to F(z)."""


@dataclass(frozen=True, eq=False)
class Colours:
    """F(z) = z: the pixels of the warped scene themselves."""

    values: Float[Tensor, "*B C h w"]

    def push(self, change: Float[Tensor, "*B P C h w"]) -> Float[Tensor, "*B P C h w"]:
        """The changes themselves."""
        return change

    def pull(self, slope: Float[Tensor, "*B C h w"]) -> Float[Tensor, "*B C h w"]:
        """The derivative itself."""
        return slope


@dataclass(frozen=True)
class _Comparison:
    """A warped scene, or features of it, compared with the target.

    Attributes:
        cost: φ.
        slope: Q(a z + b − x̂). ∂φ/∂z is the gain times this, −∂φ/∂x̂ is this.
        gain: a, (…, 1, 1, 1); 1 if lighting is not eliminated.
        weights: w times the robust weight of each pixel, (…, 1, h, w).
        scene: S z.
    """

    cost: Float[Tensor, "*B"]
    slope: Float[Tensor, "*B C h w"]
    gain: Tensor
    weights: Float[Tensor, "*B 1 h w"]
    scene: Float[Tensor, "*B C h w"]


class QuadraticFormulation(Formulation):
    """φ(z) = ½ Σ w |S(z − x̂)|² + k; the subclass defines x̂, S, w and k.

    Arguments:
        surface, motif, pad, spacing: see `Formulation`.
        lighting: eliminate a gain and a bias for each channel: minimise φ(a z + b) over a ≥ 0 and b.
        robust: the robust loss; None: least squares.
        taps: S, a filter along each axis; None: no smoothing.

    Attributes:
        weight: w.
        floor: k.
    """

    weight: Float[Tensor, "h w"]
    floor: Float[Tensor, ""]

    def __init__(
        self,
        surface: Surface,
        motif: Motif,
        pad: int,
        lighting: bool,
        robust: Robust | None,
        taps: Taps | None = None,
        spacing: int = 1,
    ) -> None:
        super().__init__(surface, motif, pad, spacing)
        self.lighting, self._taps = lighting, taps
        self.loss: Loss = LeastSquares() if robust is None else robust
        self.floor = motif.pixels.new_zeros(())

    def features(self, warped: Float[Tensor, "*B C h w"]) -> Features:
        """The features F(z) that are compared; by default the pixels of the warped scene."""
        return Colours(warped)

    @abstractmethod
    def target(self, background: Tensor | None) -> Float[Tensor, "*B C h w"]:
        """The target x̂, with which the warped scene or its features are compared."""

    def smooth(self, change: Float[Tensor, "*B C h w"]) -> Float[Tensor, "*B C h w"]:
        """S applied to each channel; it is its own adjoint."""
        if self._taps is None:
            return change
        self.tally.convolutions += change[..., 0, 0, 0].numel()
        return separable(change, self._taps)

    def misfit(
        self, warped: Float[Tensor, "*B C h w"], background: Tensor | None = None
    ) -> tuple[Float[Tensor, "*B"], Float[Tensor, "*B C h w"]]:
        """φ(z) and its derivative ∂φ/∂z."""
        features = self.features(warped)
        found = self._compare(features.values, background)
        return found.cost, features.pull(found.gain * found.slope)

    def evaluate_field(self, field: Float[Tensor, "B h w 2"], background: Tensor | None = None) -> Evaluation:
        """φ and its gradient in the vector field, ∇_τ φ (proposition A.1), and in the background model."""
        warped, derivative = self._jet(field)
        features = self.features(warped)
        found = self._compare(features.values, background)
        slope = features.pull(found.gain * found.slope)
        gradient = torch.einsum("bchw,bchwi->bhwi", slope, derivative)
        # With a gain of 0 the scene has no effect on the cost, so there is no gradient to follow.
        flat = self._is_flat(warped, derivative) | (found.gain == 0).flatten()
        return Evaluation(found.cost, gradient, flat, background=self.background_gradient(found.slope))

    def evaluate(self, frame: Float[Tensor, "B 3 3"], background: Tensor | None = None) -> Evaluation:  # noqa: D102
        field = fields.transform(frame, self.points)
        found = self.evaluate_field(field, background)
        return replace(found, gradient=fields.project_projective(found.gradient, self.points, frame))

    def linearise(  # noqa: D102
        self,
        frame: Float[Tensor, "B 3 3"],
        change: Float[Tensor, "B 3 3 P"],
        background: Tensor | None = None,
    ) -> Evaluation:
        warped, derivative = self._jet(fields.transform(frame, self.points))
        features = self.features(warped)
        found = self._compare(features.values, background)
        columns = torch.einsum("bchwi,bhwip->bpchw", derivative, fields.tangent(frame, change, self.points))
        columns = features.push(columns)
        gradient = torch.einsum("bpchw,bchw->bp", found.gain[:, None] * columns, found.slope)
        # `slope` is Q times the residual, so the gradient takes J as it is; JᵀQJ = (S J)ᵀ w (S J) needs S J.
        columns, weights = self.smooth(columns), found.weights[:, None]
        if self.lighting:  # variable projection: gain and bias are refitted after every step
            columns = found.gain[:, None] * lighting.project_out(
                columns, found.scene[:, None], self._constant, weights
            )
        hessian = (weights * columns).flatten(2) @ columns.flatten(2).mT
        flat = self._is_flat(warped, derivative) | (found.gain == 0).flatten()
        return Evaluation(found.cost, gradient, flat, hessian, self.background_gradient(found.slope))

    textured: ClassVar[bool] = True
    """Whether `similarity` ignores mean brightness. Not for spikes, where black means that there is none."""

    def similarity(self, frame: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:
        """ZNCC of scene and target under Q (NCC for spikes); 0 if the scene is empty.

        NCC = ⟨z, Qx̂⟩ / √(⟨z, Qz⟩⟨x̂, Qx̂⟩); for ZNCC the mean of each channel is subtracted first. For spikes
        with less than `FAINT` of the expected amplitude, it falls to 0 with their amplitude.
        """
        warped = self.features(self._warp(fields.transform(frame, self.points))).values
        target = self.target(None)
        if self.textured:
            warped, target = self._demean(warped), self._demean(target)
        overlap, energy, full = (
            (left * self._metric(right)).sum((-3, -2, -1))
            for left, right in ((warped, target), (warped, warped), (target, target))
        )
        minimum = 0.0 if self.textured else FAINT**2 * full
        return overlap / (energy.clamp_min(minimum) * full).sqrt().clamp_min(torch.finfo(warped.dtype).tiny)

    def _metric(self, change: Float[Tensor, "*B C h w"]) -> Float[Tensor, "*B C h w"]:
        """Q = S w S."""
        return self.smooth(self.weight * self.smooth(change))

    def _demean(self, picture: Float[Tensor, "*B C h w"]) -> Float[Tensor, "*B C h w"]:
        """The picture minus the mean of each channel under Q."""
        under = self._metric(torch.ones_like(picture[..., :1, :, :]))
        mean = (picture * under).sum((-2, -1), keepdim=True) / under.sum((-2, -1), keepdim=True)
        return picture - mean

    def background_gradient(self, slope: Float[Tensor, "B C h w"]) -> Float[Tensor, "B C h w"] | None:
        """∇_β φ from Q(a z + b − x̂); None if there is no background model β."""
        del slope
        return None

    def _compare(self, warped: Tensor, background: Tensor | None) -> _Comparison:
        """The cost of a warped scene or its features, and the quantities that its derivatives need."""
        target = self.target(background)
        if self.lighting:  # smoothed separately, since the gain multiplies the scene only
            scene, target = self.smooth(warped), self.smooth(target)
            gain, residual, loss, weights = self._fit_lighting(scene, target)
        else:
            scene, gain = warped, warped.new_ones(1)
            residual = self.smooth(warped - target)
            loss, weights = weigh(self.loss, residual, self.weight)
        slope = self.smooth(weights * residual)
        return _Comparison(0.5 * loss + self.floor, slope, gain, weights, scene)

    def _fit_lighting(self, scene: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Gain, residual, loss and weights at the best lighting.

        Lighting and robust weights depend on each other, so they are computed alternately until neither
        changes. There the loss is stationary in gain and bias, so its gradient needs no terms for them.
        """
        weights = self.weight.expand_as(scene[..., :1, :, :])
        for _ in range(_MAX_ROUNDS):
            gain, residual = lighting.fit_lighting(scene, target, self._constant, weights)
            before, (loss, weights) = weights, weigh(self.loss, residual, self.weight)
            # Without a robust loss the weights never change, and the first round is the last.
            if bool(((weights - before).abs() <= 1e3 * torch.finfo(weights.dtype).eps).all()):
                break
        return gain, residual, loss, weights

    @property
    def _constant(self) -> Float[Tensor, "h w"]:
        """S 1, the smoothed constant picture; below 1 near the border, as pictures continue with zeros."""
        return self.smooth(torch.ones_like(self.weight)[None])[0]

    def _warp(self, field: Tensor) -> Tensor:
        """y∘τ with the channels first."""
        self.tally.interpolations += field[..., 0, 0, 0].numel()
        return self.surface(field).movedim(-1, -3)

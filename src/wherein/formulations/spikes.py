"""Formulation (10): complementary smoothing, for occurrence maps, which consist of spikes on black."""

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.base import Formulation
from wherein.formulations.objective import Evaluation
from wherein.formulations.robust import LeastSquares, Loss, Robust, weigh
from wherein.images.gaussian import (
    Sigma,
    blur,
    convolve_full,
    correlate_valid,
    from_spectrum,
    gaussian_density,
    offsets_2d,
    quick_length,
    radius_of,
    spectrum,
    value_of,
)
from wherein.images.motif import Motif
from wherein.motion import field as fields
from wherein.warp import KEYS, Surface


@dataclass(frozen=True)
class Spikes:
    """Complementary smoothing (eq. 10), with y_σ0 = g_σ0² ∗ y:

        1/(2c) ‖G(A) ∗ (y_σ0∘τ_{A,b}) − g_σ² ∗ x_o‖²,
        G(A) = det^½(A*A) g_Σ(A),    Σ(A) = σ²I − σ0²(A*A)⁻¹.

    Scaling the plane changes the width of a smoothed spike and its integral; Σ(A) and the determinant undo
    both, so that the cost is zero wherever the spikes agree, for every A. In the inverse parameterisation
    (eq. 15) the matrix of the objective is that of (10) as printed in the paper.

    Arguments:
        sigma: σ, the main smoothing.
        sigma0: σ0 < σ, the smoothing that hides the pixel grid.
        smoothed: whether scene and motif are already smoothed by σ0.
        reach: half the width of the filters, in standard deviations.
        a: the parameter of the cubic kernel.
        robust: give less weight to pixels that do not fit, if a spike may be missing. Its scale must be
            given: it cannot be estimated from a picture that is almost entirely black.
    """

    sigma: Sigma = 8.0
    sigma0: Sigma = 3.0
    smoothed: bool = False
    reach: float = 3.0
    a: float = KEYS
    robust: Robust | None = None

    def __post_init__(self) -> None:
        require(
            value_of(self.sigma) > value_of(self.sigma0) > 0,
            f"sigma > sigma0 > 0 must hold, but they are {value_of(self.sigma)} and {value_of(self.sigma0)}",
        )
        require(
            self.robust is None or self.robust.scale is not None,
            "robust weights of spikes need a scale: Robust(scale=…), about 1/20 of a spike's height, 1/2πσ²",
        )

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "SpikesFormulation":
        """The cost of a scene and a motif with the same number of channels."""
        return SpikesFormulation(self, scene, motif)


_LossAndSlopes = tuple[Float[Tensor, " B"], Float[Tensor, "B C h w"], Float[Tensor, "B K K"]]
"""The loss, and half of its derivatives with respect to the warped scene and to the filter."""


class SpikesFormulation(Formulation):
    """`Spikes` bound to a scene and a motif; the frame must be affine."""

    affine = True

    def __init__(self, settings: Spikes, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        if not settings.smoothed:
            scene = blur(scene, settings.sigma0)
            # Smoothing spreads a spike beyond the mask, so the whole box belongs to the motif then.
            motif = Motif(blur(motif.masked, settings.sigma0), torch.ones_like(motif.mask))
        super().__init__(Surface(scene, settings.a), motif)
        self._loss: Loss = settings.robust or LeastSquares()
        self._variance, self._variance0 = settings.sigma**2, settings.sigma0**2
        # Variances of Gaussians add under convolution: g_{σ²−σ0²} ∗ g_{σ0²} = g_{σ²}.
        rest = self._variance - self._variance0
        self._eye = torch.eye(2, dtype=motif.pixels.dtype, device=motif.pixels.device)
        self._radius = radius_of(rest**0.5, settings.reach)
        self._channels = motif.pixels.shape[0]
        self._target = convolve_full(motif.masked, gaussian_density(rest * self._eye, self._radius))
        self.tally.convolutions += 1

    def filter(self, linear: Float[Tensor, "B 2 2"]) -> Float[Tensor, "B K K"]:
        """G(A): the filter that compensates for what A does to a spike of width σ0."""
        return linear.det().abs()[:, None, None] * gaussian_density(self._covariance(linear), self._radius)

    def filter_gradient(
        self, linear: Float[Tensor, "B 2 2"], weights: Float[Tensor, "B K K"]
    ) -> Float[Tensor, "B 2 2"]:
        """∇_A ⟨V, G(A)⟩ (proposition A.2; the offsets w run from the filter's centre)."""
        # With P = Σ⁻¹ and M = (A*A)⁻¹: d log G = ⟨A⁻ᵀ, dA⟩ + ½ ⟨P w wᵀ P − P, dΣ⟩, and dΣ = σ0² M d(A*A) M.
        # So ∇_A log G = A⁻ᵀ + σ0² A M (P w wᵀ P − P) M, where A M = A⁻ᵀ. Its sum over the pixels, weighted
        # by V G, needs only the sum and the second moments of V G.
        weighted = weights * self.filter(linear)
        total = weighted.sum((-2, -1))[:, None, None]
        w = offsets_2d(self._radius, linear)
        moments = torch.einsum("byx,yxi,yxj->bij", weighted, w, w)
        precision = torch.linalg.inv(self._covariance(linear))
        turned = torch.linalg.inv(linear).mT
        inner = precision @ moments @ precision - total * precision
        return self._variance0 * turned @ inner @ torch.linalg.inv(linear.mT @ linear) + total * turned

    def evaluate(self, frame: Float[Tensor, "B 3 3"], background: Tensor | None = None) -> Evaluation:  # noqa: D102
        del background
        linear = frame[:, :2, :2]
        warped, derivative = self._jet(fields.transform(frame, self.points))
        taps = self.filter(linear)
        # Robust weights belong to pixels, so a robust loss needs the residual in the pixel domain.
        compare = self._by_spectra if isinstance(self._loss, LeastSquares) else self._by_pixels
        loss, slope, of_filter = compare(warped, taps)
        of_field = torch.einsum("bchw,bchwi->bhwi", slope / self._channels, derivative)
        gradient = fields.project_projective(of_field, self.points, frame)
        of_filter = self.filter_gradient(linear, of_filter / self._channels)
        gradient = gradient + F.pad(of_filter, (0, 1, 0, 1))
        self.tally.convolutions += 3 * frame.shape[0]
        return Evaluation(self._cost(loss, linear), gradient, self._is_flat(warped, derivative))

    def _by_pixels(self, warped: Float[Tensor, "B C h w"], taps: Float[Tensor, "B K K"]) -> _LossAndSlopes:
        """The loss and its derivatives from the residual in pixels, for any loss."""
        residual = convolve_full(warped, taps[:, None]) - self._target
        loss, weights = weigh(self._loss, residual)
        weighted = weights * residual
        return loss, correlate_valid(weighted, taps[:, None]), correlate_valid(weighted, warped).sum(1)

    def _by_spectra(self, warped: Float[Tensor, "B C h w"], taps: Float[Tensor, "B K K"]) -> _LossAndSlopes:
        """The same for least squares, with a third of the Fourier transforms.

        Only the spectrum of the residual is needed: by Parseval's theorem it has the same energy.
        """
        size = self._padded
        scene, filters = spectrum(warped, size), spectrum(taps, size)[:, None]
        residual = scene * filters - self._target_spectrum
        slope = from_spectrum(residual * filters.conj(), size, warped.shape[-2:])
        of_filter = from_spectrum((residual * scene.conj()).sum(1), size, taps.shape[-2:])
        return _energy(residual, size), slope, of_filter

    @property
    def _padded(self) -> tuple[int, int]:
        """The size of a Fourier transform that can hold the full convolution."""
        height, width = self._target.shape[-2:]
        return quick_length(height), quick_length(width)

    @cached_property
    def _target_spectrum(self) -> Tensor:
        return spectrum(self._target, self._padded)

    def linearise(  # noqa: D102
        self,
        frame: Float[Tensor, "B 3 3"],
        change: Float[Tensor, "B 3 3 P"],
        background: Tensor | None = None,
    ) -> Evaluation:
        del background
        linear, size = frame[:, :2, :2], change.shape[-1]
        warped, derivative = self._jet(fields.transform(frame, self.points))
        taps = self.filter(linear)[:, None]
        residual = convolve_full(warped, taps) - self._target
        moved = torch.einsum("bchwi,bhwip->bpchw", derivative, fields.tangent(frame, change, self.points))
        reshaped = self.filter_tangent(linear, change[:, :2, :2])
        columns = convolve_full(moved, taps[:, None]) + convolve_full(warped[:, None], reshaped[:, :, None])
        self.tally.convolutions += (1 + 2 * size) * frame.shape[0]
        loss, weights = weigh(self._loss, residual)
        weighted = (weights[:, None] * columns).flatten(2) / self._channels
        gradient = (weighted @ residual.flatten(1)[..., None])[..., 0]
        hessian = weighted @ columns.flatten(2).mT
        return Evaluation(self._cost(loss, linear), gradient, self._is_flat(warped, derivative), hessian)

    def filter_tangent(
        self, linear: Float[Tensor, "B 2 2"], change: Float[Tensor, "B 2 2 P"]
    ) -> Float[Tensor, "B P K K"]:
        """∂G/∂p along ∂A/∂p: proposition A.2 before its sum over the pixels."""
        # `each` is ∇_A log G of `filter_gradient` at every offset; P w is `aside`.
        aside = offsets_2d(self._radius, linear) @ torch.linalg.inv(self._covariance(linear))[:, None]
        turned, gram = torch.linalg.inv(linear).mT, torch.linalg.inv(linear.mT @ linear)
        precision = torch.linalg.inv(self._covariance(linear))
        inner = aside[..., :, None] * aside[..., None, :] - precision[:, None, None]
        each = self._variance0 * turned[:, None, None] @ inner @ gram[:, None, None] + turned[:, None, None]
        return self.filter(linear)[:, None] * torch.einsum("byxij,bijp->bpyx", each, change)

    def _covariance(self, linear: Tensor) -> Tensor:
        return self._variance * self._eye - self._variance0 * torch.linalg.inv(linear.mT @ linear)

    def _cost(self, loss: Tensor, linear: Tensor) -> Tensor:
        """The cost from the loss; infinite unless Σ(A) ≻ 0, as no filter can make a spike narrower."""
        covariance = self._covariance(linear)
        inside = (covariance.det() > 0) & (covariance[:, 0, 0] > 0)
        return torch.where(inside, loss / (2 * self._channels), torch.inf)


def _energy(of: Tensor, size: tuple[int, int]) -> Float[Tensor, " B"]:
    """Σ r² over all pixels and channels, from the half of the spectrum that `rfft2` returns."""
    # The other half is the mirror image, so all columns count twice but the first and, if the width is even,
    # the last.
    power = (of.real**2 + of.imag**2).sum((-3, -2))
    twice = power[..., 1 : (size[1] + 1) // 2].sum(-1)
    return (power.sum(-1) + twice) / (size[0] * size[1])

"""Formulation (4): smoothing, with a model of the background around the motif."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from wherein.formulations.base import QuadraticFormulation, Taps, taps_of
from wherein.formulations.robust import Robust
from wherein.images.gaussian import Sigma, blur, radius_of, value_of
from wherein.images.motif import Motif
from wherein.warp import KEYS, Relief, Surface


@dataclass(frozen=True)
class WithBackground:
    """½ ‖P_Ω̃[g_σ² ∗ (y∘τ − x_o − P_Ωᶜ[g_Cσ² ∗ β])]‖² over τ and β (eq. 4).

    β is a picture on the lattice that is optimised together with τ. It enters the cost smoothed more strongly
    than the motif. S = g ∗ ·, w = 1_Ω̃, x̂ = P_Ω x_o + P_Ωᶜ[g_Cσ² ∗ β], k = 0.

    Arguments:
        sigma: smoothing in pixels.
        spread: C > 1, the ratio of the variances of the background's smoothing and of the motif's.
        dilation: how far Ω̃ extends beyond the motif, in σ.
        reach: how far the lattice, and with it the background model, extends beyond the motif, in σ.
        lighting: eliminate gain and bias of the scene.
        a: the parameter of the cubic kernel.
        taps: a filter to use instead of g_σ², odd and symmetric (it can be learned).
        robust: give less weight to pixels that do not fit, for a motif that is partly occluded; None: least
            squares.
        relief: interpolate Dy as a picture (see `wherein.warp.Relief`): less work, for smooth scenes.
    """

    sigma: Sigma = 5.0
    spread: float = 2.0
    dilation: float = 2.0
    reach: float = 5.0
    lighting: bool = False
    a: float = KEYS
    taps: Taps | None = None
    robust: Robust | None = None
    relief: bool = False

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "BackgroundFormulation":
        """The cost of a scene and a motif."""
        return BackgroundFormulation(self, scene, motif)


class BackgroundFormulation(QuadraticFormulation):
    """`WithBackground` bound to a scene and a motif."""

    def __init__(self, settings: WithBackground, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        pad = radius_of(settings.sigma, settings.reach)
        taps = taps_of(settings.sigma, settings.taps, motif.pixels)
        surface = (Relief if settings.relief else Surface)(scene, settings.a)
        super().__init__(surface, motif, pad, settings.lighting, settings.robust, taps)
        self._coarse = settings.spread**0.5 * settings.sigma  # the variance is Cσ²
        # Only outside the motif: inside, a background model could explain any scene.
        self._around = 1 - self.motif.mask
        # Without its gradient: the number of pixels in Ω̃ is not differentiable in σ.
        reach = value_of(settings.sigma) * settings.dilation
        self.weight = dilate(self.motif.mask > 0, reach).to(motif.mask.dtype)

    def start_background(self, field: Float[Tensor, "B h w 2"]) -> Float[Tensor, "B C h w"]:
        """The initial β: the smoothed difference of the scene at `field` and the motif (appendix A.3)."""
        return blur(self._warp(field) - self.motif.masked, self._coarse)

    def target(self, background: Tensor | None) -> Float[Tensor, "*B C h w"]:  # noqa: D102
        if background is None:
            return self.motif.masked
        self.tally.convolutions += background[..., 0, 0, 0].numel()
        return self.motif.masked + self._around * blur(background, self._coarse)

    def background_gradient(self, slope: Float[Tensor, "B C h w"]) -> Float[Tensor, "B C h w"]:
        """∇_β φ = −g_Cσ² ∗ P_Ωᶜ[∂φ/∂z]; a symmetric filter is its own adjoint."""
        self.tally.convolutions += slope[..., 0, 0, 0].numel()
        return -blur(self._around * slope, self._coarse)


def dilate(support: Tensor, radius: float) -> Tensor:
    """The pixels whose distance from the support, in the maximum norm, is at most `radius`."""
    reach = int(radius)  # rounded down: distances in the maximum norm are whole numbers
    grown = torch.nn.functional.max_pool2d(support[None].float(), 2 * reach + 1, stride=1, padding=reach)
    return grown[0] > 0

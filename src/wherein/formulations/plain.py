"""Formulation (2): the smoothed difference between scene and motif, on the motif's support."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from wherein.formulations.base import QuadraticFormulation, Taps, taps_of
from wherein.formulations.robust import Robust
from wherein.images.gaussian import Sigma
from wherein.images.motif import Motif
from wherein.warp import KEYS, Surface


@dataclass(frozen=True)
class Plain:
    """½ ‖P_Ω[g_σ² ∗ (y∘τ − x_o)]‖² (eq. 2): S = g ∗ ·, w = 1_Ω, x̂ = x_o, k = 0.

    Arguments:
        sigma: smoothing in pixels; 0 compares pixel by pixel.
        lighting: eliminate gain and bias of the scene.
        a: the parameter of the cubic kernel.
        taps: a filter to use instead of the Gaussian, odd and symmetric (it can be learned).
        robust: give less weight to pixels that do not fit, for a motif that is partly occluded; None: least
            squares.
    """

    sigma: Sigma = 0.0
    lighting: bool = False
    a: float = KEYS
    taps: Taps | None = None
    robust: Robust | None = None

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "PlainFormulation":
        """The cost of a scene and a motif."""
        return PlainFormulation(self, scene, motif)


class PlainFormulation(QuadraticFormulation):
    """`Plain` bound to a scene and a motif; the lattice is the motif's box widened by the filter's radius."""

    def __init__(self, settings: Plain, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        taps = taps_of(settings.sigma, settings.taps, motif.pixels)
        # Near the outline the filter compares the scene's background with black. (3) and (4) avoid this.
        surface, pad = Surface(scene, settings.a), taps.numel() // 2
        super().__init__(surface, motif, pad, settings.lighting, settings.robust, taps)
        self.weight = self.motif.mask

    def target(self, background: Tensor | None) -> Float[Tensor, "C h w"]:  # noqa: D102
        del background
        return self.motif.pixels

"""Formulation (2): the scene smoothed and compared on the motif's support."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from wherein.formulations.base import QuadraticFormulation, Taps, taps_of
from wherein.images.gaussian import Sigma, separable
from wherein.images.motif import Motif
from wherein.warp import KEYS, Surface


@dataclass(frozen=True)
class Plain:
    """½ ‖P_Ω[g_σ² ∗ (y∘τ − x_o)]‖² (eq. 2): Q = g ∗ P_Ω[g ∗ ·], x̂ = x_o, k = 0.

    Arguments:
        sigma: smoothing in pixels; 0 compares pixel by pixel.
        lighting: eliminate gain and bias of the scene.
        a: of the cubic kernel.
        taps: a filter to use in place of the Gaussian, odd and symmetric (it can be learned).
    """

    sigma: Sigma = 0.0
    lighting: bool = False
    a: float = KEYS
    taps: Taps | None = None

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "PlainFormulation":
        """This cost for a scene and a motif."""
        return PlainFormulation(self, scene, motif)


class PlainFormulation(QuadraticFormulation):
    """`Plain` bound to a scene and a motif, on the motif's box and the filter's reach around it."""

    def __init__(self, settings: Plain, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        self._taps = taps_of(settings.sigma, settings.taps, motif.pixels)
        super().__init__(Surface(scene, settings.a), motif, self._taps.numel() // 2, settings.lighting)
        self.floor = motif.pixels.new_zeros(())

    def target(self, background: Tensor | None) -> Float[Tensor, "C h w"]:  # noqa: D102
        del background
        return self.motif.pixels

    def metric(self, change: Float[Tensor, "*B C h w"]) -> Float[Tensor, "*B C h w"]:  # noqa: D102
        self.tally.convolutions += 2 * change[..., 0, 0, 0].numel()
        return separable(separable(change, self._taps) * self.motif.mask, self._taps)

"""Formulation (2): the scene smoothed and compared on the motif's support."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from wherein.formulations.base import QuadraticFormulation
from wherein.images.gaussian import Sigma, gaussian_1d, radius_of, separable
from wherein.images.motif import Motif
from wherein.motion.field import centre_of, lattice
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
    taps: Float[Tensor, " K"] | None = None

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "PlainFormulation":
        """This cost for a scene and a motif."""
        return PlainFormulation(self, scene, motif)


class PlainFormulation(QuadraticFormulation):
    """`Plain` bound to a scene and a motif, on the motif's box and the filter's reach around it."""

    def __init__(self, settings: Plain, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        pad = radius_of(settings.sigma) if settings.taps is None else settings.taps.numel() // 2
        centre = centre_of(motif.height, motif.width, motif.pixels)
        points = lattice(motif.height, motif.width, motif.pixels, pad) - centre
        super().__init__(Surface(scene, settings.a), points, centre, settings.lighting)
        self._taps = (
            settings.taps if settings.taps is not None else gaussian_1d(settings.sigma, like=motif.pixels)
        )
        self._motif = motif.padded(pad)
        self.floor = motif.pixels.new_zeros(())

    def target(self, background: Tensor | None) -> Float[Tensor, "C h w"]:  # noqa: D102
        del background
        return self._motif.pixels

    def metric(self, change: Float[Tensor, "*B C h w"]) -> Float[Tensor, "*B C h w"]:  # noqa: D102
        self.tally.convolutions += 2 * change[..., 0, 0, 0].numel()
        return separable(separable(change, self._taps) * self._motif.mask, self._taps)

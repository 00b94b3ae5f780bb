"""Formulation (12): complementary smoothing where nothing is scaled, with no convolution inside the loop."""

from dataclasses import dataclass

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.base import QuadraticFormulation
from wherein.images.gaussian import Sigma, gaussian_1d, separable
from wherein.images.motif import Motif
from wherein.motion.field import centre_of, lattice
from wherein.warp import KEYS, Relief


@dataclass(frozen=True)
class RigidSpikes:
    """1/(2c) ‖P_Ω[g ∗ (y∘τ − x)]‖² with g = g_{σ²−σ0²} over rigid motions (eq. 12).

    A rotation leaves an isotropic filter as it is, so that g ∗ (y∘τ) = (g ∗ y)∘τ: both sides are smoothed
    once, before the descent, and Q = 1/c on the lattice, x̂ = g ∗ x, k = 0. Smoothed that much, the sum over
    every `spacing`-th pixel is the sum over all. Ω is the motif's box, dilated by the filter's reach. For
    motions that scale, take `Spikes`.

    Arguments:
        sigma: √(σ² − σ0²): how much to smooth maps whose spikes have the width σ0 already.
        spacing: compare every so many pixels along each axis.
        a: of the cubic kernel.
        taps: a filter to use in place of the Gaussian, odd and symmetric (it can be learned).
    """

    sigma: Sigma = 20.0
    spacing: int = 1
    a: float = KEYS
    taps: Float[Tensor, " K"] | None = None

    def __post_init__(self) -> None:
        require(self.spacing >= 1, f"spacing must be 1 or more pixels, but came as {self.spacing}")

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "RigidSpikesFormulation":
        """This cost for the maps of a scene and those of a motif, channel by channel."""
        return RigidSpikesFormulation(self, scene, motif)


class RigidSpikesFormulation(QuadraticFormulation):
    """`RigidSpikes` bound to maps; its frame must be rigid."""

    textured = False

    def __init__(self, settings: RigidSpikes, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        channels = motif.pixels.shape[0]
        require(
            scene.shape[-3] == channels,
            f"scene and motif need the same channels, but came {scene.shape[-3]} and {channels}",
        )
        taps = settings.taps if settings.taps is not None else gaussian_1d(settings.sigma, like=motif.pixels)
        reach = self._reach = taps.numel() // 2
        # A spike at the border reaches beyond it, and is seen from there.
        surface = Relief(separable(F.pad(scene, (reach,) * 4), taps), settings.a)
        centre = centre_of(motif.height, motif.width, motif.pixels)
        thin = 2 * (slice(None, None, settings.spacing),)
        points = lattice(motif.height, motif.width, motif.pixels, reach)[thin] - centre
        super().__init__(surface, points, centre, lighting=False)
        self._target = separable(motif.padded(reach).masked, taps)[(..., *thin)]
        self._scale = settings.spacing**2 / channels
        self.floor = motif.pixels.new_zeros(())
        self.tally.convolutions += 2

    def target(self, background: Tensor | None) -> Float[Tensor, "C h w"]:  # noqa: D102
        del background
        return self._target

    def metric(self, change: Float[Tensor, "*B C h w"]) -> Float[Tensor, "*B C h w"]:  # noqa: D102
        return self._scale * change

    def _jet(self, field: Float[Tensor, "*B h w 2"]) -> tuple[Tensor, Tensor]:
        return super()._jet(field + self._reach)

    def _warp(self, field: Tensor) -> Tensor:
        return super()._warp(field + self._reach)

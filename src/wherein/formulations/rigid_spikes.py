"""Formulation (13): complementary smoothing for motions without scaling, with no convolution in the loop."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.base import QuadraticFormulation, Taps, taps_of
from wherein.images.gaussian import Sigma, separable
from wherein.images.motif import Motif
from wherein.motion.field import shift_matrix
from wherein.warp import KEYS, Relief


@dataclass(frozen=True)
class RigidSpikes:
    """1/(2c) ‖P_Ω[g ∗ (y∘τ − x)]‖² with g = g_{σ²−σ0²} over rigid motions (eq. 13).

    A rotation does not change an isotropic filter, so g ∗ (y∘τ) = (g ∗ y)∘τ: scene and motif are smoothed
    once, before the solver's loop, and Q = 1/c on the lattice, x̂ = g ∗ x, k = 0. Both are then so smooth
    that spacing² times the sum over every `spacing`-th pixel along each axis equals the sum over all. Ω is
    the motif's box, enlarged by the filter's radius. For motions that scale, use `Spikes`.

    Arguments:
        sigma: √(σ² − σ0²), the smoothing of maps whose spikes already have the width σ0.
        spacing: compare only every `spacing`-th pixel along each axis.
        a: the parameter of the cubic kernel.
        taps: a filter to use instead of the Gaussian, odd and symmetric (it can be learned).
    """

    sigma: Sigma = 20.0
    spacing: int = 1
    a: float = KEYS
    taps: Taps | None = None

    def __post_init__(self) -> None:
        require(self.spacing >= 1, f"spacing must be 1 or more pixels, but is {self.spacing}")

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "RigidSpikesFormulation":
        """The cost of the maps of a scene and those of a motif, channel by channel."""
        return RigidSpikesFormulation(self, scene, motif)


class RigidSpikesFormulation(QuadraticFormulation):
    """`RigidSpikes` bound to maps; the frame must be rigid."""

    textured = False

    def __init__(self, settings: RigidSpikes, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        taps = taps_of(settings.sigma, settings.taps, motif.pixels)
        reach, spacing = taps.numel() // 2, settings.spacing
        # The scene is padded, since a smoothed spike near the border extends beyond it. So positions are
        # shifted by the padding before sampling.
        surface = Relief(separable(F.pad(scene, (reach,) * 4), taps), settings.a)
        super().__init__(surface, motif, reach, lighting=False, robust=None, spacing=spacing)
        self._reach = reach
        self._target = separable(self.motif.masked, taps)[self.thin]
        self.weight = torch.full_like(self._target[0], spacing**2 / len(motif.pixels))
        self.tally.convolutions += 2

    def target(self, background: Tensor | None) -> Float[Tensor, "C h w"]:  # noqa: D102
        del background
        return self._target

    def visible_fraction(self, frame: Float[Tensor, "B 3 3"]) -> Float[Tensor, "B"]:  # noqa: D102
        return super().visible_fraction(shift_matrix(frame.new_full((2,), self._reach)) @ frame)

    def _jet(self, field: Float[Tensor, "*B h w 2"]) -> tuple[Tensor, Tensor]:
        return super()._jet(field + self._reach)

    def _warp(self, field: Tensor) -> Tensor:
        return super()._warp(field + self._reach)

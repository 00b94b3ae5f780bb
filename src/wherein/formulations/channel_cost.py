"""The difference between the channels of the warped scene and the motif: the light has hardly any effect."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.base import QuadraticFormulation
from wherein.formulations.robust import Robust
from wherein.images.channels import ChannelSettings
from wherein.images.masked_channels import ChannelJet, MaskedChannels
from wherein.images.motif import Motif
from wherein.warp import KEYS, Surface


@dataclass(frozen=True)
class Channels(ChannelSettings):
    """½ Σ w |F(y∘τ) − F(x_o)|², F the channels of oriented gradients: F ≠ id, S = id, x̂ = F(x_o), k = 0.

    The input of a node of equation (11) has several channels; here they are computed from the scene. The
    scene is warped before its channels are computed, so that directions are compared in the motif's frame,
    for any rotation or tilt in the scene. What surrounds the motif has no effect: F uses only pixels inside
    the mask (`MaskedChannels`), and w is the mask eroded by one pixel, since the gradient of an outline pixel
    would need pixels outside. So motifs must be at least 3 pixels wide.

    Arguments:
        sigma: smoothing of the channels in pixels.
        window: width of the square over which the gradient's size is averaged, odd, in pixels.
        floor, noise: gradients below these count as none, and as noise: see `ChannelSettings`.
        lighting: eliminate a gain and biases of the channels. Channels hardly depend on the light, but blur
            and noise in the scene lower all of them.
        a: the parameter of the cubic kernel.
        robust: give less weight to pixels that do not fit, for a motif that is partly occluded; None: least
            squares.
    """

    lighting: bool = False
    a: float = KEYS
    robust: Robust | None = None

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "ChannelsFormulation":
        """The cost of a scene and a motif."""
        return ChannelsFormulation(self, scene, motif)


class ChannelsFormulation(QuadraticFormulation):
    """`Channels` bound to a scene and a motif; the lattice is the motif's box."""

    def __init__(self, settings: Channels, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        # The scene is continued by its border pixels: a step to zeros would be its strongest edge.
        surface = Surface(scene, settings.a, replicate=True)
        super().__init__(surface, motif, 0, settings.lighting, settings.robust)
        self._map = MaskedChannels(motif.mask, settings)
        self.weight = self._map.weight
        require(
            bool((self.weight.detach() > 0).any()),
            "the motif is too thin for channels: at least one pixel must have all of its eight neighbours in "
            "the mask",
        )
        self._target = self.features(self.motif.pixels).values

    def features(self, warped: Float[Tensor, "*B C h w"]) -> ChannelJet:
        """F(z): the channels inside the motif's mask."""
        return self._map(warped)

    def target(self, background: Tensor | None) -> Float[Tensor, "8 h w"]:  # noqa: D102
        del background
        return self._target

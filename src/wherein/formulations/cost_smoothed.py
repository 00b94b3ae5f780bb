"""Formulation (3): smooths the *cost* over shifts instead of the pictures.

So the background that surrounds the motif is never compared with the motif.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from wherein.errors import require
from wherein.formulations.base import QuadraticFormulation, Taps, taps_of
from wherein.formulations.robust import Robust
from wherein.images.gaussian import Sigma, blur, separable
from wherein.images.motif import Motif
from wherein.warp import KEYS, Relief, Surface


@dataclass(frozen=True)
class CostSmoothed:
    """½ Σ_Δ (g_σ²)_Δ ‖P_Ω[y∘(τ + Δ) − x_o]‖² (eq. 3), in its convolution-free form.

    The sum over shifts can be applied to the motif (appendix A.2, with the sign of the cross term corrected
    to −2):

        2φ = ⟨z², w⟩ − 2 ⟨z, g ∗ P_Ω x_o⟩ + ‖P_Ω x_o‖²,    w = g ∗ 1_Ω,

    which is a weighted least-squares cost without S: x̂ = (g ∗ P_Ω x_o) / w, and a floor k.

    Arguments:
        sigma: smoothing of the cost, in pixels.
        scene_sigma: smoothing of the scene before it is sampled, σ_in of eq. (12).
        lighting: eliminate gain and bias of the scene.
        a: the parameter of the cubic kernel.
        taps: a filter to use instead of the Gaussian, odd and symmetric (it can be learned).
        robust: give less weight to pixels that do not fit, for a motif that is partly occluded; None: least
            squares.
        spacing: compare only every `spacing`-th pixel along each axis, with spacing² times its weight. If
            scene and weights are smooth, the sum over this coarser lattice is the same.
        relief: interpolate Dy as a picture (see `wherein.warp.Relief`): less work, for smooth scenes.
        negligible: leave out the points whose weight (at most 1) is not above this. The lattice is then a
            list of points, (1, n), which free vector fields cannot use. None keeps the rectangle.
    """

    sigma: Sigma = 3.0
    scene_sigma: Sigma = 0.0
    lighting: bool = False
    a: float = KEYS
    taps: Taps | None = None
    robust: Robust | None = None
    spacing: int = 1
    relief: bool = False
    negligible: float | None = None

    def __post_init__(self) -> None:
        require(self.spacing >= 1, f"spacing must be 1 or more pixels, but is {self.spacing}")

    def bind(self, scene: Float[Tensor, "*S C H W"], motif: Motif) -> "CostSmoothedFormulation":
        """The cost of a scene and a motif; all convolutions are done here, none in the solver's loop."""
        return CostSmoothedFormulation(self, scene, motif)


class CostSmoothedFormulation(QuadraticFormulation):
    """`CostSmoothed` bound to a scene and a motif."""

    def __init__(self, settings: CostSmoothed, scene: Float[Tensor, "*S C H W"], motif: Motif) -> None:
        taps = taps_of(settings.sigma, settings.taps, motif.pixels)
        kind = Relief if settings.relief else Surface
        surface = kind(blur(scene, settings.scene_sigma), settings.a)
        pad, spacing = taps.numel() // 2, settings.spacing
        super().__init__(surface, motif, pad, settings.lighting, settings.robust, spacing=spacing)
        weight = separable(self.motif.mask, taps)
        smoothed = separable(self.motif.masked, taps)
        # Where the weight is zero the target has no effect; dividing by 1 keeps it finite.
        target = smoothed / torch.where(weight > 0, weight, torch.ones_like(weight))
        # k = ½ Σ g_Δ ‖x_o‖² − ½ Σ w x̂²: the cost if the warped scene equalled x̂.
        mass = taps.sum() ** 2  # Σ g_Δ; 1 for a Gaussian, but learned taps need not sum to 1
        self.floor = 0.5 * (mass * (motif.mask * motif.pixels**2).sum() - (target * smoothed).sum())
        # Each point represents spacing² pixels.
        self.weight, self._target = weight[self.thin] * spacing**2, target[self.thin]
        if settings.negligible is not None:
            self._leave_out(weight[self.thin].detach() <= settings.negligible)
        self.tally.convolutions += 3  # of the scene, the mask and the motif

    def _leave_out(self, negligible: Bool[Tensor, "h w"]) -> None:
        """Turn the lattice into a list of points, one row high, without the negligible ones."""
        # One row and not a flat list: the code of the base class works on (…, h, w).
        kept = ~negligible
        self.points, self.inside = self.points[kept][None], self.inside[kept][None]
        self.weight, self._target = self.weight[kept][None], self._target[:, kept][:, None]

    def target(self, background: Tensor | None) -> Float[Tensor, "C h w"]:  # noqa: D102
        del background
        return self._target

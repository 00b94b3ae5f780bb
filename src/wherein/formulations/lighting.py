"""Elimination of lighting: the gain a ≥ 0 and the bias b of each channel that minimise Σ w (a z + b u − x)².

u is the smoothed constant picture. The best bias makes the weighted means of a z and x equal; the best gain
is then the regression coefficient of x on z. Pictures are (…, C, h, w), weights (…, 1, h, w), u is (h, w).
"""

import torch
from jaxtyping import Float
from torch import Tensor

Picture = Float[Tensor, "*#B C h w"]


def demean(picture: Picture, constant: Float[Tensor, "h w"], weights: Tensor) -> Picture:
    """The picture minus the part of each channel that a bias explains: its w-orthogonal projection off u."""
    under = weights * constant
    mean = (under * picture).sum((-2, -1), keepdim=True) / (under * constant).sum((-2, -1), keepdim=True)
    return picture - mean * constant


def fit_lighting(
    scene: Picture, target: Picture, constant: Float[Tensor, "h w"], weights: Tensor
) -> tuple[Float[Tensor, "*#B 1 1 1"], Picture]:
    """The best gain, and the residual a z + b u − x at the best gain and bias."""
    scene, target = demean(scene, constant, weights), demean(target, constant, weights)
    # A negative gain would let the negative of a picture match.
    gain = _regression(target, scene, weights).clamp_min(0)
    return gain, gain * scene - target


def project_out(
    columns: Float[Tensor, "B P C h w"], scene: Picture, constant: Float[Tensor, "h w"], weights: Tensor
) -> Float[Tensor, "B P C h w"]:
    """The Jacobian's columns minus the part that a change of gain and bias explains (variable projection)."""
    columns, scene = demean(columns, constant, weights), demean(scene, constant, weights)
    return columns - _regression(columns, scene, weights) * scene


def _regression(picture: Tensor, scene: Tensor, weights: Tensor) -> Tensor:
    """The regression coefficient of the picture on the scene: ⟨picture, z⟩ / ⟨z, z⟩."""
    measured = weights * scene
    energy = (scene * measured).sum((-3, -2, -1), keepdim=True)
    overlap = (picture * measured).sum((-3, -2, -1), keepdim=True)
    return overlap / energy.clamp_min(torch.finfo(energy.dtype).tiny)

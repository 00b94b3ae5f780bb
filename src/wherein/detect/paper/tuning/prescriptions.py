"""Hyperparameters of the paper's network that follow from sizes and theory: smoothing, and strides of groups.

A visual motif is smoothed in proportion to its size: with more smoothing the background around it weighs as
much as the motif, with less its basin of attraction is small. An occurrence motif is smoothed by how far its
spikes must travel. Close to the solution, the theorem's step sizes bring each spike to its target in one
step; from a distance d its gradient, and so its rate, is exp(−d²/4σ²) of that (the gradient of eq. 15). At
σ = d/2 that is 1/e. The theorem's own bound (16) guarantees convergence for affine maps, but at two to three
times that σ, where other spikes nearby would be smoothed in.
"""

import math
from dataclasses import replace

from wherein.detect.paper.nodes import Hyperparameters
from wherein.images.motif import Motif
from wherein.template.bundle import Template
from wherein.template.extract import joints_below
from wherein.template.tree import Tree

DEFAULTS = Hyperparameters()
"""For everything that is neither prescribed nor measured: iterations, rates, screening."""

_SIZE_OVER_SIGMA = 9.0
"""√|Ω| / σ of a visual motif. Measured: most starts converge between 8 and 10, on photographs and clutter."""

_MAX_PIXELS = 1000
"""Approximate number of pixels that are compared in the second round, where a motif has more. A choice."""

_STRIDES = (8, 32)
"""Smallest and largest stride of a group in pixels. A choice."""


def leaf_hyperparameters(motif: Motif) -> Hyperparameters:
    """The smoothing of a leaf, and how densely its pixels are compared."""
    pixels = float(motif.mask.sum())
    return with_sigma(
        replace(DEFAULTS, fine_spacing=max(1, int(math.sqrt(pixels / _MAX_PIXELS)))),
        math.sqrt(pixels) / _SIZE_OVER_SIGMA,
    )


def with_sigma(chosen: Hyperparameters, sigma: float) -> Hyperparameters:
    """The same with another smoothing of visual motifs; σ_in and the spacing are scaled with it."""
    ratio = sigma / DEFAULTS.sigma
    return replace(
        chosen,
        sigma=sigma,
        scene_sigma=ratio * DEFAULTS.scene_sigma,
        spacing=max(1, round(ratio * DEFAULTS.spacing)),
    )


def group_hyperparameters(template: Template, name: str, rotation: float) -> Hyperparameters:
    """Smoothing and stride of a group, for an object that is rotated by up to ± `rotation` degrees."""
    joints = joints_below(template, name)
    middle = (joints.amax(0) + joints.amin(0)) / 2  # of the motif's box, about which it turns
    radius = float((joints - middle).norm(dim=1).max())
    swing = 2 * radius * math.sin(math.radians(max_rotation(template.parts, name, rotation)) / 2)
    # From the corner of a grid cell, a spike travels stride/√2: as far by the stride as by the rotation.
    stride = min(max(round(math.sqrt(2) * swing), _STRIDES[0]), _STRIDES[1])
    sigma = (swing + stride / math.sqrt(2)) / 2
    return replace(DEFAULTS, stride=stride, spike_sigma=sigma)


def max_rotation(tree: Tree, name: str, rotation: float) -> float:
    """The maximum rotation of a part in degrees, where each joint uses half of its range."""
    part = tree[name]
    own = part.turn / 2 if part.moves else 0.0
    return min(180.0, rotation if part.parent is None else own + max_rotation(tree, part.parent, rotation))


def spike_width(template: Template, rotation: float) -> float:
    """σ0: a third of the smallest σ of a group, and at most that of the paper."""
    groups = [name for name, part in template.parts.items() if part.motif is None]
    sigmas = (group_hyperparameters(template, name, rotation).spike_sigma for name in groups)
    return min(DEFAULTS.sigma0, min(sigmas, default=math.inf) / 3)

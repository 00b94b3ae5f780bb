"""What size and theory prescribe for the paper's network: smoothing, and the strides of inner nodes.

A visual motif is smoothed by its size: by more, the background around it weighs as much as the motif, and by
less its basin is small. An occurrence motif is smoothed by how far its spikes must travel. Near the truth the
theorem's step sizes bring each spike home at once; from a distance d its pull, and with it its rate, is
exp(−d²/4σ²) of that (the gradient of eq. 15). At σ = d/2 it is 1/e. The theorem's own bound (16) guarantees
convergence for affine maps, at two to three times that σ, where other spikes near by would be smoothed in.
"""

import math
from dataclasses import replace

from wherein.detect.paper.nodes import Hyperparameters
from wherein.images.motif import Motif
from wherein.template.bundle import Template
from wherein.template.extract import joints_below
from wherein.template.tree import Tree

RELEASED = Hyperparameters()
"""What is not prescribed or measured: iterations, rates, screening."""

_SIZE = 9.0
"""√|Ω| / σ of a visual motif. Measured: from 8 to 10 most starts come home, in photographs as in clutter."""

_PIXELS = 1000
"""Compared in the second round, about, where a motif has more."""

_STRIDES = (8, 32)
"""The closest and the widest grid of spikes' starts, in pixels."""


def visual(motif: Motif) -> Hyperparameters:
    """The smoothing of a leaf, and how densely it can be compared with it."""
    pixels = float(motif.mask.sum())
    return with_sigma(
        replace(RELEASED, fine_spacing=max(1, int(math.sqrt(pixels / _PIXELS)))), math.sqrt(pixels) / _SIZE
    )


def with_sigma(chosen: Hyperparameters, sigma: float) -> Hyperparameters:
    """Another smoothing of a visual motif; scene and lattice are smoothed and thinned out with it."""
    share = sigma / RELEASED.sigma
    return replace(
        chosen,
        sigma=sigma,
        scene_sigma=share * RELEASED.scene_sigma,
        spacing=max(1, round(share * RELEASED.spacing)),
    )


def spiky(template: Template, name: str, rotation: float) -> Hyperparameters:
    """Smoothing and stride of an inner node, for an object that is turned by up to ± `rotation` degrees."""
    joints = joints_below(template, name)
    middle = (joints.amax(0) + joints.amin(0)) / 2  # of the motif's box, about which it turns
    radius = float((joints - middle).norm(dim=1).max())
    swing = 2 * radius * math.sin(math.radians(turning(template.parts, name, rotation)) / 2)
    # As far by the stride, from the corner of a cell, as by the turn.
    stride = min(max(round(math.sqrt(2) * swing), _STRIDES[0]), _STRIDES[1])
    sigma = (swing + stride / math.sqrt(2)) / 2
    return replace(RELEASED, stride=stride, spike_sigma=sigma)


def turning(tree: Tree, name: str, rotation: float) -> float:
    """How far a part is turned at most, in degrees, where joints are by half of what they may."""
    part = tree[name]
    own = part.turn / 2 if part.moves else 0.0
    return min(180.0, rotation if part.parent is None else own + turning(tree, part.parent, rotation))


def spike_width(template: Template, rotation: float) -> float:
    """σ0: a third of what the narrowest inner node smooths by, and not more than the released code has."""
    inner = [name for name, part in template.parts.items() if part.motif is None]
    narrowest = min((spiky(template, name, rotation).spike_sigma for name in inner), default=math.inf)
    return min(RELEASED.sigma0, narrowest / 3)

"""An inner node, measured: registered in the spikes that its children, as measured, would show."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from wherein.detect.paper.network import make_node
from wherein.detect.paper.nodes import Ends, Node, missing_spike
from wherein.detect.paper.tuning.measured import Measured, apart, least
from wherein.detect.paper.tuning.paper_model import NodeCalibration, alpha_gamma
from wherein.detect.paper.tuning.prescribed import spiky
from wherein.detect.paper.tuning.rehearsal import Rehearsal
from wherein.formulations.base import FAINT
from wherein.motion.field import shift_matrix
from wherein.template.bundle import Template

_FREE = 0.1
"""What a find may cost in any case, in missing spikes."""

_MEMORY = 64e6
"""Bytes to work in, about."""


def measure_group(
    template: Template,
    name: str,
    rotation: float,
    sigma0: float,
    rehearsals: Sequence[Rehearsal],
    children: Sequence[Measured],
) -> Measured:
    """Everything about an inner node.

    Arguments:
        template, name: whose.
        rotation: ± degrees by which the object was turned.
        sigma0: the width of spikes.
        rehearsals: scenes with the truth.
        children: in the order of the tree.
    """
    chosen = replace(spiky(template, name, rotation), sigma0=sigma0)
    node = make_node(template, name, chosen)
    sizes = [rehearsal.size for rehearsal in rehearsals]
    present = [
        _ends(node, [(c.node, c.present[k]) for c in children], size, sigma0) for k, size in enumerate(sizes)
    ]
    clutter = [
        _ends(node, [(c.node, c.clutter[k]) for c in children], size, sigma0) for k, size in enumerate(sizes)
    ]
    missing = missing_spike(len(children), chosen.spike_sigma)
    right, wrong = apart(name, rehearsals, present, clutter)
    # One spike is found by every pattern that has it, the others missing: two are the least that is a find.
    alone = len(children) - 1.0
    found = [cost for cost in least(right, missing) if cost < alone - 0.5]
    elsewhere = least(wrong, missing)
    alpha, gamma = alpha_gamma(max((*found, _FREE)), min((*elsewhere, alone)))
    known = NodeCalibration(
        stride=chosen.stride,
        sigma=chosen.spike_sigma,
        alpha=alpha,
        gamma=gamma,
        covered=None,
        found=found,
        elsewhere=elsewhere,
        taken_for=None,
    )
    tuned = replace(chosen, spike_alpha=alpha, spike_gamma=gamma)
    return Measured(make_node(template, name, tuned), known, present, clutter)


def _ends(node: Node, children: Sequence[tuple[Node, Ends]], size: tuple[int, int], sigma0: float) -> Ends:
    """Where its strides end in the maps that its children show."""
    width = torch.tensor(sigma0)
    shown = [child.show(ends, size, width) for child, ends in children]
    if max((float(one.weight.max()) for one in shown if len(one)), default=0.0) < FAINT:
        return node.ends(shift_matrix(torch.zeros(0, 2)), torch.zeros(0))  # nothing to see: no stride starts
    found: Ends = node(torch.stack([one.map for one in shown]), width, _MEMORY)
    return found

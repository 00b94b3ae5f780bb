"""A leaf, measured: its stride from its basin, α and γ between what it costs where it is and elsewhere."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from wherein.detect.paper.network import make_node
from wherein.detect.paper.tuning.attraction import homing
from wherein.detect.paper.tuning.confusions import Mistakes, mistakes
from wherein.detect.paper.tuning.measured import Measured, least
from wherein.detect.paper.tuning.paper_model import NodeCalibration, alpha_gamma
from wherein.detect.paper.tuning.prescribed import turning, visual
from wherein.detect.paper.tuning.rehearsal import Rehearsal
from wherein.template.bundle import Template

_FREE = 0.002
"""What a find may cost in any case, for each pixel: noise of 4 % of the range does."""


@torch.no_grad()
def measure_leaf(
    template: Template, name: str, rotation: float, rehearsals: Sequence[Rehearsal], rng: np.random.Generator
) -> Measured:
    """Everything about a leaf.

    Arguments:
        template, name: whose.
        rotation: ± degrees by which the object was turned.
        rehearsals: scenes with the truth.
        rng: lays starts and grids.
    """
    part = template.parts[name]
    motif = part.motif
    assert motif is not None
    chosen, pixels = visual(motif), float(motif.mask.sum())
    starts = homing(part, motif, chosen, rehearsals, rng)
    node = make_node(template, name, chosen)
    wrong = mistakes(part, motif, node, rehearsals, turning(template.parts, name, rotation))
    found, elsewhere = least(starts.found, pixels), least([each.ends for each in wrong], pixels)
    stride = starts.stride()
    alpha, gamma = alpha_gamma(max((*found, _FREE)), min(elsewhere, default=math.inf))
    known = NodeCalibration(
        stride=stride,
        sigma=chosen.sigma,
        alpha=alpha,
        gamma=gamma,
        covered=starts.covered(stride // starts.step),
        found=found,
        elsewhere=elsewhere,
        taken_for=_cheapest(wrong),
    )
    return Measured(
        make_node(template, name, replace(chosen, alpha=alpha, gamma=gamma)),
        known,
        [starts.on_a_grid(k, stride, rng).and_also(each.ends) for k, each in enumerate(wrong)],
        [each.on_clutter for each in wrong],
    )


def _cheapest(wrong: Sequence[Mistakes]) -> str | None:
    """Which leaf the cheapest mistake of all shows."""
    each = [
        (float(cost), name or "") for one in wrong for cost, name in zip(one.ends.cost, one.of, strict=True)
    ]
    return min(each, default=(0.0, ""))[1] or None

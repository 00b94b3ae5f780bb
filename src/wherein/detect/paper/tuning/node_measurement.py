"""Measures one node of the paper's network on synthetic scenes: its stride, and α and γ.

A leaf takes its stride from its basin of attraction; a group is registered in the maps that its children, as
measured, would make. α and γ of both lie between the costs where the node is and the costs elsewhere.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from wherein.detect.paper.network import make_node
from wherein.detect.paper.nodes import Node, StrideResults, missing_spike
from wherein.detect.paper.tuning.false_matches import FalseMatches, false_matches
from wherein.detect.paper.tuning.leaf_basin import measure_basin
from wherein.detect.paper.tuning.paper_model import NodeCalibration, alpha_gamma
from wherein.detect.paper.tuning.prescriptions import (
    group_hyperparameters,
    leaf_hyperparameters,
    max_rotation,
)
from wherein.detect.paper.tuning.synthetic_scenes import NEAR, SyntheticScene, close_to
from wherein.formulations.base import FAINT
from wherein.motion.field import shift_matrix
from wherein.template.bundle import Template

_ALLOWED_LEAF_COST = 0.002
"""Cost per pixel at which a leaf always counts as found: that of noise with a standard deviation of 0.037 in
three channels, ½ · 3 · 0.037²."""

_ALLOWED_GROUP_COST = 0.1
"""Cost in missing spikes at which a group always counts as found. A choice."""

_MEMORY = 64e6
"""Approximate number of bytes to work in: the default of the network."""


@dataclass(frozen=True, eq=False)
class NodeMeasurement:
    """What the measurement of a node gives to the node above it.

    Attributes:
        node: with its α and γ.
        calibration: the numbers.
        present: the results of its strides in each scene.
        clutter: the results that they would have without the template.
    """

    node: Node
    calibration: NodeCalibration
    present: list[StrideResults]
    clutter: list[StrideResults]


@torch.no_grad()
def measure_leaf(
    template: Template, name: str, rotation: float, scenes: Sequence[SyntheticScene], rng: np.random.Generator
) -> NodeMeasurement:
    """Measure a leaf.

    Arguments:
        template, name: the leaf.
        rotation: ± degrees by which the object is rotated in the scenes.
        scenes: with known poses.
        rng: offsets starts and grids.
    """
    part = template.parts[name]
    motif = part.motif
    assert motif is not None
    chosen, pixels = leaf_hyperparameters(motif), float(motif.mask.sum())
    basin = measure_basin(part, motif, chosen, scenes, rng)
    node = make_node(template, name, chosen)
    false = false_matches(part, motif, node, scenes, max_rotation(template.parts, name, rotation))
    found = lowest_costs(basin.converged_results, pixels)
    elsewhere = lowest_costs([each.results for each in false], pixels)
    stride = basin.stride()
    alpha, gamma = alpha_gamma(max((*found, _ALLOWED_LEAF_COST)), min(elsewhere, default=math.inf))
    calibration = NodeCalibration(
        stride=stride,
        sigma=chosen.sigma,
        alpha=alpha,
        gamma=gamma,
        covered=basin.coverage(stride // basin.step),
        found=found,
        elsewhere=elsewhere,
        taken_for=_most_similar_leaf(false),
    )
    return NodeMeasurement(
        make_node(template, name, replace(chosen, alpha=alpha, gamma=gamma)),
        calibration,
        [basin.on_grid(k, stride, rng).concatenate(each.results) for k, each in enumerate(false)],
        [each.on_clutter for each in false],
    )


def _most_similar_leaf(false: Sequence[FalseMatches]) -> str | None:
    """The leaf at the false match of lowest cost; None where that is on the background."""
    each = [
        (float(cost), name or "")
        for one in false
        for cost, name in zip(one.results.cost, one.leaf, strict=True)
    ]
    return min(each, default=(0.0, ""))[1] or None


def measure_group(
    template: Template,
    name: str,
    rotation: float,
    sigma0: float,
    scenes: Sequence[SyntheticScene],
    children: Sequence[NodeMeasurement],
) -> NodeMeasurement:
    """Measure a group.

    Arguments:
        template, name: the group.
        rotation: ± degrees by which the object is rotated in the scenes.
        sigma0: the width of spikes.
        scenes: with known poses.
        children: in the order of the tree.
    """
    chosen = replace(group_hyperparameters(template, name, rotation), sigma0=sigma0)
    node = make_node(template, name, chosen)
    sizes = [scene.size for scene in scenes]
    present = [
        _register(node, [(c.node, c.present[k]) for c in children], size, sigma0)
        for k, size in enumerate(sizes)
    ]
    clutter = [
        _register(node, [(c.node, c.clutter[k]) for c in children], size, sigma0)
        for k, size in enumerate(sizes)
    ]
    missing = missing_spike(len(children), chosen.spike_sigma)
    right, wrong = split_by_truth(name, scenes, present, clutter)
    # Every pattern with a spike fits a single one, with all others missing: only two or more are a detection.
    single = len(children) - 1.0
    found = [cost for cost in lowest_costs(right, missing) if cost < single - 0.5]
    elsewhere = lowest_costs(wrong, missing)
    alpha, gamma = alpha_gamma(max((*found, _ALLOWED_GROUP_COST)), min((*elsewhere, single)))
    calibration = NodeCalibration(
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
    return NodeMeasurement(make_node(template, name, tuned), calibration, present, clutter)


def _register(
    node: Node, children: Sequence[tuple[Node, StrideResults]], size: tuple[int, int], sigma0: float
) -> StrideResults:
    """The results of a group's strides in the maps that its children make."""
    width = torch.tensor(sigma0)
    shown = [child.occurrences(results, size, width) for child, results in children]
    if max((float(one.weight.max()) for one in shown if len(one)), default=0.0) < FAINT:
        return node.results(shift_matrix(torch.zeros(0, 2)), torch.zeros(0))  # the maps are empty
    found: StrideResults = node(torch.stack([one.map for one in shown]), width, _MEMORY)
    return found


def split_by_truth(
    name: str,
    scenes: Sequence[SyntheticScene],
    present: Sequence[StrideResults],
    clutter: Sequence[StrideResults],
) -> tuple[list[StrideResults], list[StrideResults]]:
    """For each scene, the results where the part is, and all others, with those on clutter."""
    right, wrong = [], []
    for scene, results, on_clutter in zip(scenes, present, clutter, strict=True):
        pivot = scene.template.parts[name].pivot
        here = close_to(results.matrix, scene.pose(name), pivot, *NEAR)
        right.append(results[here])
        wrong.append(results[~here].concatenate(on_clutter))
    return right, wrong


def lowest_costs(results: Sequence[StrideResults], unit: float) -> list[float]:
    """The lowest cost in each scene that has a result, in some unit, sorted."""
    return sorted(float(each.cost.min()) / unit for each in results if len(each))

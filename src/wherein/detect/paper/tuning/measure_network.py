"""Calibrates the paper's network for a template: all nodes, from the leaves to the root."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from wherein.detect.calibration.backgrounds import Backgrounds
from wherein.detect.calibration.store import Progress, no_progress
from wherein.detect.paper.network import make_node
from wherein.detect.paper.occurrence import confidence
from wherein.detect.paper.tuning.node_measurement import (
    NodeMeasurement,
    measure_group,
    measure_leaf,
    split_by_truth,
)
from wherein.detect.paper.tuning.paper_model import PaperCalibration, root_threshold
from wherein.detect.paper.tuning.prescriptions import DEFAULTS, spike_width
from wherein.detect.paper.tuning.synthetic_scenes import SyntheticScene, scene_size, synthetic_scenes
from wherein.detect.search_range import Range
from wherein.template.bundle import Template
from wherein.threads import one_thread

REACH = 30.0
"""Maximum rotation of the network in degrees. Its strides all start unrotated: the paper's detector fails
from about 30° on, and so does this one (`wherein reproduce fig3`)."""

_SCENES = 8
"""Number of synthetic scenes. A choice: the time is proportional to it."""

_THREADS = 2
"""Number of leaves that are measured in parallel."""


def within_reach(ranges: Range) -> Range:
    """The part of a range of poses that the network can find: up to `REACH`, at the scale 1."""
    return Range(min(ranges.rotation, REACH))


def calibrate_paper(
    template: Template,
    ranges: Range,
    backgrounds: Sequence[Float[Tensor, "3 H W"]] = (),
    seed: int = 0,
    progress: Progress = no_progress,
) -> PaperCalibration:
    """Calibrate the paper's network for a template. The same seed gives the same calibration.

    Arguments:
        template: the object.
        ranges: the rotations to calibrate for, up to `REACH`; the network has only one scale.
        backgrounds: pictures like those that will be searched, without the object; synthetic clutter where
            there are none.
        seed: of poses and clutter.
        progress: called with the fraction that is done and a description.
    """
    rotation, root = within_reach(ranges).rotation, template.parts.root
    for name in template.parts:
        make_node(
            template, name, DEFAULTS
        )  # raises for a template that the network cannot have, before any work
    progress(0.0, "painting scenes")
    behind = Backgrounds(backgrounds, seed, scene_size(template))
    with one_thread(), torch.no_grad():
        scenes = synthetic_scenes(template, rotation, behind, _SCENES, np.random.default_rng((seed, 2)))
        measured = _measure_leaves(template, rotation, scenes, seed, progress)
        sigma0 = spike_width(template, rotation)
        for name in template.parts.bottom_up:
            if name not in measured:
                progress(0.9, "measuring groups")
                children = [measured[child] for child in template.parts.children(name)]
                measured[name] = measure_group(template, name, rotation, sigma0, scenes, children)
        present, clutter = _scores(root, scenes, measured[root])
    return PaperCalibration(
        fingerprint=template.fingerprint,
        rotation=rotation,
        scale=(1.0, 1.0),
        sigma0=sigma0,
        nodes={name: measured[name].calibration for name in template.parts},
        threshold=root_threshold(present, clutter),
        clutter=clutter,
        present=present,
    )


def _measure_leaves(
    template: Template, rotation: float, scenes: Sequence[SyntheticScene], seed: int, progress: Progress
) -> dict[str, NodeMeasurement]:
    """Measure all leaves in parallel. Each has its own random numbers, so their order does not matter."""
    names, measured = template.parts.leaves, dict[str, NodeMeasurement]()
    measure = partial(measure_leaf, template, rotation=rotation, scenes=scenes)
    with ThreadPoolExecutor(_THREADS) as pool:
        tasks = {
            name: pool.submit(measure, name, rng=np.random.default_rng((seed, 3, index)))
            for index, name in enumerate(names)
        }
        for index, (name, task) in enumerate(tasks.items()):
            progress(0.1 + 0.8 * index / len(names), "measuring parts")
            measured[name] = task.result()
    return measured


def _scores(
    root: str, scenes: Sequence[SyntheticScene], measured: NodeMeasurement
) -> tuple[list[float], list[float]]:
    """ω_0 at the template and its maximum elsewhere, for each scene, sorted; in units of a full spike."""
    node = measured.node
    right, wrong = split_by_truth(root, scenes, measured.present, measured.clutter)

    def heights(costs: Sequence[Tensor]) -> list[float]:
        weights = (confidence(cost, node.log_alpha.exp(), node.gamma) for cost in costs)
        return sorted(float(weight.max()) if len(weight) else 0.0 for weight in weights)

    return heights([results.cost for results in right]), heights([results.cost for results in wrong])

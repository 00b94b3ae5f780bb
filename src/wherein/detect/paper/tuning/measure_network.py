"""From a template and backgrounds to all that the paper's network wants to know."""

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
from wherein.detect.paper.tuning.measure_group import measure_group
from wherein.detect.paper.tuning.measure_leaf import measure_leaf
from wherein.detect.paper.tuning.measured import Measured, apart
from wherein.detect.paper.tuning.paper_model import PaperCalibration, decision
from wherein.detect.paper.tuning.prescribed import RELEASED, spike_width
from wherein.detect.paper.tuning.rehearsal import Rehearsal, rehearse, scene_size
from wherein.detect.range import Range
from wherein.template.bundle import Template
from wherein.threads import one_thread

REACH = 30.0
"""± degrees beyond which the network, whose strides all start upright, is not asked."""

_REHEARSALS = 8
"""Scenes with the template."""

_THREADS = 2
"""Leaves that are measured side by side."""


def within_reach(ranges: Range) -> Range:
    """What of a range of poses the network knows."""
    return Range(min(ranges.rotation, REACH))


def calibrate_paper(
    template: Template,
    ranges: Range,
    backgrounds: Sequence[Float[Tensor, "3 H W"]] = (),
    seed: int = 0,
    progress: Progress = no_progress,
) -> PaperCalibration:
    """Measure everything; the same for the same seed.

    Arguments:
        template: what is to be found.
        ranges: its rotations are rehearsed, up to `REACH`; the network knows one scale only.
        backgrounds: pictures like those that it will be looked for in, without it; clutter made by rule where
            there are none.
        seed: of poses and clutter.
        progress: is told how far it is.
    """
    rotation, root = within_reach(ranges).rotation, template.parts.root
    for name in template.parts:
        make_node(template, name, RELEASED)  # raises where the network cannot have it, before time is spent
    progress(0.0, "painting scenes")
    scenes = Backgrounds(backgrounds, seed, scene_size(template))
    with one_thread(), torch.no_grad():
        rehearsals = rehearse(template, rotation, scenes, _REHEARSALS, np.random.default_rng((seed, 2)))
        measured = _leaves(template, rotation, rehearsals, seed, progress)
        sigma0 = spike_width(template, rotation)
        for name in template.parts.bottom_up:
            if name not in measured:
                progress(0.9, "measuring groups")
                children = [measured[child] for child in template.parts.children(name)]
                measured[name] = measure_group(template, name, rotation, sigma0, rehearsals, children)
        present, clutter = _scores(root, rehearsals, measured[root])
    return PaperCalibration(
        fingerprint=template.fingerprint,
        rotation=rotation,
        scale=(1.0, 1.0),
        sigma0=sigma0,
        nodes={name: measured[name].known for name in template.parts},
        threshold=decision(present, clutter),
        clutter=clutter,
        present=present,
    )


def _leaves(
    template: Template, rotation: float, rehearsals: Sequence[Rehearsal], seed: int, progress: Progress
) -> dict[str, Measured]:
    """All leaves, two at a time: each has its own random numbers, so that their order does not matter."""
    names, measured = template.parts.leaves, dict[str, Measured]()
    measure = partial(measure_leaf, template, rotation=rotation, rehearsals=rehearsals)
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
    root: str, rehearsals: Sequence[Rehearsal], measured: Measured
) -> tuple[list[float], list[float]]:
    """ω_0 at the template and the highest elsewhere, in each rehearsal, sorted; in units of a full spike."""
    node = measured.node
    right, wrong = apart(root, rehearsals, measured.present, measured.clutter)

    def heights(each: Sequence[Tensor]) -> list[float]:
        weights = (confidence(cost, node.log_alpha.exp(), node.gamma) for cost in each)
        return sorted(float(weight.max()) if len(weight) else 0.0 for weight in weights)

    return heights([ends.cost for ends in right]), heights([ends.cost for ends in wrong])

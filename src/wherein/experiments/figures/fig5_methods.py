"""The four registration methods whose basins Figure 5 compares.

Their docstrings are the descriptions of the methods in the JSON file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.experiments.paper_registration import Schedule, register_by_paper
from wherein.experiments.registration_scenes import Observation
from wherein.motion.models import motion_named
from wherein.registration.fit import Descent, fit
from wherein.registration.plan import coarse_to_fine
from wherein.registration.problem import Problem
from wherein.registration.register import register
from wherein.template.tree import Matrix

Register = Callable[[Schedule, Sequence[Observation], str], Sequence[Matrix]]
"""Registers each of some observations under a motion; body pixels → scene pixels, 3×3. The schedule is for
the paper's method; the others choose their own scales."""


def by_paper(schedule: Schedule, observed: Sequence[Observation], motion: str) -> list[Matrix]:
    """Formulation (4) with the paper's schedule, from the motif in the middle."""
    # One by one: at full size, ten at a time take 1.5 times as long, since they do not fit a core's cache.
    ends = (register_by_paper((each,), motion, schedule, goal=2.0).matrix[0] for each in observed)
    return [end.double().numpy() for end in ends]


def by_register(schedule: Schedule, observed: Sequence[Observation], motion: str) -> list[Matrix]:
    """`wherein.register(scene, motif)`: begins in the middle, then looks at all places and rotations."""
    del schedule
    return [
        _square(register(each.scene, each.motif.pixels, motion, each.motif.mask).matrix) for each in observed
    ]


def by_start(schedule: Schedule, observed: Sequence[Observation], motion: str) -> list[Matrix]:
    """`wherein.register(…, start=…)`: besides that start it tries those within 37.5° of it."""
    del schedule
    return [
        _square(register(each.scene, each.motif.pixels, motion, each.motif.mask, each.start).matrix)
        for each in observed
    ]


@torch.no_grad()
def by_descent(schedule: Schedule, observed: Sequence[Observation], motion: str) -> list[Matrix]:
    """The descent inside of `register` by itself: from that one pose, and from no other."""
    del schedule
    found = []
    for each in observed:
        problem = Problem(each.scene, each.motif, motion_named(motion))
        plan = coarse_to_fine(each.motif.height, each.motif.width, problem.motif.support)
        alone = fit(Descent(problem, robust=False), each.start, replace(plan, searches=()), everywhere=False)
        found.append(alone.poses[0])
    return found


def _square(matrix: NDArray[np.float64]) -> Matrix:
    return np.vstack((matrix, (0.0, 0.0, 1.0)))


METHODS: Mapping[str, Register] = {
    "paper": by_paper,
    "default": by_register,
    "start": by_start,
    "descent": by_descent,
}
"""The methods by their names in the JSON file."""

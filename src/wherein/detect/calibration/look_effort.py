"""How thoroughly a template of a library has to be searched for in the look that all share.

Most templates are found at a quarter of the usual resolution, with few features. Those that are thin or
plain, or have their texture in few pixels, lose there what distinguishes them from clutter.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.finder import Finder
from wherein.detect.search_range import MAX_LOOK_EFFORT, USUAL_LOOK_EFFORT
from wherein.motion.homography import mapped
from wherein.pyramid.levels import Poses

_MAX_MISSED, _NEAR = 1, 0.1
"""An effort suffices if it misses the body in at most one scene, and no effort up to the usual one in fewer.
The middle of a body that is found lies at most 0.1 times the object's diagonal away. Choices: one scene may
be too hard, but not if the usual effort finds it; only the middle is compared, because a round object fits at
many rotations."""


def least_sufficient(missed: Callable[[int], int]) -> int:
    """The index of the least effort that suffices, or else of the best; `missed`: scenes, by effort."""
    known = list[int]()
    for number in range(MAX_LOOK_EFFORT + 1):
        if number > USUAL_LOOK_EFFORT and min(known) <= _MAX_MISSED:
            break
        known.append(missed(number))
        if not known[-1]:
            break
    best = min(known)
    if best <= _MAX_MISSED:
        return known.index(best)
    # Of equal ones the most effort: scenes that are too hard for all do not tell how much it needs in others.
    return max(number for number, count in enumerate(known) if count == best)


def is_near(finder: Finder, frames: Poses, truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which root frames map the middle of the object to its true place, (B,) of bool."""
    points = np.concatenate((finder.corners[[0, 2]], [finder.middle]))
    middles, true = mapped(frames, points[2:])[:, 0], mapped(truth, points)
    tolerance = _NEAR * float(np.linalg.norm(true[0] - true[1]))
    return np.asarray(np.linalg.norm(middles - true[2], axis=1) <= tolerance)

"""Measures how thoroughly a template of a library has to be searched for in the look that all share.

Most templates are found at a quarter of the usual resolution, with few features. Those that are thin or
plain, or have their texture in few pixels, lose there what distinguishes them from clutter.
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.finder import Finder
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.fast.shared_search import EFFORTS, SharedSearch
from wherein.detect.score import MAX_ZNCC
from wherein.detect.search_range import USUAL_LOOK_EFFORT
from wherein.motion.homography import mapped
from wherein.pyramid.levels import Poses

_MAX_MISSED, _AS_WELL, _NEAR = 1, 0.9, 0.1
"""An effort suffices if it misses the body in at most one scene, and no effort up to the usual one in fewer.
The body is found if a surviving pose has at least 0.9 times the ZNCC of the true pose after the same steps,
and its middle is at most 0.1 times the object's diagonal away. Choices: one scene may be too hard, but not if
the usual effort finds it; a true place that fits poorly is no better than others that do; and only the middle
is compared, because a round object fits at many rotations."""


def needed_effort(
    finder: Finder, painted: Sequence[tuple[Float[Tensor, "3 H W"], NDArray[np.float64]]]
) -> int:
    """The index in `EFFORTS` of the least effort that suffices (`_MAX_MISSED`), or else of the best.

    Arguments:
        finder: of the template.
        painted: scenes with the object, and the true frame of the root in each.
    """
    body = finder.body_search
    if body is None:
        return 0
    # All places near the threshold survive any effort. With the highest threshold there are almost none.
    search = SceneSearch(finder, MAX_ZNCC, MAX_ZNCC, MAX_ZNCC, threads=1)
    model = finder.models[finder.pieces.tree.root]
    scenes = [search.levels(picture) for picture, _ in painted]
    roots = [root for _, root in painted]
    # Relative to the true pose, since light, blur and noise limit the ZNCC in each scene.
    least = [
        _AS_WELL * float(body.refined(levels, (root @ model.to_canvas)[None]).zncc[0])
        for levels, root in zip(scenes, roots, strict=True)
    ]

    def missed(number: int) -> int:
        shared = SharedSearch([search], [EFFORTS[number]])
        found = [shared.refined(levels)[0] for levels in scenes]
        return sum(
            not (_near(finder, one.poses @ model.from_canvas, root) & (one.zncc >= fits)).any()
            for one, root, fits in zip(found, roots, least, strict=True)
        )

    return _least_sufficient(missed)


def _least_sufficient(missed: Callable[[int], int]) -> int:
    """The index of the least effort that suffices, or else of the best; `missed`: scenes, by effort."""
    known = list[int]()
    for number in range(len(EFFORTS)):
        if number > USUAL_LOOK_EFFORT and min(known) <= _MAX_MISSED:
            break
        known.append(missed(number))
        if not known[-1]:
            break
    return int(np.argmin(known))  # of equal ones the least effort


def _near(finder: Finder, frames: Poses, truth: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which root frames map the middle of the object to its true place, (B,) of bool."""
    points = np.concatenate((finder.corners[[0, 2]], [finder.middle]))
    middles, true = mapped(frames, points[2:])[:, 0], mapped(truth, points)
    tolerance = _NEAR * float(np.linalg.norm(true[0] - true[1]))
    return np.asarray(np.linalg.norm(middles - true[2], axis=1) <= tolerance)

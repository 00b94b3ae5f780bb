"""How much effort a template needs in the look that it shares with others.

Most templates are found at a quarter of the usual resolution, by few features. What is thin or plain, or has
its texture in few pixels, is not: what tells it from clutter is lost there. Which templates these are cannot
be told from their pictures alone, so it is measured, in scenes with each.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from wherein.detect.fast.finder import Finder
from wherein.detect.fast.scene_search import SceneSearch
from wherein.detect.fast.shared_search import EFFORTS, SharedEffort, SharedSearch
from wherein.detect.score import MAX_ZNCC
from wherein.pyramid.levels import ScenePyramid

LOOK_SCENES = 8
"""In how many scenes with the template the effort is measured. A choice: a template that is missed in a third
of all scenes passes in one of five."""

_MAX_MISSED, _AS_WELL = 1, 0.9
"""In so many of the scenes the body may be missed; and it counts as found if the best of the poses that go on
has this share of the ZNCC that the true pose has after the same steps. Choices: one scene may be too hard."""


def needed_effort(
    finder: Finder, painted: Sequence[tuple[Float[Tensor, "3 H W"], NDArray[np.float64]]]
) -> int:
    """The number in `EFFORTS` of the least effort with which the body is found, or else of the best.

    Arguments:
        finder: of the template.
        painted: scenes with it, and the frame of the root in each.
    """
    body = finder.body_search
    if body is None:
        return 0
    # A threshold that nothing reaches: only as many places go on as the effort says.
    search = SceneSearch(finder, MAX_ZNCC, MAX_ZNCC, MAX_ZNCC, threads=1)
    to_canvas = finder.models[finder.pieces.tree.root].to_canvas
    scenes = [search.levels(picture) for picture, _ in painted]
    at_truth = [
        float(body.refined(levels, (root @ to_canvas)[None]).zncc[0])
        for levels, (_, root) in zip(scenes, painted, strict=True)
    ]
    missed = []
    for number, effort in enumerate(EFFORTS):
        missed.append(_missed(search, effort, scenes, at_truth))
        if missed[-1] <= _MAX_MISSED:
            return number
    return int(np.argmin(missed))


def _missed(
    search: SceneSearch, effort: SharedEffort, scenes: Sequence[ScenePyramid], at_truth: Sequence[float]
) -> int:
    """The number of scenes in which no pose that goes on fits nearly as well as the true one."""
    shared = SharedSearch([search], [effort])
    best = [float(shared.refined(levels)[0].zncc.max(initial=0.0)) for levels in scenes]
    return sum(one < _AS_WELL * truth for one, truth in zip(best, at_truth, strict=True))

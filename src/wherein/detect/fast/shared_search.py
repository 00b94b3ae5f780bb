"""The search for many templates at once: which of them to follow, and from where.

One look over the scene has some places for the body of each template (`planes.shared_look`). They are rated
by few points of the motif, on channels that are made once for all templates; the best are refined by a short
descent with these points, and the best of those by more points, and with tilt. Only bodies that then fit
nearly as well as a detection are followed to the end, as in the search for one template. So the time grows
with the number of templates that may be there, and little with the number of all.
"""

import copy
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.scene_search import SceneSearch
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_search import PlaneSearch
from wherein.planes.shared_look import SharedLook
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

MAX_ALONE = 3
"""So many templates are searched for one by one, which is more thorough. A choice: with more, one look for
all takes less time than a look for each."""

_Result = TypeVar("_Result")

_PLACES, _RATED = 150, 8
"""So many places of each template are rated, and go on to the first descent. Choices, by measurement with 100
cut-outs and patches, 93 of them in photographs: the look has the right place of 85 among its first twelve,
and of 91 among its first 136; by their rating, all of these are among the first ten, and 89 among the first
four."""

_EACH, _LIKELY_START = 2, 0.7
"""So many places of each template go on from the first descent, and those that reach this share of the
threshold. Choices, by measurement with 100 cut-outs and patches, 78 of them in photographs: of those that the
look has (96 %), all but one are among the best two after the first descent; by their rating in the look, 89 %
are."""

_LIKELY_BODY = 0.85
"""A body is followed if its refined ZNCC is at least this share of the template's threshold. A choice, by
measurement with 100 cut-outs and patches: what is there has a ZNCC of 0.6 or more in 95 of 100, and 0.92 in
the median; of the others 95 in 100 stay below 0.53."""


class SharedSearch:
    """Searches scenes for many templates, each of which has a body.

    Arguments:
        searches: of each template.
    """

    def __init__(self, searches: Sequence[SceneSearch]) -> None:
        self.searches = searches
        self._bodies: list[PlaneSearch] = []
        for search in searches:
            body = search.finder.body_search
            assert body is not None, "a template with a body"
            self._bodies.append(body)
        self._look = SharedLook(self._bodies, _PLACES)

    def __call__(self, levels: ScenePyramid) -> dict[int, Hypotheses]:
        """The hypotheses that stand after exclusion among those of their template, by its number."""
        found = self.refined(levels)
        likely = {number: one[self._likely(number, one.zncc)] for number, one in enumerate(found)}
        numbers = [number for number, one in likely.items() if len(one)]
        kept = _in_threads(levels, lambda alone, k: self.searches[k].kept_from(alone, likely[k]), numbers)
        return dict(zip(numbers, kept, strict=True))

    def refined(self, levels: ScenePyramid, each: int = _EACH) -> list[PlaneFits]:
        """Poses of the body of each template at the most likely places, refined, at least `each` of them."""
        starts = self.starts(levels, each)
        return _in_threads(
            levels, lambda alone, k: self._bodies[k].refined(alone, starts[k]), range(len(starts))
        )

    def starts(self, levels: ScenePyramid, each: int = _EACH) -> list[Poses]:
        """Poses of the body of each template at the most likely places, at least `each` of them, the best
        first."""
        places = self._look(levels)

        def chosen(alone: ScenePyramid, number: int) -> Poses:
            body = self._bodies[number]
            found = body.roughly_refined(alone, body.best_rated(alone, places[number], _RATED))
            order = np.argsort(-found.zncc, kind="stable")
            likely = found.zncc[order] >= _LIKELY_START * self.searches[number].threshold
            return found.poses[order[likely | (np.arange(len(order)) < each)]]

        return _in_threads(levels, chosen, range(len(places)))

    def _likely(self, number: int, zncc: NDArray[np.float64]) -> NDArray[np.int64]:
        """The indices of fits of a body that are followed, the best first."""
        order = np.argsort(-zncc, kind="stable")
        return order[zncc[order] >= _LIKELY_BODY * self.searches[number].threshold]


def _in_threads(
    levels: ScenePyramid, work: Callable[[ScenePyramid, int], _Result], numbers: Sequence[int]
) -> list[_Result]:
    """The results of `work` for each template, shared out among threads that have one template at a time."""
    alone = copy.copy(levels)
    alone.threads = 1
    return shared_out(lambda number: work(alone, number), numbers, levels.threads)

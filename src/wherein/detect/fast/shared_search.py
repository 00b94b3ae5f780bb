"""The search for many templates at once: which of them to follow, and from where.

One look over the scene has a dozen places for the body of each template (`planes.shared_look`). The best of
each, and those that stand out most among all, are refined by a short descent on channels that are made once
for all templates. Only bodies that then fit better than clutter usually does are followed to the end, as in
the search for one template. So the time grows with the number of templates that may be there, and little with
the number of all.
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
from wherein.planes.shared_look import MotifPlaces, SharedLook
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

_Result = TypeVar("_Result")

_EACH, _PROMINENT = 2, 2.0
"""So many places of each template are refined, and of the most prominent ones of all templates so many times
the number of templates. Choices, by the measurement in `planes.shared_look`."""

_LIKELY_BODY, _MAX_FOLLOWED = 0.85, 6
"""A body is followed if its refined ZNCC is at least this share of the template's threshold, and so many of a
template at most. Choices, by measurement with 100 cut-outs and patches: what is there has a ZNCC of 0.6 or
more in 95 of 100, and 0.92 in the median; of the others 95 in 100 stay below 0.53."""


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
        self._look = SharedLook(self._bodies)

    def __call__(self, levels: ScenePyramid) -> dict[int, Hypotheses]:
        """The hypotheses that stand after exclusion among those of their template, by its number."""
        found = self.refined(levels)
        likely = {number: one[self._likely(number, one.zncc)] for number, one in enumerate(found)}
        numbers = [number for number, one in likely.items() if len(one)]
        kept = _in_threads(levels, lambda alone, k: self.searches[k].kept_from(alone, likely[k]), numbers)
        return dict(zip(numbers, kept, strict=True))

    def refined(self, levels: ScenePyramid, every: bool = False) -> list[PlaneFits]:
        """Poses of the body of each template at the most likely places, or all of the look, refined."""
        starts = self.starts(levels, every)
        return _in_threads(
            levels, lambda alone, k: self._bodies[k].refined(alone, starts[k]), range(len(starts))
        )

    def starts(self, levels: ScenePyramid, every: bool = False) -> list[Poses]:
        """Poses of the body of each template at the most likely places, or all of the look."""
        places = self._look(levels)
        least = 0.0 if every else _prominence(places, int(_PROMINENT * len(places)))
        chosen = [(one.prominence >= least) | (np.arange(len(one.poses)) < _EACH) for one in places]
        return [one.poses[np.flatnonzero(own)] for one, own in zip(places, chosen, strict=True)]

    def _likely(self, number: int, zncc: NDArray[np.float64]) -> NDArray[np.int64]:
        """The indices of fits of a body that are followed, the best first."""
        order = np.argsort(-zncc, kind="stable")[:_MAX_FOLLOWED]
        return order[zncc[order] >= _LIKELY_BODY * self.searches[number].threshold]


def _prominence(places: Sequence[MotifPlaces], count: int) -> float:
    """The lowest prominence of the `count` highest of all motifs."""
    every = np.concatenate([one.prominence for one in places])
    return float(np.partition(every, -count)[-count]) if len(every) > count else 0.0


def _in_threads(
    levels: ScenePyramid, work: Callable[[ScenePyramid, int], _Result], numbers: Sequence[int]
) -> list[_Result]:
    """The results of `work` for each template, shared out among threads that have one template at a time."""
    alone = copy.copy(levels)
    alone.threads = 1
    return shared_out(lambda number: work(alone, number), numbers, levels.threads)

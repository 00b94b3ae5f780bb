"""The search for many templates at once: which templates to follow, and from which poses.

One first look over the scene returns some places for the body of each template (`planes.look.shared_look`).
Templates that need more effort get it; which ones do is measured (`calibration.together`). The places are
rated by few points of the motif, on channels that are made once for all templates. The best are refined by a
short descent with these points, and the best of those by more points, and with tilt. Only bodies that then
fit nearly as well as a detection are followed to the end, as in the search for one template. So the time
grows with the number of templates that may be present, and only slightly with the number of all templates.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from wherein.detect.fast.hypotheses import Hypotheses
from wherein.detect.fast.scene_search import SceneSearch
from wherein.planes.look.shared_look import LookEffort, SharedLook
from wherein.planes.many_ratings import rate_many, refine_many
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_range import PlaneRange
from wherein.planes.plane_search import REFINE, ROUGHLY, GoesOn, PlaneSearch
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.threads import shared_out

MAX_ALONE = 3
"""Up to this many templates are searched for one by one, which is more thorough. A choice: with more, one
first look for all takes less time than one for each."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class SharedEffort:
    """How thoroughly a template is searched for together with others.

    Attributes:
        look: the effort of the first look for its body.
        rated: number of places of the look that are refined by the first descent, the best by their rating;
            the first of the look (`_BY_LOOK`) are refined as well.
        refined: minimum number of these that are refined further.
    """

    look: LookEffort
    rated: int
    refined: int


EFFORTS = (
    SharedEffort(LookEffort(15.0, 32, 15.0, 100), 16, 2),
    SharedEffort(LookEffort(15.0, 32, 15.0, 300), 96, 6),
    SharedEffort(LookEffort(15.0, 64, 15.0, 600), 96, 4),
    SharedEffort(LookEffort(25.0, 64, 12.0, 1000), 64, 8),
)
"""From the least effort to the most. Choices, from measurements with 100 cut-outs and patches, each in eight
scenes of calibration. With the first effort, the right place is kept in seven scenes or more, or in as many
as with more effort, for 70 templates. The second only rates more places of the same look; of 24 templates
that needed the third or the fourth without it, seven of 18 need no more than the second. Objects that were
missed with the first effort and eight kept places were the 13th or later by their rating in the look. With
the third, two of 224 objects were the 66th and the 95th, and first after the descent. For one template alone,
in a scene of 512 × 384 pixels, the first, the third and the fourth take about 4, 8 and 15 ms, most of which
the first and the second share with other templates."""

_BY_LOOK = 0.25
"""Number of the first places of the look that are refined whatever their rating, for each that is refined by
its rating. The poses of the look are so far apart that a motif with fine detail is rated low even at the
nearest of them; the look tolerates that, and mostly has the right place among the first. A choice, from
measurements with 100 cut-outs and patches in 200 scenes: of 369 objects that have the least effort, five were
lost in the first descent without these places, and three with 4, with 16, or with six times as many places by
rating."""

_LIKELY_START = 0.7
"""A pose that reaches this fraction of the threshold in the first descent is refined further in any case. A
choice, from measurements with 100 cut-outs and patches, 78 of them in photographs: of the objects that the
look returns (96 %), all but one are among the best two after the first descent; by their rating in the look,
89 % are."""

_LIKELY_BODY = 0.85
"""A body is followed if its refined ZNCC is at least this fraction of what the threshold requires at its
size. A choice, from measurements with 100 cut-outs and patches: objects that are present have a ZNCC of 0.6
or more in 95 of 100 cases, and 0.92 in the median; of the others, 95 in 100 stay below 0.53."""

_LIKELY_FIT, _LIKELY_LAST = 0.9, 0.8
"""A body without limbs is followed to the next stage while its fits reach the first fraction of what the
threshold requires, and refined at full size if the last fit reaches the second. Choices, from measurements
with 100 cut-outs and patches: fits of objects that are present reach 1.09 times the threshold or more, and
fall from stage to stage; of others, half are dropped at the first stage, and four in five at the second. The
fits of a small or plain object may end beside the optimum, with 0.86 times the threshold before it is refined
and 1.1 times after that."""


class SharedSearch:
    """Searches scenes for many templates, each of which has a body.

    Arguments:
        searches: the search for each template.
        efforts: the effort of each; None: the least.
    """

    def __init__(
        self, searches: Sequence[SceneSearch], efforts: Sequence[SharedEffort] | None = None
    ) -> None:
        self.searches, self._efforts = searches, efforts or [EFFORTS[0]] * len(searches)
        self._bodies: list[PlaneSearch] = []
        for search in searches:
            body = search.finder.body_search
            assert body is not None, "a template with a body"
            self._bodies.append(body)
        ranges = self._bodies[0].ranges  # the same for all
        self._motion = ranges.motion
        self._upright = PlaneRange(ranges.rotation, ranges.scale, 0.0).motion
        self._look = SharedLook(self._bodies, [effort.look for effort in self._efforts])

    def __call__(self, levels: ScenePyramid) -> dict[int, Hypotheses]:
        """The hypotheses that remain after exclusion within their own template, by the number of the
        template."""
        found = self.refined(levels)
        likely = {number: self._likely(number, one) for number, one in enumerate(found)}
        numbers = [number for number, one in likely.items() if len(one)]
        kept = _in_threads(
            levels, lambda alone, k: self.searches[k].kept_from(alone, likely[k], self._goes_on(k)), numbers
        )
        return dict(zip(numbers, kept, strict=True))

    def refined(self, levels: ScenePyramid, each: int = 0) -> list[PlaneFits]:
        """Poses of the body of each template at the most likely places, refined; arguments as of `starts`."""
        bodies, starts = self._bodies, self.starts(levels, each)
        return refine_many(levels, [one.stages[0].rough for one in bodies], self._motion, REFINE, starts)

    def starts(self, levels: ScenePyramid, each: int = 0) -> list[Poses]:
        """Poses of the body of each template at the most likely places, the best first.

        Their number depends on the effort, but is at least `each`, as far as there are so many places.
        """
        places, few = self._look(levels), [body.few_points for body in self._bodies]
        # One call for all templates: each has few poses, and a call for each would cost more than its work.
        rated = rate_many(levels, few, places)
        best = [
            poses[_to_refine(ratings, effort.rated)]
            for poses, ratings, effort in zip(places, rated, self._efforts, strict=True)
        ]
        # Without tilt: fewer parameters need fewer points, and a short descent tolerates a wrong tilt.
        found = refine_many(levels, few, self._upright, ROUGHLY, best)
        return [self._chosen(number, fits, each) for number, fits in enumerate(found)]

    def _chosen(self, number: int, found: PlaneFits, each: int) -> Poses:
        """The poses of a body that are refined further, from those after the first descent."""
        order = np.argsort(-found.zncc, kind="stable")
        likely = found.zncc[order] >= _LIKELY_START * self.searches[number].threshold
        first = np.arange(len(order)) < max(each, self._efforts[number].refined)
        return found.poses[order[likely | first]]

    def _goes_on(self, number: int) -> GoesOn | None:
        """Which fits of a body are followed to the next resolution; None: all."""
        # Limbs can add evidence, so the score of a body alone is no upper bound.
        if self.searches[number].finder.pieces.limbs:
            return None
        return lambda fits, last: self._reaches(number, fits, _LIKELY_LAST if last else _LIKELY_FIT)

    def _reaches(self, number: int, fits: PlaneFits, share: float) -> NDArray[np.bool_]:
        """Which fits of a body reach a fraction of the ZNCC that the threshold requires at their size."""
        finder, threshold = self.searches[number].finder, self.searches[number].threshold
        frames = fits.poses @ finder.models[finder.pieces.tree.root].from_canvas
        return np.asarray(fits.zncc >= share * finder.scoring.body_zncc(frames, threshold))

    def _likely(self, number: int, fits: PlaneFits) -> PlaneFits:
        """The fits of a body that are followed, the best first."""
        order = np.argsort(-fits.zncc, kind="stable")
        return fits[order[self._reaches(number, fits[order], _LIKELY_BODY)]]


def _to_refine(rated: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The indices of the places of a look that are refined: `count` by their rating, and the first few."""
    by_rating = np.argsort(-rated, kind="stable")[:count]
    return np.union1d(by_rating, np.arange(min(round(_BY_LOOK * count), len(rated))))


def _in_threads(
    levels: ScenePyramid, work: Callable[[ScenePyramid, int], _Result], numbers: Sequence[int]
) -> list[_Result]:
    """The results of `work` for each template; each thread works on one template at a time."""
    # A copy of the pyramid with one thread: the work on one template must not start threads of its own.
    alone = copy.copy(levels)
    alone.threads = 1
    return shared_out(lambda number: work(alone, number), numbers, levels.threads)

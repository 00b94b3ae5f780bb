"""The search for many templates at once: which of them to follow, and from where.

One look over the scene has some places for the body of each template (`planes.look.shared_look`), with more
effort for templates that need it: which do is measured (`calibration.together`). The places are rated by few
points of the motif, on channels that are made once for all templates; the best are refined by a short descent
with these points, and the best of those by more points, and with tilt. Only bodies that then fit nearly as
well as a detection are followed to the end, as in the search for one template. So the time grows with the
number of templates that may be there, and little with the number of all.
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
"""So many templates are searched for one by one, which is more thorough. A choice: with more, one look for
all takes less time than a look for each."""

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class SharedEffort:
    """How thoroughly a template is looked for beside others.

    Attributes:
        look: of its body.
        rated: so many of the places of the look, the best by their rating, go on to the first descent.
        refined: so many of these at least go on from there.
    """

    look: LookEffort
    rated: int
    refined: int


EFFORTS = (
    SharedEffort(LookEffort(15.0, 32, 15.0, 100), 16, 2),
    SharedEffort(LookEffort(15.0, 32, 15.0, 300), 96, 6),
    SharedEffort(LookEffort(15.0, 64, 15.0, 600), 32, 4),
    SharedEffort(LookEffort(25.0, 64, 12.0, 1000), 64, 8),
)
"""From the least to the most. Choices, by measurement with 100 cut-outs and patches, each in eight scenes of
calibration: with the first, the right place goes on in seven of them or more for 70 templates, or in as many
as with more effort. Of 24 that needed the third or the fourth without the second, which only rates more of
the same look, seven of 18 need no more than that. Objects that were missed with the first and eight places
that go on were the 13th and later by their rating in the look. For one template alone, in a scene of
512 × 384 pixels, the first, the third and the fourth take about 4, 8 and 15 ms, most of which the first and
the second share with other templates."""

_LIKELY_START = 0.7
"""Places that reach this share of the threshold in the first descent go on from there in any case. A choice,
by measurement with 100 cut-outs and patches, 78 of them in photographs: of those that the look has (96 %),
all but one are among the best two after the first descent; by their rating in the look, 89 % are."""

_LIKELY_BODY = 0.85
"""A body is followed if its refined ZNCC is at least this share of what the threshold asks for at its size. A
choice, by measurement with 100 cut-outs and patches: what is there has a ZNCC of 0.6 or more in 95 of 100,
and 0.92 in the median; of the others 95 in 100 stay below 0.53."""

_LIKELY_FIT, _LIKELY_LAST = 0.9, 0.8
"""A body without limbs is followed further while its fits have this share of the threshold, and refined at
full size if the last has this share. Choices, by measurement with 100 cut-outs and patches: fits of what is
there have 1.09 times the threshold or more, and fall from stage to stage; of others, half are dropped at the
first stage, and four in five at the second. What is small or plain may end beside its optimum, with 0.86
times the threshold before it is refined and 1.1 times after that."""


class SharedSearch:
    """Searches scenes for many templates, each of which has a body.

    Arguments:
        searches: of each template.
        efforts: of each; None: the least.
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
        """The hypotheses that stand after exclusion among those of their template, by its number."""
        found = self.refined(levels)
        likely = {number: self._likely(number, one) for number, one in enumerate(found)}
        numbers = [number for number, one in likely.items() if len(one)]
        kept = _in_threads(
            levels, lambda alone, k: self.searches[k].kept_from(alone, likely[k], self._goes_on(k)), numbers
        )
        return dict(zip(numbers, kept, strict=True))

    def refined(self, levels: ScenePyramid, each: int = 0) -> list[PlaneFits]:
        """Poses of the body of each template at the most likely places, refined; as of `starts`."""
        bodies, starts = self._bodies, self.starts(levels, each)
        return refine_many(levels, [one.stages[0].rough for one in bodies], self._motion, REFINE, starts)

    def starts(self, levels: ScenePyramid, each: int = 0) -> list[Poses]:
        """Poses of the body of each template at the most likely places, the best first: as many as its effort
        says, but at least `each`."""
        places, few = self._look(levels), [body.few_points for body in self._bodies]
        best = [
            poses[np.argsort(-rated, kind="stable")[: effort.rated]]
            for poses, rated, effort in zip(
                places, rate_many(levels, few, places), self._efforts, strict=True
            )
        ]
        found = refine_many(levels, few, self._upright, ROUGHLY, best)
        return [self._chosen(number, fits, each) for number, fits in enumerate(found)]

    def _chosen(self, number: int, found: PlaneFits, each: int) -> Poses:
        """Where the body of a template goes on from, of its poses after the first descent."""
        order = np.argsort(-found.zncc, kind="stable")
        likely = found.zncc[order] >= _LIKELY_START * self.searches[number].threshold
        first = np.arange(len(order)) < max(each, self._efforts[number].refined)
        return found.poses[order[likely | first]]

    def _goes_on(self, number: int) -> GoesOn | None:
        """Which fits of a body are followed any further; None: all."""
        # Limbs add to what the body is worth.
        if self.searches[number].finder.pieces.limbs:
            return None
        return lambda fits, last: self._reaches(number, fits, _LIKELY_LAST if last else _LIKELY_FIT)

    def _reaches(self, number: int, fits: PlaneFits, share: float) -> NDArray[np.bool_]:
        """Which fits of a body have a share of the ZNCC that the threshold asks for at their size."""
        finder, threshold = self.searches[number].finder, self.searches[number].threshold
        frames = fits.poses @ finder.models[finder.pieces.tree.root].from_canvas
        return np.asarray(fits.zncc >= share * finder.scoring.body_zncc(frames, threshold))

    def _likely(self, number: int, fits: PlaneFits) -> PlaneFits:
        """The fits of a body that are followed, the best first."""
        order = np.argsort(-fits.zncc, kind="stable")
        return fits[order[self._reaches(number, fits[order], _LIKELY_BODY)]]


def _in_threads(
    levels: ScenePyramid, work: Callable[[ScenePyramid, int], _Result], numbers: Sequence[int]
) -> list[_Result]:
    """The results of `work` for each template, shared out among threads that have one template at a time."""
    alone = copy.copy(levels)
    alone.threads = 1
    return shared_out(lambda number: work(alone, number), numbers, levels.threads)

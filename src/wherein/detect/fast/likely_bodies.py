"""Poses of the body about which the limbs of an object are placed.

To place all limbs costs far more than to fit the body. So the poses of the body are reduced twice: to those
that fit better than clutter, and then to those about which limbs rate well.
"""

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from wherein.detect.fast.limbs.roots import STRONG_EVIDENCE
from wherein.detect.score import equivalent_zncc
from wherein.detect.search_range import Effort
from wherein.planes.plane_fit import PlaneFits
from wherein.planes.plane_search import GoesOn
from wherein.pyramid.levels import ScenePyramid

if TYPE_CHECKING:
    from wherein.detect.fast.finder import Finder

_MIN_BODY_EVIDENCE, _MAX_UNLIKELY = 1.3, 2
"""Minimum weighted evidence of a body whose limbs are searched for, and how many are followed if none has it.
Choices: the best place of clutter reaches 1."""

_MAX_RATED, _RATED_SHARE = 4, 0.5
"""Number of likely bodies whose limbs are placed in any case, if they can still reach a candidate's score.
More are followed if their score by ratings of the limbs is at least this fraction of the score that ends the
search. Choices: ratings are lower than the ZNCC after a fit."""

_LEAST_RATED = 0.85
"""Lowest ratio of the score by ratings of the limbs to the final score, for true objects. Measured on 290
objects of six templates (four cut from photographs), in plain view and with limbs missing or covered: the
lowest was 0.87, and half had more than 0.98."""


class LikelyBodies:
    """Finds the poses of the body of a template about which its limbs are placed, in any scene.

    Arguments:
        finder: of the whole object.
    """

    def __init__(self, finder: "Finder") -> None:
        self._finder = finder

    def __call__(
        self, scene: ScenePyramid, effort: Effort, refined: PlaneFits | None, goes_on: GoesOn | None
    ) -> PlaneFits:
        """The likely poses of the body; arguments as of `Finder.from_body`."""
        finder, search = self._finder, self._finder.body_search
        assert search is not None, "a template with a body"
        ended = (
            search(scene, self._standing_out, self._may_stand_out)
            if refined is None
            else search.followed(scene, refined, self._standing_out, goes_on)
        )
        found = ended[-1]
        if not finder.pieces.limbs:
            return found
        # If no pose fits better than clutter, the best two are followed, unless the search by limbs comes
        # next and finds the object if it is there.
        weight = finder.weights.get(finder.pieces.tree.root, 1.0)
        frames = found.poses @ finder.models[finder.pieces.tree.root].from_canvas
        likely = weight * finder.scoring.body_information(found.zncc, frames) >= _MIN_BODY_EVIDENCE
        if not likely.any() and not finder.limb_search.suffices:
            likely[:_MAX_UNLIKELY] = True
        return self.with_likely_limbs(scene, found[np.flatnonzero(likely)], effort)

    def with_likely_limbs(self, scene: ScenePyramid, found: PlaneFits, effort: Effort) -> PlaneFits:
        """Poses of the body about which limbs may be found.

        In a busy scene, clutter resembles the body at a dozen places. Rating the limbs about each of them
        takes a tenth of the time of placing them.
        """
        finder = self._finder
        root, limbs = finder.pieces.tree.root, finder.pieces.root_limbs
        frames = found.poses @ finder.models[root].from_canvas
        evidence = finder.weights.get(root, 1.0) * finder.scoring.body_information(found.zncc, frames)
        if len(found) <= _MAX_RATED and (evidence >= STRONG_EVIDENCE).all():
            return found
        # Limbs of limbs are not rated, so their weights do not count either.
        total = sum(finder.weights[name] for name in (root, *(piece.name for piece in limbs)))
        scores = equivalent_zncc((finder.limb_evidence(scene, frames) + evidence) / total)
        kept = scores >= _RATED_SHARE * effort.stop_score
        kept[np.argsort(-scores, kind="stable")[:_MAX_RATED]] = True
        # If the limbs do not suffice, there is no other way to find the object: the best four are followed,
        # whatever their scores.
        if finder.limb_search.suffices:
            kept &= (scores >= _LEAST_RATED * effort.least) | (evidence >= STRONG_EVIDENCE)
        return found[np.flatnonzero(kept)]

    @cached_property
    def _standing_out(self) -> float:
        """Minimum ZNCC of a pose of the body that stands out from clutter."""
        weight = self._finder.weights.get(self._finder.pieces.tree.root)
        # During calibration there are no weights, since the search itself measures what clutter reaches.
        return math.inf if weight is None else float(equivalent_zncc(np.array(_MIN_BODY_EVIDENCE / weight)))

    @cached_property
    def _may_stand_out(self) -> GoesOn | None:
        """Which fits of the body may still stand out from clutter.

        None, so that all are followed, if the search by limbs could not find the object instead.
        """
        # The ZNCC of a true object hardly increases from one resolution to the next. Of 160 painted crabs and
        # robots, a quarter of them with a hidden body, the same are found as without this condition.
        least = self._standing_out
        if not self._finder.pieces.limbs or math.isinf(least) or not self._finder.limb_search.suffices:
            return None
        return lambda fits, last: np.asarray(fits.zncc >= least)

"""Poses of the body about which the limbs of an object are placed."""

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
"""Weighted evidence of a body whose limbs are searched for, and how many are followed where none has it.
Choices: clutter reaches 1 at the best of all places."""

_MAX_RATED, _RATED_SHARE = 4, 0.5
"""Number of likely bodies whose limbs are placed, if they can come to a score of use; of more, those with at
least this share of the threshold when all limbs are rated. Choices: ratings are lower than what fits
reach."""

_LEAST_RATED = 0.85
"""Share of its score in the end that an object at least has when its limbs are rated. By 290 objects in plain
view and with limbs missing or covered, of six templates (four cut from photographs): the lowest was 0.87, and
half had more than 0.98."""


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
        # Placing all limbs costs far more than the fit of the body, so only likely poses go on: those that
        # fit better than clutter does, or else the best two, unless the limbs are looked for next anyway.
        weight = finder.weights.get(finder.pieces.tree.root, 1.0)
        frames = found.poses @ finder.models[finder.pieces.tree.root].from_canvas
        likely = weight * finder.scoring.body_information(found.zncc, frames) >= _MIN_BODY_EVIDENCE
        if not likely.any() and not finder.limb_search.suffices:
            likely[:_MAX_UNLIKELY] = True
        return self.with_likely_limbs(scene, found[np.flatnonzero(likely)], effort)

    def with_likely_limbs(self, scene: ScenePyramid, found: PlaneFits, effort: Effort) -> PlaneFits:
        """Poses of the body about which limbs may be found.

        Clutter looks a little like the body somewhere, in a busy scene at a dozen places. To rate the limbs
        about each takes a tenth of the time of placing them.
        """
        finder = self._finder
        root, limbs = finder.pieces.tree.root, finder.pieces.root_limbs
        frames = found.poses @ finder.models[root].from_canvas
        evidence = finder.weights.get(root, 1.0) * finder.scoring.body_information(found.zncc, frames)
        if len(found) <= _MAX_RATED and (evidence >= STRONG_EVIDENCE).all():
            return found
        # Limbs of limbs are not rated.
        total = sum(finder.weights[name] for name in (root, *(piece.name for piece in limbs)))
        scores = equivalent_zncc((finder.limb_evidence(scene, frames) + evidence) / total)
        kept = scores >= _RATED_SHARE * effort.stop_score
        kept[np.argsort(-scores, kind="stable")[:_MAX_RATED]] = True
        if finder.limb_search.suffices:  # else there is no other way to find it
            kept &= (scores >= _LEAST_RATED * effort.least) | (evidence >= STRONG_EVIDENCE)
        return found[np.flatnonzero(kept)]

    @cached_property
    def _standing_out(self) -> float:
        """ZNCC of the body from which a pose stands out from clutter."""
        weight = self._finder.weights.get(self._finder.pieces.tree.root)
        # Without weights, during calibration, clutter is what is looked for.
        return math.inf if weight is None else float(equivalent_zncc(np.array(_MIN_BODY_EVIDENCE / weight)))

    @cached_property
    def _may_stand_out(self) -> GoesOn | None:
        """Which fits of the body may still stand out from clutter; None: all are followed, where there is no
        other way to find the object."""
        # Fits of what is there hardly get better from one resolution to the next. Of 160 painted crabs and
        # robots, a quarter of them with a hidden body, the same are found as without this.
        least = self._standing_out
        if not self._finder.pieces.limbs or math.isinf(least) or not self._finder.limb_search.suffices:
            return None
        return lambda fits, last: np.asarray(fits.zncc >= least)

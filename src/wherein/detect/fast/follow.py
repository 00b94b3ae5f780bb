"""From where an object was a moment ago to where it is now."""

import math

import numpy as np

from wherein.detect.fast.finder import Finder, Judged
from wherein.detect.fast.joints import Placed
from wherein.detect.fast.piece_search import BASIN, best_of_each, despite_covers
from wherein.pyramid.levels import Descended, SceneLevels, descend
from wherein.pyramid.register_pyramid import Poses
from wherein.registration.plan import Stage
from wherein.template.pose import rotations

_FOLLOWED = 2
"""Starts of each object that go on from the coarsest scale."""


def follow(finder: Finder, scene: SceneLevels, roots: Poses, enough: float) -> Judged:
    """Hypotheses near known places, one a place: from the body, and from the limbs where that is not enough.

    Arguments:
        finder: of the object.
        scene: where to look.
        roots: (N, 3, 3) canvas → scene: where objects were, or are expected.
        enough: the score from which no more is looked for.
    """
    if finder.of_body is None:
        return finder.from_roots(scene, roots, len(roots))
    fitting, root = finder.of_body.fitting, finder.pieces.tree.root
    found = _body_near(finder, scene, roots)
    placed = Placed({root: found.poses @ fitting.away}, {root: found.zncc})
    judged = finder.judge(scene, finder.with_limbs(scene, placed))
    if judged.scores.min(initial=1.0) >= enough or not finder.pieces.hung_on_root:
        return judged
    return judged.and_also(finder.from_roots(scene, roots, len(roots)))


def _body_near(finder: Finder, scene: SceneLevels, roots: Poses) -> Descended:
    """The body from shifts and turns about each root that lie a basin apart."""
    assert finder.of_body is not None, "a template with a body"
    fitting = finder.of_body.fitting
    starts = roots[:, None] @ _around(finder) @ fitting.rest
    found, factor = Descended(starts.reshape(-1, 3, 3), np.zeros(0)), fitting.first
    while True:
        found = descend(scene, fitting.levels, finder.motion, Stage(factor, 8, pixels=600), found.poses)
        found = best_of_each(found, len(roots), _FOLLOWED if factor > fitting.judged else 1)
        if factor <= fitting.judged:
            break
        factor //= 2
    stage = Stage(fitting.judged, 12, pixels=1200)
    return despite_covers(scene, fitting, finder.motion, stage, found)


def _around(finder: Finder) -> Poses:
    """Motions of the canvas: none; two basins in each of eight directions; a turn by two to either side."""
    assert finder.of_body is not None, "a template with a body"
    fitting, (width, height) = finder.of_body.fitting, finder.template.size
    basin = 2 * BASIN * fitting.first
    turn = math.degrees(math.atan2(basin, math.hypot(width, height) / 2))
    moved = rotations(np.array((0.0, -turn, turn)), finder.template.centre)
    steps = np.array([(x, y) for x in (0, -1, 1) for y in (0, -1, 1)][1:], dtype=np.float64)
    shifts = np.repeat(np.eye(3)[None], len(steps), axis=0)
    shifts[:, :2, 2] = basin * steps
    return np.concatenate((moved, shifts))

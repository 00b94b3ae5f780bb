"""Crowds: several objects of one kind in a scene, all of which are followed.

A search usually follows a fixed number of poses, since of the others hardly any is an object. In a scene with
dozens of copies this would lose most of them. So if poses at several places have a ZNCC that clutter hardly
reaches, all such poses are followed.
"""

from typing import TYPE_CHECKING

import numpy as np

from wherein.planes.look.pose_filter import WORSE, PoseFilter

if TYPE_CHECKING:
    # For the annotations alone: it does not matter where the poses come from.
    from wherein.planes.plane_fit import PlaneFits

_CROWD, _ON_THE_WAY = 3, 0.75
"""Number of poses at different places that make a crowd, and the share of `standing_out` that their ZNCC must
reach during the search. Choices: coarse fits score lower than the final ones."""

_LIKE_BEST, _LIKE_OTHERS = 0.45, 0.55
"""Share of the best ZNCC that the third best must reach for a crowd, and share of the third best that a pose
must reach to belong to it. Choices: things of one kind, such as coins with other faces, are less alike than
copies."""


def crowd_of(poses: PoseFilter, fits: "PlaneFits", standing_out: float) -> "PlaneFits | None":
    """The poses of a crowd, the best first; None: there is no crowd.

    Arguments:
        poses: compares the poses of the motif.
        fits: the poses, before or between the fits.
        standing_out: ZNCC that clutter hardly reaches after the last fit; infinite: there is never a crowd.
    """
    # Clutter that is distorted beyond the range fits best, so it must not count as a place.
    clear = fits[np.flatnonzero(fits.zncc >= _ON_THE_WAY * standing_out)]
    clear = clear[np.flatnonzero(poses.in_reach(clear.poses))]
    if len(clear) < _CROWD:
        return None
    # With a `worse` of 1 every other pose about the same middle is a duplicate: these are different places.
    best = clear[poses.distinct(clear, _CROWD, 1.0)]
    # `_LIKE_BEST` is far below 1, and `_LIKE_OTHERS` is relative to the third best: the best may be the very
    # object that the template was cut from, and the others less like it.
    if len(best) < _CROWD or best.zncc[-1] < _LIKE_BEST * best.zncc[0]:
        return None
    clear = clear[np.flatnonzero(clear.zncc >= _LIKE_OTHERS * best.zncc[-1])]
    return clear[poses.distinct(clear, None, WORSE)]


def least_to_join(crowd: "PlaneFits", standing_out: float) -> float:
    """The ZNCC that a further pose needs to belong to a crowd."""
    return float(max(_ON_THE_WAY * standing_out, _LIKE_OTHERS * crowd.zncc[_CROWD - 1]))


def third_best(poses: PoseFilter, fits: "PlaneFits") -> float:
    """The ZNCC at the third best place; −1: there are fewer places.

    `CrowdFloor` says how high it is in clutter.
    """
    fits = fits[np.flatnonzero(poses.in_reach(fits.poses))]
    best = poses.distinct(fits, _CROWD, 1.0)
    return float(fits.zncc[best[-1]]) if len(best) == _CROWD else -1.0

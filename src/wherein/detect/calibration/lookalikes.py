"""Finds parts that look alike: pairs of parts of a template, and turns at which a part resembles itself."""

import math
from itertools import permutations

import numpy as np
import torch
from numpy.typing import NDArray

from wherein.detect.fast.piece_model import EUCLIDEAN
from wherein.images.motif import Motif
from wherein.pyramid.descent import Fits, Stage, descend
from wherein.pyramid.levels import Poses, ScenePyramid
from wherein.pyramid.motif_levels import MotifPyramid
from wherein.template.bundle import Template
from wherein.template.paint import paint
from wherein.template.pose import placed
from wherein.template.tree import Point

MIN_SIMILARITY = 0.6
"""The lowest ZNCC at which two parts are reported as similar. A choice: with noise or blur such parts can be
mistaken for one another."""

_MAX_AREA_RATIO = 1.5
"""Parts whose areas differ by more than this factor are not compared. A choice: a much smaller part fits
somewhere on any larger one."""

_MIN_TURN, _TURN_STEP = 15.0, 5.0
"""In degrees: the smallest turn that counts as another pose, and the step between the turns about a joint
that are evaluated. Choices: as wide as a wide basin of attraction, and narrower than most."""

_STEPS, _SCALE = 20, 2
"""Gauss–Newton steps of a descent, and the factor by which pictures are reduced. Choices: half size, the
resolution at which pieces are scored."""


def similar_parts(template: Template) -> list[tuple[str, str, float]]:
    """Pairs (a, b, ZNCC) of leaves that look alike, the most similar first; each pair once."""
    found: dict[tuple[str, str], float] = {}
    for a, b in permutations(template.parts.leaves, 2):
        first, second = template.parts[a].motif, template.parts[b].motif
        if first is None or second is None or not _same_size(first, second):
            continue
        pair = (min(a, b), max(a, b))
        fit = _fit(first, second, _all_around(first, second), steps=_STEPS)
        # Both directions: only the mask of the moved part counts, so a may fit on b without b fitting on a.
        found[pair] = max(found.get(pair, -1.0), float(fit.zncc.max()))
    similar = [(a, b, round(zncc, 3)) for (a, b), zncc in found.items() if zncc >= MIN_SIMILARITY]
    return sorted(similar, key=lambda pair: -pair[2])


def self_similarity(motif: Motif, joint: Point | None = None, reach: float = 180.0) -> tuple[float, float]:
    """The turn at which a motif looks most like itself, in degrees, and the ZNCC at that turn.

    Turns of less than 15° do not count: from there a fit would converge to the motif's own pose.

    Arguments:
        motif: the motif that is turned.
        joint: the point that it turns about, in its own pixels; None: any point.
        reach: the largest turn to each side, in degrees.

    Returns:
        The turn and the ZNCC, which is −1 if there is no such turn.
    """
    turns, zncc = _about_joint(motif, joint, reach) if joint is not None else _about_any_point(motif)
    # One degree more than the reach, since a descent may end slightly outside of it.
    zncc = np.where((np.abs(turns) >= _MIN_TURN) & (np.abs(turns) <= reach + 1), zncc, -1.0)
    return float(turns[zncc.argmax()]), float(zncc.max())


def _about_any_point(motif: Motif) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The turns at which descents of a motif on itself end, in degrees, and their ZNCC."""
    ended = _fit(motif, motif, _all_around(motif, motif), steps=_STEPS)
    return np.degrees(np.arctan2(ended.poses[:, 1, 0], ended.poses[:, 0, 0])), ended.zncc


def _about_joint(motif: Motif, joint: Point, reach: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Turns about a joint in degrees, and the ZNCC of those that are local maxima, −1 for the others."""
    # Evaluated without a descent, which could move the motif off its joint.
    count = int(min(reach, 180.0) / _TURN_STEP)
    turns = np.linspace(-count * _TURN_STEP, count * _TURN_STEP, 2 * count + 1)
    poses: Poses = np.stack([placed(float(turn), 1.0, joint, joint) for turn in turns])
    zncc = np.pad(_fit(motif, motif, poses, steps=0).zncc, 1, constant_values=-1.0)
    # A motif that changes little as it turns fits at large turns too. Unless such a turn is a local maximum,
    # a fit from there would converge to the motif's own pose.
    best = (zncc[1:-1] >= zncc[:-2]) & (zncc[1:-1] >= zncc[2:])
    return turns, np.where(best, zncc[1:-1], -1.0)


def _same_size(first: Motif, second: Motif) -> bool:
    """Whether two motifs have about the same area."""
    areas = [float((motif.mask > 0.5).sum()) for motif in (first, second)]
    return 1 / _MAX_AREA_RATIO < areas[0] / areas[1] < _MAX_AREA_RATIO


def _all_around(moved: Motif, fixed: Motif) -> Poses:
    """Poses that put the centre of one motif on the centre of another, at rotations 15° apart, (24, 3, 3)."""
    return np.stack([placed(float(angle), 1.0, fixed.centre, moved.centre) for angle in range(0, 360, 15)])


def _fit(moved: Motif, fixed: Motif, starts: Poses, steps: int) -> Fits:
    """Poses of one motif on another after a descent, and their ZNCC.

    Arguments:
        moved: the motif that is fitted.
        fixed: the motif that it is fitted to, painted on its own mean colour.
        starts: pixels of `moved` → pixels of `fixed`.
        steps: of the descent; 0 evaluates the starts only.
    """
    # Twice the larger diagonal: room for either motif at any rotation, with space to move.
    side = 2 * math.ceil(math.hypot(max(moved.width, fixed.width), max(moved.height, fixed.height)))
    # The mean colour is the background that adds the least contrast along the outline.
    mean = fixed.pixels[:, fixed.mask > 0.5].mean(1)
    middle = ((side - 1) / 2, (side - 1) / 2)
    at = placed(0.0, 1.0, middle, fixed.centre)
    ground = mean[:, None, None].expand(3, side, side)
    scene = ScenePyramid(paint(ground, fixed, torch.from_numpy(at)).contiguous())
    ended = descend(scene, MotifPyramid(moved), EUCLIDEAN, Stage(_SCALE, steps), at @ starts)
    return Fits(np.linalg.inv(at) @ ended.poses, ended.zncc)
